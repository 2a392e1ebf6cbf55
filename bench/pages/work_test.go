package pages

import (
	"database/sql"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledgerhook/bench/stage"
)

// explained makes PostgreSQL write to its log how each statement was run.
const explained = "-c session_preload_libraries=auto_explain -c auto_explain.log_min_duration=0 -c auto_explain.log_analyze=on -c auto_explain.log_timing=off"

// work is what the database did for one page.
type work struct {
	statements int
	days       int      // of deliveries, events and attempts that statements opened
	rows       int      // of these that they read
	scanned    []string // days that were read from end to end, with the statement
}

// What a page may ask of the database, however much there is.
const (
	maxStatements = 25
	maxDays       = 200    // half of it is to find the oldest open delivery, once a minute
	maxRows       = 20_000 // 1,000 of one partner are 13,000 of all, which PostgreSQL may read instead
	maxScanned    = 2500   // rows of a day that is only begun, which are read as they lie
)

func (did work) hold(t *testing.T, page string) {
	t.Helper()
	for _, much := range did.tooMuch() {
		t.Errorf("%s %s", page, much)
	}
}

// tooMuch says which of the limits were passed, and by what.
func (did work) tooMuch() (all []string) {
	for _, c := range []struct {
		counted, most int
		text          string
	}{
		{did.statements, maxStatements, "runs %d statements, more than %d"},
		{did.days, maxDays, "opens %d days, more than %d"},
		{did.rows, maxRows, "reads %d rows, more than %d"},
	} {
		if c.counted > c.most {
			all = append(all, fmt.Sprintf(c.text, c.counted, c.most))
		}
	}
	for _, scan := range did.scanned {
		all = append(all, "reads a day from end to end: "+scan)
	}
	return all
}

// looks is how often a page is looked at that seems to do too much: what a process
// looks up once a minute, for all pages, may be found by any of them.
const looks = 3

// work opens every page and looks at the plans of what it ran.
func (w *world) work(store *stage.Store) map[string]work {
	w.t.Helper()
	w.start(w.address + "&options=" + strings.ReplaceAll(url.QueryEscape(explained), "+", "%20"))
	marker, err := sql.Open("pgx", w.address) // the ledger has registered it
	if err != nil {
		w.t.Fatal(err)
	}
	defer marker.Close()
	mark := func(text string) {
		if _, err := marker.ExecContext(w.t.Context(), "DO $$ BEGIN RAISE LOG '"+text+"'; END $$"); err != nil {
			w.t.Fatal(err)
		}
		stage.Eventually(w.t, time.Minute, "the log shows "+text, func() bool { _, ok := store.Output.Find(0, text); return ok })
	}
	all := map[string]work{}
	for i, p := range w.pages() {
		look := func(begin, end string) work {
			mark(begin)
			w.ask(p)
			mark(end)
			return workOf(store.Output.All(), begin, end)
		}
		name := "page " + strconv.Itoa(i)
		if first := look(name+" is new", name+" was new"); first.rows > maxRows { // which finds what a process looks up only once
			w.t.Errorf("%s reads %d rows the first time, more than %d", p.pattern, first.rows, maxRows)
		}
		for n := range looks {
			again := name + " for the " + strconv.Itoa(n) + ". time "
			all[p.pattern] = look(again+"begins", again+"ends")
			if len(all[p.pattern].tooMuch()) == 0 {
				break
			}
		}
	}
	w.g.Terminate(30 * time.Second)
	return all
}

var (
	scan    = regexp.MustCompile(`(\S+ )?Scan (?:Backward )?(?:using \S+ )?on ((?:deliveries|events|attempts)_(?:\d{8}|default))\b.*\((?:actual rows=(\d+) loops=(\d+)|never executed)`)
	removed = regexp.MustCompile(`^\s*Rows Removed by (?:Filter|Index Recheck): (\d+)`)
)

// workOf adds up the plans between two lines of the log.
func workOf(lines []stage.Line, begin, end string) (did work) {
	inside := false
	statement, table, loops, read := "", "", 0, 0
	done := func() {
		if strings.HasPrefix(table, "Seq ") && read > maxScanned {
			did.scanned = append(did.scanned, table+" by "+statement)
		}
		did.rows += read
		table, loops, read = "", 0, 0
	}
	for _, line := range lines {
		switch {
		case strings.Contains(line.Text, begin):
			inside = true
		case strings.Contains(line.Text, end):
			done()
			return did
		case !inside:
		case strings.Contains(line.Text, "Query Text:"):
			did.statements++
			done()
			_, statement, _ = strings.Cut(line.Text, "Query Text: ")
		default:
			if m := scan.FindStringSubmatch(line.Text); m != nil {
				done()
				did.days++
				rows, _ := strconv.Atoi(m[3]) // empty: never executed
				loops, _ = strconv.Atoi(m[4])
				table, read = m[1]+m[2], rows*loops
			} else if m := removed.FindStringSubmatch(line.Text); m != nil && table != "" {
				rows, _ := strconv.Atoi(m[1])
				read += rows * loops
			}
		}
	}
	return did
}
