package ledger_test

import (
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/reports"
	"ledgerhook/webhook"
)

func situation(t *testing.T, b *ledgertest.Bench) reports.Situation {
	t.Helper()
	s, err := b.Situation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOfAnEmptyLedgerNothingIsKnown(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := situation(t, b)
		s.AsOf = time.Time{}
		same(t, "situation", s, reports.Situation{LastEvents: map[webhook.Type]time.Time{}})
	})
}

func TestTheSituationTellsWhoseTroubleItIs(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		for _, code := range []string{"good", "bad", "shut", "lonely"} {
			b.Partner(t, code)
		}
		good, bad, shut := b.Endpoint(t, "good", 1), b.Endpoint(t, "bad", 8), b.Endpoint(t, "shut", 8)
		set(t, b, bad.ID, func(e *webhook.Endpoint) { e.URL = "https://bad.example.com/" })
		storeMany(t, b, "good", 1)
		record(t, b, take(t, b, one(t, b)), ok, delivered)
		ours := webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorInternal}
		storeMany(t, b, "bad", 1)
		send(t, b, b.Tickets(), ours, retryAt(time.Now().Add(time.Hour)))
		set(t, b, shut.ID, pause)
		storeMany(t, b, "shut", 2)
		storeMany(t, b, "lonely", 1)
		storeMany(t, b, "good", 3) // one goes, two wait for its slot
		change(t, b, "UPDATE windows SET failing_since = $1 WHERE endpoint_id = $2", time.Now().Add(-time.Hour).UnixMicro(), bad.ID)
		change(t, b, "UPDATE windows SET wake_at = 1000000 WHERE endpoint_id = $1", good.ID)
		change(t, b, "INSERT INTO workers (id, host, started_at, seen_at) VALUES ('wrk_dead', 'h', 1, 1)")
		if err := b.Heartbeat(t.Context(), "wrk_1", "h"); err != nil {
			t.Fatal(err)
		}
		change(t, b, "UPDATE workers SET seen_at = seen_at + 3600000000 WHERE id = 'wrk_1'") // lives for an hour, however long this takes
		s := situation(t, b)
		same(t, "endpoints", []int{s.Endpoints, s.EndpointsFailing, s.Breakers, s.Paused, s.Disabled}, []int{3, 1, 0, 1, 0})
		same(t, "partners", []int{s.Partners, s.PartnersFailing, s.PartnersDown, s.PartnersDisabled}, []int{3, 1, 1, 0})
		same(t, "hosts", []int{s.Hosts, s.HostsFailing}, []int{2, 1})
		same(t, "deliveries", []int64{s.InFlight, s.WaitingFirst, s.WaitingAgain, s.WaitingBlocked, s.Held, s.WaitingForEndpoint}, []int64{1, 4, 1, 0, 2, 1})
		same(t, "ours", []int{s.InternalErrors, s.Workers}, []int{1, 1})
		same(t, "events", s.EventsLastMinute, 8)
		same(t, "the oldest wake", s.OldestWake, time.Unix(1, 0).UTC())
		if s.LastEvents[webhook.TopupCard].IsZero() || len(s.LastEvents) != 1 {
			t.Errorf("newest events %v", s.LastEvents)
		}
		if s.OldestQueued.IsZero() || s.OldestWithoutRoom.IsZero() || !s.OldestDue.IsZero() || s.LastDelivered.IsZero() {
			t.Errorf("oldest queued %s, without room %s, due with room %s; delivered last %s", s.OldestQueued, s.OldestWithoutRoom, s.OldestDue, s.LastDelivered)
		}
		change(t, b, "UPDATE windows SET max_in_flight = 9, grown = 9 WHERE endpoint_id = $1", good.ID)
		if s := situation(t, b); s.OldestDue.IsZero() || !s.OldestWithoutRoom.IsZero() {
			t.Errorf("with room the oldest due is %s, without it %s", s.OldestDue, s.OldestWithoutRoom)
		}
	})
}

