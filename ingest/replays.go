package ingest

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/partners"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// replayFilter narrows a replay as the parameters of the deliveries' list do.
// An answer shows what a request named.
type replayFilter struct {
	PartnerCode *string   `json:"partnerCode,omitempty"`
	EndpointID  *string   `json:"endpointId,omitempty"`
	State       *string   `json:"state,omitempty"`
	WebhookType *string   `json:"webhookType,omitempty"`
	StatusCode  *int      `json:"statusCode,omitempty"`
	ErrorClass  *string   `json:"errorClass,omitempty"`
	Reference   *string   `json:"reference,omitempty"`
	ReplayID    *string   `json:"replayId,omitempty"` // made by this replay: with a state, those of it that failed
	Since       *web.Time `json:"since,omitempty"`
	Until       *web.Time `json:"until,omitempty"`
}

// finalStates are the states of what can be replayed.
var finalStates = []webhook.State{webhook.Delivered, webhook.Exhausted, webhook.Cancelled}

// read checks every member that is there. None of them may be empty: in a
// delivery.Filter that narrows nothing, and the replay would be wider than asked.
func (f replayFilter) read() (read delivery.Filter, err error) {
	if f == (replayFilter{}) {
		return read, webhook.Invalid("/filter", "must narrow the deliveries by at least one member")
	}
	for _, member := range []struct {
		name  string
		given *string
		read  func(string) error
	}{
		{"/filter/partnerCode", f.PartnerCode, text(&read.PartnerCode)},
		{"/filter/endpointId", f.EndpointID, text(&read.EndpointID)},
		{"/filter/state", f.State, oneOf("/filter/state", finalStates, &read.State)},
		{"/filter/webhookType", f.WebhookType, oneOf("/filter/webhookType", webhook.Types, &read.Type)},
		{"/filter/errorClass", f.ErrorClass, oneOf("/filter/errorClass", webhook.ErrorClasses, &read.ErrorClass)},
		{"/filter/reference", f.Reference, text(&read.Reference)},
		{"/filter/replayId", f.ReplayID, text(&read.ReplayID)},
	} {
		if member.given == nil {
			continue
		}
		if err := member.read(*member.given); err != nil {
			return read, err
		}
		if *member.given == "" {
			return read, webhook.Invalid(member.name, "must not be empty")
		}
		if err := partners.CheckText(member.name, *member.given); err != nil {
			return read, err
		}
	}
	if f.StatusCode != nil {
		if read.StatusCode = *f.StatusCode; read.StatusCode < 100 || read.StatusCode > 599 {
			return read, webhook.Invalid("/filter/statusCode", "must be a whole number from 100 to 599")
		}
	}
	if read.Since, err = readMoment("/filter/since", f.Since); err == nil {
		read.Until, err = readMoment("/filter/until", f.Until)
	}
	if err == nil {
		err = inOrder("/filter/since", read.Since, read.Until)
	}
	return read, err
}

func readMoment(field string, given *web.Time) (time.Time, error) {
	if given == nil {
		return time.Time{}, nil
	}
	moment := time.Time(*given).UTC()
	if !moment.After(time.Time{}) || moment.Year() > 9999 {
		return moment, webhook.Invalid(field, "must be after 0001-01-01T00:00:00Z and before the year 10000 UTC")
	}
	return moment, nil
}

// shownFilter is a filter as answers show it.
type shownFilter struct {
	replayFilter
	PartnerCodes []string `json:"partnerCodes,omitempty"` // of one of these, which the pages ask for
}

func showFilter(f delivery.Filter) shownFilter {
	return shownFilter{replayFilter{PartnerCode: orNull(f.PartnerCode), EndpointID: orNull(f.EndpointID), State: orNull(f.State), WebhookType: orNull(f.Type),
		StatusCode: unlessZero(f.StatusCode), ErrorClass: orNull(f.ErrorClass), Reference: orNull(f.Reference), ReplayID: orNull(f.ReplayID),
		Since: unlessZero(web.Time(f.Since)), Until: unlessZero(web.Time(f.Until))}, f.PartnerCodes}
}

func unlessZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

type replayItem struct {
	ReplayID      string      `json:"replayId"`
	State         string      `json:"state"` // running, paused, stopped, cancelled, finished
	Reason        string      `json:"reason"`
	Filter        shownFilter `json:"filter"`
	RatePerSecond int         `json:"ratePerSecond"`
	Total         int         `json:"total"`
	Settled       bool        `json:"includeSettled"`
	Note          string      `json:"note,omitempty"`
	CreatedAt     web.Time    `json:"createdAt"`
	FinishedAt    web.Time    `json:"finishedAt"`
}

func showReplayItem(r delivery.Replay) replayItem {
	return replayItem{r.ID, string(r.State), webhook.MaskCards(r.Reason), showFilter(r.Filter), r.Rate, r.Total, r.Filter.IncludeSettled, r.Note, web.Time(r.CreatedAt), web.Time(r.FinishedAt)}
}

// replayProgress counts a replay's items: open to failed add up to its total.
type replayProgress struct {
	Open      int             `json:"open"`
	Skipped   int             `json:"skipped"`
	Waiting   int             `json:"waiting"`
	Delivered int             `json:"delivered"`
	Failing   int             `json:"failing"`
	Failed    int             `json:"failed"`
	Queued    int             `json:"queued"`
	Sent      int             `json:"sent"`
	Answered  int             `json:"answered2xx"`
	Failures  []replayFailure `json:"failures"`
}

