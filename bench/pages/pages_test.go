package pages

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ledgerhook/bench/stage"
	"ledgerhook/dashboard"
)

var (
	deliveries = flag.Int("deliveries", 50_000, "how many the ledger holds; on SQLite at most 100,000")
	times      = flag.Bool("times", false, "measure 200 requests of each page, compare with an almost empty ledger and hold the limit of each page's time: for a machine that does nothing else")
)

const (
	few      = 500                    // deliveries of an almost empty ledger
	limit    = 100 * time.Millisecond // of a page's p99
	warm     = 2                      // requests of each page that are not counted
	requests = 200                    // of each page that are
	patience = 12                     // requests, of which one at least leaves nothing out, where no time is held
)

func TestMain(m *testing.M) {
	flag.Parse()
	remove, err := stage.Build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	remove()
	os.Exit(code)
}

// With many deliveries each page reads a bounded number of rows, by an index,
// in a bounded number of statements, and is quick.
func TestPagesOnPostgreSQL(t *testing.T) {
	store, cache := stage.StartPostgres(t), stage.StartRedis(t)
	base := map[string]timing{}
	if *times {
		base = open(t, store, cache, few).times()
	}
	w := open(t, store, cache, *deliveries)
	took := w.times()
	work := w.work(store)
	report(t, fmt.Sprintf("PostgreSQL, %d deliveries", *deliveries), took, base, work)
}

// The embedded ledger is held to the same time.
func TestPagesOnSQLite(t *testing.T) {
	base := map[string]timing{}
	if *times {
		base = embed(t, few).times()
	}
	n := min(*deliveries, 100_000)
	report(t, fmt.Sprintf("SQLite, %d deliveries", n), embed(t, n).times(), base, nil)
}

// timing are percentiles of a page's time.
type timing struct{ p50, p99 time.Duration }

// times measures every page. Where no time is held it asks for each until
// nothing is left out.
func (w *world) times() map[string]timing {
	w.t.Helper()
	w.start(w.address)
	all := map[string]timing{}
	for _, p := range w.pages() {
		all[p.pattern] = timing{}
		if *times {
			all[p.pattern] = w.measure(p)
		} else {
			w.askWhole(p)
		}
	}
	w.g.Terminate(30 * time.Second)
	return all
}

func (w *world) measure(p page) timing {
	w.t.Helper()
	var took []time.Duration
	for i := range warm + requests {
		whole, once := w.ask(p)
		if !whole {
			w.t.Errorf("%s leaves something out at request %d", p.path, i+1)
		}
		took = append(took, once)
	}
	took = took[warm:]
	slices.Sort(took)
	return timing{took[len(took)/2], took[len(took)*99/100]}
}

func (w *world) askWhole(p page) {
	w.t.Helper()
	for range patience {
		if whole, _ := w.ask(p); whole {
			return
		}
	}
	w.t.Errorf("%s leaves something out %d times of %d", p.path, patience, patience)
}

// report prints a table of all pages and holds their limits.
func report(t *testing.T, title string, took, base map[string]timing, work map[string]work) {
	t.Helper()
	var rows strings.Builder
	fmt.Fprintf(&rows, "%s\n%-36s %10s %6s %8s %10s %10s %10s\n", title,
		"page", "statements", "days", "rows", "p50", "p99", "empty p99")
	for _, pattern := range dashboard.Patterns() {
		page, there := took[pattern]
		if !there {
			continue
		}
		did := work[pattern]
		fmt.Fprintf(&rows, "%-36s %10s %6s %8s %10s %10s %10s\n", strings.TrimPrefix(pattern, "GET "), number(did.statements), number(did.days),
			number(did.rows), ms(page.p50), ms(page.p99), ms(base[pattern].p99))
		if *times && page.p99 >= limit {
			t.Errorf("%s takes %s, not less than %s", pattern, page.p99, limit)
		}
		did.hold(t, pattern)
	}
	fmt.Println(rows.String())
}

func number(n int) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprint(n)
}

func ms(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}
