package ingest

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"ledgerhook/web"
	"ledgerhook/webhook"
)

// readQuery reads the parameters of a list. Each is given to its reader when
// it is there; the limit goes to *limit.
func readQuery(r *http.Request, readers map[string]func(string) error, limit *int) (err error) {
	names := slices.Sorted(maps.Keys(readers))
	if err := web.CheckQuery(r, names...); err != nil {
		return err
	}
	query := r.URL.Query()
	for _, name := range names {
		value := query.Get(name)
		if strings.ContainsFunc(value, unicode.IsControl) {
			return webhook.Invalid(name, "must not hold control characters")
		}
		if value != "" && readers[name] != nil {
			if err := readers[name](value); err != nil {
				return err
			}
		}
	}
	if err := checkSpan(r, readers); err != nil {
		return err
	}
	*limit, err = web.Limit(r)
	return err
}

// checkSpan refuses a list of what was made since a time after its until,
// which could only be empty.
func checkSpan(r *http.Request, readers map[string]func(string) error) error {
	if readers["since"] == nil || readers["until"] == nil {
		return nil
	}
	var span [2]time.Time
	for i, name := range []string{"since", "until"} {
		if r.URL.Query().Get(name) == "" {
			return nil
		}
		var err error
		if span[i], err = web.QueryTime(r, name); err != nil {
			return err
		}
	}
	return inOrder("since", span[0], span[1])
}

// inOrder refuses a time, named by field, that lies after until; a zero one is
// no bound.
func inOrder(field string, since, until time.Time) error {
	if !since.IsZero() && !until.IsZero() && since.After(until) {
		return webhook.Invalid(field, "must not lie after until")
	}
	return nil
}

func text(into *string) func(string) error {
	return func(s string) error { *into = s; return nil }
}

func timeOf(r *http.Request, name string, into *time.Time) func(string) error {
	return func(string) (err error) { *into, err = web.QueryTime(r, name); return err }
}

// cursor reads the position at which a page begins: one of the list's own, by
// check.
func cursor(r *http.Request, check func(string) error, into *string) func(string) error {
	return func(string) (err error) {
		*into, err = web.Cursor(r)
		if err == nil && check(*into) != nil {
			err = webhook.Invalid("cursor", "must be the nextCursor of this list")
		}
		return err
	}
}

// isID checks a position of a list that is ordered by ids.
func isID(prefix string) func(string) error {
	return func(position string) error { return webhook.CheckID("cursor", prefix, position) }
}

// search answers with the page of a list that the query asks for: readers put
// its parameters into *f, of which limit is a part, and find reads it.
func search[F, T, Item any](w http.ResponseWriter, r *http.Request, f *F, limit *int, readers map[string]func(string) error,
	find func(context.Context, F) (found []T, next string, err error), show func(T) Item) error {
	if err := readQuery(r, readers, limit); err != nil {
		return err
	}
	found, next, err := find(r.Context(), *f)
	if err != nil {
		return err
	}
	return writePage(w, found, next, show)
}

// pages reads the page of a list after a position.
type pages[T any] func(ctx context.Context, after string, limit int) (page []T, next string, err error)

// list is search without filters; check knows the list's positions.
func list[T, Item any](w http.ResponseWriter, r *http.Request, check func(string) error, read pages[T], show func(T) Item) error {
	var after string
	var limit int
	if err := readQuery(r, map[string]func(string) error{"cursor": cursor(r, check, &after), "limit": nil}, &limit); err != nil {
		return err
	}
	found, next, err := read(r.Context(), after, limit)
	if err != nil {
		return err
	}
	return writePage(w, found, next, show)
}

// cut makes pages of a list that is short, so that all of it is read, and in
// the order of its ids.
func cut[T any](all func(context.Context) ([]T, error), id func(T) string) pages[T] {
	return func(ctx context.Context, after string, limit int) (page []T, next string, err error) {
		page, err = all(ctx)
		for len(page) > 0 && id(page[0]) <= after {
			page = page[1:]
		}
		if len(page) > limit {
			page = page[:limit]
			next = id(page[limit-1])
		}
		return page, next, err
	}
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

// writeItem answers with an item unless err is why there is none.
func writeItem[T, Item any](w http.ResponseWriter, item T, err error, show func(T) Item) error {
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, show(item))
}

// writePage answers a list.
func writePage[T, Item any](w http.ResponseWriter, found []T, next string, show func(T) Item) error {
	items := make([]Item, len(found))
	for i, f := range found {
		items[i] = show(f)
	}
	return web.WriteJSON(w, http.StatusOK, web.Page[Item]{Items: items, NextCursor: web.EncodeCursor(next)})
}
