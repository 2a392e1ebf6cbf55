package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"ledgerhook/app/receiver"
	"ledgerhook/bench/stage"
)

func sameKey(s *scene, _ fault) {
	p := s.partner(32, stage.TakeAll)
	post := func(n int) {
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				a, err := s.api().Call("POST", "/internal/v1/events", stage.Event(p.Code, n))
				if err != nil || a.Status != http.StatusAccepted && a.Status != http.StatusOK {
					s.Errorf("%d %s, %v", a.Status, a.Body, err)
				}
			})
		}
		all.Wait()
	}
	post(0)
	twice := []any{stage.Event(p.Code, 1), stage.Event(p.Code, 1)}
	s.api().Must("POST", "/internal/v1/events/batch", map[string]any{"events": twice}, http.StatusOK, nil)
	s.api().Await(p.Code, limit)
	post(0)
	all := s.api().Await(p.Code, limit)
	for _, d := range all {
		s.posted[d.EventID] = true
	}
	s.settle(limit)
	if len(all) != 2 || p.Asked() != 2 {
		s.Errorf("%d deliveries and %d requests of two keys", len(all), p.Asked())
	}
}

// retryAgainstReconciler has every pending delivery retried by hand while the
// queue forgets them all. A retry of one that has ended meanwhile is a new
// delivery of its event, which somebody asked for and which is no double.
func retryAgainstReconciler(s *scene, _ fault) {
	p := s.partner(32, receiver.FailEvery(2, receiver.Answer{Status: http.StatusBadRequest}, receiver.OK))
	s.post(p, pick(s.size, 40, 100))
	s.strike()
	repeated := 0
	for range 5 {
		for _, d := range s.api().Deliveries(p.Code, "pending") {
			a, err := s.api().Call("POST", "/internal/v1/deliveries/"+d.DeliveryID+"/retry", nil)
			if err != nil || a.Status >= 500 {
				s.Errorf("retry: %d %s, %v", a.Status, a.Body, err)
			}
			if a.Status == http.StatusAccepted {
				repeated++
			}
		}
		s.cache.Flush()
	}
	s.settle(limit)
	s.checkRecords(p)
	if s.asked = repeated; p.Duplicates() > repeated {
		s.Errorf("%d requests for events that had been taken, and %d retries of ended deliveries", p.Duplicates(), repeated)
	}
}

// checkRecords holds that a delivery has one record for each attempt's number,
// and that nothing was sent without a record.
func (s *scene) checkRecords(p *stage.Partner) {
	s.Helper()
	records := map[string]int{} // by event
	for _, d := range s.api().Deliveries(p.Code, "") {
		d = s.api().Delivery(d.DeliveryID)
		for i, a := range d.Attempts {
			if a.Number != i+1 {
				s.Errorf("%s: record %d is of attempt %d", d.DeliveryID, i+1, a.Number)
			}
		}
		records[d.EventID] += len(d.Attempts)
	}
	for event, n := range records {
		if came := len(p.Of(event)); came > n {
			s.Errorf("%s: %d requests and %d records", event, came, n)
		}
	}
}

// occupiedTaskID sets tasks aside under the ids that the next attempts will have.
func occupiedTaskID(s *scene, _ fault) {
	p := s.partner(4, receiver.FailFirst(1, receiver.Answer{Status: http.StatusBadRequest}, receiver.OK))
	s.api().Must("POST", "/internal/v1/endpoints/"+p.Endpoint+"/pause", nil, http.StatusOK, nil)
	s.post(p, 5)
	redis := s.cache.Redis()
	for _, d := range s.api().Deliveries(p.Code, "") {
		for shard := range shards {
			for generation := range 4 { // the first attempt needs no task, its retries do
				id, key := fmt.Sprintf("%s:%d", d.DeliveryID, generation), fmt.Sprintf("asynq:{deliver-%d}:", shard)
				err := redis.HSet(s.Context(), key+"t:"+id, "msg", "", "state", "archived").Err()
				if err == nil && generation%2 == 0 { // an odd one is an orphan: an id and nothing else
					err = redis.Do(s.Context(), "ZADD", key+"archived", time.Now().Unix(), id).Err()
				}
				if err != nil {
					s.Fatal(err)
				}
			}
		}
	}
	s.back()
	s.api().Must("POST", "/internal/v1/endpoints/"+p.Endpoint+"/resume", nil, http.StatusOK, nil)
	s.settle(limit)
}

// blackHole has a partner that never answers beside one that does. What the
// first does to the second's times is measured by -fairness.
func blackHole(s *scene, _ fault) {
	g := newShutGate()
	healthy, hole := s.partner(32, stage.TakeAll), s.partner(32, g.hold)
	s.Cleanup(g.release) // before its server closes, which waits for its requests
	n := pick(s.size, 100, 1000)
	s.post(hole, n)
	stage.Eventually(s, limit, "the black hole holds all it may", func() bool { return g.holds() >= webhookStart })
	beside := strike{at: time.Now(), before: stage.PostFrom(s.api(), healthy.Code, 0, n)}
	s.strikes = append(s.strikes, beside)
	for _, id := range beside.before {
		s.posted[id] = true
	}
	stage.Eventually(s, limit, "the healthy partner has everything", func() bool { return healthy.Has() == n })
	if hole.Has() > 0 || s.endpoint(hole).InFlight > 32 {
		s.Errorf("meanwhile %d requests were answered, and %d held", hole.Has(), s.endpoint(hole).InFlight)
	}
	s.flights = g.holds() // some of them for so long that the gateway has given up and will repeat them
	g.release()
	s.settle(limit)
}

