package incidents

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ledgerhook/webhook"
)

var testRules = Rules{Breaker: 5 * time.Minute, Exhausted: 1, Waiting: 15 * time.Minute, Certificate: 14 * 24 * time.Hour, Disabled: true,
	Canary: time.Minute, Backlog: 2 * time.Minute, Egress: time.Minute, Rates: 10 * time.Minute, Settle: 15 * time.Minute}

// began is when every story of these tests begins.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// story is a gateway whose signals a test changes, looked at every LookEvery.
type story struct {
	rules   Rules
	signals Signals
	now     time.Time
	known   []Incident
	said    []string // what happened, with the time since the beginning
	quiet   bool     // nothing looks
}

// pass lets so much time pass.
func (s *story) pass(d time.Duration) {
	for end := s.now.Add(d); s.now.Before(end); {
		s.now = s.now.Add(LookEvery)
		if !s.quiet {
			s.look()
		}
	}
}

func (s *story) look() {
	for _, c := range Decide(s.rules, s.signals, s.known, s.now) {
		s.known = slices.DeleteFunc(s.known, func(i Incident) bool { return i.ID == c.ID })
		if c.State != Closed && c.Act != ActForget {
			s.known = append(s.known, c.Incident)
		}
		if c.Act != ActWatch && c.Act != ActRestart && c.Act != ActForget {
			s.said = append(s.said, fmt.Sprintf("%s %s %s", s.now.Sub(began), c.Act, strings.TrimSuffix(string(c.Kind)+" "+c.Subject, " ")))
		}
	}
	for n := range s.known {
		if s.known[n].State == Watched {
			s.known[n].LookedAt = s.now
		}
	}
}

func (s *story) check(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(s.said, want) {
		t.Errorf("what happened:\n%s\nwant:\n%s", strings.Join(s.said, "\n"), strings.Join(want, "\n"))
	}
}

func newStory() *story { return &story{rules: testRules, now: began} }

// broken is an endpoint whose breaker is open.
func broken(id string) EndpointSignals {
	return EndpointSignals{ID: id, PartnerCode: "acme", URL: "https://acme.example/hooks", BreakerOpen: true, FailingSince: began, Last: webhook.LastResult{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorHTTP5xx, StatusCode: 503}}
}

func TestABreakerThatStaysOpenIsAnIncidentUntilItHasSettled(t *testing.T) {
	s := newStory()
	s.signals.Endpoints = []EndpointSignals{broken("ep_1")}
	s.pass(10 * time.Minute)
	s.signals.Endpoints = nil
	s.pass(30 * time.Minute)
	s.check(t, "5m15s open failing ep_1", "10m15s clear failing ep_1", "25m15s close failing ep_1")
}

func TestABreakerThatOpensForAMomentTellsNobody(t *testing.T) {
	s := newStory()
	for range 10 { // and again, each time for less than the rule asks
		s.signals.Endpoints = []EndpointSignals{broken("ep_1")}
		s.pass(4 * time.Minute)
		s.signals.Endpoints = nil
		s.pass(time.Minute)
	}
	s.check(t)
}

func TestAFaultThatComesBackBeforeItHasSettledIsTheSameIncident(t *testing.T) {
	s := newStory()
	s.signals.Endpoints = []EndpointSignals{broken("ep_1")}
	s.pass(6 * time.Minute)
	id := s.known[0].ID
	for range 5 {
		s.signals.Endpoints = nil
		s.pass(10 * time.Minute)
		s.signals.Endpoints = []EndpointSignals{broken("ep_1")}
		s.pass(10 * time.Minute)
	}
	opened := 0
	for _, said := range s.said {
		if strings.Contains(said, "open") {
			opened++
		}
		if strings.Contains(said, "close") {
			t.Errorf("it was closed: %s", said)
		}
	}
	if opened != 1 || len(s.known) != 1 || s.known[0].ID != id {
		t.Errorf("opened %d times: %v", opened, s.said)
	}
}

func TestEachFaultIsFoundByItsRule(t *testing.T) {
	tests := []struct {
		name string
		make func(s *Signals, now time.Time) // the fault, as it is at now
		want string                          // the first thing that happens within an hour
		off  func(r *Rules)
	}{
		{"breaker", func(s *Signals, _ time.Time) { s.Endpoints = []EndpointSignals{broken("ep_1")} }, "5m15s open failing ep_1", func(r *Rules) { r.Breaker = 0 }},
		{"given up", func(s *Signals, _ time.Time) { s.Endpoints = []EndpointSignals{{ID: "ep_1", Exhausted: 1}} }, "15s open failing ep_1", func(r *Rules) { r.Exhausted = 0 }},
		{"waiting", func(s *Signals, _ time.Time) { s.Endpoints = []EndpointSignals{{ID: "ep_1", OldestUntried: began}} }, "15m0s open failing ep_1", func(r *Rules) { r.Waiting = 0 }},
		{"disabled", func(s *Signals, _ time.Time) { s.Endpoints = []EndpointSignals{{ID: "ep_1", Disabled: true}} }, "15s open disabled ep_1", func(r *Rules) { r.Disabled = false }},
		{"certificate", func(s *Signals, _ time.Time) {
			s.Endpoints = []EndpointSignals{{ID: "ep_1", CertificateEnds: began.Add(14*24*time.Hour + 30*time.Minute)}}
		}, "30m15s open certificate ep_1", func(r *Rules) { r.Certificate = 0 }},
		{"canary", func(s *Signals, _ time.Time) { s.CanaryFailed = 1 }, "1m15s open canary", func(r *Rules) { r.Canary = 0 }},
		{"backlog", func(s *Signals, _ time.Time) { s.OldestReady = began }, "2m15s open backlog", func(r *Rules) { r.Backlog = 0 }},
		{"way out", func(s *Signals, _ time.Time) { s.Hosts, s.HostsFailing = 6, 3 }, "1m15s open egress", func(r *Rules) { r.Egress = 0 }},
		{"a few hosts", func(s *Signals, _ time.Time) { s.Hosts, s.HostsFailing = 7, 3 }, "", func(*Rules) {}},
		{"rates", func(s *Signals, _ time.Time) {
			s.RateAge, s.Rates = 5*time.Minute, []RateSignal{{"USDT", began}, {"BTC", began.Add(time.Hour)}}
		}, "15m15s open rates", func(r *Rules) { r.Rates = 0 }},
		{"a breaker opened by hand", func(s *Signals, _ time.Time) { s.Endpoints = []EndpointSignals{{ID: "ep_1"}} }, "", func(*Rules) {}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, off := range []bool{false, true} {
				s := newStory()
				want := test.want
				if off {
					test.off(&s.rules)
					want = ""
				}
				test.make(&s.signals, s.now)
				s.pass(time.Hour)
				if first := strings.Join(s.said, "\n"); first != want {
					t.Errorf("with the rule off %v: %q, want %q", off, first, want)
				}
			}
		})
	}
}

