package ops

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledgerhook/dashboard/shell"
	"ledgerhook/incidents"
	"ledgerhook/ledger/reports"
	"ledgerhook/orders"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// noon is when the verdicts of these tests are asked for.
var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func known[T any](v T) shell.Reading[T] {
	return shell.Reading[T]{Value: v, At: noon, Known: true, Fresh: true}
}

// allWell is evidence of a gateway without any trouble.
func allWell() evidence {
	return evidence{
		Now: noon,
		Situation: known(reports.Situation{AsOf: noon, Workers: 2, Endpoints: 12, Partners: 10, Hosts: 9, EventsLastMinute: 40,
			LastEvents: map[webhook.Type]time.Time{webhook.TopupCard: noon.Add(-time.Second)}, LastDelivered: noon.Add(-time.Second)}),
		Workers: known([]reports.WorkerLease{{Host: "a/1", Alive: true, Canary: reports.Canary{At: noon, Age: time.Second, RoundTrip: 14 * time.Millisecond}},
			{Host: "b/2", Alive: true, Canary: reports.Canary{At: noon, Age: 3 * time.Second, RoundTrip: 9 * time.Millisecond}}}),
		Partners:  known([]reports.FailingPartner(nil)),
		Hosts:     known([]reports.FailingHost(nil)),
		Slow:      known([]reports.SlowPartner(nil)),
		Conflicts: known([]orders.Conflict(nil)),
		Stores:    known([]web.Finding{{Name: "queue"}, {Name: "ledger"}, {Name: "process"}}),
		Rates:     known([]orders.Rate{{Crypto: "USDT", WalletAddress: "T1", UpdatedAt: noon.Add(-time.Minute)}}),
		RateAge:   5 * time.Minute,
	}
}

// silent is a source of so many events a day of which none has come for a time.
func silent(since time.Duration, eventsLastDay int) func(*evidence) {
	return func(e *evidence) {
		e.Situation.Value.LastEvents[webhook.TopupCard] = noon.Add(-since)
		e.Situation.Value.EventsLastDay = eventsLastDay
	}
}

