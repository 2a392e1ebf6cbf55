package deliveries

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/ledger/reports"
	"ledgerhook/webhook"
)

// maxQuery is how many bytes a search may be typed in.
const maxQuery = 1000

// queryError is what is wrong with a search, in English with arguments; it is
// said through shell.Request.T.
type queryError struct {
	Text string
	Args []any
}

func (e *queryError) Error() string { return locale.Translate(locale.English, e.Text, e.Args...) }

func wrongQuery(text string, args ...any) error { return &queryError{text, args} }

// The words that state: takes beside the states.
const (
	stateAttention = "attention"
	stateAny       = "any"
)

// shownStates are the states in the order of a delivery's life.
var shownStates = []webhook.State{webhook.Pending, webhook.Queued, webhook.Sending, webhook.Held, webhook.Delivered, webhook.Exhausted, webhook.Cancelled}

var shownTriggers = []webhook.Trigger{webhook.TriggerFirst, webhook.TriggerManual, webhook.TriggerReplay, webhook.TriggerTest}

// queryTerms reads the value of each key.
var queryTerms = map[string]func(q *reports.DeliveryQuery, value string, now time.Time) error{
	"partner":  readPartners,
	"endpoint": func(q *reports.DeliveryQuery, v string, _ time.Time) error { q.EndpointID = v; return nil },
	"host":     func(q *reports.DeliveryQuery, v string, _ time.Time) error { q.Host = strings.ToLower(v); return nil },
	"ref":      func(q *reports.DeliveryQuery, v string, _ time.Time) error { q.Reference = v; return nil },
	"state":    readStates,
	"type": func(q *reports.DeliveryQuery, v string, _ time.Time) error {
		return choices(&q.Types, webhook.Types, "type", v)
	},
	"class": func(q *reports.DeliveryQuery, v string, _ time.Time) error {
		return choices(&q.ErrorClasses, webhook.ErrorClasses, "class", v)
	},
	"trigger": func(q *reports.DeliveryQuery, v string, _ time.Time) error {
		return choices(&q.Triggers, shownTriggers, "trigger", v)
	},
	"settled":  readSettled,
	"code":     readCode,
	"attempts": readAttempts,
	"duration": readDuration,
	"delay":    readDelay,
	"since": func(q *reports.DeliveryQuery, v string, now time.Time) error {
		return ReadMoment(&q.Since, "since", v, now)
	},
	"until": func(q *reports.DeliveryQuery, v string, now time.Time) error {
		return ReadMoment(&q.Until, "until", v, now)
	},
}

// queryKeys are the keys as they are told.
const queryKeys = "partner, state, settled, type, class, code, attempts, duration, delay, trigger, ref, host, endpoint, since, until"

// parseQuery reads a search of deliveries as it is typed: terms like
// state:exhausted with spaces between, all of which must hold; a word without
// a key is a reference. Values of partner, state, type, class and trigger may be
// several with commas between. Times without an offset are in now's zone. Nothing
// typed is what needs attention. The scope is left to the caller; QueryProblem tells what an error
// means.
func parseQuery(typed string, now time.Time) (q reports.DeliveryQuery, err error) {
	if len(typed) > maxQuery {
		return q, wrongQuery(locale.Text("The search is too long: %d characters at most."), maxQuery)
	}
	if !utf8.ValidString(typed) || strings.ContainsFunc(typed, func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }) {
		return q, wrongQuery(locale.Text("The search holds characters that cannot be typed."))
	}
	seen := map[string]bool{}
	for _, term := range strings.Fields(typed) {
		key, value, found := strings.Cut(term, ":")
		if !found {
			key, value = "ref", term
		}
		key = strings.ToLower(key)
		if key == "reference" {
			key = "ref"
		}
		read, known := queryTerms[key]
		switch {
		case !known:
			return q, wrongQuery(locale.Text("“%s” is not something to search by. Use one of: %s."), key, queryKeys)
		case value == "":
			return q, wrongQuery(locale.Text("%s: needs a value after the colon."), key)
		case seen[key]:
			return q, wrongQuery(locale.Text("%s: is given twice. Give several values at once, separated by commas."), key)
		}
		seen[key] = true
		if err := read(&q, value, now); err != nil {
			return q, err
		}
	}
	if err := checkSpan(q.Since, q.Until); err != nil {
		return q, err
	}
	if len(seen) == 0 {
		q.NeedsAttention = true
	}
	return q, nil
}

