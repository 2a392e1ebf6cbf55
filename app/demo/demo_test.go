package demo

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ledgerhook/app/receiver"
	"ledgerhook/webhook"
)

func TestNothingIsLostInTheCountWhateverIsKnownFirst(t *testing.T) {
	c := newTally()
	c.accept("a")
	c.arrive("a", true, true, false)
	c.arrive("a", true, true, true) // repeated
	c.arrive("b", true, true, false)
	c.accept("b") // the 202 came later than the notification
	c.accept("c") // never arrives
	c.accept("d") // arrives unverified
	c.arrive("d", false, false, false)
	c.accept("e") // arrives, then with other bytes
	c.arrive("e", true, true, false)
	c.arrive("e", true, false, true)
	c.arrive("f", true, true, false) // somebody else's
	c.refuse(errors.New("no"))
	got := c.standing()
	if got.accepted != 5 || got.arrived != 2 || got.again != 2 || got.refused != 1 {
		t.Errorf("counted %+v", got)
	}
	if !c.isAccepted("e") || c.isAccepted("f") {
		t.Error("knows the wrong events as accepted")
	}
}

func TestTheDemoFailsUnlessAllWasDeliveredAndVerified(t *testing.T) {
	for _, test := range []struct {
		r       report
		refused int
		says    string
	}{
		{report{accepted: 9, delivered: 9, verified: 9, retried: 2}, 0, ""},
		{report{}, 0, "no event was accepted"},
		{report{accepted: 9, delivered: 8, verified: 9}, 0, "1 of 9 events are not delivered"},
		{report{accepted: 9, delivered: 9, verified: 7, lost: 2}, 0, "2 of 9 events were not received and verified"},
		{report{accepted: 9, delivered: 9, verified: 9}, 1, "1 events were not accepted, the last because busy"},
	} {
		d := &demo{tally: newTally()}
		for range test.refused {
			d.tally.refuse(errors.New("busy"))
		}
		err := d.check(test.r)
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v: %v, want %q", test.r, err, test.says)
		}
	}
	want := `{"accepted":9,"delivered":8,"verified":7,"retried":6,"lost":2}`
	if got := (report{9, 8, 7, 6, 2}).json(); got != want {
		t.Errorf("as JSON %s, want %s", got, want)
	}
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[a-zA-Z]|\r")

func TestALineFitsAnOrdinaryTerminalAndKeepsItsColumns(t *testing.T) {
	p := &partner{label: "globex", code: "globex", paint: magenta}
	bodies := map[string]string{
		"short": `{"webhookType":"TopupCard","data":{"id":"top_1001","status":"Pending"}}`,
		"long":  `{"webhookType":"ProfileApplication.Updated","data":{"accountId":"acc_10001","status":"UNDER_REVIEW"}}`,
	}
	for _, terminal := range []bool{false, true} {
		var widths []int
		for _, body := range bodies {
			for _, got := range []receiver.Received{
				{Status: 200, Attempt: 1, SameBytes: true}, {Status: 503, Attempt: 9, SameBytes: true},
				{Status: 401, Err: errors.New("no")}, {Status: 200, Attempt: 2},
			} {
				got.Body, got.At = []byte(body), time.Now()
				d := &demo{screen: &screen{terminal: terminal}, tally: newTally()}
				n := readTold(got.Body)
				d.tally.sending("globex", event{kind: n.kind, object: n.object, status: n.status})
				line := d.line(p, got, n)
				if !terminal && strings.Contains(line, "\x1b") {
					t.Errorf("colours where there is no terminal: %q", line)
				}
				widths = append(widths, utf8.RuneCountInString(escapes.ReplaceAllString(line, "")))
			}
		}
		if slices.Min(widths) != slices.Max(widths) || widths[0] > 80 {
			t.Errorf("widths %v, want one of at most 80", widths)
		}
	}
}

func TestDurationsAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "", time.Microsecond: "1 ms", 12 * time.Millisecond: "12 ms", 999 * time.Millisecond: "999 ms",
		1234 * time.Millisecond: "1.2 s", 59 * time.Second: "59.0 s", 5 * time.Minute: "5 m",
	} {
		if got := took(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestTheStandingStaysBelowTheLines(t *testing.T) {
	var out bytes.Buffer
	s := &screen{out: &out, terminal: true}
	s.print("one")
	s.stand("standing")
	s.print("two")
	s.stand("")
	want := "one\n" + clearLine + wrapOff + "standing" + wrapOn + clearLine + "two\n" + wrapOff + "standing" + wrapOn + clearLine + wrapOff + wrapOn
	if out.String() != want {
		t.Errorf("wrote %q\nwant  %q", out.String(), want)
	}
	out.Reset()
	quiet := &screen{out: &out}
	quiet.stand("standing")
	quiet.print("one")
	if out.String() != "one\n" {
		t.Errorf("without a terminal wrote %q", out.String())
	}
}

func TestADemoTouchesNothingThatIsConfigured(t *testing.T) {
	dir := t.TempDir()
	s, err := newSettings([]string{"LEDGERHOOK_DATABASE_URL=postgres://live/", "LEDGERHOOK_REDIS_URL=redis://live", "LEDGERHOOK_LISTEN=127.0.0.1:1",
		"LEDGERHOOK_DATA_DIR=" + filepath.Join(dir, "kept"), "LEDGERHOOK_PUBLIC_URL=https://live.example"})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(s.environ, "\n")
	if strings.Contains(all, "live") || !strings.Contains(all, "LEDGERHOOK_LISTEN=127.0.0.1:1\n") || s.temporary {
		t.Errorf("settings:\n%s", all)
	}
	s, err = newSettings(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !s.temporary {
		t.Error("a directory of its own is not temporary")
	}
	if err := s.remove(); err != nil {
		t.Error(err)
	}
}

func TestOnlyGlobexFailsAndOnlyNowAndThen(t *testing.T) {
	partners := newPartners()
	for i, want := range []int{0, 100 / everyNth} {
		failed := 0
		for n := range 100 {
			if partners[i].answer(receiver.Received{FirstTime: true, Nth: n + 1, Times: 1}).Status != http.StatusOK {
				failed++
			}
		}
		if failed != want {
			t.Errorf("%s failed %d of 100, want %d", partners[i].label, failed, want)
		}
	}
	if fmt.Sprint(readTold([]byte("{"))) != fmt.Sprint(told{}) || shortType(webhook.CreateCard) != "CreateCard" {
		t.Error("a body that is no JSON tells something")
	}
}