func TestTheVerdictNamesWhoseTroubleItIsAndWhy(t *testing.T) {
	one := reports.FailingPartner{PartnerCode: "acme", FailingSince: noon.Add(-10 * time.Minute), LastSuccess: noon.Add(-11 * time.Minute), Endpoints: 1, Waiting: 48,
		Last: webhook.LastResult{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorHTTP4xx, StatusCode: 401}, Attempts: 240, Alike: 240}
	for _, tt := range []struct {
		name   string
		change func(e *evidence)
		side   side
		tone   string
		says   []string // of the sentence and what follows
		check  string   // the rule that found it
	}{
		{"nothing", func(*evidence) {}, sideNobody, "good", []string{"All is well", "12 endpoints of 10 partners"}, ""},
		{"one endpoint", func(e *evidence) { e.Situation.Value.Endpoints, e.Situation.Value.Partners = 1, 1 }, sideNobody, "good", []string{"1 endpoint of 1 partner is served"}, ""},
		{"no endpoint yet", func(e *evidence) { e.Situation.Value.Endpoints = 0 }, sideNobody, "idle", []string{"Nothing to judge yet"}, ""},
		{"nothing delivered yet", func(e *evidence) { e.Situation.Value.LastDelivered = time.Time{} }, sideNobody, "good", []string{"nothing has been delivered yet"}, ""},
		{"the ledger is away", func(e *evidence) { *e = evidence{Now: noon} }, sideUnknown, "bad", []string{"the ledger does not answer"}, "Ledger"},
		{"a store takes nothing", func(e *evidence) {
			e.Stores.Value[0].Err = errors.New("READONLY You can't write")
			e.Situation.Value.OldestQueued = noon.Add(-2 * time.Minute)
		}, sideUs, "bad", []string{"queue accepts no writes", "READONLY", "more workers do not help"}, "Stores"},
		{"no worker", func(e *evidence) { e.Situation.Value.Workers = 0 }, sideUs, "bad", []string{"no worker is running"}, "Workers"},
		{"the canary fails", func(e *evidence) { e.Workers.Value[1].Canary.Failure = "it does not verify" }, sideUs, "bad", []string{"on 1 of 2 workers", "it does not verify", "b/2"}, "Canary"},
		{"an old rate", func(e *evidence) { e.Rates.Value[0].UpdatedAt = noon.Add(-3 * time.Hour) }, sideUs, "bad", []string{"no quotes", "that of USDT is 3 h old"}, "Rates and quotes"},
		{"one of two rates is old", func(e *evidence) {
			e.Rates.Value = append(e.Rates.Value, orders.Rate{Crypto: "BTC", WalletAddress: "B1", UpdatedAt: noon.Add(-time.Hour)})
		}, sideUs, "warn", []string{"1 of 2 rates", "that of BTC is 1 h old"}, "Rates and quotes"},
		{"a rate without a wallet", func(e *evidence) { e.Rates.Value[0].WalletAddress = "" }, sideUs, "bad", []string{"that of USDT has no wallet"}, "Rates and quotes"},
		{"quotes without a rate", func(e *evidence) {
			e.Rates.Value, e.Quotes = nil, failedQuotes{3, "CRYPTO_NOT_SUPPORTED", noon.Add(-time.Second)}
		}, sideUs, "bad", []string{"quotes are requested and no rate is set"}, "Rates and quotes"},
		{"quotes that fail", func(e *evidence) { e.Quotes = failedQuotes{3, "INTERNAL_ERROR", noon.Add(-time.Second)} }, sideUs, "bad", []string{"3 quotes failed in a row", "INTERNAL_ERROR"}, "Rates and quotes"},
		{"no rate and no quote", func(e *evidence) { e.Rates.Value = nil }, sideNobody, "good", []string{"All is well"}, ""},
		{"a quote in what is not traded", func(e *evidence) { e.Quotes = failedQuotes{1, "CRYPTO_NOT_SUPPORTED", noon} }, sideNobody, "good", []string{"All is well"}, ""},
		{"a quote that failed an hour ago", func(e *evidence) { e.Quotes = failedQuotes{1, "INTERNAL_ERROR", noon.Add(-time.Hour)} }, sideNobody, "good", []string{"All is well"}, ""},
		{"an internal error", func(e *evidence) { e.Situation.Value.InternalErrors = 1 }, sideUs, "bad", []string{"1 delivery failed by a fault of the gateway"}, "Internal errors"},
		{"very many", func(e *evidence) { e.Situation.Value.InternalErrors = reports.MaxCounted }, sideUs, "bad", []string{"at least 10,000 deliveries"}, "Internal errors"},
		{"nobody fetches", func(e *evidence) { e.Situation.Value.OldestQueued = noon.Add(-2 * time.Minute) }, sideUs, "bad", []string{"queue is behind", "2 m", "no worker has taken it"}, "Backlog"},
		{"nobody admits", func(e *evidence) { e.Situation.Value.OldestDue = noon.Add(-time.Hour) }, sideUs, "bad", []string{"1 h", "not admitted"}, "Backlog"},
		{"nobody promotes", func(e *evidence) { e.Situation.Value.OldestWake = noon.Add(-time.Hour) }, sideUs, "bad", []string{"not looked at"}, "Backlog"},
		{"a short queue", func(e *evidence) { e.Situation.Value.OldestQueued = noon.Add(-29 * time.Second) }, sideNobody, "good", nil, ""},
		{"a silent source", silent(6*time.Minute, 8640), sideSource, "warn", []string{"no event has come in for 6 m", "one every 10 s is usual"}, "Source"},
		{"a very busy one", silent(6*time.Minute, reports.MaxCounted), sideSource, "warn", []string{"one every 8.6 s or sooner is usual"}, "Source"},
		{"a pause of a busy source", silent(5*time.Minute, reports.MaxCounted), sideNobody, "good", nil, ""},
		{"a silent source of few", silent(2*time.Hour+time.Second, silenceFrom), sideSource, "warn", []string{"one every 6 m is usual"}, "Source"},
		{"a pause of a source of few", silent(2*time.Hour, silenceFrom), sideNobody, "good", nil, ""},
		{"a quiet source", silent(6*time.Hour, silenceFrom-1), sideNobody, "good", nil, ""},
		{"most hosts fail", func(e *evidence) {
			e.Situation.Value.HostsFailing = 5
			e.Partners = known([]reports.FailingPartner{one, {PartnerCode: "b"}, {PartnerCode: "c"}})
		}, sideUs, "bad", []string{"Probably us: 5 of 9 hosts"}, "Way out"},
		{"one host of many partners", func(e *evidence) {
			e.Partners = known([]reports.FailingPartner{one, {PartnerCode: "b"}})
			e.Hosts = known([]reports.FailingHost{{Host: "hooks.example", Partners: []string{"acme", "b"}, FailingSince: noon.Add(-10 * time.Minute), Waiting: 3}})
		}, sideThem, "warn", []string{"the host hooks.example, which acme and b share, has failed for 10 m", "3 deliveries are waiting"}, "Shared hosts"},
		{"a host that serves others", func(e *evidence) {
			e.Partners = known([]reports.FailingPartner{one, {PartnerCode: "b"}})
			e.Hosts = known([]reports.FailingHost{{Host: "hooks.example", Partners: []string{"acme", "b"}, FailingSince: noon.Add(-10 * time.Minute), Served: 1}})
		}, sideThem, "warn", []string{"2 of 10 partners fail, worst acme"}, "Receivers"},
		{"a host of different failures", func(e *evidence) {
			e.Partners = known([]reports.FailingPartner{one, {PartnerCode: "b"}})
			e.Hosts = known([]reports.FailingHost{{Host: "hooks.example", Partners: []string{"acme", "b"}, FailingSince: noon.Add(-10 * time.Minute), Differ: true}})
		}, sideThem, "warn", []string{"2 of 10 partners fail, worst acme"}, "Receivers"},
		{"one partner alone", func(e *evidence) {
			e.Partners, e.Situation.Value.WaitingFailing = known([]reports.FailingPartner{one}), 48
		}, sideThem, "warn", []string{"only acme fails, for 10 m (answered 401, 100 % of 240), last success 11 m ago; the other 9 are served", "48 deliveries are waiting"}, "Receivers"},
		{"some partners", func(e *evidence) {
			changing := one
			changing.Alike = 12
			e.Partners, e.Situation.Value.WaitingFailing = known([]reports.FailingPartner{changing, {PartnerCode: "b", Waiting: 40}}), 88
		}, sideThem, "warn", []string{"2 of 10 partners fail, worst acme (answered 401, the last 12 of 240)", "the other 8 are served", "88 deliveries are waiting"}, "Receivers"},
		{"a slow partner", func(e *evidence) {
			e.Slow = known([]reports.SlowPartner{{PartnerCode: "mekongex", Waiting: 7,
				Pace: webhook.Pace{Took: 6600 * time.Millisecond, Usual: 330 * time.Millisecond, SlowSince: noon.Add(-46 * time.Minute)}}})
		}, sideThem, "warn", []string{"It is them: mekongex answers in 6.6 s, 20 times its usual, since 11:14.", "7 wait for one"}, "Pace of receivers"},
		{"slow partners since yesterday", func(e *evidence) {
			pace := webhook.Pace{Took: 8 * time.Second, Usual: time.Second, SlowSince: noon.Add(-13 * time.Hour)}
			e.Slow = known([]reports.SlowPartner{{PartnerCode: "acme", Pace: pace, Waiting: 1}, {PartnerCode: "b", Pace: pace}})
		}, sideThem, "warn", []string{"2 partners are slow, worst acme: it answers in 8 s, 8 times its usual, since 2026-03-03 23:00", "1 waits for one"}, "Pace of receivers"},
		{"a slow partner and one that fails", func(e *evidence) {
			e.Partners, e.Slow = known([]reports.FailingPartner{one}), known([]reports.SlowPartner{{PartnerCode: "b"}})
		}, sideThem, "warn", []string{"only acme fails"}, "Receivers"},
		{"a receiver without room", func(e *evidence) { e.Situation.Value.OldestWithoutRoom = noon.Add(-4 * time.Minute) }, sideThem, "warn", []string{"waited 4 m for room"}, "Room at receivers"},
		{"paused", func(e *evidence) { e.Situation.Value.Paused, e.Situation.Value.Held = 1, 7 }, sideSettings, "warn", []string{"7 deliveries are held", "1 endpoint paused"}, "Settings"},
		{"paused, and nothing waits", func(e *evidence) { e.Situation.Value.Paused = 1 }, sideNobody, "good", nil, ""},
		{"disabled for failures", func(e *evidence) {
			e.Situation.Value.Disabled, e.Situation.Value.SelfDisabled, e.Situation.Value.Held = 2, 1, 1
		}, sideSettings, "warn", []string{"1 delivery is held", "1 endpoint disabled and 1 endpoint disabled for failures"}, "Settings"},
		{"no endpoint of a partner", func(e *evidence) { e.Situation.Value.WaitingForEndpoint = 3 }, sideSettings, "warn", []string{"3 without an endpoint"}, "Settings"},
		{"a clock that is wrong", func(e *evidence) { e.Workers.Value[1].Ahead = -40 * 24 * time.Hour }, sideUs, "bad", []string{"b/2 is 40 d", "database's"}, "Clocks"},
		{"money in question", func(e *evidence) {
			e.Conflicts = known([]orders.Conflict{{OrderID: "ord_1", ExternalOrderID: "shop-1"}, {}})
		}, sideOrders, "bad", []string{"shop-1 has failed", "2 conflicts to settle"}, "Orders"},
		{"a breaker opened by hand", func(e *evidence) { e.Situation.Value.Breakers = 1 }, sideSettings, "warn", []string{"1 breaker open though nothing fails"}, "Settings"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := allWell()
			tt.change(&e)
			v := judge(e)
			if v.Side != tt.side || v.Tone != tt.tone || len(v.Checks) != len(rules) {
				t.Errorf("%s, %s: %q", v.Side, v.Tone, v.Sentence)
			}
			for _, text := range tt.says {
				if !strings.Contains(v.Sentence+" "+v.Next, text) {
					t.Errorf("%q, %q lack %q", v.Sentence, v.Next, text)
				}
			}
			first := ""
			for _, c := range v.Checks {
				if c.Found == hit && first == "" {
					first = c.Name
				}
				if c.Found != unknown && c.Says == "" {
					t.Errorf("%s does not say why", c.Name)
				}
			}
			if first != tt.check {
				t.Errorf("found by %q, not %q", first, tt.check)
			}
		})
	}
}

