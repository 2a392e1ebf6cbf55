package web

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"crypto/rand"

	"github.com/redis/go-redis/v9"

	"ledgerhook/webhook"
)

func testRedis(t *testing.T) *redis.Client {
	t.Helper()
	address := os.Getenv("LEDGERHOOK_TEST_REDIS_URL")
	if address == "" {
		t.Fatal("LEDGERHOOK_TEST_REDIS_URL names no Redis: run the tests with \"make test\" or \".ci/with-servers go test …\"")
	}
	options, err := redis.ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// patient is a limiter that waits for Redis even on a machine that is very
// busy, where the real one would go on by itself.
func patient(r *redis.Client) *Limiter {
	l := NewLimiter(r)
	l.patience = time.Minute
	return l
}

func TestABurstIsAllowedAndNoMoreAcrossProcesses(t *testing.T) {
	key, rate := rand.Text(), Rate{time.Minute, 20}
	processes := []*Limiter{patient(testRedis(t)), patient(testRedis(t))}
	var allowed atomic.Int32
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			ok, retryAfter := processes[i%2].Allow(t.Context(), key, rate)
			if ok {
				allowed.Add(1)
			} else if retryAfter <= 0 || retryAfter > time.Minute {
				t.Errorf("retry after %s", retryAfter)
			}
		})
	}
	wg.Wait()
	if allowed.Load() != 20 {
		t.Errorf("%d of 100 allowed, want the burst of 20", allowed.Load())
	}
}

func TestTheLocalLimitFollowsTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rate := NewLimiter(nil), PerSecond(20, 100)
		allowed := func() (n int) {
			for {
				if ok, _ := l.Allow(t.Context(), "acme", rate); !ok {
					return n
				}
				n++
			}
		}
		if n := allowed(); n != 100 {
			t.Errorf("burst of %d, want 100", n)
		}
		time.Sleep(time.Second)
		if n := allowed(); n != 20 {
			t.Errorf("%d in the second after, want 20", n)
		}
		_, wait := l.Allow(t.Context(), "acme", rate)
		time.Sleep(wait)
		if ok, _ := l.Allow(t.Context(), "acme", rate); !ok {
			t.Error("refused after the time it named")
		}
	})
}

func TestWithoutRedisEachProcessLimitsByItself(t *testing.T) {
	gone := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	defer gone.Close()
	l, n := NewLimiter(gone), 0
	for range 50 {
		if ok, _ := l.Allow(t.Context(), "acme", Rate{time.Minute, 7}); ok {
			n++
		}
	}
	if n != 7 {
		t.Errorf("%d allowed, want 7", n)
	}
}

// A Redis that is there and does not answer costs a request the limiter's
// patience and not the client's, and then nobody else for a while.
func TestARedisThatDoesNotAnswerHoldsNobodyUp(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the system accepts, nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	client := redis.NewClient(&redis.Options{Addr: silent.Addr().String(), ReadTimeout: time.Minute, ContextTimeoutEnabled: true})
	defer client.Close()
	l, n, began := NewLimiter(client), 0, time.Now()
	l.patience = redisRest + 100*time.Millisecond
	for range 50 {
		if ok, _ := l.Allow(t.Context(), "acme", Rate{time.Minute, 7}); ok {
			n++
		}
		if l.useRedis(time.Now()) {
			t.Fatal("Redis is asked again at once")
		}
	}
	if took := time.Since(began); n != 7 || took > 30*time.Second {
		t.Errorf("%d allowed after %s, want 7 after %s", n, took, l.patience)
	}
}

func TestLocalMemoryIsBounded(t *testing.T) {
	l := NewLimiter(nil)
	for i := range maxLocalKeys + 10 {
		l.Allow(t.Context(), fmt.Sprint(i), PerMinute(1))
	}
	if n := len(l.local.arrivals); n > maxLocalKeys {
		t.Errorf("%d keys kept", n)
	}
	for range webhook.TestsPerMinute {
		_ = l.AllowTest(t.Context(), "acme", "ep_0")
	}
	for i := range maxLocalKeys + 10 {
		_ = l.AllowTest(t.Context(), "acme", fmt.Sprint("ep_", i))
	}
	if n := len(l.tests); n == 0 || n > maxLocalKeys {
		t.Errorf("%d refused endpoints kept", n)
	}
}

func TestAPartnerIsTestedTenTimesAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(nil)
		for range 10 {
			if err := l.AllowTest(t.Context(), "acme", "ep_1"); err != nil {
				t.Fatal(err)
			}
		}
		var refusal *webhook.Error
		if err := l.AllowTest(t.Context(), "acme", "ep_1"); !errors.As(err, &refusal) || refusal.Kind != webhook.KindRateLimited ||
			refusal.RetryAfter != 6*time.Second || !strings.Contains(refusal.Message, "at most 10 tests a minute: wait 6 s") {
			t.Errorf("the eleventh test: %v, after %s", err, refusal.RetryAfter)
		}
		if err := l.AllowTest(t.Context(), "other", "ep_2"); err != nil {
			t.Errorf("another partner's: %v", err)
		}
		time.Sleep(2 * time.Second)
		var known *webhook.Error
		if err := l.TestRefused("ep_1"); !errors.As(err, &known) || known.Kind != webhook.KindRateLimited ||
			known.RetryAfter != 4*time.Second || !strings.Contains(known.Message, "of partner acme get at most 10 tests a minute: wait 4 s") {
			t.Errorf("2 s later it is known without asking: %v", err)
		}
		if err := l.TestRefused("ep_2"); err != nil {
			t.Errorf("of an endpoint that is not tested too often: %v", err)
		}
		time.Sleep(known.RetryAfter)
		if err := l.TestRefused("ep_1"); err != nil {
			t.Errorf("after the time that was named it is known still: %v", err)
		}
		if err := l.AllowTest(t.Context(), "acme", "ep_1"); err != nil {
			t.Errorf("after the time that was named: %v", err)
		}
	})
}
