package deliveries

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/delivery"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// draftView is a replay that is not started yet: what it would be and what
// somebody should know before.
type draftView struct {
	Draft    draft
	Filter   delivery.Filter
	Preview  shell.Reading[delivery.ReplayPreview] // not Known: nothing was asked for yet
	Sample   []SampleRow
	Warnings []shell.Notice
	Problem  string
	Form     string // one-time token
	Rate     int
	Reason   string
	Ready    []tab
}

// SampleRow is one delivery of a draft's sample.
type SampleRow struct {
	delivery.DeliveryWithWindow
	State  shell.Pill
	Result string
}

// typedAbove is the number of deliveries above which it has to be typed.
const typedAbove = 100

// FrozenAt is the time of the draft as its form carries it.
func (v draftView) FrozenAt() string { return v.Draft.At.Format(time.RFC3339Nano) }

// FrozenIDs are the chosen deliveries as the form carries them.
func (v draftView) FrozenIDs() string { return strings.Join(v.Draft.IDs, " ") }

// Startable reports whether there is something to start.
func (v draftView) Startable() bool {
	return v.Preview.Fresh && v.Preview.Value.Count > 0 && v.Preview.Value.Count <= delivery.MaxReplay
}

// leaveOutWords say what is left out if the box is ticked; empty: nothing is
// settled.
func leaveOutWords(s locale.Speller, p delivery.ReplayPreview) string {
	switch {
	case p.SettledIs == delivery.CountAtLeast:
		return s.T(locale.Text("Leave out what was already delivered"))
	case p.Settled > 0:
		return s.T(locale.Text("Leave out %s already delivered"), s.Number(p.Settled))
	}
	return ""
}

// TooMany reports whether a replay takes less than this.
func (v draftView) TooMany() bool {
	return v.Preview.Fresh && v.Preview.Value.Count > delivery.MaxReplay
}

// Typed reports whether the number has to be typed.
func (v draftView) Typed() bool { return v.Preview.Value.Count > typedAbove }

// Max is how many deliveries a replay takes.
func (v draftView) Max() int { return delivery.MaxReplay }

// MaxRate is how many deliveries a second it may send.
func (v draftView) MaxRate() int { return delivery.MaxReplayRate }

// Lasts is how long queueing takes at the rate that is set.
func (v draftView) Lasts() time.Duration {
	return max(time.Second, time.Duration(v.Preview.Value.Count/max(1, v.Rate))*time.Second)
}

// countWords is a number of deliveries as far as it can be relied on.
func countWords(s locale.Speller, p delivery.ReplayPreview) string {
	n := s.Number(p.Count)
	switch {
	case p.Count > delivery.MaxReplay:
		return s.T(locale.Text("more than %s deliveries"), s.Number(delivery.MaxReplay))
	case p.CountIs == delivery.CountAbout:
		return s.T(locale.Text("about %s deliveries"), n)
	case p.CountIs == delivery.CountAtLeast:
		return s.T(locale.Text("at least %s deliveries"), n)
	case p.Count == 1:
		return s.T(locale.Text("1 delivery"))
	}
	return s.T(locale.Text("%s deliveries"), n)
}

// maxAddress is how long the address of a draft may be; the proxies that are
// least generous take 8,000 bytes.
const maxAddress = 6000

// draftPage shows the draft in the address, or asks for a search. The address
// of one that is new leads to that which everybody sees the same draft at.
func (s Pages) draftPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	form := r.URL.Query()
	d, err := readDraft(q, form)
	switch {
	case err == nil && d.empty():
		return q.Render(w, r, "replay_new", draftView{Ready: readyDrafts(q)})
	case err == nil && (!form.Has("at") || form.Has("only")):
		http.Redirect(w, r, d.address(replaysPath(s.Base)), http.StatusSeeOther)
		return nil
	}
	return s.showDraft(w, r, q, form, draftView{})
}

// draftReplay leads to the draft of what was chosen on another page. More than
// an address holds is shown without one.
func (s Pages) draftReplay(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	if err := r.ParseForm(); err != nil {
		return webhook.Invalid("form", "cannot be read")
	}
	if !r.PostForm.Has("id") && !r.PostForm.Has("filter") && !r.PostForm.Has("of") {
		return s.showDraft(w, r, q, r.PostForm, draftView{Problem: q.T("Nothing is chosen. Tick some deliveries, or search.")})
	}
	if d, err := readDraft(q, r.PostForm); err == nil && !d.empty() {
		if at := d.address(replaysPath(s.Base)); len(at) <= maxAddress {
			http.Redirect(w, r, at, http.StatusSeeOther)
			return nil
		}
	}
	return s.showDraft(w, r, q, r.PostForm, draftView{})
}

