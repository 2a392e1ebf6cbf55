package webhook

import (
	"math"
	"math/rand/v2"
	"time"
)

// Pace is how quickly an endpoint takes its deliveries; a zero one has taken none.
type Pace struct {
	// Took is how long its newest answers took: the geometric mean, in which
	// each weighs an eighth, so that one that is much longer changes little.
	Took time.Duration
	// Usual is how long they took before. It follows Took within half a day of
	// steady deliveries when that rises, and within an hour when it falls.
	Usual time.Duration
	// SlowSince is when Took came to SlowTimes Usual or more; zero: it is not slow.
	SlowSince time.Time
}

// When an endpoint is slow: it takes at least SlowTimes as long as usual, and
// SlowLeast. It no longer is below half of either.
const (
	SlowTimes = 5
	SlowLeast = time.Second
)

const (
	paceWeight  = 1. / 8
	paceRises   = 12 * time.Hour // until Usual is halfway to a longer Took
	paceFalls   = time.Hour      // until it is halfway to a shorter one
	paceLongest = time.Minute    // a longer gap between two answers counts as this
)

// observe takes an answer that took so long, gap after the one before.
func (p *Pace) observe(took, gap time.Duration, now time.Time) {
	took = max(took.Truncate(time.Microsecond), time.Microsecond) // of which ledgers keep no parts
	if p.Usual == 0 {
		p.Took, p.Usual = took, took
		return
	}
	p.Took = towards(p.Took, took, paceWeight)
	half := paceFalls
	if p.Took > p.Usual {
		half = paceRises
	}
	p.Usual = towards(p.Usual, p.Took, 1-math.Exp2(-float64(min(max(gap, 0), paceLongest))/float64(half)))
	switch {
	case p.Took >= SlowTimes*p.Usual && p.Took >= SlowLeast:
		if p.SlowSince.IsZero() {
			p.SlowSince = now
		}
	case 2*p.Took < SlowTimes*p.Usual || 2*p.Took < SlowLeast:
		p.SlowSince = time.Time{}
	}
}

// towards goes a share of the way from one time to another, by their ratio, to
// a whole microsecond: up as often as the part beyond it is large. A part that was
// always cut off would keep a time from moving by many small steps.
func towards(from, to time.Duration, share float64) time.Duration {
	micros := float64(from) / float64(time.Microsecond) * math.Pow(float64(to)/float64(from), share)
	return time.Duration(micros+rand.Float64()) * time.Microsecond
}

// Times is how many times as long as usual the newest answers took, 0 if none
// is known.
func (p Pace) Times() float64 {
	if p.Usual == 0 {
		return 0
	}
	return float64(p.Took) / float64(p.Usual)
}
