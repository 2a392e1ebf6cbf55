package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// WriteJSON answers with v as JSON, without the escapes that HTML would need.
// Content-Type and Cache-Control stay if they are set. An error means that v
// cannot be encoded and nothing was written.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	body, err := encode(v)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	h := w.Header()
	setDefault(h, "Content-Type", "application/json")
	setDefault(h, "Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only when the client is gone
	return nil
}

func setDefault(h http.Header, name, value string) {
	if h.Get(name) == "" {
		h.Set(name, value)
	}
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Page is one answer of a list.
type Page[T any] struct {
	Items      []T    `json:"items"`      // never null
	NextCursor string `json:"nextCursor"` // "" (null): the list ends here
}

// MarshalJSON writes items as an array and an empty cursor as null.
func (p Page[T]) MarshalJSON() ([]byte, error) {
	var out struct {
		Items      []T     `json:"items"`
		NextCursor *string `json:"nextCursor"`
	}
	out.Items = p.Items
	if out.Items == nil {
		out.Items = []T{}
	}
	if p.NextCursor != "" {
		out.NextCursor = &p.NextCursor
	}
	return encode(out)
}

// Time is a time as the interfaces write it: RFC 3339 in UTC with
// milliseconds, the zero time as null.
type Time time.Time

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + FormatTime(time.Time(t)) + `"`), nil
}

// UnmarshalJSON reads any RFC 3339 time, and null as the zero time.
func (t *Time) UnmarshalJSON(b []byte) error {
	if (*time.Time)(t).UnmarshalJSON(b) != nil {
		return errors.New("must be an RFC 3339 time such as 2006-01-02T15:04:05Z")
	}
	return nil
}

// FormatTime spells t as Time does; the zero time is "".
func FormatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