func TestTwoRulesThatFindTheSameFaultMakeOneIncident(t *testing.T) {
	s := newStory()
	s.signals.Endpoints = []EndpointSignals{broken("ep_1")}
	s.pass(6 * time.Minute)
	s.signals.Endpoints[0].Exhausted = 1000
	s.pass(time.Hour)
	s.signals.Endpoints[0].BreakerOpen = false // what was given up still counts
	s.pass(time.Hour)
	s.check(t, "5m15s open failing ep_1")
}

// While the gateway itself keeps receivers from being reached, no receiver is
// to blame: not then, and not until breakers that opened for it had the time to
// close.
func TestAFaultOfTheGatewayIsNeverAReceivers(t *testing.T) {
	for name, ours := range map[string]func(s *Signals, on bool){
		"canary":  func(s *Signals, on bool) { s.CanaryFailed = map[bool]int{true: 1}[on] },
		"egress":  func(s *Signals, on bool) { s.Hosts, s.HostsFailing = 3, map[bool]int{true: 3}[on] },
		"backlog": func(s *Signals, on bool) { s.OldestReady = map[bool]time.Time{true: began.Add(-time.Hour)}[on] },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			ours(&s.signals, true)
			s.signals.Endpoints = []EndpointSignals{broken("ep_1"), broken("ep_2"), {ID: "ep_3", Disabled: true}, {ID: "ep_4", Exhausted: 5}}
			s.pass(3 * time.Hour)
			ours(&s.signals, false)
			s.signals.Endpoints = []EndpointSignals{broken("ep_2")}
			s.pass(14 * time.Minute) // ep_2's breaker takes its time
			s.signals.Endpoints = nil
			s.pass(time.Hour)
			for _, said := range s.said {
				if !strings.HasSuffix(said, " "+name) {
					t.Errorf("somebody else was told: %s", said)
				}
			}
			if len(s.said) != 3 {
				t.Errorf("what happened: %q", s.said)
			}
		})
	}
}

func TestAReceiverThatStillFailsAfterOurFaultIsToldThen(t *testing.T) {
	s := newStory()
	s.signals.CanaryFailed = 1
	s.signals.Endpoints = []EndpointSignals{broken("ep_1")}
	s.pass(time.Hour)
	s.signals.CanaryFailed = 0
	s.pass(time.Hour)
	s.check(t, "1m15s open canary", "1h0m15s clear canary", "1h15m15s close canary", "1h20m15s open failing ep_1")
}

// What was so while nobody looked is not known: a gateway that was down for an
// hour blames nobody for it.
func TestTimeThatNobodyLookedDoesNotCount(t *testing.T) {
	s := newStory()
	s.signals.Endpoints = []EndpointSignals{broken("ep_1")}
	s.pass(time.Minute)
	s.quiet = true
	s.pass(time.Hour)
	s.quiet = false
	s.pass(4 * time.Minute)
	s.check(t)
	s.pass(2 * time.Minute)
	s.check(t, "1h6m15s open failing ep_1")
}

func TestPeopleAreRemindedThreeTimesUnlessSomebodyLooksAfterIt(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(i *Incident)
		want []string
	}{
		"nobody":       {func(*Incident) {}, []string{"5m15s open failing ep_1", "24h5m15s remind failing ep_1", "72h5m15s remind failing ep_1", "96h5m15s remind failing ep_1"}},
		"acknowledged": {func(i *Incident) { i.AckedAt = began }, []string{"5m15s open failing ep_1"}},
		"snoozed": {func(i *Incident) { i.SnoozedUntil = began.Add(80 * time.Hour) },
			[]string{"5m15s open failing ep_1", "80h0m0s remind failing ep_1", "96h5m15s remind failing ep_1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.signals.Endpoints = []EndpointSignals{broken("ep_1")}
			s.pass(6 * time.Minute)
			test.do(&s.known[0])
			s.pass(7 * 24 * time.Hour)
			s.check(t, test.want...)
		})
	}
}

func TestAClockThatIsSetBackHoldsNothingUp(t *testing.T) {
	s := newStory()
	s.signals.Endpoints = []EndpointSignals{broken("ep_1")}
	s.pass(time.Minute)
	s.now = s.now.Add(-10 * time.Hour)
	s.pass(6 * time.Minute)
	if len(s.said) != 1 {
		t.Errorf("what happened: %q", s.said)
	}
}
