package ops

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/shell"
	"ledgerhook/delivery"
	"ledgerhook/ledger/reports"
	"ledgerhook/webhook"
)

// eventsView is what internal systems sent, newest first.
type eventsView struct {
	Fields  []shell.Field
	Views   shell.Views
	Problem string // what is wrong with the filter
	Events  shell.Reading[shell.Listed[reports.SentEvent]]
	Pager   shell.Pager
}

const eventsPageSize = 50

// resultOf is the pill of what became of a sent event.
func resultOf(r delivery.IngestResult) shell.Pill {
	return map[delivery.IngestResult]shell.Pill{delivery.Accepted: shell.Good("accepted"), delivery.Duplicate: shell.Idle("duplicate"), delivery.Refused: shell.Bad("refused")}[r]
}

func (s pages) eventsPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	typed := r.URL.Query()
	search := reports.EventQuery{Scope: q.Scope(), PartnerCode: typed.Get("partner"), Type: webhook.Type(typed.Get("type")),
		Reference: typed.Get("ref"), Cursor: typed.Get("cursor"), Limit: eventsPageSize}
	if search.Type != "" && !search.Type.Known() {
		return webhook.Invalid("type", "must be one of "+strings.Join(shell.Plain(webhook.Types), ", "))
	}
	if result := typed.Get("result"); result != "" {
		search.Results = []delivery.IngestResult{delivery.IngestResult(result)}
		if resultOf(search.Results[0]) == (shell.Pill{}) {
			return webhook.Invalid("result", "must be accepted, duplicate or refused")
		}
	}
	if search.Cursor != "" {
		if err := webhook.CheckID("cursor", webhook.EventPrefix, webhook.EventPrefix+search.Cursor); err != nil {
			return err
		}
	}
	v := eventsView{Views: s.ViewsOf(r, q), Fields: []shell.Field{
		{Name: "partner", Label: "Partner", Value: typed.Get("partner")}, {Name: "ref", Label: "Reference", Value: typed.Get("ref")},
		chosen(typed, "result", "Result", []string{"accepted", "duplicate", "refused"}), chosen(typed, "type", "Type", shell.Plain(webhook.Types)),
		{Name: "since", Label: "Since", Value: typed.Get("since"), Hint: deliveries.MomentHint}, {Name: "until", Label: "Until", Value: typed.Get("until")},
	}}
	if err := deliveries.ReadSpan(&search.Since, &search.Until, typed, q.Here(q.Now)); err != nil {
		v.Problem, v.Views.Query = deliveries.QueryProblem(q, err), ""
		return q.RenderStatus(w, r, http.StatusBadRequest, "events", v)
	}
	v.Events = shell.CachedList(r.Context(), s.Memory, "events/"+typed.Encode(), func(ctx context.Context) ([]reports.SentEvent, string, error) {
		return s.Reports.SentEvents(ctx, search)
	})
	v.Pager = shell.PagerOf(r.URL, v.Events.Value.Next)
	return q.Render(w, r, "events", v)
}

func chosen(typed url.Values, name, label string, values []string) shell.Field {
	f := shell.Field{Name: name, Label: label, Type: "select", Options: []shell.Option{{Label: "any"}}}
	for _, v := range values {
		f.Options = append(f.Options, shell.Option{Value: v, Label: v, Chosen: v == typed.Get(name)})
	}
	return f
}

// eventView is one event with its deliveries.
type eventView struct {
	webhook.Event
	Body       string
	Deliveries []delivery.DeliveryWithWindow
}

// Shown is the state of a delivery as it reads.
func (eventView) Shown(d delivery.DeliveryWithWindow) shell.Pill {
	return shell.Standing(d.Delivery, d.Window)
}

func (s pages) eventPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	e, made, err := s.Reports.SeenEvent(r.Context(), q.Scope(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return q.Render(w, r, "event", eventView{e, deliveries.Indent(e.Data), made})
}
