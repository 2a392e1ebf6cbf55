package ops

import (
	"context"
	"net/http"
	"time"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/shell"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const partnersPageSize = 50

// partnersView lists the partners, and makes a new one.
type partnersView struct {
	Partners shell.Fact[shell.Listed[partners.Partner]]
	Windows  shell.Fact[map[string]reports.PartnerWindows]
	Pager    shell.Pager
	Fields   []shell.Field // of the form that creates one
	Problem  string
	Made     *partners.Account // just now: its secrets are shown this once
}

// partnerRow is one partner of the list.
type partnerRow struct {
	partners.Partner
	Href        string
	Health      shell.Pill // empty word: not known just now
	Endpoints   string     // how many; empty: not known just now
	Breakers    shell.Pill // empty word: it has no endpoint, or that is not known
	Held        int64
	LastSuccess time.Time
}

func (s pages) partnersPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	return s.showPartners(w, r, q, http.StatusOK, partnersView{Fields: newPartnerFields("", "", "")})
}

func (s pages) showPartners(w http.ResponseWriter, r *http.Request, q *shell.Request, status int, v partnersView) error {
	ctx, cancel := context.WithTimeout(r.Context(), shell.PanelLimit)
	defer cancel()
	cursor := r.URL.Query().Get("cursor")
	if cursor != "" && partners.CheckCode(cursor) != nil {
		return webhook.Invalid("cursor", "must be the code of a partner, from the link to the next page")
	}
	shell.Together(
		func() {
			v.Partners = shell.CachedList(ctx, s.Memory, "partners/"+cursor, func(ctx context.Context) ([]partners.Partner, string, error) {
				return s.Accounts.Partners(ctx, cursor, partnersPageSize)
			})
		},
		func() {
			v.Windows = shell.Cached(ctx, s.Memory, "partners/windows", func(ctx context.Context) (map[string]reports.PartnerWindows, error) {
				all, err := s.Reports.PartnerWindows(ctx)
				byCode := make(map[string]reports.PartnerWindows, len(all))
				for _, p := range all {
					byCode[p.PartnerCode] = p
				}
				return byCode, err
			})
		},
	)
	v.Pager = shell.PagerOf(r.URL, v.Partners.Value.Next)
	q.Once = v.Made != nil
	return q.RenderStatus(w, r, status, "partners", v)
}

// Rows are the partners with how their endpoints are, if that could be read
// for this very page.
func (v partnersView) Rows() []partnerRow {
	var rows []partnerRow
	for _, p := range v.Partners.Value.Found {
		row := partnerRow{Partner: p, Href: deliveries.PartnerPath(p.Code)}
		w, ok := v.Windows.Value[p.Code]
		if v.Windows.Fresh {
			row.Health = healthOf(w)
		}
		if p.Disabled {
			row.Health = shell.Bad("disabled")
		}
		if ok && v.Windows.Fresh {
			n := w.Breakers[webhook.BreakerClosed] + w.Breakers[webhook.BreakerOpen] + w.Breakers[webhook.BreakerHalfOpen]
			row.Endpoints, row.Held, row.LastSuccess = english.Number(n), w.Held, w.LastSuccess
			row.Breakers = shell.Good("hold nothing back")
			if open := w.Breakers[webhook.BreakerOpen]; open > 0 {
				row.Breakers = shell.Bad(english.Number(open) + " held back")
			} else if probing := w.Breakers[webhook.BreakerHalfOpen]; probing > 0 {
				row.Breakers = shell.Warn(english.Number(probing) + " trying again")
			}
		} else if v.Windows.Fresh {
			row.Endpoints = "0"
		}
		rows = append(rows, row)
	}
	return rows
}

// healthOf says in a word how a partner's endpoints are; the worst comes first.
func healthOf(w reports.PartnerWindows) shell.Pill {
	all := w.Breakers[webhook.BreakerClosed] + w.Breakers[webhook.BreakerOpen] + w.Breakers[webhook.BreakerHalfOpen]
	switch {
	case w.Failing > 0 || w.Breakers[webhook.BreakerOpen] > 0:
		return shell.Bad("failing")
	case w.Breakers[webhook.BreakerHalfOpen] > 0:
		return shell.Warn("recovering")
	case w.Held > 0 || all > 0 && w.Shut == all:
		return shell.Warn("held")
	case w.LastSuccess.IsZero():
		return shell.Idle("quiet")
	}
	return shell.Good("healthy")
}

func newPartnerFields(code, name, key string) []shell.Field {
	return []shell.Field{
		{Name: "code", Label: "Code", Value: code, Mono: true, Required: true, Hint: "1 to 32 letters, digits, _ or -. It never changes."},
		{Name: "name", Label: "Name", Value: name, Hint: "Its display name."},
		{Name: "key", Label: "Public key", Type: "textarea", Rows: 8, Value: key, Mono: true, Required: true,
			Hint: "The partner's RSA public key in PEM: its requests are verified with it."},
	}
}

// createPartner opens an account and shows its secrets, this once.
func (s pages) createPartner(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	form := r.PostForm
	made, err := partners.NewAccount(s.Box, form.Get("code"), form.Get("name"), form.Get("key"), q.Now)
	if err == nil {
		err = s.Accounts.CreatePartner(r.Context(), made.Partner, made.First, q.Audit("partner.create"))
	}
	if err != nil {
		problem, status, err := q.Problem(err)
		if err != nil {
			return err
		}
		return s.showPartners(w, r, q, status, partnersView{Problem: problem, Fields: newPartnerFields(form.Get("code"), form.Get("name"), form.Get("key"))})
	}
	return s.showPartners(w, r, q, http.StatusCreated, partnersView{Made: &made, Fields: newPartnerFields("", "", "")})
}
