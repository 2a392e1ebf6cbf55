package ops

import (
	"context"
	"html/template"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"ledgerhook/dashboard/chart"
	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/shell"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// partnerChanges is how many changes of a partner its page lists.
const partnerChanges = 12

// partnerView is everything about one partner.
type partnerView struct {
	Code      string // of the page's address, which is known when Partner is not
	Partner   shell.Reading[partners.Partner]
	State     shell.Pill
	Span      lookBack
	Spans     []lookBack
	Funnel    shell.Reading[reports.Funnel]
	Steps     []funnelStep
	Figures   []shell.Figure
	Trend     deliveries.Trend
	Endpoints shell.Reading[[]deliveries.EndpointPanel]
	Secrets   shell.Reading[[]partners.Secret]
	People    shell.Reading[[]partners.Person]
	Changes   shell.Reading[[]partners.AuditEntry]
	Done      string
	Now       time.Time
}

// lookBack is a time to look back on.
type lookBack struct {
	Name, Words string
	Length      time.Duration
	Chosen      bool
}

var lookBacks = []lookBack{{"1h", "last hour", time.Hour, false}, {"24h", "last 24 hours", 24 * time.Hour, false},
	{"7d", "last 7 days", 7 * 24 * time.Hour, false}, {"30d", "last 30 days", 30 * 24 * time.Hour, false}}

// lookBacksAt are the choices, the one that was asked for chosen: 24 hours
// unless it is one of them.
func lookBacksAt(name string) (all []lookBack, chosen lookBack) {
	at := 1
	for i, s := range lookBacks {
		if s.Name == name {
			at = i
		}
	}
	all = append(all, lookBacks...)
	all[at].Chosen = true
	return all, all[at]
}

var partnerDone = map[string]string{
	"pause": "The endpoint is paused. Its deliveries are held.", "resume": "The endpoint is resumed. Held deliveries go out now.",
	"open-breaker": "The breaker is open until somebody closes it.", "close-breaker": "The breaker is closed.",
	"disable": "The partner is disabled: its requests are refused and its deliveries are held.", "enable": "The partner is enabled.",
}

func (s pages) partnerPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	code := r.PathValue("code")
	if partners.CheckCode(code) != nil {
		return webhook.NotFound("partner", code)
	}
	v := partnerView{Code: code, Now: q.Now, Done: partnerDone[r.URL.Query().Get("done")]}
	v.Spans, v.Span = lookBacksAt(r.URL.Query().Get("span"))
	ctx, cancel := context.WithTimeout(r.Context(), shell.PanelLimit)
	defer cancel()
	s.readPartner(ctx, q, r.URL, code, &v)
	if webhook.KindOf(v.Partner.Err) == webhook.KindNotFound {
		return v.Partner.Err
	}
	v.State = shell.Good("active")
	if v.Partner.Value.Disabled {
		v.State = shell.Bad("disabled")
	}
	v.Steps = funnelSteps(code, v.Funnel)
	v.Figures = latencyFigures(v.Funnel)
	return q.Render(w, r, "partner", v)
}

// readPartner reads the page's parts at once; each may fail alone.
func (s pages) readPartner(ctx context.Context, q *shell.Request, page *url.URL, code string, v *partnerView) {
	key, scope := "partner/"+code+"/", partners.Only(code)
	shell.Together(
		func() {
			v.Partner = shell.Cached(ctx, s.Memory, key, func(ctx context.Context) (partners.Partner, error) { return s.Accounts.Partner(ctx, code) })
		},
		func() {
			v.Funnel = shell.Cached(ctx, s.Memory, key+"funnel/"+v.Span.Name, func(ctx context.Context) (reports.Funnel, error) {
				return s.Reports.PartnerFunnel(ctx, scope, code, v.Now.Add(-v.Span.Length), v.Now)
			})
		},
		func() { v.Trend = s.TrendOf(ctx, q, page, scope, code) },
		func() {
			v.Endpoints = shell.Cached(ctx, s.Memory, key+"endpoints", func(ctx context.Context) ([]deliveries.EndpointPanel, error) { return s.EndpointPanels(ctx, code) })
		},
		func() {
			v.Secrets = shell.Cached(ctx, s.Memory, key+"secrets", func(ctx context.Context) ([]partners.Secret, error) { return s.Accounts.Secrets(ctx, code) })
		},
		func() {
			v.People = shell.Cached(ctx, s.Memory, key+"people", func(ctx context.Context) ([]partners.Person, error) {
				people, _, err := s.Accounts.People(ctx, partners.PeopleFilter{PartnerCode: code, AnyPartner: true, Limit: shell.MaxPeople})
				return people, err
			})
		},
		func() {
			v.Changes = shell.Cached(ctx, s.Memory, key+"changes", func(ctx context.Context) ([]partners.AuditEntry, error) {
				return s.Reports.PartnerChanges(ctx, scope, code, readChanges)
			})
		},
	)
}

// ChangeRows are the changes in words.
func (v partnerView) ChangeRows() []changeRow {
	rows := changeRows(v.Changes.Value, partnerChanges)
	for i := range rows {
		rows[i].Partner, rows[i].Href = "", ""
		rows[i].Did = strings.TrimSuffix(rows[i].Did, " of")
	}
	return rows
}

