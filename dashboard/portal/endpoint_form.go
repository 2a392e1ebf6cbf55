package portal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/shell"
	"ledgerhook/delivery"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// maxPartnerInFlight is the widest window that a partner gives its own
// endpoint. Only operators widen it further: a receiver that is slow with
// everything would hold too many of the gateway's slots.
const maxPartnerInFlight = 2 * webhook.DefaultMaxInFlight

// moreHeaders is how many empty lines for headers a form has.
const moreHeaders = 3

// endpointForm is the form that makes or changes an endpoint, as it was typed.
type endpointForm struct {
	ID      string // empty: a new one
	Problem string
	Form    string // one-time token
	Version string // of the endpoint that was shown; another one meanwhile is a conflict

	URL, Description, MaxInFlight, RateLimit, Timeout shell.Field

	Types   []shell.Option
	AckBody bool
	Ordered bool
	Kept    []shell.Option // headers that it has; chosen ones are dropped
	More    []typedHeader  // to be added or replaced
	Headers string         // what is wrong with them all
	Test    bool
	Opened  bool // the part with further settings is shown from the beginning
}

// typedHeader is one line for a custom header.
type typedHeader struct{ Name, Value, Error string }

// Action is where the form goes.
func (f endpointForm) Action() string {
	if f.ID == "" {
		return "/portal/endpoints"
	}
	return deliveries.EndpointPath(f.ID)
}

// page is where the form is got empty, or as the endpoint is.
func (f endpointForm) page() string {
	if f.ID == "" {
		return "/portal/endpoints/new"
	}
	return deliveries.EndpointPath(f.ID) + "/edit"
}

// endpointForm is the form filled in with an endpoint.
func formOf(q *shell.Request, e webhook.Endpoint, known bool) endpointForm {
	f := endpointForm{Form: shell.NewFormToken(), AckBody: e.AckMode == webhook.AckBody, Ordered: e.Window.Ordered, Test: true,
		URL:         shell.Field{Name: "url", Type: "url", Label: q.T("URL"), Value: e.URL, Mono: true, Required: true, Hint: q.T("https, a public host name, port 443 or 8443. Its name and addresses are checked when you save."), Autocomplete: "off"},
		Description: shell.Field{Name: "description", Label: q.T("Description"), Value: e.Description, Hint: q.T("For your team: its purpose.")},
		MaxInFlight: shell.Field{Name: "maxInFlight", Type: "number", Label: q.T("Deliveries at the same time, at most"), Value: strconv.Itoa(e.Window.MaxInFlight), Required: true,
			Hint: q.T("1 to %s. It begins with 2 and grows with success.", q.Number(partnerInFlight(e)))},
		RateLimit: shell.Field{Name: "rateLimit", Type: "number", Label: q.T("Deliveries a second, at most"), Value: strconv.Itoa(delivery.RateLimit(e.Window)), Required: true,
			Hint: q.T("0 is no limit; %s is the highest.", q.Number(delivery.MaxRate))},
		Timeout: shell.Field{Name: "timeout", Type: "number", Label: q.T("Seconds an attempt may take"), Value: seconds(e.Timeout), Required: true,
			Hint: q.T("%s to %s, or 0 for the gateway's own. The answer must come within it.", seconds(delivery.MinTimeout), seconds(delivery.MaxTimeout))},
	}
	if known {
		f.ID, f.Version = e.ID, strconv.FormatInt(e.UpdatedAt.UnixMicro(), 10)
	}
	for _, t := range webhook.Types {
		f.Types = append(f.Types, shell.Option{Value: string(t), Chosen: slices.Contains(e.Types, t)})
	}
	for _, name := range (portalEndpoint{deliveries.EndpointPanel{Endpoint: e}, q}).HeaderNames() {
		f.Kept = append(f.Kept, shell.Option{Value: name})
	}
	f.addLines()
	return f
}

// partnerInFlight is the widest window that the partner can set: an operator's
// wider one stays.
func partnerInFlight(e webhook.Endpoint) int { return max(maxPartnerInFlight, e.Window.MaxInFlight) }

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

func (f *endpointForm) addLines() {
	for len(f.More) < moreHeaders {
		f.More = append(f.More, typedHeader{})
	}
}

