package delivery

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
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

// Advice is one sentence to the owner of an endpoint.
type Advice struct {
	Text   string // one of AdviceTexts, with a %s for each value
	Values []any  // texts, and a time.Duration where the text tells one
}

// String is the advice in English.
func (a Advice) String() string {
	return a.Say(fmt.Sprintf, func(d time.Duration) string {
		return strconv.FormatFloat(math.Round(d.Seconds()*10)/10, 'f', -1, 64) + " s"
	})
}

// Say is the advice with its texts and durations as the reader's language puts them.
func (a Advice) Say(text func(text string, values ...any) string, span func(time.Duration) string) string {
	values := slices.Clone(a.Values)
	for i, v := range values {
		if d, ok := v.(time.Duration); ok {
			values[i] = span(d)
		}
	}
	return text(a.Text, values...)
}

func advise(text string, values ...any) Advice { return Advice{text, values} }

var adviceTexts []string

// AdviceTexts lists every text of an Advice, in English, for who translates.
func AdviceTexts() []string { return slices.Clone(adviceTexts) }

// adviceText declares a text of an Advice.
func adviceText(text string) string {
	adviceTexts = append(adviceTexts, text)
	return text
}

var (
	adviceRedirect     = adviceText("redirects to %s; redirects are not followed: register that URL")
	adviceNowhere      = adviceText("answers %s, a redirect, and redirects are not followed: register the final URL")
	adviceTimeout      = adviceText("does not answer in time: answer first, work afterwards")
	adviceTLS          = adviceText("the TLS connection fails: %s")
	adviceNoAck        = adviceText("the answer's body does not acknowledge, which this endpoint's ackMode asks for: %s")
	adviceRefused      = adviceText("answers %s: does the receiver check the signature with the right secret, or ask for a credential?")
	adviceGone         = adviceText("answers 410 Gone: twice in a row disables the endpoint")
	advicePage         = adviceText("answers %s with an HTML page, perhaps a login page: is this the right URL?")
	adviceSlow         = adviceText("the slowest 5 %% of its answers take %s or more of %s: answer first, work afterwards")
	adviceExpired      = adviceText("the certificate has expired")
	adviceExpiresToday = adviceText("the certificate expires within a day")
	adviceExpiresNext  = adviceText("the certificate expires in 1 day")
	adviceExpires      = adviceText("the certificate expires in %s days")
)

// Advise says in English what AdviceOn finds.
func Advise(attempts []webhook.Attempt, longest time.Duration, now time.Time) []string {
	words := []string{}
	for _, a := range AdviceOn(attempts, longest, now) {
		words = append(words, a.String())
	}
	return words
}

// AdviceOn is what the newest attempts at an endpoint, newest first, tell its
// owner at now. longest is the limit of a whole attempt.
func AdviceOn(attempts []webhook.Attempt, longest time.Duration, now time.Time) (advice []Advice) {
	known := slices.IndexFunc(attempts, func(a webhook.Attempt) bool { return a.Outcome != webhook.OutcomeUnknown })
	if known < 0 {
		return nil
	}
	newest := attempts[known] // what a dead worker left says nothing of the receiver
	if answer, found := adviseAnswer(newest); found {
		advice = append(advice, answer)
	}
	if left := newest.TLSNotAfter.Sub(now); !newest.TLSNotAfter.IsZero() && left < certificateNotice {
		advice = append(advice, adviseCertificate(left))
	}
	if p95, ok := slowest(attempts); ok && p95 > time.Duration(slowShare*float64(longest)) {
		advice = append(advice, advise(adviceSlow, p95, longest))
	}
	return advice
}

// adviseAnswer is what the newest answer, or the lack of one, says.
func adviseAnswer(a webhook.Attempt) (advice Advice, found bool) {
	status := strconv.Itoa(a.StatusCode)
	switch {
	case a.ErrorClass == webhook.ErrorRedirect:
		if target := redirectTarget(a); target != "" {
			return advise(adviceRedirect, target), true
		}
		return advise(adviceNowhere, status), true
	case a.ErrorClass == webhook.ErrorTimeout:
		return advise(adviceTimeout), true
	case a.ErrorClass == webhook.ErrorTLS:
		return advise(adviceTLS, a.ErrorDetail), true
	case a.ErrorClass == webhook.ErrorBadAck:
		return advise(adviceNoAck, a.ErrorDetail), true
	case a.StatusCode == http.StatusUnauthorized || a.StatusCode == http.StatusForbidden:
		return advise(adviceRefused, status), true
	case a.StatusCode == http.StatusGone:
		return advise(adviceGone), true
	case a.Outcome == webhook.OutcomeDelivered && looksLikePage(a):
		return advise(advicePage, status), true
	}
	return Advice{}, false
}

// redirectTarget is the URL that an answer points to; empty unless it is whole
// and short enough to be told.
func redirectTarget(a webhook.Attempt) string {
	u, err := url.Parse(http.Header(a.ResponseHeaders).Get("Location"))
	if err != nil || u.Host == "" || u.Scheme == "" || u.User != nil || len(u.String()) > adviceTarget {
		return ""
	}
	return u.String()
}

// adviseCertificate says when a certificate ends that has left to live.
func adviseCertificate(left time.Duration) Advice {
	switch days := int(left.Hours() / 24); {
	case left < 0:
		return advise(adviceExpired)
	case days == 0:
		return advise(adviceExpiresToday)
	case days == 1:
		return advise(adviceExpiresNext)
	default:
		return advise(adviceExpires, strconv.Itoa(days))
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