// showDraft renders a draft; v holds what is already known of the form.
func (s Pages) showDraft(w http.ResponseWriter, r *http.Request, q *shell.Request, form url.Values, v draftView) error {
	v.Ready, v.Form = readyDrafts(q), shell.NewFormToken()
	if !shell.Reads(r) {
		q.Path = replaysPath(s.Base)
	}
	v.Rate = cmp.Or(v.Rate, delivery.DefaultReplayRate)
	status := http.StatusOK
	if v.Problem != "" {
		status = http.StatusBadRequest
	}
	var wrong *queryError
	var err error
	if v.Draft, err = readDraft(q, form); err == nil && !(v.Problem != "" && v.Draft.empty()) {
		v.Filter, err = s.draftFilter(r.Context(), q, &v.Draft)
		if err == nil {
			var preview delivery.ReplayPreview
			preview, err = s.Ledger.PreviewReplay(r.Context(), q.Scope(), v.Filter)
			v.Preview = shell.Reading[delivery.ReplayPreview]{Value: preview, At: q.Now, Known: err == nil, Fresh: err == nil}
		}
	}
	switch {
	case errors.As(err, &wrong):
		v.Problem, status = QueryProblem(q, err), http.StatusBadRequest
	case err != nil:
		return err
	}
	for _, d := range v.Preview.Value.Sample {
		v.Sample = append(v.Sample, SampleRow{d, shell.Standing(d.Delivery, d.Window), ResultWords(q.T, d.Last)})
	}
	v.Warnings = replayWarnings(q, v.Preview.Value)
	return q.RenderStatus(w, r, status, "replay_new", v)
}

func (d draft) empty() bool { return d.Typed == "" && len(d.IDs) == 0 && d.Of == "" }

// replayWarnings says what somebody should know before.
func replayWarnings(q *shell.Request, p delivery.ReplayPreview) (all []shell.Notice) {
	w := p.Warnings
	for _, each := range []struct {
		n    int
		tone string
		text string
	}{
		{w.Delivered, "warn", locale.Text("%s already delivered: the receiver gets a second copy, with the same webhook-id.")},
		{w.URLChanged, "info", locale.Text("%s ended before the endpoint's URL was changed: sent to the new one.")},
		{w.SecretRotated, "info", locale.Text("%s ended before the signing secret was rotated: signed with the current secrets.")},
		{w.Retrying, "info", locale.Text("%s with another delivery under way: skipped.")},
		{w.Removed, "info", locale.Text("%s for a removed endpoint: skipped.")},
	} {
		if each.n == 0 {
			continue
		}
		text := q.T(each.text, q.Number(each.n))
		if p.Count > w.Checked {
			text = q.T("Of the newest %s:", q.Number(w.Checked)) + " " + text
		}
		all = append(all, shell.Notice{Tone: each.tone, Text: text})
	}
	return all
}

// startReplay starts what a draft showed. The same form sent again leads to
// the replay that it made.
func (s Pages) startReplay(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	if err := r.ParseForm(); err != nil {
		return webhook.Invalid("form", "cannot be read")
	}
	form := r.PostForm
	id, again, err := s.Accounts.OnceForm(r.Context(), form.Get("form"), func() (string, error) {
		made, err := s.madeOf(r.Context(), q, form)
		return made.ID, err
	})
	switch {
	case err == nil && again:
		http.Redirect(w, r, replaysPath(s.Base)+"/"+id+"?done=again", http.StatusSeeOther)
		return nil
	case err == nil:
		http.Redirect(w, r, replaysPath(s.Base)+"/"+id+"?done=start", http.StatusSeeOther)
		return nil
	}
	var wrong *queryError
	v := draftView{Reason: form.Get("reason")}
	v.Rate, _ = strconv.Atoi(form.Get("rate"))
	if errors.As(err, &wrong) {
		v.Problem = QueryProblem(q, err)
	} else if v.Problem, _, err = q.Problem(err); err != nil {
		return err
	}
	return s.showDraft(w, r, q, form, v)
}

// madeOf checks a draft's form and starts its replay.
func (s Pages) madeOf(ctx context.Context, q *shell.Request, form url.Values) (made delivery.Replay, err error) {
	rate, err := strconv.Atoi(strings.TrimSpace(form.Get("rate")))
	if err != nil || rate < 1 || rate > delivery.MaxReplayRate {
		return made, wrongQuery(locale.Text("The rate must be a whole number from 1 to %s."), q.Number(delivery.MaxReplayRate))
	}
	reason := strings.TrimSpace(form.Get("reason"))
	if reason == "" {
		return made, wrongQuery(locale.Text("Say why. The reason goes into the audit log."))
	}
	if err := partners.CheckText("reason", reason); err != nil {
		return made, err
	}
	d, err := readDraft(q, form)
	if err != nil {
		return made, err
	}
	if d.empty() {
		return made, wrongQuery(locale.Text("Nothing is chosen. Tick some deliveries, or search."))
	}
	filter, err := s.draftFilter(ctx, q, &d)
	if err != nil {
		return made, err
	}
	preview, err := s.Ledger.PreviewReplay(ctx, q.Scope(), filter)
	if err != nil {
		return made, err
	}
	typed := strings.NewReplacer(",", "", " ", "", ".", "").Replace(form.Get("count"))
	if preview.Count > typedAbove && typed != strconv.Itoa(preview.Count) {
		return made, wrongQuery(locale.Text("Type the number of deliveries, %s, to confirm it."), q.Number(preview.Count))
	}
	made, err = s.Ledger.StartReplay(ctx, q.Scope(), delivery.Replay{ID: webhook.NewID(webhook.ReplayPrefix), State: delivery.ReplayRunning,
		Reason: reason, Filter: filter, Rate: rate, CreatedAt: q.Now}, q.Audit("replay.start"))
	if err != nil {
		return made, fmt.Errorf("start the replay: %w", err)
	}
	return made, nil
}
