package ingest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"ledgerhook/web"
	"ledgerhook/webhook"
)

// readQuery reads the parameters of a list. Each is given to its reader when
// it is there; the limit goes to *limit.
func readQuery(r *http.Request, readers map[string]func(string) error, limit *int) (err error) {
	names := make([]string, 0, len(readers))
	for name := range readers {
		names = append(names, name)
	}
	slices.Sort(names)
	if err := web.CheckQuery(r, names...); err != nil {
		return err
	}
	query := r.URL.Query()
	for _, name := range names {
		if value := query.Get(name); value != "" && readers[name] != nil {
			if err := readers[name](value); err != nil {
				return err
			}
		}
	}
	*limit, err = web.Limit(r)
	return err
}

func text(into *string) func(string) error {
	return func(s string) error { *into = s; return nil }
}

func timeOf(r *http.Request, name string, into *time.Time) func(string) error {
	return func(string) (err error) { *into, err = web.QueryTime(r, name); return err }
}

func cursor(r *http.Request, into *string) func(string) error {
	return func(string) (err error) { *into, err = web.Cursor(r); return err }
}

func typeName(into *webhook.Type) func(string) error {
	return oneOf("webhookType", webhook.Types, into)
}

// oneOf reads a word of a closed set.
func oneOf[T ~string](name string, words []T, into *T) func(string) error {
	return func(s string) error {
		if !slices.Contains(words, T(s)) {
			return webhook.Invalid(name, fmt.Sprintf("must be one of %v", words))
		}
		*into = T(s)
		return nil
	}
}

func number(name string, from, to int, into *int) func(string) error {
	return func(s string) (err error) {
		if *into, err = strconv.Atoi(s); err != nil || *into < from || *into > to {
			return webhook.Invalid(name, fmt.Sprintf("must be a whole number from %d to %d", from, to))
		}
		return nil
	}
}

// writePage answers a list.
func writePage[T, Item any](w http.ResponseWriter, found []T, next string, show func(T) Item) error {
	items := make([]Item, len(found))
	for i, f := range found {
		items[i] = show(f)
	}
	return web.WriteJSON(w, http.StatusOK, web.Page[Item]{Items: items, NextCursor: web.EncodeCursor(next)})
}
