package deliveries

import (
	"cmp"
	"encoding/hex"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"ledgerhook/dashboard/chart"
	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/delivery/guard"
	"ledgerhook/ledger/reports"
	"ledgerhook/webhook"
)

// AttemptView is one attempt: what was sent beside what came back.
type AttemptView struct {
	webhook.Attempt
	Open    bool // shown from the beginning
	Outcome shell.Pill
	Result  string
	Took    string
	Blame   blame
	Address string // that was dialled; empty: none was
	Request []Header
	Answer  []Header
	Body    answerBody
	Phases  chart.Chart
	Ends    string // how long the certificate still lasts; empty: no TLS
}

// Header is one header field that was sent or received.
type Header struct{ Name, Value string }

// answerBody is what an answer's body holds: text, or a dump of anything else.
type answerBody struct {
	Text   string
	Binary bool
	Bytes  int64
}

// AttemptOf shows an attempt; open says whether its details are to be seen at once.
func AttemptOf(q *shell.Request, a webhook.Attempt, open bool) AttemptView {
	v := AttemptView{Attempt: a, Open: open, Result: ResultWords(q.T, LastOf(a)), Took: q.Duration(a.Phases.Total), Blame: blameFor(q, a),
		Address: peer(q, a), Request: HeadersOf(a.RequestHeaders), Answer: HeadersOf(a.ResponseHeaders), Body: bodyOf(a.ResponseBody), Phases: phaseChart(q, a.Phases)}
	switch a.Outcome {
	case webhook.OutcomeDelivered:
		v.Outcome = shell.Good(locale.Text("delivered"))
	case webhook.OutcomeFailed:
		v.Outcome = shell.Bad(locale.Text("failed"))
	default:
		v.Outcome = shell.Warn(locale.Text("outcome unknown"))
	}
	if !a.TLSNotAfter.IsZero() {
		v.Ends = q.Duration(a.TLSNotAfter.Sub(q.Now).Truncate(time.Hour))
	}
	return v
}

// peer is the address that was dialled. A partner is not told where a name
// leads to inside the company, be it that it may be reached or not.
func peer(q *shell.Request, a webhook.Attempt) string {
	addr, err := netip.ParseAddr(a.PeerIP)
	if err != nil || guard.IsPublic(addr) || q.Ops() {
		return a.PeerIP
	}
	return q.T("a private address")
}

// LastOf is what an attempt came to.
func LastOf(a webhook.Attempt) webhook.LastResult {
	return webhook.LastResult{Outcome: a.Outcome, StatusCode: a.StatusCode, ErrorClass: a.ErrorClass}
}

func blameFor(q *shell.Request, a webhook.Attempt) blame {
	b := blameOf(a)
	if b.Side == "" {
		return b
	}
	return blame{q.T(b.Side), q.T(b.Do)}
}

// HeadersOf are headers sorted by their names, made printable.
func HeadersOf(h map[string][]string) (list []Header) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			list = append(list, Header{locale.Printable([]byte(name)), locale.Printable([]byte(value))})
		}
	}
	return list
}

// bodyOf shows an answer's body as text if it is text, else as a hex dump.
func bodyOf(body []byte) answerBody {
	text := utf8.Valid(body) || utf8.Valid(body[:max(0, len(body)-3)]) // cut off inside a character
	for _, b := range body {
		if b < 32 && b != '\n' && b != '\r' && b != '\t' {
			text = false
		}
	}
	if !text {
		return answerBody{Text: hex.Dump(body), Binary: true, Bytes: int64(len(body))}
	}
	return answerBody{Text: locale.Printable([]byte(webhook.MaskCards(string(body)))), Bytes: int64(len(body))}
}

// phaseNames are the parts of an attempt in the order they happen.
var phaseNames = []string{locale.Text("name lookup"), locale.Text("connection"), locale.Text("TLS"), locale.Text("waiting for the answer"), locale.Text("the rest")}

// phaseChart draws where an attempt's time went.
func phaseChart(q *shell.Request, p webhook.Phases) chart.Chart {
	rest := max(0, p.Total-p.DNS-p.Connect-p.TLS-p.FirstByte)
	c := chart.Chart{Title: q.T("Where the time went"), Head: []string{q.T("Phase"), q.T("Took")}}
	var phases []chart.Phase
	for i, took := range []time.Duration{p.DNS, p.Connect, p.TLS, p.FirstByte, rest} {
		name := q.T(phaseNames[i])
		phases = append(phases, chart.Phase{Name: name, Took: took})
		c.Rows = append(c.Rows, []string{name, q.Duration(took)})
		c.Legend = append(c.Legend, chart.Series{Name: name + " " + q.Duration(took), Tone: "phase-" + strconv.Itoa(i)})
	}
	c.SVG = chart.Phases(q.Speller, c.Title, phases, p.Total)
	return c
}

// maxMarks is how many attempts a timeline shows; older ones are left out.
const maxMarks = 20

// futureMarks is how many attempts that are to come a timeline shows.
const futureMarks = 3

// attemptChart draws a delivery's life: its creation, its attempts, and those
// that would follow if they failed.
func attemptChart(q *shell.Request, d reports.FoundDelivery, attempts []webhook.Attempt, policy webhook.RetryPolicy) chart.Chart {
	marks := []chart.Mark{{At: d.CreatedAt, Tone: "idle", Label: q.T("created"), Title: q.T("created") + " " + q.Time(d.CreatedAt)}}
	for _, a := range attempts[max(0, len(attempts)-maxMarks):] {
		tone := cmp.Or(map[webhook.Outcome]string{webhook.OutcomeDelivered: "good", webhook.OutcomeFailed: "bad"}[a.Outcome], "warn")
		result := ResultWords(q.T, LastOf(a))
		label := "#" + strconv.Itoa(a.Number)
		if a.StatusCode > 0 {
			label += " · " + strconv.Itoa(a.StatusCode)
		}
		marks = append(marks, chart.Mark{At: a.StartedAt, Tone: tone, Label: label, Title: "#" + strconv.Itoa(a.Number) + " " + q.Time(a.StartedAt) + ": " + result})
	}
	marks = append(marks, marksAhead(q, d, attempts, policy)...)
	c := chart.Chart{Title: q.T("Attempts over time"), Head: []string{q.T("When"), q.T("What")}}
	for _, m := range marks {
		what := m.Title
		if m.Future {
			what = m.Title + " (" + q.T("expected") + ")"
		}
		c.Rows = append(c.Rows, []string{q.Time(m.At), what})
	}
	c.SVG, c.Wide = chart.Timeline(q.Speller, c.Title, marks), true
	return c
}

// futureMarks are the next attempts of an unfinished delivery.
func marksAhead(q *shell.Request, d reports.FoundDelivery, attempts []webhook.Attempt, policy webhook.RetryPolicy) (marks []chart.Mark) {
	if d.State != webhook.Pending || d.EndpointID == "" || len(attempts) == 0 {
		return nil
	}
	at := d.DueAt
	if at.Before(q.Now) {
		at = q.Now
	}
	made := len(attempts)
	for n := made; n < made+futureMarks && n < policy.Attempts(); n++ {
		if n > made {
			at = at.Add(policy.Waits[n])
		}
		label := "#" + strconv.Itoa(n+1)
		marks = append(marks, chart.Mark{At: at, Tone: "idle", Label: label, Title: label + " " + q.Time(at), Future: true})
	}
	return marks
}