// KeyID names the partner's public key.
func (v partnerView) KeyID() string {
	key, err := signer.ParsePublicKey(v.Partner.Value.PublicKey)
	if err != nil {
		return ""
	}
	return signer.KeyID(key)
}

// OldKeyUntil is until when the key before still verifies; zero: there is none.
func (v partnerView) OldKeyUntil() time.Time {
	for _, old := range v.Partner.Value.ValidOldKeys(v.Now) {
		return old.Until
	}
	return time.Time{}
}

// From is from where the partner may call.
func (v partnerView) From() string {
	var from []string
	for _, p := range v.Partner.Value.Settings.AllowedIPs {
		from = append(from, netip.Prefix.String(p))
	}
	if len(from) == 0 {
		return "anywhere"
	}
	return strings.Join(from, ", ")
}

// SecretState is a secret's state as a pill.
func (v partnerView) SecretState(s partners.Secret) shell.Pill {
	state := s.StateAt(v.Now)
	return shell.Pill{Tone: map[partners.SecretState]string{partners.SecretActive: "good", partners.SecretRetiring: "warn", partners.SecretPending: "busy"}[state], Word: string(state)}
}

// DeliveriesPath lists the partner's deliveries.
func (v partnerView) DeliveriesPath() string { return deliveriesOf(v.Code, "") }

// ReplayPath is the preview of sending again what was given up in the time
// that is looked at; empty if nothing was.
func (v partnerView) ReplayPath() string {
	if f := v.Funnel; f.Fresh && f.Value.Exhausted == 0 && !f.Value.Sampled {
		return ""
	}
	return deliveries.ReplayPath("/ops", deliveries.FailedQuery(v.Span.Name, v.Code))
}

// funnelStep is one step of the way from an event to its end.
type funnelStep struct {
	Name, Means string
	Count       string
	Share       string
	Bar         template.HTML
	Href        string
	Inner       bool // a part of the step before
}

// funnelSteps are the steps of f; none while it is not known.
func funnelSteps(code string, r shell.Reading[reports.Funnel]) []funnelStep {
	if !r.Known {
		return nil
	}
	n := r.Value
	most := int64(max(n.Accepted, n.Matched))
	step := func(name, means, tone string, count int, of int, inner bool, list string) funnelStep {
		st := funnelStep{Name: name, Means: means, Count: english.Number(count), Inner: inner, Bar: chart.Bar(name, tone, int64(count), most)}
		if of > 0 {
			st.Share = english.Percent(int64(count), int64(of))
		}
		if list != "" && count > 0 {
			st.Href = deliveries.Path("/ops", "partner:"+code+" "+list)
		}
		return st
	}
	steps := []funnelStep{
		step("Accepted", "events taken with a 202", "busy", n.Accepted, 0, false, ""),
		step("Matched", "their deliveries, one for each endpoint that takes the type", "busy", n.Matched, 0, false, ""),
		step("First try", "delivered by the first attempt", "good", n.FirstTry, n.Matched, true, "state:delivered"),
		step("After retry", "delivered by a later attempt", "good", n.AfterRetry, n.Matched, true, ""),
		step("Waiting", "not attempted yet", "idle", n.Waiting, n.Matched, true, "state:pending"),
		step("Retrying", "failed so far, retried automatically", "warn", n.Retrying, n.Matched, true, ""),
		step("Exhausted", "given up after the last attempt", "bad", n.Exhausted, n.Matched, true, "state:exhausted settled:no"),
		step("Cancelled", "cancelled by somebody", "idle", n.Cancelled, n.Matched, true, "state:cancelled settled:no"),
	}
	if n.Settled > 0 {
		steps = slices.Insert(steps, 4, step("By replay", "delivered when it was sent again", "good", n.Settled, n.Matched, true, "settled:yes"))
	}
	if n.Filtered > 0 {
		steps = append(steps[:1], append([]funnelStep{step("Filtered", "no endpoint takes the type", "idle", n.Filtered, n.Accepted, true, "")}, steps[1:]...)...)
	}
	return steps
}

func latencyFigures(r shell.Reading[reports.Funnel]) []shell.Figure {
	of := func(label string, of func(reports.Funnel) reports.Percentiles, value func(reports.Percentiles) time.Duration) shell.Figure {
		return shell.FigureOf(label, r, func(f reports.Funnel) string {
			p := of(f)
			if p.N == 0 {
				return "none yet"
			}
			return english.Duration(value(p))
		})
	}
	first := func(f reports.Funnel) reports.Percentiles { return f.FirstDelay }
	took := func(f reports.Funnel) reports.Percentiles { return f.Duration }
	return []shell.Figure{
		of("First attempt after, median", first, func(p reports.Percentiles) time.Duration { return p.P50 }),
		of("First attempt after, p99", first, func(p reports.Percentiles) time.Duration { return p.P99 }),
		of("Answer took, median", took, func(p reports.Percentiles) time.Duration { return p.P50 }),
		of("Answer took, p95", took, func(p reports.Percentiles) time.Duration { return p.P95 }),
		of("Answer took, p99", took, func(p reports.Percentiles) time.Duration { return p.P99 }),
	}
}
