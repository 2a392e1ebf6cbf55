package web

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestQueryParametersAreCheckedAndNamed(t *testing.T) {
	for query, want := range map[string]string{
		"":                        "",
		"limit=5&state=x":         "",
		"limt=5":                  "limt is not known here; known are: limit, state",
		"b=1&a=1":                 "a is not known here; known are: limit, state; b is not known",
		"state=a&state=b":         "state must be given once",
		"state=%ff":               "state must be UTF-8",
		"state=%zz":               "the query string cannot be read",
		"state=a;limit=1":         "the query string cannot be read",
		strings.Repeat("x", 9999): "… is not known here",
	} {
		got := said(CheckQuery(httptest.NewRequest("GET", "/?"+query, nil), "limit", "state"))
		if (got == "") != (want == "") || !strings.Contains(got, want) || len(got) > 300 {
			t.Errorf("%.50q: %q, want %q", query, got, want)
		}
	}
}

func TestLimit(t *testing.T) {
	for query, want := range map[string]int{
		"": 50, "limit=": 50, "limit=1": 1, "limit=500": 500,
		"limit=0": 0, "limit=501": 0, "limit=-1": 0, "limit=%2B1": 0, "limit=1.0": 0, "limit=x": 0, "limit=99999999999999999999": 0,
	} {
		got, err := Limit(httptest.NewRequest("GET", "/?"+query, nil))
		if got != want || (err == nil) != (want > 0) || err != nil && said(err) != "limit must be a whole number from 1 to 500" {
			t.Errorf("%s: %d, %v; want %d", query, got, err, want)
		}
	}
}

func TestQueryTime(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	for query, want := range map[string]time.Time{
		"": {}, "since=": {}, "since=2026-01-02T03:04:05.006Z": at, "since=2026-01-02T10:04:05.006%2B07:00": at,
	} {
		if got, err := QueryTime(httptest.NewRequest("GET", "/?"+query, nil), "since"); err != nil || !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("%s: %v, %v", query, got, err)
		}
	}
	if _, err := QueryTime(httptest.NewRequest("GET", "/?since=2026-01-02", nil), "since"); !strings.Contains(said(err), "since must be an RFC 3339 time") {
		t.Errorf("a date: %v", err)
	}
}

func TestACursorComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		position := rapid.StringN(0, -1, 500).Draw(t, "position")
		got, err := Cursor(httptest.NewRequest("GET", "/?cursor="+EncodeCursor(position), nil))
		if err != nil || got != position {
			t.Fatalf("%q, %v", got, err)
		}
	})
	for _, bad := range []string{"%20", "a", "YWJj%3D", "_w", "YWI%0A", strings.Repeat("YWJj", 400)} {
		if got, err := Cursor(httptest.NewRequest("GET", "/?cursor="+bad, nil)); got != "" || said(err) != "cursor must be the nextCursor of this list" {
			t.Errorf("%q: %q, %v", bad, got, err)
		}
	}
}

func FuzzCursor(f *testing.F) {
	f.Add("YWJj")
	f.Add("YWJ")
	f.Fuzz(func(t *testing.T, text string) {
		r := httptest.NewRequest("GET", "/", nil)
		q := r.URL.Query()
		q.Set("cursor", text)
		r.URL.RawQuery = q.Encode()
		if position, err := Cursor(r); err == nil && EncodeCursor(position) != text {
			t.Errorf("%q has a second spelling, %q", text, EncodeCursor(position))
		}
	})
}

func TestAnswersAreJSONAsTheInterfaceWritesIt(t *testing.T) {
	type item struct {
		Text string `json:"text"`
		At   Time   `json:"at"`
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.FixedZone("", 7*3600))
	for want, v := range map[string]any{
		`{"items":[],"nextCursor":null}`: Page[item]{},
		`{"items":[{"text":"<a&b>","at":"2026-01-01T20:04:05.123Z"},{"text":"","at":null}],"nextCursor":"YQ"}`: Page[item]{[]item{{"<a&b>", Time(at)}, {}}, "YQ"},
	} {
		w := httptest.NewRecorder()
		if err := WriteJSON(w, 200, v); err != nil || w.Body.String() != want+"\n" || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s %v, %v", w.Body, w.Header(), err)
		}
		var back Page[item]
		if err := json.Unmarshal(w.Body.Bytes(), &back); err != nil {
			t.Errorf("a client cannot read %s: %v", want, err)
		}
	}
	w := httptest.NewRecorder()
	if err := WriteJSON(w, 200, func() {}); err == nil || w.Body.Len() > 0 {
		t.Errorf("a func: %v, %s", err, w.Body)
	}
}
