package ingest

import (
	"maps"
	"slices"
)

// Routes lists the patterns of every route of the internal API.
func Routes() []string { return slices.Sorted(maps.Keys((&Internal{}).routes())) }