// absolute is a search with its since and until as times in UTC, so that it
// means the same to everybody, whenever they read it. A time that cannot be
// read stays as it is typed.
func absolute(typed string, now time.Time) string {
	terms := strings.Fields(typed)
	for i, term := range terms {
		key, value, _ := strings.Cut(term, ":")
		key = strings.ToLower(key)
		var at time.Time
		if (key == "since" || key == "until") && ReadMoment(&at, key, value, now) == nil {
			terms[i] = key + ":" + at.Format(time.RFC3339Nano)
		}
	}
	return strings.Join(terms, " ")
}

func readPartners(q *reports.DeliveryQuery, value string, _ time.Time) error {
	q.PartnerCodes = strings.Split(value, ",")
	if slices.Contains(q.PartnerCodes, "") {
		return wrongQuery(locale.Text("partner: must be one code, or several with commas between."))
	}
	if len(q.PartnerCodes) == 1 { // which leads along the partner's own indexes
		q.PartnerCode, q.PartnerCodes = value, nil
	}
	return nil
}

func readStates(q *reports.DeliveryQuery, value string, _ time.Time) error {
	switch strings.ToLower(value) {
	case stateAttention:
		q.NeedsAttention = true
		return nil
	case stateAny:
		return nil
	}
	return choices(&q.States, shownStates, "state", value)
}

// readSettled reads whether only those are meant whose event another delivery
// has brought, or only the others.
func readSettled(q *reports.DeliveryQuery, value string, _ time.Time) error {
	settled := strings.EqualFold(value, "yes")
	if !settled && !strings.EqualFold(value, "no") {
		return wrongQuery(locale.Text("settled: must be yes or no."))
	}
	q.Settled = &settled
	return nil
}

// choices reads values with commas between, each one of allowed in any case.
func choices[T ~string](into *[]T, allowed []T, key, value string) error {
	for part := range strings.SplitSeq(value, ",") {
		at := slices.IndexFunc(allowed, func(a T) bool { return strings.EqualFold(string(a), part) })
		if at < 0 {
			return wrongQuery(locale.Text("%s: there is no “%s”. It takes: %s."), key, part, strings.Join(shell.Plain(allowed), ", "))
		}
		if !slices.Contains(*into, allowed[at]) {
			*into = append(*into, allowed[at])
		}
	}
	return nil
}

func readCode(q *reports.DeliveryQuery, value string, _ time.Time) error {
	if len(value) == 3 && strings.EqualFold(value[1:], "xx") && '1' <= value[0] && value[0] <= '5' {
		q.StatusClass = int(value[0] - '0')
		return nil
	}
	n, err := strconv.ParseUint(value, 10, 16)
	if err != nil || n < 100 || n > 599 {
		return wrongQuery(locale.Text("code: must be a status code like 503 or a class like 5xx."))
	}
	q.StatusCode = int(n)
	return nil
}

// bounds reads 3, >=3, >3, <=3, <3 and 3..5. step is what lies between two
// neighbouring values.
func bounds[T int | time.Duration](value string, step T, read func(string) (T, bool)) (low, high T, ok bool) {
	if from, to, found := strings.Cut(value, ".."); found {
		low, ok1 := read(from)
		high, ok2 := read(to)
		return low, high, ok1 && ok2 && low <= high
	}
	for _, sign := range []string{">=", "<=", ">", "<"} {
		rest, found := strings.CutPrefix(value, sign)
		if !found {
			continue
		}
		n, ok := read(rest)
		switch sign {
		case ">=":
			return n, 0, ok
		case ">":
			return n + step, 0, ok
		case "<=":
			return 0, n, ok && n > 0
		}
		return 0, n - step, ok && n > step
	}
	n, ok := read(value)
	return n, n, ok
}

