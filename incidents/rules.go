package incidents

import (
	"cmp"
	"math"
	"strconv"
	"time"
)

// Rules say from when on something is an incident. A zero turns a rule off.
type Rules struct {
	Breaker     time.Duration // a breaker is open for so long
	Exhausted   int           // so many deliveries of an endpoint were given up within ExhaustedWithin
	Waiting     time.Duration // a delivery waits for its first attempt for so long though its breaker is closed
	Certificate time.Duration // a certificate ends within so long
	Disabled    bool          // an endpoint was disabled for its failures
	Canary      time.Duration // the canary has not arrived for so long
	Backlog     time.Duration // a delivery that is ready to leave waits for so long
	Egress      time.Duration // most receivers fail for so long
	Rates       time.Duration // a rate has been too old for so long
	// Settle is how long a fault must be over for its incident to be closed: one
	// that comes back before is the same.
	Settle time.Duration
}

// egressHosts is how many hosts must fail, and be at least half of all, for our
// way out to be the likelier cause. The verdict of the overview counts alike.
const egressHosts = 3

// key names what can have one incident at a time.
type key struct {
	kind    Kind
	subject string
}

// condition is a fault that there is.
type condition struct {
	key
	partner, url string
	Finding
	hold time.Duration // how long it must last to be an incident
}

// rules are asked one by one. Of those that find the same fault, the one
// counts that makes it an incident first.
var rules = []func(Rules, Signals, time.Time) []condition{
	Rules.findCanary, Rules.findBacklog, Rules.findEgress, Rules.findRates,
	ofEndpoints(Rules.findExhausted), ofEndpoints(Rules.findWaiting), ofEndpoints(Rules.findBreaker),
	ofEndpoints(Rules.findDisabled), ofEndpoints(Rules.findCertificate),
}

// find asks every rule.
func (r Rules) find(s Signals, now time.Time) map[key]condition {
	found := map[key]condition{}
	for _, rule := range rules {
		for _, c := range rule(r, s, now) {
			if other, known := found[c.key]; !known || c.hold < other.hold {
				found[c.key] = c
			}
		}
	}
	return found
}

// ofEndpoints is a rule that looks at one endpoint after the other.
func ofEndpoints(rule func(Rules, EndpointSignals, time.Time) (Kind, Finding, time.Duration, bool)) func(Rules, Signals, time.Time) []condition {
	return func(r Rules, s Signals, now time.Time) (found []condition) {
		for _, e := range s.Endpoints {
			if kind, finding, hold, hit := rule(r, e, now); hit {
				found = append(found, condition{key{kind, e.ID}, e.PartnerCode, e.URL, finding, hold})
			}
		}
		return found
	}
}

func (r Rules) findBreaker(e EndpointSignals, _ time.Time) (Kind, Finding, time.Duration, bool) {
	return Failing, e.finding(BreakerOpen), r.Breaker, r.Breaker > 0 && e.BreakerOpen && !e.Disabled
}

func (r Rules) findExhausted(e EndpointSignals, _ time.Time) (Kind, Finding, time.Duration, bool) {
	f := e.finding(Exhausted)
	f.N = e.Exhausted
	return Failing, f, 0, r.Exhausted > 0 && e.Exhausted >= int64(r.Exhausted)
}

func (r Rules) findWaiting(e EndpointSignals, now time.Time) (Kind, Finding, time.Duration, bool) {
	late := !e.OldestUntried.IsZero() && now.Sub(e.OldestUntried) >= r.Waiting
	return Failing, Finding{Rule: Waiting, Time: e.OldestUntried}, 0, r.Waiting > 0 && late && !e.BreakerOpen && !e.Disabled
}

func (r Rules) findDisabled(e EndpointSignals, _ time.Time) (Kind, Finding, time.Duration, bool) {
	return Disabled, e.finding(Rule(Disabled)), 0, r.Disabled && e.Disabled
}

func (r Rules) findCertificate(e EndpointSignals, now time.Time) (Kind, Finding, time.Duration, bool) {
	soon := !e.CertificateEnds.IsZero() && e.CertificateEnds.Sub(now) < r.Certificate
	return Certificate, Finding{Rule: Rule(Certificate), Time: e.CertificateEnds}, 0, r.Certificate > 0 && soon
}

// finding is what an endpoint's failures came to.
func (e EndpointSignals) finding(rule Rule) Finding {
	f := Finding{Rule: rule, Time: e.FailingSince, Detail: string(e.Last.ErrorClass)}
	if e.Last.StatusCode > 0 {
		f.Detail = "HTTP " + strconv.Itoa(e.Last.StatusCode)
	}
	return f
}

// never is the hold of a fault that nobody is told of, and no receiver is to be
// blamed for.
const never = time.Duration(math.MaxInt64)

// ours is a fault of the gateway.
func ours(kind Kind, subject string, f Finding, hold time.Duration, hit bool) []condition {
	if hold == 0 && kind.hampers() {
		hold = never
	}
	if hold == 0 || !hit {
		return nil
	}
	f.Rule = Rule(kind)
	return []condition{{key: key{kind, subject}, Finding: f, hold: hold}}
}

func (r Rules) findCanary(s Signals, _ time.Time) []condition {
	return ours(Canary, "", Finding{N: int64(s.CanaryFailed), Detail: s.CanaryWhy}, r.Canary, s.CanaryFailed > 0)
}

// findBacklog has waited for its limit already when it hits, and so once more
// only for as long as it takes to see it twice.
func (r Rules) findBacklog(s Signals, now time.Time) []condition {
	late := r.Backlog > 0 && !s.OldestReady.IsZero() && now.Sub(s.OldestReady) >= r.Backlog
	return ours(Backlog, "", Finding{Time: s.OldestReady}, min(r.Backlog, LookEvery), late)
}

func (r Rules) findEgress(s Signals, _ time.Time) []condition {
	return ours(Egress, "", Finding{N: int64(s.HostsFailing)}, r.Egress, s.HostsFailing >= egressHosts && 2*s.HostsFailing >= s.Hosts)
}

// findRates tells of the oldest rate.
func (r Rules) findRates(s Signals, now time.Time) []condition {
	var oldest RateSignal
	var n int64
	for _, rate := range s.Rates {
		if s.RateAge == 0 || now.Sub(rate.UpdatedAt) <= s.RateAge {
			continue
		}
		n++
		if oldest.Crypto == "" || cmp.Or(rate.UpdatedAt.Compare(oldest.UpdatedAt), cmp.Compare(rate.Crypto, oldest.Crypto)) < 0 {
			oldest = rate
		}
	}
	return ours(Rates, "", Finding{N: n, Detail: oldest.Crypto, Time: oldest.UpdatedAt}, r.Rates, n > 0)
}
