package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"ledgerhook/bench/stage"
)

// nuisance is one way in which a stranger or a partner takes what another
// partner needs.
type nuisance struct {
	name string
	// start begins it on the scene's gateways and returns once it is under way.
	// It goes on until end is closed. load, if not nil, says what it does.
	start func(s *scene, end <-chan struct{}) (load fmt.Stringer)
}

// nuisances are held to one promise: another partner's deliveries, the posts of
// its events and its token calls take at most farFrom times as long as alone.
var nuisances = []nuisance{
	{"900 test deliveries", testDeliveries},
	{"20 endpoints of slow answers", slowAnswers},
	{"1000 sign-ins", signIns},
	{"600 live pages of one viewer", streams},
}

const (
	// nuisanceTime is how long each of them is measured, nuisanceRuns times.
	nuisanceTime = 20 * time.Second
	nuisanceRuns = 3
	// unnoticed is what nobody waits for: a busy machine alone makes that
	// difference between two runs.
	unnoticed = 50 * time.Millisecond
)

// tokenRate is how many token calls the partner makes a second.
const tokenRate = 10

// pace is how a partner got through: the posts of its events, their deliveries,
// and token calls.
type pace struct {
	post, delivery, token latency
	load                  fmt.Stringer // of what went on beside it
}

// disturbed measures a partner alone and beside each nuisance so many times,
// prints a table of the middle ones and says which promises are broken.
func (b bench) disturbed(ctx context.Context, only string, lasts time.Duration, runs int) error {
	rows := []nuisance{{"alone", func(*scene, <-chan struct{}) fmt.Stringer { return nil }}}
	for _, n := range nuisances {
		if strings.Contains(n.name, only) {
			rows = append(rows, n)
		}
	}
	all := make([][]pace, len(rows))
	for range runs { // one row after the other, so that all have the same good and bad moments of the machine
		for i, n := range rows {
			err := stage.Try(ctx, n.name, func(t *stage.Trial) { all[i] = append(all[i], b.beside(t, n, lasts)) })
			if err != nil {
				return err
			}
		}
	}
	var paces []pace
	for _, of := range all {
		paces = append(paces, middle(of))
	}
	fmt.Printf("\na partner at %d/s for %s beside one that takes what it can, the middle of %d runs\n", healthyRate, lasts, runs)
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tpost p50 ms\tpost p99 ms\tagainst alone\tdelivery p50 ms\tdelivery p99 ms\tagainst alone\ttoken p50 ms\ttoken p99 ms\tagainst alone\t")
	var broken []error
	for i, p := range paces {
		fmt.Fprint(table, rows[i].name)
		for _, l := range [][2]latency{{p.post, paces[0].post}, {p.delivery, paces[0].delivery}, {p.token, paces[0].token}} {
			fmt.Fprintf(table, "\t%d\t%d\t%.2f", l[0].p50.Milliseconds(), l[0].p99.Milliseconds(), l[0].against(l[1]))
		}
		fmt.Fprintln(table, "\t")
		broken = append(broken, p.promised(rows[i].name, paces[0]))
	}
	broken = append(broken, table.Flush())
	for i, p := range paces {
		if p.load != nil {
			fmt.Printf("%s: %s\n", rows[i].name, p.load)
		}
	}
	return errors.Join(broken...)
}

// middle is what lies in the middle of runs, each latency by itself.
func middle(runs []pace) pace {
	of := func(which func(pace) latency) (l latency) {
		var p50, p99 []time.Duration
		for _, p := range runs {
			p50, p99 = append(p50, which(p).p50), append(p99, which(p).p99)
		}
		return latency{stage.Percentile(p50, 50), stage.Percentile(p99, 50)}
	}
	return pace{
		of(func(p pace) latency { return p.post }), of(func(p pace) latency { return p.delivery }), of(func(p pace) latency { return p.token }),
		runs[len(runs)-1].load,
	}
}

// promised says which promises are broken beside somebody.
func (p pace) promised(beside string, alone pace) (broken error) {
	for what, l := range map[string][2]latency{"posts": {p.post, alone.post}, "deliveries": {p.delivery, alone.delivery}, "token calls": {p.token, alone.token}} {
		if l[0].p99 > max(farFrom*l[1].p99, unnoticed) {
			broken = errors.Join(broken, fmt.Errorf("beside %s the p99 of another partner's %s rose from %s to %s", beside, what, l[1].p99, l[0].p99))
		}
	}
	return broken
}

// against is how many times the p99 alone l's is.
func (l latency) against(alone latency) float64 { return float64(l.p99) / float64(alone.p99) }