// What was given up in the last day leads to its replay, but never to that of
// others beside a verdict that names whose trouble it is.
func TestTheVerdictLeadsToTheReplayOfWhomItNames(t *testing.T) {
	day := make([]reports.PeriodCount, 25)
	day[3].Exhausted = 2
	for name, tt := range map[string]struct {
		change func(e *evidence)
		failed string
	}{
		"nobody": {func(*evidence) {}, "state:exhausted settled:no since:24h"},
		"us":     {func(e *evidence) { e.Situation.Value.Workers = 0 }, "state:exhausted settled:no since:24h"},
		"one that gave up": {func(e *evidence) {
			e.Partners = known([]reports.FailingPartner{{PartnerCode: "acme", FailingSince: noon, GivenUp: 1}})
		}, "partner:acme state:exhausted settled:no since:24h"},
		"one that gave up nothing": {func(e *evidence) {
			e.Partners = known([]reports.FailingPartner{{PartnerCode: "acme", FailingSince: noon}})
		}, ""},
		"a slow one": {func(e *evidence) { e.Slow = known([]reports.SlowPartner{{PartnerCode: "acme"}}) }, ""},
		"a host of two": {func(e *evidence) {
			e.Hosts = known([]reports.FailingHost{{Host: "hooks.example", Partners: []string{"acme", "b"}, FailingSince: noon}})
		}, ""},
		"a host of two, one of which gave up": {func(e *evidence) {
			e.Hosts = known([]reports.FailingHost{{Host: "hooks.example", Partners: []string{"acme", "b"}, FailingSince: noon}})
			e.Partners = known([]reports.FailingPartner{{PartnerCode: "acme", FailingSince: noon, GivenUp: 3}, {PartnerCode: "c", FailingSince: noon, GivenUp: 3}})
		}, "partner:acme state:exhausted settled:no since:24h"},
		"three, of which two gave up": {func(e *evidence) {
			e.Partners = known([]reports.FailingPartner{{PartnerCode: "acme", FailingSince: noon, GivenUp: 3}, {PartnerCode: "b", FailingSince: noon},
				{PartnerCode: "c", FailingSince: e.Now.Add(-25 * time.Hour), GivenUp: 1}})
		}, "partner:acme,c state:exhausted settled:no since:7d"},
	} {
		e := allWell()
		tt.change(&e)
		if got := judge(e).withGivenUp(known(day)).Failed; got != tt.failed {
			t.Errorf("%s: %q, want %q", name, got, tt.failed)
		}
	}
	day[9].Settled = 2
	if got := judge(allWell()).withGivenUp(known(day)).Failed; got != "" {
		t.Errorf("of what was delivered by another: %q", got)
	}
}

