package dashboard

// Patterns lists every route of both surfaces as a pattern of http.ServeMux,
// for tests that hold something of each.
func Patterns() []string {
	none := &Dashboard{}
	return append(newOps(none).Patterns(), newPortal(none).Patterns()...)
}