func TestFailingPartnersAndHostsAreFewAndTheWorstComeFirst(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		since := time.Now().Add(-time.Hour).Truncate(time.Microsecond).UTC()
		for _, code := range []string{"acme", "bad", "worse", "shut"} {
			b.Partner(t, code)
		}
		b.Endpoint(t, "acme", 8)
		bad, w1, w2, shut := b.Endpoint(t, "bad", 8), b.Endpoint(t, "worse", 8), b.Endpoint(t, "worse", 8, webhook.CreateCard), b.Endpoint(t, "shut", 8)
		set(t, b, w2.ID, func(e *webhook.Endpoint) { e.URL = "https://alone.example.com/" })
		set(t, b, shut.ID, pause)
		storeMany(t, b, "worse", 2)
		send(t, b, b.Tickets(), failed, retryAt(time.Now().Add(time.Hour)))
		for _, e := range []webhook.Endpoint{bad, w1, w2, shut} {
			change(t, b, "UPDATE windows SET failing_since = $1 WHERE endpoint_id = $2", since.UnixMicro(), e.ID)
		}
		change(t, b, "UPDATE windows SET breaker = 'open', breaker_reason = 'no answer', open_until = $1 WHERE endpoint_id = $2", since.Add(2*time.Hour).UnixMicro(), w1.ID)
		found, err := b.FailingPartners(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "partners", found, []reports.FailingPartner{
			{PartnerCode: "worse", Endpoints: 2, Hosts: []string{"alone.example.com", "partner.example.com"}, FailingSince: since,
				Breakers: 1, BreakerReason: "no answer", OpenUntil: since.Add(2 * time.Hour), Waiting: 2,
				Last: webhook.LastResult{Outcome: webhook.OutcomeFailed, StatusCode: 500, ErrorClass: webhook.ErrorHTTP5xx}, Attempts: 2, Alike: 2},
			{PartnerCode: "bad", Endpoints: 1, Hosts: []string{"partner.example.com"}, FailingSince: since},
		})
		hosts, err := b.FailingHosts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "hosts", hosts, []reports.FailingHost{
			{Host: "partner.example.com", Endpoints: 2, Partners: []string{"bad", "worse"}, FailingSince: since, Waiting: 2},
			{Host: "alone.example.com", Endpoints: 1, Partners: []string{"worse"}, FailingSince: since},
		})
		served := b.Endpoint(t, "acme", 8)
		change(t, b, "UPDATE windows SET last_success = $1 WHERE endpoint_id = $2", time.Now().UnixMicro(), served.ID)
		change(t, b, "UPDATE windows SET last_outcome = 'failed', last_class = 'http_4xx', last_status = 401 WHERE endpoint_id = $1", bad.ID)
		if hosts, err = b.FailingHosts(t.Context()); err != nil || hosts[0].Served != 1 || !hosts[0].Differ {
			t.Errorf("a host that serves one, and fails two in different ways: %+v (%v)", hosts[0], err)
		}
		if s := situation(t, b); s.WaitingFailing != 2 || s.Attempts != 2 || s.AttemptsDelivered != 0 {
			t.Errorf("%d wait for endpoints that fail, %d of %d attempts succeeded", s.WaitingFailing, s.AttemptsDelivered, s.Attempts)
		}
	})
}

