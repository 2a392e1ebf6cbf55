package browsertest

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
)

// rewrite changes the ledger of a running gateway as time would.
func rewrite(t *testing.T, g *stage.Gateway, statement string) {
	t.Helper()
	file := filepath.Join(g.Dir, "data", "ledger.db")
	if said, err := exec.CommandContext(t.Context(), "sqlite3", "-cmd", ".timeout 20000", file, statement).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", statement, err, said)
	}
}

// The pages tell of an endpoint that fails for a minute or longer, and what the
// ledger has counted becomes that of the hour before.
const (
	aMinutePasses = "UPDATE windows SET failing_since = failing_since - 120000000 WHERE failing_since > 0"
	anHourBegins  = `BEGIN IMMEDIATE;
		CREATE TEMP TABLE counted AS SELECT fact, slot, SUM(n) AS n FROM rollups_all GROUP BY fact, slot;
		DELETE FROM rollups_all;
		INSERT INTO rollups_all (hour, fact, slot, n) SELECT strftime('%s', 'now') / 3600 - 1, fact, slot, n FROM counted;
		COMMIT`
)

// Two hosts that receivers may be on.
const (
	oneHost   = "127.0.0.1"
	otherHost = "127.0.0.2"
)

// customer makes a partner with one endpoint on a host, which answers as its
// mood is.
func customer(t *testing.T, g *stage.Gateway, code, host string, a receiver.Answer) (their *mood, endpoint string) {
	t.Helper()
	their = &mood{}
	their.be(a)
	server := httptest.NewUnstartedServer(onboard(t, g, code, code).receiver(their.answer))
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return their, addEndpoint(t, g, code, server.URL+"/hooks")
}

// meets makes something happen at a partner and waits for what comes of it.
func meets(t *testing.T, g *stage.Gateway, code string, events int) {
	t.Helper()
	postEvents(g, code, events)
	g.Await(code, patience)
}

// operator is somebody on duty, signed in.
func operator(t *testing.T, g *stage.Gateway) *tab {
	t.Helper()
	b := open(t, addressOf(g, "/ops"))
	b.signIn("/ops", "admin", stage.TestPassword)
	return b
}

// What a replay has delivered is settled: on its own page, in the lists of
// operators and partner, in what another replay would send, and in an answer
// about a reference.
func TestWhatAReplayDeliveredIsSettled(t *testing.T) {
	t.Parallel()
	g := start(t)
	const code, missed = "acme", 2
	c := onboard(t, g, code, "Acme Pay")
	var back atomic.Bool
	answers := make(chan struct{})
	answer := sync.OnceFunc(func() { close(answers) })
	server := httptest.NewServer(c.receiver(func(receiver.Received) receiver.Answer {
		if !back.Load() {
			return receiver.Answer{Status: http.StatusServiceUnavailable, Body: "maintenance"}
		}
		<-answers
		return receiver.OK
	}))
	t.Cleanup(server.Close)
	t.Cleanup(answer)
	addEndpoint(t, g, code, server.URL+"/hooks")
	newVisitor(t, g.Public).join(firstAdmin(t, g).invite(code, "developer"), "ann")
	meets(t, g, code, missed)
	failed := g.Deliveries(code, "exhausted")
	if len(failed) != missed {
		t.Fatalf("%d deliveries are exhausted, want %d", len(failed), missed)
	}

	const search = "?q=partner:" + code + "+state:exhausted"
	b := operator(t, g)
	b.visit("/ops/replays/new" + search)
	b.sees("2 deliveries", "would be sent again")
	back.Store(true)
	b.fill("reason", "their maintenance is over")
	b.press("Start the replay")
	b.sees("How far it is")
	t.Run("its page follows it to its end", func(t *testing.T) {
		b := b.in(t)
		value[bool](b, `window.here = true`) // and is gone once the page is opened anew
		answer()
		b.sees("finished")
		for _, gone := range []string{"Pause it", "Cancel it", "is started", "all queued"} {
			if strings.Contains(b.text(), gone) {
				t.Errorf("a finished replay's page says %q:\n%s", gone, b.text())
			}
		}
		if !value[bool](b, `window.here === true`) {
			t.Error("the page was opened anew")
		}
	})
	answer()
	g.Await(code, patience)

	their := open(t, g.Public)
	their.signIn("/portal", "ann", goodPassword)
	for _, list := range []struct {
		name, base string
		tab        *tab
	}{{"for operators", "/ops", b}, {"for the partner", "/portal", their}} {
		t.Run(list.name, func(t *testing.T) {
			b := list.tab.in(t)
			b.visit(list.base + "/deliveries")
			if said := b.text(); !strings.Contains(said, "Nothing needs attention") {
				t.Errorf("what a replay has delivered needs attention:\n%s", said)
			}
			b.visit(list.base + "/deliveries?q=state:any")
			if said := value[int](b, `[...document.querySelectorAll("tbody tr")].filter(r => /delivered by replay/i.test(r.innerText)).length`); said != missed {
				t.Errorf("%d rows say that a replay delivered them, want %d:\n%s", said, missed, b.text())
			}
		})
	}
	t.Run("for another replay", func(t *testing.T) {
		b := b.in(t)
		b.visit("/ops/replays/new" + search)
		if said := b.text(); !strings.Contains(said, "Nothing to replay") || !strings.Contains(said, "Leave out 2 already delivered") {
			t.Errorf("the preview of the same again says:\n%s", said)
		}
		if !value[bool](b, `document.querySelector("[name=leave]")?.checked === true`) {
			t.Error("the box that leaves them out is not ticked")
		}
	})
	t.Run("when somebody asks for it", func(t *testing.T) {
		b := b.in(t)
		var found struct {
			Items []struct{ FinishedAt time.Time }
		}
		g.Must("GET", "/internal/v1/deliveries?partnerCode="+code+"&state=delivered&reference="+failed[0].EventID, nil, http.StatusOK, &found)
		if len(found.Items) != 1 {
			t.Fatalf("%d deliveries of the event are delivered", len(found.Items))
		}
		b.visit("/ops/reconcile")
		b.fill("references", failed[0].EventID)
		b.press("Look them up")
		b.sees("1 reference\n")
		said := value[[]string](b, `[...document.querySelectorAll("tbody td")].filter(c => /^\s*delivered/im.test(c.innerText)).flatMap(c => [...c.querySelectorAll("time")].map(t => t.dateTime))`)
		if len(said) != 1 {
			t.Fatalf("beside \"delivered\" stand the times %q, want one:\n%s", said, b.text())
		}
		if at, err := time.Parse(time.RFC3339, said[0]); err != nil || at.Sub(found.Items[0].FinishedAt).Abs() > time.Second {
			t.Errorf("delivered %s, by the page %s (%v)", found.Items[0].FinishedAt, said[0], err)
		}
	})
}

