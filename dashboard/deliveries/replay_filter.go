package deliveries

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/delivery"
	"ledgerhook/ledger/reports"
	"ledgerhook/webhook"
)

// draft is what a replay is to be made of, frozen when it was first shown:
// a search as it was typed, deliveries that were chosen, or what failed of
// another replay.
type draft struct {
	Typed string
	IDs   []string
	Of    string    // a replay
	At    time.Time // what came later is not meant, and ages count from here
	// Settled has what is settled sent as well. A form says so by lacking "leave"
	// where it was asked: a checkbox that is not ticked is not sent.
	Settled bool
}

// draftAt is the address of the draft of a search.
func draftAt(path, typed string) string { return path + "/new?" + url.Values{"q": {typed}}.Encode() }

// ReplayPath is the address of the preview of a search, on a surface.
func ReplayPath(base, typed string) string { return draftAt(replaysPath(base), typed) }

// FailedQuery searches for what was given up since, a length such as 24h, and
// not delivered by another delivery; of some partners, or of all if none is named.
func FailedQuery(since string, codes ...string) string {
	query := "state:exhausted settled:no since:" + since
	if len(codes) > 0 {
		query = "partner:" + strings.Join(codes, ",") + " " + query
	}
	return query
}

// address is where everybody who may sees the draft, however much later.
func (d draft) address(path string) string {
	query := url.Values{"at": {d.At.Format(time.RFC3339Nano)}}
	for name, value := range map[string]string{"q": d.Typed, "ids": strings.Join(d.IDs, " "), "of": d.Of} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if d.Settled {
		query.Set("asked", "1")
	}
	return path + "/new?" + query.Encode()
}

// readDraft reads a draft from a form; its first sight has no time yet.
func readDraft(q *shell.Request, form url.Values) (d draft, err error) {
	d = draft{Typed: strings.TrimSpace(form.Get("q")), Of: form.Get("of"), At: q.Now.UTC().Truncate(time.Millisecond), Settled: form.Has("asked") && !form.Has("leave")}
	if form.Has("only") || form.Has("partners") { // some of the partners that it was of
		if d.Typed, err = ofPartners(d.Typed, form["only"], q.Here(q.Now)); err != nil {
			return d, err
		}
	}
	if form.Has("filter") { // of the list, which searches for what needs attention until somebody types
		d.Typed = cmp.Or(strings.TrimSpace(form.Get("filter")), "state:"+stateAttention)
	}
	for _, ids := range append(form["id"], form.Get("ids")) {
		d.IDs = append(d.IDs, strings.Fields(ids)...)
	}
	if form.Has("filter") { // all that match, whatever is ticked
		d.IDs = nil
	}
	if len(d.IDs) > delivery.MaxFilterIDs {
		return d, wrongQuery(locale.Text("At most %s deliveries can be chosen one by one. Use a search instead."), q.Number(delivery.MaxFilterIDs))
	}
	for _, id := range d.IDs {
		if err := webhook.CheckID("id", webhook.DeliveryPrefix, id); err != nil {
			return d, err
		}
	}
	if d.Of != "" {
		if err := webhook.CheckID("of", webhook.ReplayPrefix, d.Of); err != nil {
			return d, err
		}
	}
	if at := form.Get("at"); at != "" {
		frozen, err := time.Parse(time.RFC3339Nano, at)
		if err != nil || frozen.After(q.Now) {
			return d, webhook.Invalid("at", "must be the time of the draft")
		}
		d.At = frozen.UTC()
	}
	d.Typed = absolute(d.Typed, q.Here(d.At))
	return d, nil
}

// ofPartners narrows a search of several partners to some of them. There must be
// one that it is of, lest it be of all: the error is a *queryError.
func ofPartners(typed string, only []string, now time.Time) (string, error) {
	search, err := parseQuery(typed, now)
	if err != nil {
		return typed, err
	}
	chosen := slices.DeleteFunc(slices.Clone(search.PartnerCodes), func(code string) bool { return !slices.Contains(only, code) })
	if len(chosen) == 0 {
		return typed, wrongQuery(locale.Text("Choose at least one partner."))
	}
	typed, _ = mergeQuery(url.Values{"q": {typed}, "partner": {strings.Join(chosen, ",")}})
	return typed, nil
}

