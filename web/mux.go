package web

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"ledgerhook/webhook"
)

var redirectHandler = reflect.TypeOf(http.RedirectHandler("/", http.StatusFound))

// Mux serves mux with its 404 and 405 answers in the surface's shape, and
// makes panics of whatever is mounted in it a 500. Where ServeMux would
// redirect, since a path is not clean or lacks the slash of a subtree, it does
// not: the subtree gets the path as it is, and anything else is 404.
func (s Surface) Mux(mux *http.ServeMux) http.Handler {
	return s.Handle(func(w http.ResponseWriter, r *http.Request) error {
		next := http.Handler(mux)
		h, pattern := mux.Handler(r)
		if reflect.TypeOf(h) == redirectHandler {
			next, pattern = subtree(mux, pattern)
		}
		if pattern == "" {
			s.unmatched(w, r, h)
			return nil
		}
		setRoute(r.Context(), pattern)
		next.ServeHTTP(w, r)
		return nil
	})
}

// subtree is the handler of a pattern that ends in a slash; other patterns
// become "".
func subtree(mux *http.ServeMux, pattern string) (http.Handler, string) {
	if !strings.HasSuffix(pattern, "/") {
		return nil, ""
	}
	h, _ := mux.Handler(&http.Request{URL: &url.URL{Path: patternPath(pattern)}})
	return h, pattern
}

// unmatched asks h, which is ServeMux's own answer, what the methods are, and
// says it in our shape.
func (s Surface) unmatched(w http.ResponseWriter, r *http.Request, h http.Handler) {
	probe := silent{header: http.Header{}}
	h.ServeHTTP(&probe, r)
	if allow := probe.header.Get("Allow"); probe.status == http.StatusMethodNotAllowed && allow != "" {
		w.Header().Set("Allow", allow)
		s.fail(w, r, probe.status, &webhook.Error{Kind: webhook.KindInvalid, Message: "the method must be one of " + allow})
		return
	}
	s.fail(w, r, http.StatusNotFound, &webhook.Error{Kind: webhook.KindNotFound, Message: "there is nothing at this path"})
}

// silent keeps the status and headers of an answer that is not sent.
type silent struct {
	header http.Header
	status int
}

func (s *silent) Header() http.Header         { return s.header }
func (s *silent) WriteHeader(status int)      { s.status = status }
func (s *silent) Write(b []byte) (int, error) { return len(b), nil }
