package ingest

import (
	"maps"
	"slices"

	"ledgerhook/partners"
)

// Routes lists the patterns of every route of the internal API.
func Routes() []string { return slices.Sorted(maps.Keys((&Internal{}).routes())) }

// Scopes are what every route demands of a token, by its pattern.
func Scopes() map[string]partners.TokenScope {
	scopes := map[string]partners.TokenScope{}
	for pattern, rt := range (&Internal{}).routes() {
		scopes[pattern] = rt.scope
	}
	return scopes
}