func TestSlowPartnersAreThoseWhoseAnswersTakeManyTimesAsLongAsUsual(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		for _, code := range []string{"acme", "slow", "shut", "past"} {
			b.Partner(t, code)
		}
		b.Endpoint(t, "acme", 8)
		quick := b.Endpoint(t, "slow", 8, webhook.CreateCard)
		slow, shut, past := b.Endpoint(t, "slow", 8, webhook.TopupCard), b.Endpoint(t, "shut", 8), b.Endpoint(t, "past", 8)
		deliver := func(code string, n int, took time.Duration) {
			storeMany(t, b, code, n)
			send(t, b, b.Tickets(), webhook.Attempt{Outcome: webhook.OutcomeDelivered, StatusCode: 200, Phases: webhook.Phases{Total: took}}, delivered)
		}
		for _, code := range []string{"acme", "slow", "shut", "past"} {
			deliver(code, 1, 200*time.Millisecond)
		}
		before := time.Now().Add(-time.Minute)
		for range 10 {
			deliver("slow", 2, 4*time.Second)
			deliver("shut", 2, 4*time.Second)
			deliver("past", 2, 4*time.Second)
			deliver("acme", 2, 200*time.Millisecond)
		}
		set(t, b, shut.ID, pause)
		change(t, b, "UPDATE windows SET last_success = $1 WHERE endpoint_id = $2", time.Now().Add(-time.Hour).UnixMicro(), past.ID)
		change(t, b, "UPDATE windows SET took_us = 5000000, usual_us = 1000000, slow_since = 1, last_success = $1 WHERE endpoint_id = $2", time.Now().UnixMicro(), quick.ID)
		change(t, b, "UPDATE windows SET waiting_first = 3 WHERE endpoint_id IN ($1, $2)", slow.ID, shut.ID)
		found, err := b.SlowPartners(t.Context())
		if err != nil || len(found) != 1 {
			t.Fatalf("slow partners: %+v (%v)", found, err)
		}
		p := found[0]
		if p.PartnerCode != "slow" || p.Waiting != 3 || p.Pace.Times() < 10 || p.Pace.Took < 3*time.Second || p.Pace.SlowSince.Before(before) || p.Host != "partner.example.com" {
			t.Errorf("%+v", p)
		}
		set(t, b, slow.ID, func(e *webhook.Endpoint) { e.URL = "https://another.example.com/hooks" })
		if found, err := b.SlowPartners(t.Context()); err != nil || len(found) != 1 || found[0].Pace.Took != 5*time.Second {
			t.Errorf("still slow at another receiver, or no more the one that stayed: %+v (%v)", found, err)
		}
	})
}

// aged is an event that was accepted some time ago.
func aged(e delivery.NewEvent, ago time.Duration) delivery.NewEvent {
	e.Event.CreatedAt = time.Now().Add(-ago)
	e.Event.ID = webhook.TimeBound(webhook.EventPrefix, e.Event.CreatedAt)
	return e
}

func TestInSilenceTheEventsOfADayAreCountedAndNoReplays(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		e := b.Endpoint(t, "acme", 8)
		for _, ago := range []time.Duration{25 * time.Hour, 23 * time.Hour, time.Hour, reports.QuietAfter + time.Second} {
			store(t, b, aged(ledgertest.NewEvent("acme", webhook.NewID("tp_"), "Pending"), ago))
		}
		for _, id := range drain(t, b) {
			if _, err := b.RetryDelivery(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		test := ledgertest.NewEvent("acme", webhook.NewID("tp_"), "Pending")
		test.Event.Test, test.EndpointID = true, e.ID
		store(t, b, test)
		s := situation(t, b)
		same(t, "of the last minute and day", []int{s.EventsLastMinute, s.EventsLastDay}, []int{0, 3})
		if silent := s.AsOf.Sub(s.NewestEvent()); silent < reports.QuietAfter {
			t.Errorf("silent for %s", silent)
		}
		storeMany(t, b, "acme", 1)
		s = situation(t, b)
		same(t, "with a new one", []int{s.EventsLastMinute, s.EventsLastDay}, []int{1, 0})
	})
}

func TestAPartnersLastSuccessIsTheNewestOfItsEndpoints(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Partner(t, "young")
		old := b.Endpoint(t, "acme", 8)
		storeMany(t, b, "acme", 1)
		drain(t, b)
		b.Endpoint(t, "young", 8)
		for _, breaker := range []webhook.BreakerState{webhook.BreakerClosed, webhook.BreakerOpen} { // one is summed up before, one after it
			added := b.Endpoint(t, "acme", 8)
			change(t, b, "UPDATE windows SET breaker = $1 WHERE endpoint_id = $2", string(breaker), added.ID)
		}
		found, err := b.PartnerWindows(t.Context())
		if err != nil || len(found) != 2 {
			t.Fatalf("%+v (%v)", found, err)
		}
		acme, young := found[0], found[1]
		same(t, "acme's", acme.LastSuccess, windowOf(t, b, old.ID).Health.LastSuccess)
		same(t, "endpoints", []int{acme.Breakers[webhook.BreakerClosed], acme.Breakers[webhook.BreakerOpen]}, []int{2, 1})
		if acme.LastSuccess.IsZero() || !young.LastSuccess.IsZero() {
			t.Errorf("acme's last success was at %s, that of one who never had any at %s", acme.LastSuccess, young.LastSuccess)
		}
	})
}
