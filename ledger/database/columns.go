package database

import (
	"database/sql"
	"fmt"
	"strings"
	"time"

	"ledgerhook/webhook"
)

// Micros is how the ledger writes a time; the zero time is 0.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// FromMicros is the inverse of micros.
func FromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// Time scans a time into t; NULL and 0 are the zero time.
func Time(t *time.Time) sql.Scanner { return timeColumn{t} }

type timeColumn struct{ t *time.Time }

// Scan implements sql.Scanner.
func (c timeColumn) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*c.t = time.Time{}
	case int64:
		*c.t = FromMicros(v)
	default:
		return fmt.Errorf("a time cannot be read from %T", v)
	}
	return nil
}

// List scans a comma-separated list of words.
func List[T ~string](words *[]T) sql.Scanner { return listColumn[T]{words} }

type listColumn[T ~string] struct{ words *[]T }

// Scan implements sql.Scanner.
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

// JoinList is how the ledger writes a list of words.
func JoinList[T ~string](words []T) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(string(w))
	}
	return b.String()
}

// Duration scans microseconds into d.
func Duration(d *time.Duration) sql.Scanner { return microsColumn{d} }

type microsColumn struct{ d *time.Duration }

// Scan implements sql.Scanner.
func (c microsColumn) Scan(v any) error {
	us, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a duration cannot be read from %T", v)
	}
	*c.d = time.Duration(us) * time.Microsecond
	return nil
}

// Below is the id that a page must stay below: its cursor, or the first id of
// the time until, or one that no id reaches.
func Below(cursor string, until time.Time, prefix string) string {
	bound := prefix + "~"
	if !until.IsZero() {
		bound = webhook.TimeBound(prefix, until)
	}
	if cursor != "" {
		bound = min(bound, cursor)
	}
	return bound
}

// Text is s as both databases keep a text: valid UTF-8 without NUL.
func Text(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
}

// Bytes is b as a column that is never NULL keeps it.
func Bytes(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// HourMicros is an hour, MinuteMicros a minute: rollups count by the hour, and
// of late by the minute.
const (
	HourMicros   = 3600_000_000
	MinuteMicros = 60_000_000
)

// MinuteSlots tells the slots of rollups apart: those below are of a whole hour,
// those from n times it on of the minute n - 1 of the hour, and of those after it
// that were folded into it. What is left after division is the writer's stripe.
const MinuteSlots = 1 << 17

// MinuteSlot is the first slot of the minute of an hour that at lies in.
func MinuteSlot(at time.Time) int64 {
	return (Micros(at)%HourMicros/MinuteMicros + 1) * MinuteSlots
}
