package ops

import (
	"fmt"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/reports"
	"ledgerhook/orders"
	"ledgerhook/webhook"
)

// The bounds of the rules about ourselves and about the source.
const (
	// backlogLimit is how long a delivery that could go may wait for us.
	backlogLimit = 30 * time.Second
	// canaryLate is when a canary's result says nothing about now any more:
	// three were due in this time.
	canaryLate = 35 * time.Second
	// silenceGaps bounds how long the source may be silent, ledger.QuietAfter at
	// least: so many times the mean time between two events of the last 24 hours.
	silenceGaps = 20
	// silenceFrom is how many events in 24 hours make silence tell something.
	silenceFrom = 240
	// quotesWithin is how long a failed quote tells something about now.
	quotesWithin = 5 * time.Minute
)

// checkLedger hits when nothing at all can be read.
func checkLedger(e evidence) check {
	switch {
	case e.Situation.Fresh:
		return says("it answers")
	case e.Workers.Fresh:
		return check{Found: unknown, Says: "it answers, but not in time for all of this"}
	}
	return found("it does not answer", verdict{Side: sideUnknown, Tone: "bad", Sentence: "Not known: the ledger does not answer, so nothing can be said about partners.",
		Next: "That is ours. Accepted events are safe; new ones are refused until it is back.", Href: "/ops/system", Link: "System"})
}

// checkStores hits when ledger or queue answer, but take nothing that is
// written to them: then everything waits, whatever the workers do.
func checkStores(e evidence) check {
	for _, f := range e.Stores.Value {
		if f.Err == nil || f.Name != "ledger" && f.Name != "queue" {
			continue
		}
		return found(f.Name+": "+f.Err.Error(), verdict{Side: sideUs, Tone: "bad", Sentence: fmt.Sprintf("It is us: the %s accepts no writes (%s).", f.Name, f.Err),
			Next: "Repair that store: more workers do not help. Accepted events are safe and go out automatically after that.", Href: "/ops/system", Link: "Stores"})
	}
	return says("they accept writes")
}

func checkWorkers(e evidence) check {
	if n := e.Situation.Value.Workers; n > 0 {
		return says(count(n, "worker") + " alive")
	}
	return found("none is alive", verdict{Side: sideUs, Tone: "bad", Sentence: "It is us: no worker is running, so nothing is sent.",
		Next: "Start a process with the role worker. Waiting deliveries then go out automatically.", Href: "/ops/system", Link: "Workers"})
}

// checkClocks hits when a worker's clock is not the database's: then it neither
// ends nor deletes anything by time.
func checkClocks(e evidence) check {
	var worst reports.WorkerLease
	for _, w := range e.Workers.Value {
		if w.Alive && w.Ahead.Abs() > worst.Ahead.Abs() {
			worst = w
		}
	}
	if worst.Ahead.Abs() <= database.MaxClockSkew {
		return says("within " + english.Duration(worst.Ahead.Abs()) + " of the database's")
	}
	figures := "that of " + worst.Host + " is " + english.Duration(worst.Ahead.Abs()) + " from the database's"
	return found(figures, verdict{Side: sideUs, Tone: "bad", Sentence: "It is us: a clock is wrong; " + figures + ".",
		Next: "Run a time service on both machines. Until then that worker expires no orders and deletes nothing.", Href: "/ops/system", Link: "System"})
}

// checkCanary looks at what the workers send to themselves.
func checkCanary(e evidence) check {
	asked, failed := 0, []reports.WorkerLease{}
	var slowest time.Duration
	for _, w := range e.Workers.Value {
		if !w.Alive || w.Canary.At.IsZero() || w.Canary.Age > canaryLate {
			continue
		}
		asked++
		slowest = max(slowest, w.Canary.RoundTrip)
		if w.Canary.Failure != "" {
			failed = append(failed, w)
		}
	}
	if asked == 0 {
		return check{Found: unknown, Says: "no result of the last 30 seconds"}
	}
	if len(failed) == 0 {
		return says("arrives and verifies in " + english.Duration(slowest))
	}
	many, why := fmt.Sprintf("%d of %s", len(failed), count(asked, "worker")), failed[0].Canary.Failure
	return found("fails on "+many+": "+why, verdict{Side: sideUs, Tone: "bad", Sentence: fmt.Sprintf("It is us: our own test notifications do not arrive on %s (%s).", many, why),
		Next: "No receiver is involved. Look at the signing key and at the worker " + failed[0].Host + ".", Href: "/ops/system", Link: "System"})
}

func checkInternal(e evidence) check {
	n := e.Situation.Value.InternalErrors
	if n == 0 {
		return says("none in " + english.Duration(reports.InternalWithin))
	}
	many := count(n, "delivery")
	if n > 1 {
		many = english.Number(n) + " deliveries"
	}
	if n >= reports.MaxCounted {
		many = "at least " + many
	}
	return found(many+" in "+english.Duration(reports.InternalWithin), verdict{Side: sideUs, Tone: "bad",
		Sentence: fmt.Sprintf("It is us: %s failed by a fault of the gateway in the last %s.", many, english.Duration(reports.InternalWithin)),
		Next:     "They are retried automatically. The log of the workers says what failed.", Href: "/ops/deliveries?class=" + string(webhook.ErrorInternal), Link: "These deliveries"})
}

