package ingest

import (
	"fmt"
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

// readPage reads the parameters of a list that has no filters.
func readPage(r *http.Request, check func(string) error) (after string, limit int, err error) {
	err = readQuery(r, map[string]func(string) error{"cursor": cursor(r, check, &after), "limit": nil}, &limit)
	return after, limit, err
}

// cut is the page after a position of a list that is short and in the order
// of its ids.
func cut[T any](all []T, after string, limit int, id func(T) string) (page []T, next string) {
	from := 0
	for from < len(all) && id(all[from]) <= after {
		from++
	}
	page = all[from:]
	if len(page) > limit {
		page = page[:limit]
		next = id(page[limit-1])
	}
	return page, next
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
