package delivery

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"ledgerhook/webhook"
)

const (
	certificateNotice = 14 * 24 * time.Hour // before a certificate ends
	slowShare         = 0.5                 // of the longest attempt allowed
	adviceMinAttempts = 10                  // before speeds are judged
	adviceTarget      = 200                 // bytes of a redirect's target that are told
)

// Advise says in words what the newest attempts at an endpoint, newest first,
// tell its owner at now. longest is the limit of a whole attempt. Nothing to
// say is an empty list.
func Advise(attempts []webhook.Attempt, longest time.Duration, now time.Time) []string {
	advice := []string{}
	known := slices.IndexFunc(attempts, func(a webhook.Attempt) bool { return a.Outcome != webhook.OutcomeUnknown })
	if known < 0 {
		return advice
	}
	newest := attempts[known] // what a dead worker left says nothing of the receiver
	if answer := adviseAnswer(newest); answer != "" {
		advice = append(advice, answer)
	}
	if left := newest.TLSNotAfter.Sub(now); !newest.TLSNotAfter.IsZero() && left < certificateNotice {
		advice = append(advice, "the certificate "+expiry(left))
	}
	if p95, ok := slowest(attempts); ok && p95 > time.Duration(slowShare*float64(longest)) {
		advice = append(advice, fmt.Sprintf("the slowest 5 %% of its answers take %.1f s or more of %g s: answer first, work afterwards", p95.Seconds(), longest.Seconds()))
	}
	return advice
}

// adviseAnswer is what the newest answer, or the lack of one, says.
func adviseAnswer(a webhook.Attempt) string {
	switch {
	case a.ErrorClass == webhook.ErrorRedirect:
		target := http.Header(a.ResponseHeaders).Get("Location")
		if target == "" || len(target) > adviceTarget {
			return fmt.Sprintf("answers %d, a redirect, and redirects are not followed: register the URL that answers itself", a.StatusCode)
		}
		return fmt.Sprintf("answers a redirect to %s; redirects are not followed: register that URL", strings.ToValidUTF8(target, "\uFFFD"))
	case a.ErrorClass == webhook.ErrorTimeout:
		return "does not answer in time: answer first, work afterwards"
	case a.ErrorClass == webhook.ErrorTLS:
		return "the TLS connection fails: " + a.ErrorDetail
	case a.ErrorClass == webhook.ErrorBadAck:
		return "the answer's body does not acknowledge, which this endpoint's ackMode asks for: " + a.ErrorDetail
	case a.StatusCode == http.StatusUnauthorized || a.StatusCode == http.StatusForbidden:
		return fmt.Sprintf("answers %d: does the receiver check the signature with the right secret, or ask for a credential?", a.StatusCode)
	case a.StatusCode == http.StatusGone:
		return "answers 410 Gone: twice in a row disables the endpoint"
	case a.Outcome == webhook.OutcomeDelivered && looksLikePage(a):
		return fmt.Sprintf("answers %d with an HTML page, perhaps a login page: is this the right URL?", a.StatusCode)
	}
	return ""
}

// expiry says when a certificate ends that has left to live.
func expiry(left time.Duration) string {
	switch days := int(left.Hours() / 24); {
	case left < 0:
		return "has expired"
	case days == 0:
		return "expires within a day"
	case days == 1:
		return "expires in 1 day"
	default:
		return fmt.Sprintf("expires in %d days", days)
	}
}

func looksLikePage(a webhook.Attempt) bool {
	kind := http.Header(a.ResponseHeaders).Get("Content-Type")
	return strings.HasPrefix(strings.ToLower(kind), "text/html") || bytes.Contains(bytes.ToLower(a.ResponseBody[:min(len(a.ResponseBody), 512)]), []byte("<html"))
}

// slowest is the 95th percentile of the attempts that were answered.
func slowest(attempts []webhook.Attempt) (time.Duration, bool) {
	var times []time.Duration
	for _, a := range attempts {
		if a.StatusCode != 0 {
			times = append(times, a.Phases.Total)
		}
	}
	if len(times) < adviceMinAttempts {
		return 0, false
	}
	slices.Sort(times)
	return times[len(times)*95/100], true
}