// typed puts into the form what was typed.
func (f *endpointForm) typed(form url.Values) {
	f.URL.Value, f.Description.Value = strings.TrimSpace(form.Get("url")), strings.TrimSpace(form.Get("description"))
	f.MaxInFlight.Value, f.RateLimit.Value = strings.TrimSpace(form.Get("maxInFlight")), strings.TrimSpace(form.Get("rateLimit"))
	f.Timeout.Value = strings.TrimSpace(form.Get("timeout"))
	f.AckBody, f.Ordered, f.Test = form.Get("ackMode") == string(webhook.AckBody), form.Has("ordered"), form.Has("test")
	if f.Version != "" {
		f.Version = form.Get("version")
	}
	f.Types = nil
	for _, t := range webhook.Types {
		f.Types = append(f.Types, shell.Option{Value: string(t), Chosen: slices.Contains(form["type"], string(t))})
	}
	for i := range f.Kept {
		f.Kept[i].Chosen = slices.Contains(form["drop"], f.Kept[i].Value)
	}
	f.More = nil
	names, values := form["header"], form["value"]
	for i, name := range names[:min(len(names), 2*delivery.MaxHeaders)] {
		line := typedHeader{Name: strings.TrimSpace(name)}
		if i < len(values) {
			line.Value = strings.TrimSpace(values[i])
		}
		if line != (typedHeader{}) {
			f.More = append(f.More, line)
		}
	}
	f.addLines()
}

// change puts what was typed into e, and says what is wrong, field by field.
func (f *endpointForm) change(q *shell.Request, e *webhook.Endpoint) (wrong []webhook.FieldError) {
	note := func(err error) {
		if refused, ok := errors.AsType[*webhook.Error](err); ok {
			wrong = append(wrong, refused.Fields...)
		}
	}
	whole := func(field, text string, highest int) *int {
		n, err := strconv.Atoi(text)
		switch {
		case err != nil:
			note(webhook.Invalid(field, "must be a whole number"))
		case n > highest:
			note(webhook.Invalid(field, fmt.Sprintf("must be 1 to %d", highest)))
		default:
			return &n
		}
		return nil
	}
	note(partners.CheckText("/description", f.Description.Value))
	e.URL, e.Description = f.URL.Value, f.Description.Value
	ack, types := webhook.AckStatus, []string{}
	if f.AckBody {
		ack = webhook.AckBody
	}
	for _, t := range f.Types {
		if t.Chosen {
			types = append(types, t.Value)
		}
	}
	headers, err := f.headers(q, *e)
	note(err)
	for _, c := range []delivery.EndpointChange{
		{Types: &types, AckMode: &ack, Ordered: &f.Ordered}, {Headers: headers},
		{MaxInFlight: whole("/maxInFlight", f.MaxInFlight.Value, partnerInFlight(*e))}, {RateLimit: whole("/rateLimit", f.RateLimit.Value, math.MaxInt)},
		{Timeout: whole("/timeoutSeconds", f.Timeout.Value, math.MaxInt)},
	} {
		note(c.Apply(q.Surface.Box, e))
	}
	return wrong
}

// apply is change that refuses what is wrong.
func (f *endpointForm) apply(q *shell.Request, e *webhook.Endpoint) error {
	if wrong := f.change(q, e); len(wrong) > 0 {
		return &webhook.Error{Kind: webhook.KindInvalid, Fields: wrong}
	}
	return nil
}

// headers are those of e without the dropped ones and with the typed ones; nil
// if they stay as they are.
func (f *endpointForm) headers(q *shell.Request, e webhook.Endpoint) (delivery.Headers, error) {
	dropped := slices.ContainsFunc(f.Kept, func(o shell.Option) bool { return o.Chosen })
	if !dropped && !slices.ContainsFunc(f.More, func(l typedHeader) bool { return l.Name != "" || l.Value != "" }) {
		return nil, nil
	}
	have, err := delivery.OpenHeaders(q.Surface.Box, e.ID, e.Headers)
	if err != nil {
		return nil, err
	}
	headers := delivery.Headers{}
	maps.Copy(headers, have)
	for _, kept := range f.Kept {
		if kept.Chosen {
			delete(headers, kept.Value)
		}
	}
	for _, line := range f.More {
		if line.Name == "" && line.Value == "" {
			continue
		}
		for name := range have { // in whatever case, it takes that one's place
			if strings.EqualFold(name, line.Name) {
				delete(headers, name)
			}
		}
		if _, twice := headers[line.Name]; twice {
			return nil, webhook.Invalid("/headers", fmt.Sprintf("must have %s once, in whatever case", line.Name))
		}
		headers[line.Name] = line.Value
	}
	return headers, nil
}

