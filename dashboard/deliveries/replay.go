package deliveries

import (
	"context"
	"html/template"
	"net/http"
	"slices"

	"ledgerhook/dashboard/chart"
	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/delivery"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// replayView is one replay: how far it is and what became of its deliveries.
type replayView struct {
	Replay  shell.Reading[delivery.Replay]
	Figures []shell.Figure
	Bar     template.HTML
	Parts   []replayPart
	History shell.Reading[[]ActivityRow]
	Done    string
	Twice   bool // the form had been sent before
}

// replayPart is a share of a replay's deliveries.
type replayPart struct {
	chart.Part
	Name, Means string
}

// replayMoves are what a replay of a state allows.
var replayMoves = map[delivery.ReplayState][]string{
	delivery.ReplayRunning: {"pause", "cancel"},
	delivery.ReplayPaused:  {"resume", "cancel"},
	delivery.ReplayStopped: {"resume", "cancel"},
}

// Can reports whether the replay's state allows a move.
func (v replayView) Can(move string) bool {
	return v.Replay.Fresh && slices.Contains(replayMoves[v.Replay.Value.State], move)
}

// replayDone says that a move was made, as long as the replay is in the state
// that it led to.
var replayDone = map[string]struct {
	state delivery.ReplayState
	text  string
}{
	"start":  {delivery.ReplayRunning, locale.Text("The replay is started.")},
	"pause":  {delivery.ReplayPaused, locale.Text("The replay is paused.")},
	"resume": {delivery.ReplayRunning, locale.Text("The replay continues.")},
	"cancel": {delivery.ReplayCancelled, locale.Text("The replay is cancelled. Deliveries already queued are still sent.")},
}

func (s Pages) replayPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	id, err := shell.PathID(r, "replay", webhook.ReplayPrefix)
	if err != nil {
		return err
	}
	done := r.URL.Query().Get("done")
	v := replayView{Twice: done == "again"}
	ctx, cancel := context.WithTimeout(r.Context(), shell.PanelLimit)
	defer cancel()
	scope := q.Scope()
	shell.Together(
		func() {
			v.Replay = shell.Cached(ctx, s.Memory, "replay/"+scope.Partner()+"/"+id, func(ctx context.Context) (delivery.Replay, error) {
				return s.Ledger.Replay(ctx, scope, id)
			})
		},
		func() {
			v.History = shell.Cached(ctx, s.Memory, "replay/history/"+scope.Partner()+"/"+id, func(ctx context.Context) ([]ActivityRow, error) {
				found, _, err := s.Trail.AuditEntries(ctx, partners.AuditFilter{Target: id, PartnerCode: scope.Partner(), Limit: 20})
				return ActivityRows(q, found), err
			})
		},
	)
	if webhook.KindOf(v.Replay.Err) == webhook.KindNotFound || !v.Replay.Known {
		return v.Replay.Err
	}
	if d, ok := replayDone[done]; ok && d.state == v.Replay.Value.State {
		v.Done = q.T(d.text)
	}
	v.Parts = replayParts(q, v.Replay.Value)
	var bar []chart.Part
	for _, p := range v.Parts {
		bar = append(bar, p.Part)
	}
	v.Bar = chart.Parts(bar, v.Replay.Value.Total)
	v.Figures = replayFigures(q, v.Replay)
	return q.Render(w, r, "replay", v)
}

// replayFigures are the words that must not be mixed up: queued, sent, answered.
func replayFigures(q *shell.Request, f shell.Reading[delivery.Replay]) []shell.Figure {
	of := func(label, note string, n func(delivery.ReplayProgress) int) shell.Figure {
		shown := shell.FigureOf(label, f, func(r delivery.Replay) string { return q.Number(n(r.Progress)) })
		shown.Note = note
		return shown
	}
	total := shell.FigureOf(q.T("On the list"), f, func(r delivery.Replay) string { return q.Number(r.Total) })
	total.Note = q.T("frozen when it was started")
	failed := of(q.T("Given up"), q.T("ended without success"), func(p delivery.ReplayProgress) int { return p.Failed })
	if f.Fresh && f.Value.Progress.Failed > 0 {
		failed.Tone = "bad"
	}
	return []shell.Figure{
		total,
		of(q.T("Queued for sending"), q.T("became a new delivery"), func(p delivery.ReplayProgress) int { return p.Queued }),
		of(q.T("Sent"), q.T("at least one attempt has ended"), func(p delivery.ReplayProgress) int { return p.Sent }),
		of(q.T("Answered 2xx"), q.T("the newest attempt"), func(p delivery.ReplayProgress) int { return p.Answered }),
		failed,
	}
}

func replayParts(q *shell.Request, r delivery.Replay) []replayPart {
	p := r.Progress
	return []replayPart{
		{chart.Part{Tone: "good", Count: p.Delivered}, q.T("Done"), q.T("delivered and acknowledged")},
		{chart.Part{Tone: "warn", Count: p.Failing}, q.T("Failing"), q.T("at least one attempt failed, more follow")},
		{chart.Part{Tone: "bad", Count: p.Failed}, q.T("Given up"), q.T("ended without success")},
		{chart.Part{Tone: "busy", Count: p.Waiting}, q.T("In the queue"), q.T("queued, and no attempt has ended yet")},
		{chart.Part{Tone: "idle", Count: p.Skipped}, q.T("Skipped"), q.T("delivered in the meantime, still under way, or cannot be sent any more")},
		{chart.Part{Tone: "open", Count: p.Open}, q.T("Not queued yet"), q.T("waits for its turn on the list")},
	}
}

// failureWords is a class of failures in words; empty: they ended unsent.
func failureWords(t Say, class webhook.ErrorClass) string {
	text, ok := classWords[class]
	switch {
	case class == "":
		return t(locale.Text("never sent"))
	case !ok:
		return string(class)
	}
	if codes := codesOf[class]; codes != "" {
		return t(text, codes)
	}
	return t(text)
}

// codesOf are the status codes of the classes that have several.
var codesOf = map[webhook.ErrorClass]string{
	webhook.ErrorHTTP4xx: "4xx", webhook.ErrorHTTP5xx: "5xx", webhook.ErrorRedirect: "3xx", webhook.ErrorBadAck: "2xx",
}

// moveReplay does what a button says: it brings a replay to a state.
func (s Pages) moveReplay(verb string, to delivery.ReplayState) shell.Page {
	return func(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
		id := r.PathValue("id")
		if _, err := s.Ledger.Replay(r.Context(), q.Scope(), id); err != nil {
			return err
		}
		if err := s.Ledger.MoveReplay(r.Context(), id, to, q.Audit("replay."+verb)); err != nil {
			return err
		}
		http.Redirect(w, r, replaysPath(s.Base)+"/"+id+"?done="+verb, http.StatusSeeOther)
		return nil
	}
}
