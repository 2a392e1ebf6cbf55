package web

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"ledgerhook/webhook"
)

// Rate is how often something may happen: Burst times at once, then once every
// Interval (the generic cell rate algorithm, GCRA).
type Rate struct {
	Interval time.Duration
	Burst    int
}

// PerSecond and PerMinute are rates in the words of the interface.
func PerSecond(n, burst int) Rate { return Rate{time.Second / time.Duration(n), burst} }

// PerMinute allows n a minute, all at once if need be.
func PerMinute(n int) Rate { return Rate{time.Minute / time.Duration(n), n} }

// Limiter limits rates across all processes that share a Redis. While that
// cannot be reached each process limits by itself with the same numbers. It is
// safe for concurrent use.
type Limiter struct {
	redis    redis.Scripter
	patience time.Duration // for redis, of one request
	local    localLimiter

	mu       sync.Mutex
	redisOff time.Time              // until when Redis is not asked
	tests    map[string]refusedTest // by endpoint
}

const (
	// redisPatience is how long a request may wait for the shared limit.
	redisPatience = 100 * time.Millisecond
	// redisRest is how long a Redis that did not answer is left alone.
	redisRest = time.Second
)

// NewLimiter returns a limiter that shares its limits through r, a client that
// keeps to a context's deadline (ContextTimeoutEnabled); nil: with nobody.
func NewLimiter(r redis.Scripter) *Limiter {
	return &Limiter{redis: r, patience: redisPatience, local: localLimiter{arrivals: map[string]time.Time{}}, tests: map[string]refusedTest{}}
}

// gcraScript is one step of GCRA by the clock of Redis, in microseconds. It
// answers how long to wait, 0 when the step was taken.
var gcraScript = redis.NewScript(`
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local arrival = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now)
local wait = arrival + interval - now - burst * interval
if wait > 0 then return wait end
redis.call('SET', KEYS[1], string.format('%.0f', arrival + interval), 'PX', math.ceil((arrival + interval - now) / 1000))
return 0`)

// Allow takes one step of key at rate. When that is too soon it answers false
// and after which time it would not be.
func (l *Limiter) Allow(ctx context.Context, key string, rate Rate) (ok bool, retryAfter time.Duration) {
	now := time.Now()
	if l.useRedis(now) {
		asking, cancel := context.WithTimeout(ctx, l.patience)
		defer cancel()
		wait, err := gcraScript.Run(asking, l.redis, []string{"ledgerhook:limit:{" + key + "}"},
			rate.Interval.Microseconds(), rate.Burst).Int64()
		if err == nil {
			return wait <= 0, time.Duration(wait) * time.Microsecond
		}
		if ctx.Err() == nil {
			l.restRedis()
		}
	}
	return l.local.allow(key, rate, now)
}

// AllowTest takes one of the tests that a partner's endpoints may get in a
// minute ("Endpoint changes" of the delivery rules). Beyond them it is
// RateLimited, and TestRefused says the same of that endpoint until another may
// be taken.
func (l *Limiter) AllowTest(ctx context.Context, partnerCode, endpointID string) error {
	ok, after := l.Allow(ctx, "test:"+partnerCode, PerMinute(webhook.TestsPerMinute))
	if ok {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.tests) >= maxLocalKeys {
		clear(l.tests)
	}
	l.tests[endpointID] = refusedTest{partnerCode, time.Now().Add(after)}
	return tooManyTests(partnerCode, after)
}

// TestRefused is AllowTest's refusal of an endpoint's test as long as it holds.
// Whoever asks again and again costs neither store a look.
func (l *Limiter) TestRefused(endpointID string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	refused, ok := l.tests[endpointID]
	if !ok {
		return nil
	}
	if after := time.Until(refused.until); after > 0 {
		return tooManyTests(refused.partner, after)
	}
	delete(l.tests, endpointID)
	return nil
}

// ForgetTest ends the refusal of an endpoint's test, since the endpoint is no
// more: of what is gone there is nothing to wait for.
func (l *Limiter) ForgetTest(endpointID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.tests, endpointID)
}

// refusedTest is that no endpoint of a partner is tested before a time.
type refusedTest struct {
	partner string
	until   time.Time
}

func tooManyTests(partnerCode string, after time.Duration) error {
	return &webhook.Error{Kind: webhook.KindRateLimited, RetryAfter: after,
		Message: fmt.Sprintf("the endpoints of partner %s get at most %d tests a minute: wait %d s", partnerCode, webhook.TestsPerMinute, int((after+time.Second-1)/time.Second))}
}

func (l *Limiter) useRedis(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.redis != nil && !now.Before(l.redisOff)
}

func (l *Limiter) restRedis() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.redisOff = time.Now().Add(redisRest)
}

// localLimiter is the same algorithm in memory.
type localLimiter struct {
	mu       sync.Mutex
	arrivals map[string]time.Time // the theoretical arrival time of each key
}

// maxLocalKeys bounds the memory; the keys that are at rest go first.
const maxLocalKeys = 100_000

func (l *localLimiter) allow(key string, rate Rate, now time.Time) (ok bool, retryAfter time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	arrival := l.arrivals[key]
	if arrival.Before(now) {
		arrival = now
	}
	next := arrival.Add(rate.Interval)
	if wait := next.Sub(now) - time.Duration(rate.Burst)*rate.Interval; wait > 0 {
		return false, wait
	}
	l.makeRoom(now)
	l.arrivals[key] = next
	return true, 0
}

func (l *localLimiter) makeRoom(now time.Time) {
	if len(l.arrivals) < maxLocalKeys {
		return
	}
	for key, arrival := range l.arrivals {
		if arrival.Before(now) {
			delete(l.arrivals, key)
		}
	}
	if len(l.arrivals) >= maxLocalKeys {
		clear(l.arrivals)
	}
}
