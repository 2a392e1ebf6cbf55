package dashboard

import (
	"net/netip"
	"net/url"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/webhook"
)

// checkStep is one thing that has to hold before a notification arrives.
type checkStep struct {
	State  pill
	Name   string
	Says   string
	Do     string // what helps; empty: nothing has to be done
	Detail string // the sender's own words, in English
}

// The steps of an attempt, in the order they happen.
const (
	stepName = iota
	stepAddress
	stepConnection
	stepTLS
	stepAnswer
)

// stepNames are what each step asks.
var stepNames = []string{locale.Text("Host name"), locale.Text("Public address"), locale.Text("Connection"), locale.Text("TLS and certificate"), locale.Text("Answer to the POST")}

// failedStep is the step that ended an attempt; stepAnswer if none did before.
func failedStep(a webhook.Attempt) int {
	switch a.ErrorClass {
	case webhook.ErrorDNS:
		return stepName
	case webhook.ErrorBlocked:
		return stepAddress
	case webhook.ErrorConnect:
		return stepConnection
	case webhook.ErrorTLS:
		return stepTLS
	case webhook.ErrorTimeout: // the sender says what did not come in time
		switch {
		case strings.HasPrefix(a.ErrorDetail, "no connection"):
			return stepConnection
		case strings.HasPrefix(a.ErrorDetail, "no TLS"):
			return stepTLS
		}
	}
	return stepAnswer
}

// checkSteps tells an attempt at a URL step by step.
func (q *request) checkSteps(rawURL string, a webhook.Attempt) []checkStep {
	if a.ErrorClass == webhook.ErrorInternal {
		return []checkStep{{State: pill{"warn", locale.Text("not checked")}, Name: q.T("Gateway"), Says: q.T("The gateway itself could not send it. Nothing can be said of the receiver."), Detail: a.ErrorDetail}}
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		u = &url.URL{}
	}
	last := failedStep(a)
	passed := []string{
		q.nameStep(u, a), q.T("It may be reached: %s.", q.peer(a)), q.connectionStep(a), "", "",
	}
	var steps []checkStep
	for i, name := range stepNames {
		step := checkStep{Name: q.T(name), State: pill{"good", locale.Text("in order")}, Says: passed[i]}
		switch {
		case i > last:
			step.State, step.Says = pill{"idle", locale.Text("not reached")}, ""
		case i == stepAnswer:
			q.answerStep(&step, a)
		case i == last:
			step.State, step.Says, step.Detail = pill{"bad", locale.Text("fails")}, resultWords(q.T, lastOf(a)), a.ErrorDetail
			step.Do = q.blame(a).Do
		case i == stepTLS:
			q.tlsStep(&step, u, a)
		}
		steps = append(steps, step)
	}
	return steps
}

func (q *request) nameStep(u *url.URL, a webhook.Attempt) string {
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return q.T("The URL names an address itself; nothing is looked up.")
	}
	if a.Phases.DNS > 0 {
		return q.T("%s was found in %s.", u.Hostname(), formatDuration(a.Phases.DNS))
	}
	return q.T("%s was found.", u.Hostname())
}

func (q *request) connectionStep(a webhook.Attempt) string {
	if a.Phases.Connect > 0 {
		return q.T("The receiver takes connections; this one took %s.", formatDuration(a.Phases.Connect))
	}
	return q.T("The receiver takes connections; one that was open was used again.")
}

// tlsStep fills in the step of an attempt that went on after it.
func (q *request) tlsStep(step *checkStep, u *url.URL, a webhook.Attempt) {
	left := a.TLSNotAfter.Sub(q.Now)
	switch {
	case u.Scheme == "http":
		step.State, step.Says = pill{"idle", locale.Text("no TLS")}, q.T("Plain http, which is allowed in the operators' own networks only.")
	case a.TLSNotAfter.IsZero():
		step.Says = a.TLSVersion
	case left < certificateSoon:
		step.State = pill{"warn", locale.Text("soon")}
		step.Says = q.T("%s. The certificate ends on %s, in %s.", a.TLSVersion, a.TLSNotAfter.UTC().Format(time.DateOnly), formatDuration(left.Truncate(time.Hour)))
		step.Do = q.T("Renew the certificate: without a valid one nothing can be delivered.")
	default:
		step.Says = q.T("%s. The certificate lasts until %s, for %s more.", a.TLSVersion, a.TLSNotAfter.UTC().Format(time.DateOnly), formatDuration(left.Truncate(24*time.Hour)))
	}
}

func (q *request) answerStep(step *checkStep, a webhook.Attempt) {
	step.Says = q.T("%s after %s.", resultWords(q.T, lastOf(a)), formatDuration(a.Phases.Total))
	if a.ErrorClass != webhook.ErrorHTTP4xx && a.ErrorClass != webhook.ErrorHTTP5xx { // of these it says the status once more
		step.Detail = a.ErrorDetail
	}
	switch a.Outcome {
	case webhook.OutcomeDelivered:
	case webhook.OutcomeFailed:
		step.State, step.Do = pill{"bad", locale.Text("fails")}, q.blame(a).Do
	default:
		step.State, step.Do = pill{"warn", locale.Text("outcome unknown")}, q.blame(a).Do
	}
}
