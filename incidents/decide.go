package incidents

import (
	"cmp"
	"slices"
	"time"

	"ledgerhook/webhook"
)

// blindAfter is how long nobody may have looked for a fault to count as seen
// for the first time: what was so meanwhile is not known.
const blindAfter = 4 * LookEvery

// reminders are the ages at which people are reminded of an open incident.
var reminders = []time.Duration{24 * time.Hour, 72 * time.Hour, 96 * time.Hour}

// Decide decides what changes at now. known are the incidents that are not
// closed.
//
// A fault becomes an incident when it has lasted for as long as its rule asks;
// it is closed when it has been over for r.Settle. While the gateway itself
// keeps receivers from being reached, and until that is closed, no receiver is
// judged: the time that its fault must last begins anew.
func Decide(r Rules, s Signals, known []Incident, now time.Time) []Change {
	found := r.find(s, now)
	hampered := slices.ContainsFunc(known, func(i Incident) bool { return i.Kind.hampers() })
	for k := range found {
		hampered = hampered || k.kind.hampers()
	}
	var changes []Change
	for _, i := range known {
		k := key{i.Kind, i.Subject}
		c, is := found[k]
		delete(found, k)
		if act := r.next(&i, c, is, hampered, now); act != "" {
			i.Version++
			changes = append(changes, Change{i, act})
		}
	}
	for _, c := range found {
		i := Incident{ID: webhook.NewID(Prefix), Kind: c.kind, Subject: c.subject, PartnerCode: c.partner, URL: c.url,
			State: Watched, Version: 1, Finding: c.Finding, SeenAt: now, LookedAt: now}
		act := ActWatch
		if c.hold == 0 && !(hampered && i.Kind.blamable()) {
			act = i.open(c, now)
		}
		changes = append(changes, Change{i, act})
	}
	slices.SortFunc(changes, func(x, y Change) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Subject, y.Subject))
	})
	return changes
}

// blamable reports whether a fault of the gateway can look like one of the kind.
func (k Kind) blamable() bool { return k == Failing || k == Disabled }

func (i *Incident) open(c condition, now time.Time) Act {
	i.State, i.OpenedAt, i.Finding = Open, now, c.Finding
	return ActOpen
}

// next moves an incident on: c is its fault, if it is so now. It returns what
// happened to it, or nothing.
func (r Rules) next(i *Incident, c condition, is, hampered bool, now time.Time) Act {
	if i.State == Watched {
		return i.watch(c, is, hampered, now)
	}
	switch {
	case is && !i.ClearedAt.IsZero():
		i.ClearedAt = time.Time{}
		return ActBack
	case is:
		return i.remind(c, now)
	case i.ClearedAt.IsZero():
		i.ClearedAt = now
		return ActClear
	case now.Sub(i.ClearedAt) >= r.Settle:
		i.State, i.ClosedAt = Closed, now
		return ActClose
	}
	return ""
}

func (i *Incident) watch(c condition, is, hampered bool, now time.Time) Act {
	blind := now.Sub(i.LookedAt).Abs() > blindAfter // also one that was seen by a clock that was ahead
	switch {
	case !is && i.Kind.hampers():
		i.State, i.ClosedAt = Closed, now
		return ActPass
	case !is:
		return ActForget
	case blind || hampered && i.Kind.blamable():
		i.SeenAt, i.LookedAt = now, now
		return ActRestart
	case now.Sub(i.SeenAt) >= c.hold:
		return i.open(c, now)
	}
	return ""
}

// remind passes over the reminders that come too late to tell something new.
func (i *Incident) remind(c condition, now time.Time) Act {
	passed := 0
	for _, after := range reminders {
		if now.Sub(i.OpenedAt) >= after {
			passed++
		}
	}
	if passed <= i.Reminded || i.Acknowledged() || i.Snoozed(now) {
		return ""
	}
	i.Reminded, i.Finding = passed, c.Finding
	return ActRemind
}