func readAttempts(q *reports.DeliveryQuery, value string, _ time.Time) (err error) {
	low, high, ok := bounds(value, 1, func(s string) (int, bool) {
		n, err := strconv.ParseUint(s, 10, 16)
		return int(n), err == nil && n > 0
	})
	if !ok {
		return wrongQuery(locale.Text("attempts: must be a number from 1, or a range like >3, <=5 or 2..4."))
	}
	q.AttemptsMin, q.AttemptsMax = low, high
	return nil
}

func spanOf(s string) (time.Duration, bool) {
	d, err := time.ParseDuration(s)
	return d, err == nil && d > 0 && d <= maxAgo
}

func readDuration(q *reports.DeliveryQuery, value string, _ time.Time) error {
	low, high, ok := bounds(value, time.Microsecond, spanOf)
	if !ok || low == high {
		return wrongQuery(locale.Text("duration: must be a range like >2s, <500ms or 1s..5s."))
	}
	q.DurationMin, q.DurationMax = low, high
	return nil
}

func readDelay(q *reports.DeliveryQuery, value string, _ time.Time) error {
	low, high, ok := bounds(value, time.Microsecond, spanOf)
	if !ok || high != 0 {
		return wrongQuery(locale.Text("delay: must be a least time to the first attempt like >5s."))
	}
	q.DelayMin = low
	return nil
}

// maxAgo is how far back a time may be told by its distance.
const maxAgo = 10 * 365 * 24 * time.Hour

// MomentHint says in a form what ReadMoment takes.
const MomentHint = "14:00, 24h or 2026-01-31"

// ReadSpan reads since and until of a form; QueryProblem tells what an error
// means.
func ReadSpan(since, until *time.Time, typed url.Values, now time.Time) error {
	for key, into := range map[string]*time.Time{"since": since, "until": until} {
		if value := strings.TrimSpace(typed.Get(key)); value != "" {
			if err := ReadMoment(into, key, value, now); err != nil {
				return err
			}
		}
	}
	return checkSpan(*since, *until)
}

func checkSpan(since, until time.Time) error {
	if !since.IsZero() && !until.IsZero() && !since.Before(until) {
		return wrongQuery(locale.Text("since: must be before until:."))
	}
	return nil
}

// ReadMoment reads a time of day that has been, a day, a time, with an offset or
// in now's zone, or how long ago.
func ReadMoment(into *time.Time, key, value string, now time.Time) error {
	if at, err := time.Parse("15:04", value); err == nil {
		*into = time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), 0, 0, now.Location())
		if into.After(now) {
			*into = into.AddDate(0, 0, -1)
		}
		*into = into.UTC()
		return nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", time.RFC3339} {
		if at, err := time.ParseInLocation(layout, value, now.Location()); err == nil && at.Year() >= 2000 && at.Year() < 3000 {
			*into = at.UTC()
			return nil
		}
	}
	if days, found := strings.CutSuffix(value, "d"); found {
		if n, err := strconv.ParseUint(days, 10, 12); err == nil && n > 0 && n <= 3650 {
			*into = now.AddDate(0, 0, -int(n)).UTC()
			return nil
		}
	}
	if ago, ok := spanOf(value); ok {
		*into = now.Add(-ago).UTC()
		return nil
	}
	return wrongQuery(locale.Text("%s: must be a time like 14:00, 2026-01-31 or 2026-01-31T14:00, which is in %s without an offset such as +07:00, or an age like 30m, 24h or 7d."), key, locale.Speller{Zone: now.Location()}.Offset(now))
}
