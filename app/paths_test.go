package app

import (
	"net/http"
	"strings"
	"testing"
)

// A path that is not clean must get past no check of a surface, and its answer
// is that of every other path where nothing is.
func TestAnAPIAnswersEveryPathOfItsOwn(t *testing.T) {
	a := startAll(t)
	for _, tt := range []struct {
		request, token string
		status         int
		kind           string
	}{
		{"GET " + a.InternalURL() + "/internal/v1", "", 401, "application/problem+json"},
		{"POST " + a.InternalURL() + "/internal/v1//events", "", 401, "application/problem+json"},
		{"GET " + a.InternalURL() + "/internal/v1/./x", "", 401, "application/problem+json"},
		{"GET " + a.InternalURL() + "//internal/v1/events", "", 401, "application/problem+json"},
		{"GET " + a.InternalURL() + "/ops/../internal/v1/events", "", 401, "application/problem+json"},
		{"GET " + a.InternalURL() + "/internal/v1", a.Token(), 404, "application/problem+json"},
		{"GET " + a.InternalURL() + "/internal/v1//events", a.Token(), 404, "application/problem+json"},
		{"GET " + a.InternalURL() + "/internal/v1/./events", a.Token(), 404, "application/problem+json"},
		{"GET " + a.InternalURL() + "//internal/v1/events", a.Token(), 404, "application/problem+json"},
		{"GET " + a.InternalURL() + "/healthz/.", "", 404, "application/problem+json"},
		{"POST " + a.PublicURL() + "/api/v2//orders/details", "", 404, "application/json"},
		{"POST " + a.PublicURL() + "/api", "", 404, "application/json"},
	} {
		method, url, _ := strings.Cut(tt.request, " ")
		request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+tt.token)
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if kind := response.Header.Get("Content-Type"); response.StatusCode != tt.status || kind != tt.kind {
			t.Errorf("%s with token %t: %d as %s, want %d as %s", tt.request, tt.token != "", response.StatusCode, kind, tt.status, tt.kind)
		}
	}
}
