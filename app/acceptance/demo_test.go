package acceptance

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"ledgerhook/bench/stage"
)

// Not in parallel: with -full the first seconds of a demo are measured, and the
// loads of the tests beside it are not part of the promise.
func TestTheDemoShowsVerifiedDeliveriesAtOnceAndLosesNothing(t *testing.T) {
	duration := sized(6*time.Second, 20*time.Second)
	stdout, stderr := &stage.Output{}, &stage.Output{}
	dir := t.TempDir()
	began := time.Now()
	p := stage.Launch(t, stage.Ledgerhook(dir, map[string]string{"TMPDIR": dir}, stdout, stderr, "demo", "--duration", duration.String(), "--json"))
	var first stage.Line
	stage.Eventually(t, 30*time.Second, "a delivery is verified", func() (ok bool) {
		first, ok = stdout.Find(0, "✓ verified")
		return ok
	})
	if took := first.At.Sub(began); *full && took > 5*time.Second { // held on a quiet machine
		t.Errorf("the first verified delivery came %s after the start, not within 5 s", took)
	}
	t.Logf("first verified delivery after %s", first.At.Sub(began).Round(time.Millisecond))
	if code := p.Wait(duration + time.Minute); code != 0 {
		t.Errorf("exit code %d:\n%s%s", code, stdout, stderr)
	}
	if said := stderr.String(); said != "" {
		t.Errorf("stderr is not empty:\n%s", said)
	}

	lines := stdout.All()
	var sum struct{ Accepted, Delivered, Verified, Retried, Lost int }
	if err := json.Unmarshal([]byte(lines[len(lines)-1].Text), &sum); err != nil {
		t.Fatalf("the last line is no summary: %v: %s", err, lines[len(lines)-1].Text)
	}
	if sum.Accepted == 0 || sum.Lost != 0 || sum.Delivered != sum.Accepted || sum.Verified != sum.Accepted || sum.Retried > sum.Delivered {
		t.Errorf("the summary does not add up: %+v", sum)
	}
	for name, want := range map[string]int{"accepted": sum.Accepted, "delivered": sum.Delivered, "verified": sum.Verified, "retried": sum.Retried, "lost": sum.Lost} {
		row := regexp.MustCompile(fmt.Sprintf(`(?m)^\s+%s\s+(\d+) `, name)).FindStringSubmatch(stdout.String())
		if row == nil || row[1] != strconv.Itoa(want) {
			t.Errorf("the table's %s is %q, the JSON's %d", name, row, want)
		}
	}
}