// checkBacklog looks at what could go and is not sent.
func checkBacklog(e evidence) check {
	s := e.Situation.Value
	oldest, where := time.Time{}, ""
	for _, w := range []struct {
		since time.Time
		why   string
	}{{s.OldestQueued, "no worker has taken it"}, {s.OldestDue, "it was not admitted"}, {s.OldestWake, "its endpoint was not looked at"}} {
		if !w.since.IsZero() && (oldest.IsZero() || w.since.Before(oldest)) {
			oldest, where = w.since, w.why
		}
	}
	waited := "the oldest ready to leave has waited " + e.ago(oldest)
	switch {
	case oldest.IsZero():
		return says("nothing waits for us")
	case e.Now.Sub(oldest) <= backlogLimit:
		return says(waited)
	}
	return found(waited+": "+where, verdict{Side: sideUs, Tone: "bad", Sentence: fmt.Sprintf("It is us: the queue is behind. The oldest delivery ready to leave has waited %s (%s).", e.ago(oldest), where),
		Next: "Look at workers and slots; more workers help when all slots are busy.", Href: "/ops/system", Link: "Queue and workers"})
}

// checkSource hits when nothing comes in though it usually does. What is usual
// are events, not deliveries: a replay makes many of these and brings none in.
func checkSource(e evidence) check {
	last, usual := e.Situation.Value.NewestEvent(), e.Situation.Value.EventsLastDay
	if last.IsZero() {
		return says("no event has come yet")
	}
	silent, came := e.Now.Sub(last), "the last event came "+e.ago(last)+" ago"
	if silent <= reports.QuietAfter {
		return says(came)
	}
	if usual < silenceFrom {
		return says(came + "; too few come to tell silence from quiet")
	}
	gap := 24 * time.Hour / time.Duration(usual)
	if silent <= silenceGaps*gap {
		return says(came)
	}
	often := "one every " + english.Duration(gap)
	if usual >= reports.MaxCounted {
		often += " or sooner"
	}
	return found(came, verdict{Side: sideSource, Tone: "warn", Sentence: fmt.Sprintf("It is the source: no event has come in for %s, where %s is usual.", e.ago(last), often),
		Next: "We cannot deliver events we never got. Ask the systems that send them.", Href: "/ops/events", Link: "Events"})
}

// checkOrders hits when it was said of an order that has failed that its money
// moved. Nothing is delivered worse for it, so that it is asked last.
func checkOrders(e evidence) check {
	open := e.Conflicts.Value
	if len(open) == 0 {
		return says("no conflict")
	}
	toSettle := count(len(open), "conflict") + " to settle"
	return found(toSettle, verdict{Side: sideOrders, Tone: "bad", Sentence: fmt.Sprintf("Money is in question: %s has failed, and afterwards a payment was reported.", open[0].ExternalOrderID),
		Next: toSettle + ". Find out what happened to the money, put it right, then settle the conflict on the order's page.",
		Href: "/ops/orders/" + open[0].OrderID, Link: "The order"})
}

// checkRates looks at what quotes are made of, and at those that failed. A
// gateway without rates and without anybody who asks for a quote lacks nothing.
func checkRates(e evidence) check {
	var stale []string
	for _, r := range e.Rates.Value {
		switch {
		case r.WalletAddress == "":
			stale = append(stale, "that of "+r.Crypto+" has no wallet")
		case e.RateAge > 0 && r.Check(e.Now, e.RateAge) != nil:
			stale = append(stale, "that of "+r.Crypto+" is "+e.ago(r.UpdatedAt)+" old")
		}
	}
	all := len(e.Rates.Value)
	failing := e.Quotes.Count > 0 && e.Now.Sub(e.Quotes.At) <= quotesWithin
	if e.Quotes.Key == string(orders.KeyCryptoNotSupported) && all > 0 {
		failing = false // the others have a rate: a partner asked for one that we do not trade
	}
	what := "quotes are requested and no rate is set"
	switch {
	case len(stale) > 0:
		what = fmt.Sprintf("%s of %s %s no price: %s", english.Number(len(stale)), count(all, "rate"), verb(len(stale), "gives", "give"), join(stale))
	case failing && all > 0:
		what = fmt.Sprintf("%s failed in a row, the last %s ago with %s", count(e.Quotes.Count, "quote"), e.ago(e.Quotes.At), e.Quotes.Key)
	case !failing && all == 0:
		return says("none is set, so no order can be made")
	case !failing:
		return says(count(all, "rate") + " young enough to give prices")
	}
	tone := "warn"
	if failing || len(stale) == all {
		tone = "bad"
	}
	next := fmt.Sprintf("Somebody must feed the rates: a rate gives prices for %s after it was set.", english.Duration(e.RateAge))
	if len(stale) == 0 && all > 0 {
		next = "The log of the process that answered says what failed."
	}
	return found(what, verdict{Side: sideUs, Tone: tone, Sentence: "It is us: partners get no quotes, " + what + ".", Next: next, Href: "/ops/rates", Link: "Rates"})
}
