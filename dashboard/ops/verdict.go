package ops

import (
	"fmt"
	"strings"
	"time"

	"ledgerhook/dashboard/shell"
	"ledgerhook/ledger/reports"
	"ledgerhook/orders"
	"ledgerhook/web"
)

// evidence is what the verdict rests on. A reading that is not Fresh counts as
// not known: what was true a minute ago says nothing about now.
type evidence struct {
	Now       time.Time
	Situation shell.Reading[reports.Situation]
	Workers   shell.Reading[[]reports.WorkerLease]
	Partners  shell.Reading[[]reports.FailingPartner]
	Hosts     shell.Reading[[]reports.FailingHost]
	Slow      shell.Reading[[]reports.SlowPartner]
	Conflicts shell.Reading[[]orders.Conflict]
	Stores    shell.Reading[[]web.Finding]
	Rates     shell.Reading[[]orders.Rate]
	RateAge   time.Duration // a rate that is older gives no price; zero: not known
	Quotes    failedQuotes
}

// failedQuotes are the quotes in a row that this process could not give for a
// reason on our side.
type failedQuotes struct {
	Count int
	Key   string    // of the last
	At    time.Time // of the last
}

// side is whose trouble it is.
type side string

const (
	sideUs       side = "us"
	sideSource   side = "the source"
	sideThem     side = "them"
	sideSettings side = "settings"
	sideOrders   side = "orders"
	sideNobody   side = "nobody"
	sideUnknown  side = "not known"
)

// verdict answers "is it us or them?".
type verdict struct {
	Side     side
	Tone     string // good, bad, warn or idle
	Sentence string // the answer with its evidence
	Next     string // what to do, or what it means
	Href     string // where to look; empty: nowhere
	Link     string // what Href leads to
	Failed   string // a search of what was given up; empty: nothing
	Named    bool   // it is about partners that it names
	Checks   []check
}

// finding is what one rule made of the evidence.
type finding int

const (
	fine    finding = iota // nothing wrong there
	hit                    // this is the trouble
	unknown                // it cannot be said
)

// check is what a rule looked at, what it found and why.
type check struct {
	Name  string
	Found finding
	Says  string   // the figures, in words
	If    *verdict // what follows from a hit; Sentence and Next are set
}

// says is a check that found nothing wrong.
func says(figures string) check { return check{Says: figures} }

// found is a check that found the trouble.
func found(figures string, then verdict) check { return check{Found: hit, Says: figures, If: &then} }

// Pill is the finding as a state.
func (c check) Pill() shell.Pill {
	switch {
	case c.Found == unknown:
		return shell.Idle("not known")
	case c.Found == fine:
		return shell.Good("fine")
	}
	return shell.Pill{Tone: c.If.Tone, Word: string(c.If.Side)}
}

// rule is one question to the evidence, which look answers if it is known.
type rule struct {
	name  string
	known func(evidence) bool
	look  func(evidence) check
}

// rules are asked in this order; the first hit is the verdict. What is ours
// comes before what is theirs: with a fault of ours everybody seems to fail.
var rules = []rule{
	{"Ledger", func(evidence) bool { return true }, checkLedger},
	{"Stores", func(e evidence) bool { return e.Stores.Fresh }, checkStores},
	{"Workers", evidence.situated, checkWorkers},
	{"Clocks", func(e evidence) bool { return e.Workers.Fresh }, checkClocks},
	{"Canary", func(e evidence) bool { return e.Workers.Fresh }, checkCanary},
	{"Internal errors", evidence.situated, checkInternal},
	{"Backlog", evidence.situated, checkBacklog},
	{"Source", evidence.situated, checkSource},
	{"Rates and quotes", func(e evidence) bool { return e.Rates.Fresh }, checkRates},
	{"Way out", evidence.situated, checkEgress},
	{"Shared hosts", func(e evidence) bool { return e.Hosts.Fresh }, checkSharedHost},
	{"Receivers", func(e evidence) bool { return e.situated() && e.Partners.Fresh }, checkPartners},
	{"Pace of receivers", func(e evidence) bool { return e.Slow.Fresh }, checkPace},
	{"Room at receivers", evidence.situated, checkRoom},
	{"Settings", evidence.situated, checkSettings},
	{"Orders", func(e evidence) bool { return e.Conflicts.Fresh }, checkOrders},
}

// situated reports whether the ledger's figures are known.
func (e evidence) situated() bool { return e.Situation.Fresh }

// judge weighs the evidence. "All is well" needs every rule to have found
// nothing and every reading to be known.
func judge(e evidence) verdict {
	v := verdict{Side: sideNobody}
	var dark []string
	for _, rule := range rules {
		c := check{Found: unknown}
		if rule.known(e) {
			c = rule.look(e)
		}
		c.Name = rule.name
		v.Checks = append(v.Checks, c)
		switch {
		case c.Found == hit && v.Sentence == "":
			checks := v.Checks
			v = *c.If
			v.Checks = checks
		case c.Found == unknown:
			dark = append(dark, strings.ToLower(c.Name))
		}
	}
	switch s := e.Situation.Value; {
	case v.Sentence != "":
		if len(dark) > 0 {
			v.Next += " Not known just now: " + join(dark) + "."
		}
	case len(dark) > 0:
		v.Side, v.Tone = sideUnknown, "warn"
		v.Sentence = "Nothing is visibly wrong, but not everything is known: " + join(dark) + "."
		v.Next = "This page says that all is well only when it can see everything."
	case s.Endpoints == 0:
		v.Tone, v.Sentence = "idle", "Nothing to judge yet: no partner has an endpoint."
		v.Next, v.Href, v.Link = "Create a partner and let it register where its notifications go.", "/ops/partners", "Partners"
	default:
		v.Tone = "good"
		v.Sentence = fmt.Sprintf("All is well: %s of %s %s served, and our own test notifications arrive.", count(s.Endpoints, "endpoint"), count(s.Partners, "partner"), verb(s.Endpoints, "is", "are"))
		v.Next = "A partner who still misses a callback lost it after answering, or it never was an event: look up the missing references."
		if v.Href, v.Link = "/ops/reconcile", "Reconcile a list"; s.LastDelivered.IsZero() {
			v.Sentence = fmt.Sprintf("Nothing is wrong, and nothing has been delivered yet to %s.", count(s.Endpoints, "endpoint"))
			v.Href, v.Link = "/ops/partners", "Partners"
		}
	}
	return v
}

// count spells n things.
func count[N int | int64](n N, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return english.Number(n) + " " + thing
}

// verb agrees with how many do it.
func verb[N int | int64](n N, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// join lists words: a, b and c.
func join(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// clock spells when t was to the minute, and on which day if not today.
func (e evidence) clock(t time.Time) string {
	t = t.In(e.Now.Location())
	if t.Format(time.DateOnly) == e.Now.Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format("2006-01-02 15:04")
}

// ago spells how long before now t was.
func (e evidence) ago(t time.Time) string { return english.Duration(max(0, e.Now.Sub(t))) }
