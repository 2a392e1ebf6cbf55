package deliveries

import (
	"net/netip"
	"net/url"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/webhook"
)

// CheckStep is one thing that has to hold before a notification arrives.
type CheckStep struct {
	State  shell.Pill
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

// CheckSteps tells an attempt at a URL step by step.
func CheckSteps(q *shell.Request, rawURL string, a webhook.Attempt) []CheckStep {
	if a.ErrorClass == webhook.ErrorInternal {
		return []CheckStep{{State: shell.Warn(locale.Text("not checked")), Name: q.T("Gateway"), Says: q.T("The gateway itself could not send it. This says nothing about the receiver."), Detail: a.ErrorDetail}}
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		u = &url.URL{}
	}
	last := failedStep(a)
	passed := []string{
		nameStep(q, u, a), q.T("It may be reached: %s.", peer(q, a)), connectionStep(q, a), "", "",
	}
	var steps []CheckStep
	for i, name := range stepNames {
		step := CheckStep{Name: q.T(name), State: shell.Good(locale.Text("in order")), Says: passed[i]}
		switch {
		case i > last:
			step.State, step.Says = shell.Idle(locale.Text("not reached")), ""
		case i == stepAnswer:
			answerStep(q, &step, a)
		case i == last:
			step.State, step.Says, step.Detail = shell.Bad(locale.Text("fails")), ResultWords(q.T, LastOf(a)), a.ErrorDetail
			step.Do = blameFor(q, a).Do
		case i == stepTLS:
			tlsStep(q, &step, u, a)
		}
		steps = append(steps, step)
	}
	return steps
}

func nameStep(q *shell.Request, u *url.URL, a webhook.Attempt) string {
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return q.T("The URL names an address itself; nothing is looked up.")
	}
	if a.Phases.DNS > 0 {
		return q.T("%s was found in %s.", u.Hostname(), q.Duration(a.Phases.DNS))
	}
	return q.T("%s was found.", u.Hostname())
}

func connectionStep(q *shell.Request, a webhook.Attempt) string {
	if a.Phases.Connect > 0 {
		return q.T("The receiver accepts connections; this one took %s.", q.Duration(a.Phases.Connect))
	}
	return q.T("The receiver accepts connections; an open one was reused.")
}

// tlsStep fills in the step of an attempt that went on after it.
func tlsStep(q *shell.Request, step *CheckStep, u *url.URL, a webhook.Attempt) {
	left := a.TLSNotAfter.Sub(q.Now)
	switch {
	case u.Scheme == "http":
		step.State, step.Says = shell.Idle(locale.Text("no TLS")), q.T("Plain http, which is allowed in the operators' own networks only.")
	case a.TLSNotAfter.IsZero():
		step.Says = a.TLSVersion
	case left < certificateSoon:
		step.State = shell.Warn(locale.Text("soon"))
		step.Says = q.T("%s. The certificate ends on %s, in %s.", a.TLSVersion, q.Day(a.TLSNotAfter), q.Duration(left.Truncate(time.Hour)))
		step.Do = q.T("Renew the certificate: without a valid one nothing can be delivered.")
	default:
		step.Says = q.T("%s. The certificate lasts until %s, for %s more.", a.TLSVersion, q.Day(a.TLSNotAfter), q.Duration(left.Truncate(24*time.Hour)))
	}
}

func answerStep(q *shell.Request, step *CheckStep, a webhook.Attempt) {
	step.Says = q.T("%s after %s.", ResultWords(q.T, LastOf(a)), q.Duration(a.Phases.Total))
	if a.ErrorClass != webhook.ErrorHTTP4xx && a.ErrorClass != webhook.ErrorHTTP5xx { // of these it says the status once more
		step.Detail = a.ErrorDetail
	}
	switch a.Outcome {
	case webhook.OutcomeDelivered:
	case webhook.OutcomeFailed:
		step.State, step.Do = shell.Bad(locale.Text("fails")), blameFor(q, a).Do
	default:
		step.State, step.Do = shell.Warn(locale.Text("outcome unknown")), blameFor(q, a).Do
	}
}