func TestAFaultOfOursIsNamedBeforeTheirs(t *testing.T) {
	e := allWell()
	e.Partners = known([]reports.FailingPartner{{PartnerCode: "acme", FailingSince: noon}})
	e.Situation.Value.InternalErrors = 3
	if v := judge(e); v.Side != sideUs {
		t.Errorf("%+v", v)
	}
}

func TestWhatIsNotKnownIsNeverAllWell(t *testing.T) {
	for name, hide := range map[string]func(*evidence){
		"situation": func(e *evidence) { e.Situation.Fresh = false },
		"workers":   func(e *evidence) { e.Workers.Fresh = false },
		"partners":  func(e *evidence) { e.Partners.Fresh = false },
		"hosts":     func(e *evidence) { e.Hosts.Fresh = false },
		"slow ones": func(e *evidence) { e.Slow.Fresh = false },
		"no canary": func(e *evidence) {
			for i := range e.Workers.Value {
				e.Workers.Value[i].Canary = reports.Canary{}
			}
		},
		"an old canary": func(e *evidence) {
			for i := range e.Workers.Value {
				e.Workers.Value[i].Canary.Age = time.Minute
			}
		},
	} {
		e := allWell()
		hide(&e)
		if v := judge(e); v.Side != sideUnknown || v.Tone != "warn" || !strings.Contains(v.Sentence, "not everything is known") {
			t.Errorf("%s: %s, %q", name, v.Side, v.Sentence)
		}
	}
}

func TestAnyEvidenceGivesOneReasonedVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := allWell()
		s := &e.Situation.Value
		number := rapid.IntRange(0, 12)
		age := rapid.Map(rapid.IntRange(0, 7200), func(n int) time.Time {
			if n == 0 {
				return time.Time{}
			}
			return noon.Add(-time.Duration(n) * time.Second)
		})
		for _, n := range []*int{&s.Workers, &s.InternalErrors, &s.Endpoints, &s.HostsFailing, &s.Paused, &s.Breakers} {
			*n = number.Draw(t, "n")
		}
		for _, at := range []*time.Time{&s.OldestQueued, &s.OldestDue, &s.OldestWake, &s.OldestWithoutRoom} {
			*at = age.Draw(t, "at")
		}
		s.Held = int64(number.Draw(t, "held"))
		flag := rapid.Bool()
		e.Situation.Fresh, e.Workers.Fresh = flag.Draw(t, "situation"), flag.Draw(t, "workers")
		e.Partners.Fresh, e.Hosts.Fresh = flag.Draw(t, "partners"), flag.Draw(t, "hosts")
		v := judge(e)
		if v.Sentence == "" || v.Next == "" || v.Tone == "" || strings.Contains(v.Sentence, "%!") {
			t.Fatalf("%+v", v)
		}
		for _, c := range v.Checks {
			if c.Found != fine && v.Tone == "good" {
				t.Fatalf("%q though %s is %v", v.Sentence, c.Name, c.Found)
			}
		}
		if again := judge(e); again.Sentence != v.Sentence {
			t.Fatalf("%q, then %q", v.Sentence, again.Sentence)
		}
	})
}

func TestTheFirstPageSaysHowManyIncidentsAreOpen(t *testing.T) {
	for want, open := range map[string]shell.Reading[[]incidents.Incident]{
		"":                                    known([]incidents.Incident(nil)),
		"1 open incident, 1 not acknowledged": known(make([]incidents.Incident, 1)),
		"199 open incidents, 199 not acknowledged":         known(make([]incidents.Incident, 199)),
		"200 or more open incidents, 200 not acknowledged": known(make([]incidents.Incident, incidents.MaxListed)),
		"open incidents: not known just now":               {Err: errors.New("no answer in time")},
	} {
		if says := (overviewView{Incidents: open}).OpenIncidents(); says != want {
			t.Errorf("%q, want %q", says, want)
		}
	}
}