// beside measures a partner while n goes on.
func (b bench) beside(t stage.T, n nuisance, lasts time.Duration) (result pace) {
	b.inject(t, fault{alone: true, play: func(s *scene, _ fault) {
		p := s.partner(32, stage.TakeAll)
		end := make(chan struct{})
		s.warm()
		beside := n.start(s, end)
		s.Cleanup(func() { close(end) }) // before the receivers' servers close, which wait for their requests
		load := stage.Produce(s.api(), p.Code, healthyRate*int(lasts/time.Second), healthyRate)
		tokens := askTokens(s, p, tokenRate*int(lasts/time.Second))
		load.Finish()
		stage.Eventually(s, time.Minute, "the partner has taken everything", func() bool { return p.Has() == load.Has() })
		result = pace{spread(load.Posting()), latencies(load.Times(), p.Taken()), spread(<-tokens), beside}
	}})
	return result
}

// warm has the gateway do all that is measured, so that no measurement is of
// how it opens its connections.
func (s *scene) warm() {
	s.Helper()
	p := s.partner(32, stage.TakeAll)
	tokens := askTokens(s, p, tokenRate)
	load := stage.Produce(s.api(), p.Code, healthyRate, healthyRate)
	load.Finish()
	stage.Eventually(s, time.Minute, "the gateway is warm", func() bool { return p.Has() == load.Has() })
	<-tokens
}

// askTokens makes n token calls, each of them on time however long the one
// before takes, and then tells how long they took: one that is refused until it
// is granted.
func askTokens(s *scene, p *stage.Partner, n int) <-chan []time.Duration {
	all := make(chan []time.Duration, 1)
	took := make(chan time.Duration, n)
	go func() {
		tick := time.NewTicker(time.Second / tokenRate)
		defer tick.Stop()
		for turn := range n {
			go func() {
				began := time.Now()
				d, err := p.Token(fmt.Sprintf("user%d@example.com", turn))
				for err != nil && s.Context().Err() == nil && time.Since(began) < time.Minute {
					_, err = p.Token(fmt.Sprintf("user%d@example.com", turn))
					d = time.Since(began)
				}
				if err != nil {
					s.Error(err)
				}
				took <- d
			}()
			<-tick.C
		}
		var list []time.Duration
		for range n {
			list = append(list, <-took)
		}
		all <- list
	}()
	return all
}

// spread is the latency that durations have; it sorts them.
func spread(took []time.Duration) latency {
	return latency{stage.Percentile(took, 50), stage.Percentile(took, 99)}
}

// testDeliveries tries one endpoint 900 times as fast as it is let.
func testDeliveries(s *scene, _ <-chan struct{}) fmt.Stringer {
	server := startDripping(s)
	server.slow()
	p := s.partner(2, stage.TakeAll)
	s.patch(p, map[string]any{"url": server.url, "ackMode": "body"})
	internal, _ := s.api().Reach()
	address := strings.TrimPrefix(internal, "http://")
	test := post(address, "/internal/v1/endpoints/"+p.Endpoint+"/test", "Content-Type: application/json\r\nAuthorization: Bearer "+stage.TestToken, "{}")
	return gather(s, &crowd{Address: address, Turns: 900, Requests: slices.Repeat([][]byte{test}, 16)})
}

// slowAnswers has a partner's 20 endpoints earn wide windows with quick
// answers and then answer slowly, with more to take than all slots.
func slowAnswers(s *scene, end <-chan struct{}) fmt.Stringer {
	const endpoints, window = 20, 64
	p := s.partner(window, stage.TakeAll)
	server := startDripping(s)
	// An attempt reads such a body up to its deadline.
	s.patch(p, map[string]any{"url": server.url, "ackMode": "body"})
	for range endpoints - 1 {
		id := p.AddEndpoint(server.url)
		s.api().Must("PATCH", "/internal/v1/endpoints/"+id, map[string]any{"maxInFlight": window, "ackMode": "body"}, http.StatusOK, nil)
	}
	stage.PostFrom(s.api(), p.Code, 0, window)
	for _, d := range s.api().Await(p.Code, time.Minute) {
		if d.State != "delivered" {
			s.Fatalf("delivery %s is %s before anything is slow", d.DeliveryID, d.State)
		}
	}
	server.slow()
	go func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for i := window; ; i++ {
			select {
			case <-tick.C:
				_, _ = s.api().Call("POST", "/internal/v1/events", stage.Event(p.Code, i))
			case <-end:
				return
			case <-s.Context().Done():
				return
			}
		}
	}()
	return nil
}