// One host is blamed for what several partners miss only if all of them miss
// it, and in the same way.
func TestAHostIsBlamedForWhatAllItsPartnersMiss(t *testing.T) {
	t.Parallel()
	g := start(t)
	unavailable := receiver.Answer{Status: http.StatusServiceUnavailable}
	customer(t, g, "acme", oneHost, unavailable)
	globex, _ := customer(t, g, "globex", oneHost, receiver.Answer{Status: http.StatusUnauthorized})
	for _, code := range []string{"acme", "globex"} {
		meets(t, g, code, 1)
	}
	rewrite(t, g, aMinutePasses)

	b := operator(t, g)
	b.visit("/ops")
	verdict := func() string { return value[string](b, `document.getElementById("verdict-title").innerText`) }
	const shared = "the host 127.0.0.1, which acme and globex share"
	b.sees("It is them")
	if said := verdict(); !strings.Contains(said, "2 of 2 partners fail") {
		t.Errorf("with 503 and 401 the verdict is: %s", said)
	}
	globex.be(unavailable)
	meets(t, g, "globex", 1)
	b.sees(shared)
	customer(t, g, "initech", oneHost, receiver.OK)
	meets(t, g, "initech", 1)
	stage.Asking(t, patience, "the host serves another partner, and is not blamed", func() bool {
		return strings.Contains(verdict(), "2 of 3 partners fail")
	})
}

// Everything that waits is counted, beside the share that succeeds, and no
// incident is over because an hour is.
func TestWhatWaitsIsCountedForAllWhoFail(t *testing.T) {
	t.Parallel()
	g := start(t)
	customer(t, g, "initech", oneHost, receiver.OK)
	meets(t, g, "initech", 4)
	for _, down := range []struct {
		code, host string
		waiting    int
	}{{"acme", oneHost, 3}, {"globex", otherHost, 2}} {
		_, endpoint := customer(t, g, down.code, down.host, receiver.Answer{Status: http.StatusServiceUnavailable})
		meets(t, g, down.code, 1)
		g.Must("POST", "/internal/v1/endpoints/"+endpoint+"/open-breaker", map[string]any{"reason": "they are down"}, http.StatusOK, nil)
		postEvents(g, down.code, down.waiting)
	}
	rewrite(t, g, aMinutePasses)

	b := operator(t, g)
	b.visit("/ops")
	b.sees("It is them")
	if said := value[string](b, `document.querySelector("#verdict .lead").innerText`); !strings.HasPrefix(said, "5 deliveries") {
		t.Errorf("3 and 2 deliveries wait, and the verdict says: %s", said)
	}
	figure := func(label string) string {
		return value[string](b, fmt.Sprintf(`[...document.querySelectorAll("#strip .figure")].find(f => f.innerText.includes(%q)).innerText.replaceAll("\n", " ")`, label))
	}
	for _, hour := range []string{"this hour", "the next one"} {
		if said := figure("Attempts that succeed"); !strings.Contains(said, "50 %") || !strings.Contains(said, "of 8") || !strings.Contains(said, "5 wait") {
			t.Errorf("in %s, of 8 attempts 4 succeeded and 5 deliveries wait; the page says: %s", hour, said)
		}
		if said := figure("Delivered"); !strings.Contains(said, "4") {
			t.Errorf("in %s 4 were delivered a moment ago; the page says: %s", hour, said)
		}
		rewrite(t, g, anHourBegins)
		b.visit("/ops")
	}
}

// A partner that refuses everything is not shown as one that is well.
func TestAPartnerThatRefusesAllIsNotGreen(t *testing.T) {
	t.Parallel()
	g := start(t)
	customer(t, g, "acme", oneHost, receiver.Answer{Status: http.StatusUnauthorized})
	meets(t, g, "acme", 1)
	customer(t, g, "globex", oneHost, receiver.OK)
	meets(t, g, "globex", 1)
	rewrite(t, g, aMinutePasses)
	b := operator(t, g)
	b.visit("/ops/partners")
	for code, want := range map[string]string{"acme": "failing bad", "globex": "healthy good"} {
		said := value[string](b, fmt.Sprintf(`(row => { const pill = row.querySelector(".pill"); return pill.innerText + " " + pill.classList[1]; })(document.querySelector("a[href='/ops/partners/%s']").closest("tr"))`, code))
		if said != want {
			t.Errorf("%s is %q in the list, want %q", code, said, want)
		}
	}
}