// refuse puts what is wrong beside its field, in the reader's language.
func (f *endpointForm) refuse(q *shell.Request, wrong []webhook.FieldError) {
	for _, w := range wrong {
		said := q.Say(w.Detail)
		pointer, member, _ := strings.Cut(strings.TrimPrefix(w.Field, "/"), "/")
		switch pointer {
		case "url":
			f.URL.Error = said
		case "description":
			f.Description.Error = said
		case "maxInFlight":
			f.MaxInFlight.Error, f.Opened = said, true
		case "rateLimit":
			f.RateLimit.Error, f.Opened = said, true
		case "timeoutSeconds":
			f.Timeout.Error, f.Opened = said, true
		case "headers":
			f.Opened = true
			if !f.refuseHeader(strings.ReplaceAll(member, "~0", "~"), said) {
				f.Headers = said
			}
		}
	}
	f.Problem = q.T("Nothing is saved yet: see the marked fields below.")
}

func (f *endpointForm) refuseHeader(name, said string) bool {
	for i := range f.More {
		if name != "" && f.More[i].Name == name {
			f.More[i].Error = said
			return true
		}
	}
	return false
}

func (s pages) newEndpointPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	return q.Render(w, r, "endpoint_form", formOf(q, delivery.NewEndpoint(q.User.PartnerCode, "", q.Now), false))
}

func (s pages) editEndpointPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	e, err := s.endpointAt(r.Context(), r, q)
	if err != nil {
		return err
	}
	return q.Render(w, r, "endpoint_form", formOf(q, e, true))
}

// createEndpoint makes an endpoint of what was typed.
func (s pages) createEndpoint(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	e := delivery.NewEndpoint(q.User.PartnerCode, "", q.Now)
	return s.keepEndpoint(w, r, q, formOf(q, e, false), e, "created", func(f *endpointForm) (webhook.Endpoint, error) {
		return s.Ledger.CreateEndpoint(r.Context(), e, func(e *webhook.Endpoint) error { return f.apply(q, e) }, q.Audit("endpoint.create"))
	})
}

// saveEndpoint changes an endpoint to what was typed.
func (s pages) saveEndpoint(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	e, err := s.endpointAt(r.Context(), r, q)
	if err != nil {
		return err
	}
	return s.keepEndpoint(w, r, q, formOf(q, e, true), e, "saved", func(f *endpointForm) (webhook.Endpoint, error) {
		return s.Ledger.UpdateEndpoint(r.Context(), q.Scope(), e.ID, func(e *webhook.Endpoint) error {
			if f.Version != strconv.FormatInt(e.UpdatedAt.UnixMicro(), 10) {
				return webhook.Conflict("somebody else has changed it since you opened this form: open it again")
			}
			return f.apply(q, e)
		}, q.Audit("endpoint.change"))
	})
}

// keepEndpoint checks a typed endpoint, has it kept and leads to it; with a
// test if that was asked for. What cannot be kept is shown with what is wrong.
func (s pages) keepEndpoint(w http.ResponseWriter, r *http.Request, q *shell.Request, f endpointForm, e webhook.Endpoint, done string,
	keep func(*endpointForm) (webhook.Endpoint, error)) error {
	if err := r.ParseForm(); err != nil {
		return webhook.Invalid("form", "cannot be read")
	}
	f.typed(r.PostForm)
	q.Path = f.page()
	wrong := f.change(q, &e)
	if tidy, err := s.Guard.CheckURL(r.Context(), f.URL.Value, s.Resolver); err != nil {
		wrong = append(wrong, fieldsOf(err)...)
	} else {
		f.URL.Value = tidy
	}
	if len(wrong) > 0 {
		f.refuse(q, wrong)
		return q.RenderStatus(w, r, http.StatusBadRequest, "endpoint_form", f)
	}
	refused := error(nil)
	err := s.once(w, r, func() (string, error) {
		kept, err := keep(&f)
		if err != nil {
			refused = err
			return "", err
		}
		if !f.Test {
			return deliveries.EndpointPath(kept.ID) + "?done=" + done, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), shell.ActLimit)
		defer cancel()
		place, err := s.sendTest(ctx, q, kept, "", done)
		if err != nil { // it is saved all the same
			s.Log.ErrorContext(r.Context(), "the test of an endpoint was not sent", "endpoint", kept.ID, "error", err)
			return deliveries.EndpointPath(kept.ID) + "?done=" + done, nil
		}
		return place, nil
	})
	if refused == nil {
		return err
	}
	problem, status, err := q.Problem(refused)
	if err != nil {
		return err
	}
	if wrong := fieldsOf(refused); len(wrong) > 0 {
		f.refuse(q, wrong)
	} else {
		f.Problem = problem
	}
	return q.RenderStatus(w, r, status, "endpoint_form", f)
}

func fieldsOf(err error) []webhook.FieldError {
	var refused *webhook.Error
	if !errors.As(err, &refused) {
		return nil
	}
	return refused.Fields
}
