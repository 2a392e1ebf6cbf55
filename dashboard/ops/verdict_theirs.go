package ops

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"time"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/ledger/reports"
	"ledgerhook/webhook"
)

// The bounds of the rules about receivers.
const (
	// egressHosts is how many hosts must fail, and be at least half of all, for
	// our way out to be the likelier cause.
	egressHosts = 3
	// roomLimit is how long a delivery may wait for room at its receiver.
	roomLimit = time.Minute
)

// checkEgress hits when most receivers fail at once.
func checkEgress(e evidence) check {
	s := e.Situation.Value
	figures := fmt.Sprintf("%s of %s %s", english.Number(s.HostsFailing), count(s.Hosts, "host"), verb(s.HostsFailing, "fails", "fail"))
	if s.HostsFailing < egressHosts || 2*s.HostsFailing < s.Hosts {
		return says(figures)
	}
	return found(figures, verdict{Side: sideUs, Tone: "bad",
		Sentence: fmt.Sprintf("Probably us: %s of %s of %s fail at once, which is rarely the receivers' fault.", english.Number(s.HostsFailing), count(s.Hosts, "host"), count(s.Partners, "partner")),
		Next:     "The canary does not leave the machine. Check DNS, the proxy or firewall, and the workers' route to the internet.", Href: "/ops/deliveries", Link: "Deliveries"})
}

// checkSharedHost hits when partners fail that share one host.
func checkSharedHost(e evidence) check {
	for _, h := range e.Hosts.Value {
		if len(h.Partners) < 2 || h.Served > 0 || h.Differ {
			continue
		}
		var sharing []reports.FailingPartner
		for _, p := range e.Partners.Value {
			if slices.Contains(h.Partners, p.PartnerCode) {
				sharing = append(sharing, p)
			}
		}
		return found(fmt.Sprintf("%s fails for %s", h.Host, count(len(h.Partners), "partner")), verdict{Side: sideThem, Tone: "warn", Named: true, Sentence: fmt.Sprintf("It is them: the host %s, which %s share, has failed for %s.", h.Host, join(h.Partners), e.ago(h.FailingSince)),
			Next: "One provider serves these partners. " + waiting(h.Waiting), Failed: givenUpBy(e, sharing), Href: "/ops/deliveries?" + url.Values{"host": {h.Host}}.Encode(), Link: "Its deliveries"})
	}
	return says("no host fails alike for all its partners")
}

// checkPartners hits when one partner or some fail.
func checkPartners(e evidence) check {
	s, failing := e.Situation.Value, e.Partners.Value
	if len(failing) == 0 {
		return says(fmt.Sprintf("none of %s fails for a minute or longer", count(s.Partners, "partner")))
	}
	p := failing[0]
	n := max(len(failing), s.PartnersFailing)
	v := verdict{Side: sideThem, Tone: "warn", Named: true, Href: deliveries.PartnerPath(p.PartnerCode), Link: p.PartnerCode, Next: waiting(s.WaitingFailing), Failed: givenUpBy(e, failing)}
	if n == 1 {
		v.Sentence = fmt.Sprintf("It is them: only %s fails, for %s%s%s; %s", p.PartnerCode, e.ago(p.FailingSince), how(p), lastSuccess(e, p), rest(s.Partners-1))
		return found(fmt.Sprintf("only %s of %s fails", p.PartnerCode, count(s.Partners, "partner")), v)
	}
	many := fmt.Sprintf("%s of %s fail", english.Number(n), count(s.Partners, "partner"))
	v.Sentence = fmt.Sprintf("It is them: %s, worst %s%s%s; %s", many, p.PartnerCode, how(p), lastSuccess(e, p), rest(s.Partners-n))
	return found(many, v)
}

// givenUpBy searches for what was given up at partners since they fail; empty:
// nothing was.
func givenUpBy(e evidence, failing []reports.FailingPartner) string {
	var codes []string
	since := "24h"
	for _, p := range failing {
		if p.GivenUp == 0 {
			continue
		}
		codes = append(codes, p.PartnerCode)
		if e.Now.Sub(p.FailingSince) > 24*time.Hour {
			since = "7d"
		}
	}
	if len(codes) == 0 {
		return ""
	}
	return deliveries.FailedQuery(since, codes...)
}

// waiting says what becomes of what waits.
func waiting(n int64) string {
	switch n {
	case 0:
		return "Nothing waits for it just now."
	case 1:
		return "1 delivery is waiting and is retried automatically."
	}
	return english.Number(n) + " deliveries are waiting and are retried automatically."
}

