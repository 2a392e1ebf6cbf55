package receiver_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ledgerhook/app/receiver"
)

func unix(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

func TestADelayIsKeptUnlessTheSenderLeaves(t *testing.T) {
	g := newGateway(t)
	synctest.Test(t, func(t *testing.T) {
		r := receiver.New(receiver.Options{Answer: receiver.Always(receiver.Answer{Status: 204, Delay: 20 * time.Second})})
		start := time.Now()
		if w := serve(r, g.request(t, "evt_1", topup, start)); w.Code != 204 || time.Since(start) != 20*time.Second {
			t.Errorf("answered %d after %v", w.Code, time.Since(start))
		}
		start = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		serve(r, g.request(t, "evt_2", topup, start).WithContext(ctx))
		if time.Since(start) != 5*time.Second {
			t.Errorf("a sender that left after 5 s was held %v", time.Since(start))
		}
	})
}

func TestManyRequestsAtOnceAreCountedExactly(t *testing.T) {
	g, seen := newGateway(t), &observed{}
	r := receiver.New(receiver.Options{Secrets: []string{g.secret}, Observe: seen.observe})
	var wg sync.WaitGroup
	for i := range 200 {
		req := g.request(t, "evt_"+strconv.Itoa(i%50), topup, time.Now())
		wg.Go(func() { serve(r, req) })
	}
	wg.Wait()
	first := 0
	for _, got := range seen.all {
		if got.FirstTime {
			first++
		}
	}
	if r.Seen() != 50 || first != 50 || len(seen.all) != 200 {
		t.Errorf("seen %d ids, %d first times, %d requests", r.Seen(), first, len(seen.all))
	}
}
