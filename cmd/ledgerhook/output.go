package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// colour is the middle of an ANSI sequence. All have two characters, so that
// coloured cells of one table column differ in width by their text alone.
type colour string

const (
	normal colour = "39"
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
	cyan   colour = "36"
	grey   colour = "90"
)

func (k colour) paint(s string) string { return "\x1b[" + string(k) + "m" + s + "\x1b[39m" }

// terminal reports whether w is a terminal, and so may be coloured unless
// NO_COLOR is set or the terminal is a dumb one.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (c *cli) coloured(w io.Writer) bool {
	return c.env("NO_COLOR") == "" && c.env("TERM") != "dumb" && terminal(w)
}

// cell is one field of a table.
type cell struct {
	text string
	in   colour
}

// table writes aligned columns.
type table struct {
	tw       *tabwriter.Writer
	coloured bool
}

func (c *cli) table(header ...string) *table {
	t := &table{tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0), c.coloured(c.out)}
	if len(header) > 0 {
		cells := make([]any, len(header))
		for i, h := range header {
			cells[i] = cell{h, grey}
		}
		t.row(cells...)
	}
	return t
}

// row adds a line of cells: each a cell or a string. Empty ones read as "-".
func (t *table) row(cells ...any) {
	for i, v := range cells {
		k, ok := v.(cell)
		if !ok {
			k = cell{v.(string), normal}
		}
		if k.text = plain(k.text); k.text == "" {
			k = cell{"-", grey}
		}
		if t.coloured {
			k.text = k.in.paint(k.text)
		}
		if i > 0 {
			k.text = "\t" + k.text
		}
		fmt.Fprint(t.tw, k.text)
	}
	fmt.Fprintln(t.tw)
}

// field adds a line that names and tells one thing, unless there is nothing to tell.
func (t *table) field(name string, value any) {
	if text, ok := value.(string); ok && text == "" {
		return
	}
	t.row(cell{name, grey}, value)
}

func (t *table) flush() error { return t.tw.Flush() }

// say prints a message, which is not data.
func (c *cli) say(format string, args ...any) { fmt.Fprintf(c.err, format+"\n", args...) }

// answer prints the server's JSON with --json, else a table that fill fills.
func (c *cli) answer(doc json.RawMessage, fill func(*table)) error {
	if c.json {
		return c.raw(doc)
	}
	t := c.table()
	fill(t)
	return t.flush()
}

// raw prints the server's JSON as it is.
func (c *cli) raw(doc json.RawMessage) error {
	_, err := c.out.Write(append(bytes.TrimRight(doc, "\n"), '\n'))
	return err
}

// plain makes text that came from outside safe for a terminal: what could move
// the cursor or change colours is shown as an escape.
func plain(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unprintable(r) {
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// clock shows t in local time, today without its date.
func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.Local()
	if now := time.Now(); t.Year() == now.Year() && t.YearDay() == now.YearDay() {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04:05")
}

// stateColour colours the states of deliveries, endpoints, partners, secrets and tokens.
func stateColour(state string) cell {
	switch state {
	case "delivered", "active", "open", "enabled":
		return cell{state, green}
	case "exhausted", "disabled", "failed", "revoked", "expired":
		return cell{state, red}
	case "held", "paused", "retiring", "unknown":
		return cell{state, yellow}
	case "cancelled", "removed":
		return cell{state, grey}
	}
	return cell{state, cyan}
}