type replayFailure struct {
	ErrorClass *string `json:"errorClass"`
	Failing    int     `json:"failing"`
	Failed     int     `json:"failed"`
}

func showProgress(p delivery.ReplayProgress) replayProgress {
	failures := []replayFailure{}
	for _, f := range p.Failures {
		failures = append(failures, replayFailure{orNull(f.Class), f.Failing, f.Failed})
	}
	return replayProgress{p.Open, p.Skipped, p.Waiting, p.Delivered, p.Failing, p.Failed, p.Queued, p.Sent, p.Answered, failures}
}

type previewGroup struct {
	PartnerCode string  `json:"partnerCode"`
	EndpointID  string  `json:"endpointId"`
	WebhookType string  `json:"webhookType"`
	State       string  `json:"state"`
	ErrorClass  *string `json:"errorClass"`
	Count       int     `json:"count"`
}

// previewWarnings counts among the newest checked deliveries.
type previewWarnings struct {
	Checked       int `json:"checked"`
	Delivered     int `json:"alreadyDelivered"`
	Retrying      int `json:"stillRetrying"`
	URLChanged    int `json:"urlChanged"`
	SecretRotated int `json:"secretRotated"`
	Removed       int `json:"endpointRemoved"`
}

// createReplay starts a bulk replay (201), or tells what it would be (200).
func (a *Internal) createReplay(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		Filter        replayFilter `json:"filter"`
		RatePerSecond *int         `json:"ratePerSecond"`
		Reason        string       `json:"reason"`
		DryRun        bool         `json:"dryRun"`
		Settled       bool         `json:"includeSettled"`
	}
	if err := web.DecodeJSON(r, maxBody, &request); err != nil {
		return err
	}
	filter, err := request.Filter.read()
	if err != nil {
		return err
	}
	filter.IncludeSettled = request.Settled
	rate := delivery.DefaultReplayRate
	if request.RatePerSecond != nil {
		rate = *request.RatePerSecond
	}
	if rate < 1 || rate > delivery.MaxReplayRate {
		return webhook.Invalid("/ratePerSecond", fmt.Sprintf("must be 1 to %d", delivery.MaxReplayRate))
	}
	if request.DryRun {
		return a.previewReplay(w, r, filter)
	}
	if err := partners.CheckReason("/reason", request.Reason); err != nil {
		return err
	}
	made, err := a.Replays.StartReplay(r.Context(), partners.Everything(), delivery.Replay{ID: webhook.NewID(webhook.ReplayPrefix), State: delivery.ReplayRunning,
		Reason: request.Reason, Filter: filter, Rate: rate, CreatedAt: time.Now()}, by(r, "replay.start", ""))
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusCreated, showReplayItem(made))
}

func (a *Internal) previewReplay(w http.ResponseWriter, r *http.Request, f delivery.Filter) error {
	p, err := a.Replays.PreviewReplay(r.Context(), partners.Everything(), f)
	if err != nil {
		return err
	}
	groups, sample := []previewGroup{}, []deliveryItem{}
	for _, g := range p.Breakdown {
		groups = append(groups, previewGroup{g.PartnerCode, g.EndpointID, string(g.Type), string(g.State), orNull(g.ErrorClass), g.Count})
	}
	for _, d := range p.Sample {
		sample = append(sample, showDeliveryItem(d))
	}
	return web.WriteJSON(w, http.StatusOK, struct {
		Count     int                `json:"count"` // no further than one above the most a replay takes
		CountIs   delivery.CountKind `json:"countIs"`
		Max       int                `json:"max"`
		Grouped   int                `json:"grouped"`
		Breakdown []previewGroup     `json:"breakdown"`
		Warnings  previewWarnings    `json:"warnings"`
		Settled   int                `json:"settled"` // in count only if they are included
		SettledIs delivery.CountKind `json:"settledIs"`
		Included  bool               `json:"includeSettled"`
		Sample    []deliveryItem     `json:"sample"`
	}{p.Count, p.CountIs, delivery.MaxReplay, p.Grouped, groups, previewWarnings(p.Warnings), p.Settled, p.SettledIs, f.IncludeSettled, sample})
}

func (a *Internal) listReplays(w http.ResponseWriter, r *http.Request) error {
	return list(w, r, isID(webhook.ReplayPrefix), func(ctx context.Context, after string, limit int) ([]delivery.Replay, string, error) {
		return a.Replays.Replays(ctx, partners.Everything(), after, limit)
	}, showReplayItem)
}

func (a *Internal) showReplay(w http.ResponseWriter, r *http.Request) error {
	found, err := a.Replays.Replay(r.Context(), partners.Everything(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, struct {
		replayItem
		Progress replayProgress `json:"progress"`
	}{showReplayItem(found), showProgress(found.Progress)})
}

// moveReplay does what a verb of the API says: it brings a replay to a state.
func (a *Internal) moveReplay(verb string, to delivery.ReplayState) web.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := a.Replays.MoveReplay(r.Context(), r.PathValue("id"), to, by(r, "replay."+verb, "")); err != nil {
			return err
		}
		return a.showReplay(w, r)
	}
}
