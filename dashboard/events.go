package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/webhook"
)

// eventsView is what internal systems sent, newest first.
type eventsView struct {
	Fields  []field
	Problem string // what is wrong with the filter
	Events  fact[listed[ledger.SentEvent]]
	Pager   pager
}

const eventsPageSize = 50

// resultOf is the pill of what became of a sent event.
func resultOf(r delivery.IngestResult) pill {
	return map[delivery.IngestResult]pill{delivery.Accepted: {"good", "accepted"}, delivery.Duplicate: {"idle", "duplicate"}, delivery.Refused: {"bad", "refused"}}[r]
}

func (s *surface) eventsPage(w http.ResponseWriter, r *http.Request, q *request) error {
	typed := r.URL.Query()
	search := ledger.EventQuery{Scope: q.scope(), PartnerCode: typed.Get("partner"), Type: webhook.Type(typed.Get("type")),
		Reference: typed.Get("ref"), Cursor: typed.Get("cursor"), Limit: eventsPageSize}
	if search.Type != "" && !search.Type.Known() {
		return webhook.Invalid("type", "must be one of "+strings.Join(plain(webhook.Types), ", "))
	}
	if result := typed.Get("result"); result != "" {
		search.Results = []delivery.IngestResult{delivery.IngestResult(result)}
		if resultOf(search.Results[0]) == (pill{}) {
			return webhook.Invalid("result", "must be accepted, duplicate or refused")
		}
	}
	if search.Cursor != "" {
		if err := webhook.CheckID("cursor", webhook.EventPrefix, webhook.EventPrefix+search.Cursor); err != nil {
			return err
		}
	}
	v := eventsView{Fields: []field{
		{Name: "partner", Label: "Partner", Value: typed.Get("partner")}, {Name: "ref", Label: "Reference", Value: typed.Get("ref")},
		chosen(typed, "result", "Result", []string{"accepted", "duplicate", "refused"}), chosen(typed, "type", "Type", plain(webhook.Types)),
		{Name: "since", Label: "Since (UTC)", Value: typed.Get("since"), Hint: momentHint}, {Name: "until", Label: "Until (UTC)", Value: typed.Get("until")},
	}}
	if err := readSpan(&search.Since, &search.Until, typed, q.Now); err != nil {
		v.Problem = q.queryProblem(err)
		return q.renderStatus(w, r, http.StatusBadRequest, "events", v)
	}
	v.Events = recallList(r.Context(), s.Memory, "events/"+typed.Encode(), func(ctx context.Context) ([]ledger.SentEvent, string, error) {
		return s.Ledger.SentEvents(ctx, search)
	})
	v.Pager = pagerOf(r.URL, v.Events.Value.next)
	return q.render(w, r, "events", v)
}

func chosen(typed url.Values, name, label string, values []string) field {
	f := field{Name: name, Label: label, Type: "select", Options: []option{{Label: "any"}}}
	for _, v := range values {
		f.Options = append(f.Options, option{v, v, v == typed.Get(name)})
	}
	return f
}

// eventView is one event with its deliveries.
type eventView struct {
	webhook.Event
	Body       string
	Deliveries []delivery.Placed
}

// Shown is the state of a delivery as it reads.
func (eventView) Shown(d delivery.Placed) pill { return stateOf(d.Shown(d.Window)) }

func (s *surface) eventPage(w http.ResponseWriter, r *http.Request, q *request) error {
	e, made, err := s.Ledger.SeenEvent(r.Context(), q.scope(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return q.render(w, r, "event", eventView{e, indent(e.Data), made})
}