// how says in what way a partner fails; nothing is known of one that began to
// fail before that was kept.
func how(p reports.FailingPartner) string {
	if p.Attempts == 0 {
		return ""
	}
	return " (" + failure(p) + ")"
}

// failure is what the newest attempts at a failing partner came to, and their share.
func failure(p reports.FailingPartner) string {
	said := deliveries.ResultWords(fmt.Sprintf, p.Last)
	if p.Alike == p.Attempts {
		return said + ", 100 % of " + english.Number(p.Attempts)
	}
	return said + ", the last " + english.Number(p.Alike) + " of " + english.Number(p.Attempts)
}

func lastSuccess(e evidence, p reports.FailingPartner) string {
	if p.LastSuccess.IsZero() {
		return " and never succeeded"
	}
	return ", last success " + e.ago(p.LastSuccess) + " ago"
}

func rest(n int) string {
	switch {
	case n <= 0:
		return "there is no other to compare with."
	case n == 1:
		return "the other one is served."
	}
	return "the other " + english.Number(n) + " are served."
}

// checkPace hits when a receiver takes many times as long as usual.
func checkPace(e evidence) check {
	slow := e.Slow.Value
	if len(slow) == 0 {
		return says(fmt.Sprintf("none takes %d times as long as usual", webhook.SlowTimes))
	}
	p := slow[0]
	pace := fmt.Sprintf("answers in %s, %s times its usual, since %s", english.Duration(p.Pace.Took), english.Number(int64(math.Round(p.Pace.Times()))), e.clock(p.Pace.SlowSince))
	v := verdict{Side: sideThem, Tone: "warn", Named: true, Sentence: "It is them: " + p.PartnerCode + " " + pace + ".", Href: deliveries.PartnerPath(p.PartnerCode), Link: p.PartnerCode,
		Next: "Its deliveries arrive, but each holds a place for longer. " + waits(p.Waiting)}
	if n := len(slow) - 1; n > 0 {
		v.Sentence = fmt.Sprintf("It is them: %s are slow, worst %s: it %s.", count(n+1, "partner"), p.PartnerCode, pace)
	}
	return found(p.PartnerCode+" "+pace, v)
}

// waits says how much waits for a receiver that is slow.
func waits(n int64) string {
	if n == 0 {
		return "Nothing waits for one just now."
	}
	return english.Number(n) + verb(n, " waits", " wait") + " for one."
}

// checkRoom hits when deliveries wait for room at receivers that do not fail.
func checkRoom(e evidence) check {
	oldest := e.Situation.Value.OldestWithoutRoom
	if oldest.IsZero() {
		return says("nothing waits for it")
	}
	waits := "the oldest waits " + e.ago(oldest)
	if e.Now.Sub(oldest) <= roomLimit {
		return says(waits)
	}
	return found(waits, verdict{Side: sideThem, Tone: "warn", Sentence: fmt.Sprintf("It is them: a receiver takes less than is due. The oldest delivery has waited %s for room.", e.ago(oldest)),
		Next: "Its endpoint is slow, or its rate limit or its window is small.", Href: "/ops/deliveries", Link: "Deliveries"})
}

// checkSettings hits when deliveries are kept back because somebody said so.
func checkSettings(e evidence) check {
	s := e.Situation.Value
	var why []string
	add := func(n int, thing, state string) {
		if n > 0 {
			why = append(why, count(n, thing)+" "+state)
		}
	}
	add(s.Paused, "endpoint", "paused")
	add(s.Disabled-s.SelfDisabled, "endpoint", "disabled")
	add(s.SelfDisabled, "endpoint", "disabled for failures")
	add(max(0, s.Breakers-s.EndpointsFailing), "breaker", "open though nothing fails")
	kept := s.Held + s.WaitingForEndpoint
	if s.WaitingForEndpoint > 0 {
		why = append(why, fmt.Sprintf("%s without an endpoint", english.Number(s.WaitingForEndpoint)))
	}
	if len(why) == 0 {
		return says("nothing is paused or disabled")
	}
	if kept == 0 && s.Breakers <= s.EndpointsFailing {
		return says(join(why) + "; nothing is held by it")
	}
	return found(join(why), verdict{Side: sideSettings, Tone: "warn", Sentence: fmt.Sprintf("It is the configuration: %s held (%s).", held(kept), join(why)),
		Next: "They stay held until somebody resumes, enables or registers an endpoint.", Href: "/ops/partners", Link: "Partners"})
}

func held(n int64) string {
	switch n {
	case 0:
		return "deliveries can be"
	case 1:
		return "1 delivery is"
	}
	return english.Number(n) + " deliveries are"
}
