package dashboard

import (
	"context"
	"html/template"
	"net/http"
	"slices"

	"ledgerhook/dashboard/locale"
	"ledgerhook/delivery"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// replayView is one replay: how far it is and what became of its deliveries.
type replayView struct {
	Replay  fact[delivery.Replay]
	Figures []figure
	Bar     template.HTML
	Parts   []replayPart
	History fact[[]activityRow]
	Done    string
	Twice   bool // the form had been sent before
}

// replayPart is a share of a replay's deliveries.
type replayPart struct {
	part
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

var replayDone = map[string]string{
	"start": locale.Text("The replay is started."), "pause": locale.Text("The replay is paused."),
	"resume": locale.Text("The replay goes on."), "cancel": locale.Text("The replay is cancelled. What was queued already is still sent."),
}

func (s *surface) replayPage(w http.ResponseWriter, r *http.Request, q *request) error {
	id, err := pathID(r, "replay", webhook.ReplayPrefix)
	if err != nil {
		return err
	}
	done := r.URL.Query().Get("done")
	v := replayView{Twice: done == "again"}
	if text := replayDone[done]; text != "" {
		v.Done = q.T(text)
	}
	ctx, cancel := context.WithTimeout(r.Context(), panelLimit)
	defer cancel()
	scope := q.scope()
	together(
		func() {
			v.Replay = recall(ctx, s.Memory, "replay/"+scope.Partner()+"/"+id, func(ctx context.Context) (delivery.Replay, error) {
				return s.Ledger.ReplayIn(ctx, scope, id)
			})
		},
		func() {
			v.History = recall(ctx, s.Memory, "replay/history/"+scope.Partner()+"/"+id, func(ctx context.Context) ([]activityRow, error) {
				found, _, err := s.Ledger.AuditEntries(ctx, partners.AuditFilter{Target: id, PartnerCode: scope.Partner(), Limit: 20})
				return q.activityRows(found), err
			})
		},
	)
	if webhook.KindOf(v.Replay.Err) == webhook.KindNotFound || !v.Replay.Known {
		return v.Replay.Err
	}
	v.Parts = q.replayParts(v.Replay.Value)
	var bar []part
	for _, p := range v.Parts {
		bar = append(bar, p.part)
	}
	v.Bar = partsBar(bar, v.Replay.Value.Total)
	v.Figures = q.replayFigures(v.Replay)
	return q.render(w, r, "replay", v)
}

// replayFigures are the words that must not be mixed up: queued, sent, answered.
func (q *request) replayFigures(f fact[delivery.Replay]) []figure {
	of := func(label, note string, n func(delivery.ReplayProgress) int) figure {
		shown := figureOf(label, f, func(r delivery.Replay) string { return formatNumber(n(r.Progress)) })
		shown.Note = note
		return shown
	}
	total := figureOf(q.T("On the list"), f, func(r delivery.Replay) string { return formatNumber(r.Total) })
	total.Note = q.T("frozen when it was started")
	failed := of(q.T("Given up"), q.T("ended without success"), func(p delivery.ReplayProgress) int { return p.Failed })
	if f.Fresh && f.Value.Progress.Failed > 0 {
		failed.Tone = "bad"
	}
	return []figure{
		total,
		of(q.T("Queued for sending"), q.T("became a new delivery"), func(p delivery.ReplayProgress) int { return p.Queued }),
		of(q.T("Sent"), q.T("at least one attempt has ended"), func(p delivery.ReplayProgress) int { return p.Sent }),
		of(q.T("Answered 2xx"), q.T("the newest attempt"), func(p delivery.ReplayProgress) int { return p.Answered }),
		failed,
	}
}

func (q *request) replayParts(r delivery.Replay) []replayPart {
	p := r.Progress
	return []replayPart{
		{part{"good", p.Delivered}, q.T("Done"), q.T("delivered and acknowledged")},
		{part{"warn", p.Failing}, q.T("Failing"), q.T("at least one attempt failed, more follow")},
		{part{"bad", p.Failed}, q.T("Given up"), q.T("ended without success")},
		{part{"busy", p.Waiting}, q.T("In the queue"), q.T("queued, and no attempt has ended yet")},
		{part{"idle", p.Skipped}, q.T("Skipped"), q.T("delivered meanwhile, still under way, or past sending")},
		{part{"open", p.Open}, q.T("Not queued yet"), q.T("waits for its turn on the list")},
	}
}

// failureWords is a class of failures in words; empty: they ended unsent.
func failureWords(t say, class webhook.ErrorClass) string {
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
func (s *surface) moveReplay(verb string, to delivery.ReplayState) page {
	return func(w http.ResponseWriter, r *http.Request, q *request) error {
		id := r.PathValue("id")
		if _, err := s.Ledger.ReplayIn(r.Context(), q.scope(), id); err != nil {
			return err
		}
		if err := s.Ledger.MoveReplay(r.Context(), id, to, q.audit("replay."+verb)); err != nil {
			return err
		}
		http.Redirect(w, r, replaysPath(s.base)+"/"+id+"?done="+verb, http.StatusSeeOther)
		return nil
	}
}
