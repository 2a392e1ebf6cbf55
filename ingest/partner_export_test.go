package ingest

import "slices"

// PartnerRoutes lists the patterns of every operation, for tests.
func PartnerRoutes() (patterns []string) {
	for _, op := range (&Partner{}).operations() {
		patterns = append(patterns, "POST "+op.path)
	}
	slices.Sort(patterns)
	return patterns
}
