package web

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"ledgerhook/webhook"
)

// The sizes of a page.
const (
	DefaultLimit = 50
	MaxLimit     = 500
)

// maxCursor bounds what a client can make us decode.
const maxCursor = 1024

// CheckQuery returns an Invalid error that names every query parameter not
// among allowed, or given twice, and one for a query that cannot be read.
func CheckQuery(r *http.Request, allowed ...string) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return &webhook.Error{Kind: webhook.KindInvalid, Message: "the query string cannot be read"}
	}
	e := &webhook.Error{Kind: webhook.KindInvalid}
	for name, values := range query {
		switch {
		case !slices.Contains(allowed, name):
			e.Fields = append(e.Fields, webhook.FieldError{Field: shorten(name), Detail: "is not known here; known are: " + strings.Join(allowed, ", ")})
		case len(values) > 1:
			e.Fields = append(e.Fields, webhook.FieldError{Field: name, Detail: "must be given once"})
		case !utf8.ValidString(values[0]):
			e.Fields = append(e.Fields, webhook.FieldError{Field: name, Detail: "must be UTF-8"})
		}
	}
	if len(e.Fields) == 0 {
		return nil
	}
	slices.SortFunc(e.Fields, func(a, b webhook.FieldError) int { return strings.Compare(a.Field, b.Field) })
	e.Fields = e.Fields[:min(len(e.Fields), 20)]
	return e
}

// Limit is the query parameter limit, DefaultLimit when absent or empty. An
// Invalid error unless it is a whole number from 1 to MaxLimit.
func Limit(r *http.Request) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return DefaultLimit, nil
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n < 1 || n > MaxLimit {
		return 0, webhook.Invalid("limit", fmt.Sprintf("must be a whole number from 1 to %d", MaxLimit))
	}
	return int(n), nil
}

// QueryTime is the query parameter name as a time, zero when absent or empty.
// An Invalid error unless it is an RFC 3339 time.
func QueryTime(r *http.Request, name string) (time.Time, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, webhook.Invalid(name, "must be an RFC 3339 time such as 2006-01-02T15:04:05Z")
	}
	return t.UTC(), nil
}

// EncodeCursor makes a position opaque; "" stays "".
func EncodeCursor(position string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(position))
}

// Cursor is the position in the query parameter cursor, "" when absent or
// empty. An Invalid error unless EncodeCursor made it. What the position
// means is for the list to check: clients can make cursors up.
func Cursor(r *http.Request) (string, error) {
	text := r.URL.Query().Get("cursor")
	position, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(text) > maxCursor || strings.ContainsAny(text, "\r\n") || !utf8.Valid(position) {
		return "", webhook.Invalid("cursor", "must be the nextCursor of this list")
	}
	return string(position), nil
}

// shorten bounds what is repeated of a client's text, and keeps it UTF-8.
func shorten(s string) string {
	const most = 64
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	cut := most
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
