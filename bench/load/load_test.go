package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledgerhook/bench/stage"
)

// TestMain also runs the parts that the tests start as processes.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && (os.Args[1] == receivePart || os.Args[1] == postPart) {
		if err := command(context.Background(), os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	remove, err := stage.Build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	return m.Run()
}

// short is so little that only the figures' being there can be held.
var short = options{events: 100, partners: 3, runs: 1, rates: "50,70%", lasts: 300 * time.Millisecond}

// TestEveryFigureIsThere holds no time: the machine may be busy.
func TestEveryFigureIsThere(t *testing.T) {
	t.Parallel()
	for _, s := range settings {
		if s.name != "stores/rsa" && s.name != "embedded/hmac" {
			continue // the others have the same worlds and signatures
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			o := short
			if s.embedded {
				o.rows = 100
			} else {
				o.openTransaction, o.waiting = true, 50
			}
			r, err := middle(t.Context(), 1, s.name, func(trial *stage.Trial) Result { return table(trial, s, o) }, Result.delivered)
			if err != nil {
				t.Fatal(err)
			}
			checkResult(t, s, r)
			checkReport(t, r)
		})
	}
}

func checkResult(t *testing.T, s setting, r Result) {
	t.Helper()
	positive := func(of, what string, values ...float64) {
		for _, v := range values {
			if !(v > 0 && v < 1e9) {
				t.Errorf("%s: %s is %v", of, what, values)
			}
		}
	}
	want := []string{"single POSTs", "batches of 100", "50/s", "70 % = "}
	if !s.embedded {
		want = append(want, "single POSTs again")
	}
	for i, p := range r.Phases {
		if i >= len(want) || !strings.HasPrefix(p.Name, want[i]) {
			t.Errorf("phase %d is %q, want %q", i, p.Name, want)
		}
		positive(p.Name, "a rate", p.Accepted, p.Delivered, float64(p.Events))
		positive(p.Name, "a latency", p.P50, p.P95, p.P99, p.AcceptP99)
		if p.P50 > p.P95 || p.P95 > p.P99 {
			t.Errorf("%s: %+v does not go together", p.Name, p)
		}
		positive(p.Name, "the gateway's work", p.CPU.Signing+p.CPU.Gateway, p.Allocations)
		positive(p.Name, "the load's work", p.CPU.Load)
		if s.embedded {
			continue
		}
		positive(p.Name, "PostgreSQL's and Redis's work", p.Statements, p.RedisCommands, p.RedisScripts)
		if p.RedisCommands < p.RedisScripts {
			t.Errorf("%s: %v commands of Redis, %v of them scripts", p.Name, p.RedisCommands, p.RedisScripts)
		}
	}
	if len(r.Phases) != len(want) {
		t.Errorf("%d phases, want %q", len(r.Phases), want)
	}
	if (r.Phases[0].CPU.Signing > 0) != s.signs() {
		t.Errorf("signing takes %v ms", r.Phases[0].CPU.Signing)
	}
	l := r.Limits
	positive("limits", "one of them", l.Signatures, l.Signature, l.POSTs, l.Rows, float64(l.RowBytes))
	positive(s.name, "a size", float64(r.PeakMemory), float64(r.LedgerBytes)+1)
}

// checkReport writes the forms of a report and looks whether they hold it.
func checkReport(t *testing.T, r Result) {
	t.Helper()
	dir := t.TempDir()
	o := options{json: filepath.Join(dir, "bench.json"), svg: filepath.Join(dir, "bench.svg")}
	if err := (Report{Machine: machine(), Settings: []Result{r}}).write(o); err != nil {
		t.Fatal(err)
	}
	var read Report
	text, err := os.ReadFile(o.json)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil || len(read.Settings) != 1 || read.Settings[0].delivered() != r.delivered() {
		t.Errorf("the JSON form holds %s, %v", text, err)
	}
	if picture, err := os.ReadFile(o.svg); err != nil || !strings.Contains(string(picture), "<polyline") {
		t.Errorf("the picture: %v", err)
	}
	var table strings.Builder
	r.print(&table)
	for _, p := range r.Phases {
		if n := strings.Count(table.String(), p.Name); n < 2 {
			t.Errorf("%s stands %d times in\n%s", p.Name, n, &table)
		}
	}
	t.Logf("\n%s", &table)
}

func TestEveryRowHasItsFigures(t *testing.T) {
	t.Parallel()
	o := short
	o.events, o.postgres = 40, startPostgres(t)
	want := map[string]int{"burst/hmac": 14, "roles/hmac": 7, "flushall": 7, "endpoints": 5, "windows": 9}
	for _, r := range rows {
		if want[r.name] == 0 {
			continue // the same with RSA
		}
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			row, err := middle(t.Context(), 1, r.name, func(trial *stage.Trial) Row { return Row{r.name, r.title, r.measure(trial, r.setting, o)} }, Row.first)
			if err != nil {
				t.Fatal(err)
			}
			if len(row.Figures) != want[r.name] {
				t.Errorf("%d figures, want %d", len(row.Figures), want[r.name])
			}
			for _, f := range row.Figures {
				least := 0.
				if strings.HasSuffix(f.Name, ", for pages") {
					least = -1e9 // what was used beside them less what was used without, in another half second
				}
				if !(f.Value >= least && f.Value < 1e9) {
					t.Errorf("%s is %v", f.Name, f.Value)
				}
			}
			var table strings.Builder
			row.print(&table)
			t.Logf("\n%s", &table)
		})
	}
}

func TestRatesAreReadOrRefused(t *testing.T) {
	t.Parallel()
	steps, err := options{rates: "2, 0.5,70%"}.steps()
	if err != nil || len(steps) != 3 || steps[0].of(100) != 2 || steps[1].of(100) != 0.5 || steps[2].of(200) != 140 {
		t.Errorf("%v, %v", steps, err)
	}
	for _, wrong := range []string{"0", "-1", "2,,3", "many", "NaN", "Inf", "%"} {
		if steps, err := (options{rates: wrong}).steps(); err == nil {
			t.Errorf("%q is read as %v", wrong, steps)
		}
	}
}