// draftFilter is what the draft means for the ledger. A search that no filter
// can say is looked up and frozen as the ids that it finds. Errors are a
// *queryError or a *webhook.Error.
func (s Pages) draftFilter(ctx context.Context, q *shell.Request, d *draft) (f delivery.Filter, err error) {
	f, err = s.draftMatches(ctx, q, d)
	f.IncludeSettled = d.Settled
	return f, err
}

// draftMatches is the filter of what the draft matches.
func (s Pages) draftMatches(ctx context.Context, q *shell.Request, d *draft) (f delivery.Filter, err error) {
	switch {
	case d.Of != "":
		if _, err := s.Ledger.Replay(ctx, q.Scope(), d.Of); err != nil {
			return f, err
		}
		return delivery.Filter{ReplayID: d.Of, State: webhook.Exhausted, Until: d.At}, nil
	case len(d.IDs) > 0:
		return delivery.Filter{IDs: d.IDs}, nil
	}
	search, err := parseQuery(d.Typed, q.Here(d.At))
	if err != nil {
		return f, err
	}
	if search.Until.IsZero() || search.Until.After(d.At) {
		search.Until = d.At
	}
	if search.NeedsAttention { // of which only what was given up has ended
		search.NeedsAttention, search.States = false, []webhook.State{webhook.Exhausted}
		if oldest := d.At.Add(-reports.AttentionFor); search.Since.Before(oldest) {
			search.Since = oldest
		}
	}
	ended := false
	for _, state := range search.States {
		ended = ended || state.Final()
	}
	if len(search.States) > 0 && !ended {
		return f, wrongQuery(locale.Text("Only finished deliveries can be replayed: delivered, exhausted or cancelled. Unfinished ones are still being sent."))
	}
	if f, ok := plainFilter(search); ok {
		return f, nil
	}
	search.Scope = q.Scope()
	d.IDs, err = s.endedIDs(ctx, q, search)
	return delivery.Filter{IDs: d.IDs}, err
}

// plainFilter says a search as a filter, false if a filter cannot.
func plainFilter(q reports.DeliveryQuery) (f delivery.Filter, ok bool) {
	f = delivery.Filter{PartnerCode: q.PartnerCode, PartnerCodes: q.PartnerCodes, EndpointID: q.EndpointID, StatusCode: q.StatusCode, Since: q.Since, Until: q.Until}
	if len(q.States) > 1 || len(q.Types) > 1 || len(q.ErrorClasses) > 1 {
		return f, false
	}
	for _, state := range q.States {
		f.State = state
	}
	for _, t := range q.Types {
		f.Type = t
	}
	for _, class := range q.ErrorClasses {
		f.ErrorClass = class
	}
	return f, (q.Settled == nil || !*q.Settled) && q.Host == "" && q.StatusClass == 0 && len(q.Triggers) == 0 && q.Reference == "" && q.AttemptsMin == 0 && q.AttemptsMax == 0 &&
		q.DurationMin == 0 && q.DurationMax == 0 && q.DelayMin == 0
}

// endedIDs are the deliveries that a search finds and that have ended.
func (s Pages) endedIDs(ctx context.Context, q *shell.Request, search reports.DeliveryQuery) (ids []string, err error) {
	search.Limit = reports.SearchMaxLimit
	for {
		page, err := s.Reports.SearchDeliveries(ctx, search)
		if err != nil {
			return nil, err
		}
		for _, d := range page.Items {
			if d.Delivery.State.Final() {
				ids = append(ids, d.ID)
			}
		}
		switch {
		case len(ids) > delivery.MaxFilterIDs:
			return nil, wrongQuery(locale.Text("This search finds more than %s deliveries. Narrow it, or search by partner, endpoint, type, class, code and time alone: then up to %s can be replayed at once."),
				q.Number(delivery.MaxFilterIDs), q.Number(delivery.MaxReplay))
		case page.Next == "" && len(ids) == 0:
			return nil, wrongQuery(locale.Text("Nothing that has ended matches."))
		case page.Next == "":
			return ids, nil
		}
		search.Cursor = page.Next
	}
}