// webhookStart is how many deliveries a new endpoint may have in flight.
const webhookStart = 2

// oneBadEvent is refused with 400 more often in a row than would trip a
// breaker, if 400 counted.
func oneBadEvent(s *scene, _ fault) {
	const refusals = 6
	p := s.partner(32, func(got receiver.Received) receiver.Answer {
		if got.Nth == 7 && got.Times <= refusals {
			return receiver.Answer{Status: http.StatusBadRequest}
		}
		return receiver.OK
	})
	n := 40
	s.post(p, n)
	s.strike()
	stage.Asking(s, limit, "the bad event has been refused", func() bool {
		if b := s.endpoint(p).Breaker.State; b != "closed" {
			s.Fatalf("the breaker is %s", b)
		}
		return p.Asked() >= n+refusals
	})
	s.settle(limit)
	s.checkRecords(p)
	if b := s.endpoint(p).Breaker.State; b != "closed" || p.Asked() != n+refusals {
		s.Errorf("the breaker is %s after %d requests for %d events", b, p.Asked(), n)
	}
}

// amountsAndTexts sends what is easily printed otherwise than it came.
func amountsAndTexts(s *scene, _ fault) {
	p := s.partner(32, receiver.FailFirst(1, receiver.Answer{Status: http.StatusBadRequest}, receiver.OK))
	event := func(n int, amount, card string) map[string]any {
		e := stage.Event(p.Code, n)
		e["data"].(map[string]any)["amount"], e["data"].(map[string]any)["cardId"] = json.RawMessage(amount), card
		return e
	}
	amounts, cards := []string{"12.750", "0.1", "1e2", "250000"}, []string{"<&>", "line\u2028end", "\U0001F4B3 thẻ", `"\\/`}
	var made struct {
		EventID     string
		DeliveryIDs []string
	}
	var first []string
	for i := range amounts {
		s.api().Must("POST", "/internal/v1/events", event(i, amounts[i], cards[i]), http.StatusAccepted, &made)
		s.posted[made.EventID] = true
		first = append(first, made.DeliveryIDs...)
	}
	for i, amount := range []string{"9007199254740993", "0.1234567890123456"} {
		a, err := s.api().Call("POST", "/internal/v1/events", event(100+i, amount, "card_1"))
		if err != nil || a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "/data/amount") {
			s.Errorf("%s: %d %s, %v", amount, a.Status, a.Body, err)
		}
	}
	s.strike()
	s.settle(limit)
	for _, id := range first {
		s.api().Must("POST", "/internal/v1/deliveries/"+id+"/retry", nil, http.StatusAccepted, nil)
		s.asked++ // it has ended, so this sends it once more
	}
	s.settle(limit)
	stage.Eventually(s, limit, "each has been sent three times", func() bool { return p.Asked() == 3*len(amounts) })
	p.CheckRequests()
}

// orderByKey has one account's first event fail until all others have
// been taken; its second one has to wait, and nobody else.
func orderByKey(s *scene, _ fault) {
	others := pick(s.size, 20, 200)
	var mu sync.Mutex
	var order []string
	taken := 0
	p := s.partner(32, func(got receiver.Received) receiver.Answer {
		var body struct {
			Data struct{ AccountID, Status string }
		}
		if err := json.Unmarshal(got.Body, &body); err != nil {
			s.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case body.Data.AccountID != "acc_first":
			taken++
		case body.Data.Status == "UNDER_REVIEW" && (got.Times <= 2 || taken < others):
			return receiver.Answer{Status: http.StatusBadRequest}
		default:
			order = append(order, body.Data.Status)
		}
		return receiver.OK
	})
	s.patch(p, map[string]any{"ordered": true})
	post := func(account, status string) {
		var made struct{ EventID string }
		s.api().Must("POST", "/internal/v1/events", map[string]any{"partnerCode": p.Code, "webhookType": "ProfileApplication.Updated",
			"data": map[string]any{"accountId": account, "status": status, "createdAt": 1767225600}}, http.StatusAccepted, &made)
		s.posted[made.EventID] = true
	}
	post("acc_first", "UNDER_REVIEW")
	post("acc_first", "VERIFIED")
	for i := range others {
		post(fmt.Sprint("acc_", i), "VERIFIED")
	}
	s.strike()
	s.settle(limit)
	if fmt.Sprint(order) != "[UNDER_REVIEW VERIFIED]" {
		s.Errorf("one account's events were taken in the order %q", order)
	}
}
