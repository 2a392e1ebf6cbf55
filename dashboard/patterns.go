package dashboard

// Patterns lists every route of both surfaces as a pattern of http.ServeMux,
// for tests that hold something of each.
func Patterns() (all []string) {
	ops, portal := &surface{name: opsSurface, base: "/ops"}, &surface{name: portalSurface, base: "/portal"}
	for _, rt := range append(ops.opsRoutes(), portal.portalRoutes()...) {
		all = append(all, rt.pattern)
	}
	return all
}
