package shell

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"ledgerhook/web"
	"ledgerhook/webhook"
)

// The surfaces, by the first part of their addresses.
const (
	Ops    = "ops"
	Portal = "portal"
)

const (
	readLimit = 2 * time.Second  // of a page that reads
	ActLimit  = 10 * time.Second // of a form that acts
	formLimit = 1 << 20          // bytes of a form
)

// Surface is one of the two: its pages, its menu, and what both share.
type Surface struct {
	*Shell
	Name, Base string
	groups     []NavGroup
	templates  []*Templates // where its pages' are, beside the shell's own
	routes     []Route
	short      shortPages
	rendering  chan struct{} // held while a stranger's page is rendered
}

// NewSurface has the pages that every surface has. name is Ops or
// Portal, menu its menu; sets are the templates of its other pages.
func NewSurface(sh *Shell, name string, menu []NavGroup, sets ...*Templates) *Surface {
	s := &Surface{Shell: sh, Name: name, Base: "/" + name, groups: menu, templates: sets}
	s.Add(s.sharedRoutes()...)
	return s
}

// contentPolicy lets a page load from its own surface only, and nothing inline.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Handler serves the surface's routes, its own 404 and 405 included.
func (s *Surface) Handler() http.Handler {
	s.short, s.rendering = s.newShortPages(), make(chan struct{}, 1)
	s.Metrics.AuthReasons(s.Name, failedPassword, failedCode, failedDisabled, failedLocked, failedCrowd)
	if s.byProvider() {
		s.Metrics.AuthReasons(s.Name, failedProvider, failedGroup, failedLocal)
	}
	mux := http.NewServeMux()
	shape := web.Surface{Name: s.Name, Log: s.Log, Metrics: s.Metrics, Render: s.renderError}
	for _, rt := range s.routes {
		mux.Handle(rt.pattern, shape.Handle(func(w http.ResponseWriter, r *http.Request) error { return s.serve(w, r, rt) }))
	}
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(shape.Handle(func(_ http.ResponseWriter, r *http.Request) error {
		return &webhook.Error{Kind: webhook.KindForbidden, Message: requestOf(r.Context()).T("the form was sent from another site; open the page here and send it again")}
	}))
	inner := guard.Handler(shape.Mux(mux))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secureHeaders(w.Header())
		q := s.newRequest(r)
		inner.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, q)))
	})
}

func secureHeaders(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	h.Set("Cache-Control", "no-store")
}

// serve answers r with the route's page, if the reader may see it, and in time.
func (s *Surface) serve(w http.ResponseWriter, r *http.Request, rt Route) error {
	q := requestOf(r.Context())
	if err := s.admit(r, q, rt); err != nil {
		return err
	}
	limit := readLimit
	if !Reads(r) {
		defer s.Memory.acted()
		limit, q.Path = ActLimit, s.pageOf(rt.pattern, r.URL)
		r.Body = http.MaxBytesReader(w, r.Body, formLimit)
	}
	if asksProvider(rt.pattern) {
		limit = ActLimit
	}
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	if err := s.identify(ctx, r, q, rt.may); err != nil {
		return err
	}
	if rt.may != mayAnyone && !q.SignedIn() {
		return s.toSignIn(w, r, q)
	}
	if !q.may(rt.may) {
		return q.forbidden(rt.may)
	}
	if !streams(rt.pattern) {
		r = r.WithContext(ctx)
	}
	return rt.page(w, r, q)
}

// pageOf is the page that a form at an address belongs to: the nearest one
// above that can be asked for by itself.
func (s *Surface) pageOf(pattern string, address *url.URL) string {
	_, pattern, _ = strings.Cut(pattern, " ")
	page := *address
	for pattern != s.Base && !s.Has("GET "+pattern) {
		pattern, page.Path = path.Dir(pattern), path.Dir(page.Path)
	}
	return page.RequestURI()
}

// streams reports whether the answer goes on for longer than a page's.
func streams(pattern string) bool {
	return strings.HasSuffix(pattern, "/live") || strings.HasSuffix(pattern, ".csv")
}

// PanelLimit is how long a part of a page may take, so that the page is there
// in time without it.
const PanelLimit = 1500 * time.Millisecond
