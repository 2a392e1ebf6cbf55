package ledger

import (
	"fmt"
	"strings"
	"time"

	"ledgerhook/webhook"
)

// micros is how the ledger writes a time; the zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// fromMicros is the inverse of micros.
func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// timeColumn scans a time; NULL and 0 are the zero time.
type timeColumn struct{ t *time.Time }

func (c timeColumn) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*c.t = time.Time{}
	case int64:
		*c.t = fromMicros(v)
	default:
		return fmt.Errorf("a time cannot be read from %T", v)
	}
	return nil
}

// listColumn scans a comma-separated list of words.
type listColumn[T ~string] struct{ words *[]T }

func (c listColumn[T]) Scan(v any) error {
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("a list cannot be read from %T", v)
	}
	*c.words = nil
	if s == "" {
		return nil
	}
	for word := range strings.SplitSeq(s, ",") {
		*c.words = append(*c.words, T(word))
	}
	return nil
}

// joinList is how the ledger writes a list of words.
func joinList[T ~string](words []T) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(string(w))
	}
	return b.String()
}

// microsColumn scans a duration.
type microsColumn struct{ d *time.Duration }

func (c microsColumn) Scan(v any) error {
	us, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a duration cannot be read from %T", v)
	}
	*c.d = time.Duration(us) * time.Microsecond
	return nil
}

// before is the id that a page must stay below: its cursor, or the first id of
// the time until, or one that no id reaches.
func before(cursor string, until time.Time, prefix string) string {
	bound := prefix + "~"
	if !until.IsZero() {
		bound = webhook.TimeBound(prefix, until)
	}
	if cursor != "" {
		bound = min(bound, cursor)
	}
	return bound
}

// storable is s as both databases keep a text: valid UTF-8 without NUL.
func storable(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
}

// bytesOrEmpty is b as a column that is never NULL keeps it.
func bytesOrEmpty(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// hourMicros is an hour, by which rollups count.
const hourMicros = 3600_000_000
