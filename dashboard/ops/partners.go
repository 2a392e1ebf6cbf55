package ops

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"strconv"
	"time"

	"ledgerhook/dashboard/chart"
	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/shell"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const partnersPageSize = 50

// partnersView lists the partners, and makes a new one.
type partnersView struct {
	Now      time.Time
	Partners shell.Reading[[]reports.PartnerName]
	Windows  shell.Reading[map[string]reports.PartnerWindows]
	Recent   shell.Reading[map[string]reports.Successes]
	Failing  shell.Reading[[]reports.FailingPartner]
	Oldest   shell.Reading[map[string]time.Time]
	// Of the partners shown.
	Answers shell.Reading[map[string]reports.Percentiles]
	Hours   shell.Reading[map[string][]reports.PeriodCount]

	Asked   partnersQuery
	Views   shell.Views
	More    bool // than are compared
	Rows    []partnerRow
	Pager   shell.Pager
	Fields  []shell.Field // of the form that creates one
	Problem string
	Made    *partners.Account // just now: its secrets are shown this once
}

// partnerRow is one partner of the list.
type partnerRow struct {
	reports.PartnerName
	Href, Waits string
	Health      shell.Pill // empty word: not known just now
	Why         string     // of the health
	Known       bool       // how its endpoints are
	Windows     reports.PartnerWindows
	Recent      reports.Successes
	Share       string // of the recent attempts that succeeded; empty: none, or not known
	Oldest      time.Time
	Answers     string // the 95th percentile of the newest; empty: none, or not known
	Chart       template.HTML
}

func (s pages) partnersPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	return s.showPartners(w, r, q, http.StatusOK, partnersView{Fields: newPartnerFields("", "", "")})
}

func (s pages) showPartners(w http.ResponseWriter, r *http.Request, q *shell.Request, status int, v partnersView) error {
	ctx, cancel := context.WithTimeout(r.Context(), shell.PanelLimit)
	defer cancel()
	var err error
	if v.Asked, err = readPartnersQuery(r.URL.Query()); err != nil {
		return err
	}
	v.Now, v.Views = q.Now, s.ViewsOf(r, q)
	s.readPartners(ctx, &v)
	all := v.Asked.choose(v.rows())
	from := min(v.Asked.from, len(all))
	v.Rows = all[from:min(from+partnersPageSize, len(all))]
	next := ""
	if from+len(v.Rows) < len(all) {
		next = strconv.Itoa(from + len(v.Rows))
	}
	v.Pager = shell.PagerOf(r.URL, next)
	s.readShownPartners(ctx, q, &v)
	q.Once = v.Made != nil
	return q.RenderStatus(w, r, status, "partners", v)
}

// readPartners reads what all partners are compared by.
func (s pages) readPartners(ctx context.Context, v *partnersView) {
	shell.Together(
		func() { s.readNames(ctx, v) },
		func() { v.Recent = shell.Cached(ctx, s.Memory, "partners/recent", s.Reports.RecentSuccesses) },
		func() { v.Failing = shell.Cached(ctx, s.Memory, "home/partners", s.Reports.FailingPartners) },
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
	var waiting []string
	for code, p := range v.Windows.Value {
		if p.Waiting > 0 {
			waiting = append(waiting, code)
		}
	}
	v.Oldest = shell.Cached(ctx, s.Memory, "partners/oldest", func(ctx context.Context) (map[string]time.Time, error) {
		return s.Reports.OldestWaitingOf(ctx, waiting)
	})
}

// readNames reads which partners are compared.
func (s pages) readNames(ctx context.Context, v *partnersView) {
	name := "partners/names"
	if v.Asked.typed != "" {
		name = ""
	}
	v.Partners = shell.Cached(ctx, s.Memory, name, func(ctx context.Context) ([]reports.PartnerName, error) {
		return s.Reports.PartnerNames(ctx, v.Asked.typed)
	})
	if v.More = len(v.Partners.Value) > reports.MaxPartners; v.More {
		v.Partners.Value = v.Partners.Value[:reports.MaxPartners]
	}
}

// Compared is how many partners are compared.
func (v partnersView) Compared() int { return reports.MaxPartners }

// readShownPartners reads what is shown of the partners of this page alone.
func (s pages) readShownPartners(ctx context.Context, q *shell.Request, v *partnersView) {
	codes := make([]string, len(v.Rows))
	for i, row := range v.Rows {
		codes[i] = row.Code
	}
	shell.Together(
		func() {
			v.Answers = shell.Cached(ctx, s.Memory, "", func(ctx context.Context) (map[string]reports.Percentiles, error) {
				return s.Reports.AnswerTimes(ctx, codes)
			})
		},
		func() {
			v.Hours = shell.Cached(ctx, s.Memory, "", func(ctx context.Context) (map[string][]reports.PeriodCount, error) {
				return s.Reports.HoursOf(ctx, codes, v.Now.Add(-23*time.Hour), v.Now)
			})
		},
	)
	for i := range v.Rows {
		row := &v.Rows[i]
		if p := v.Answers.Value[row.Code]; p.N > 0 {
			row.Answers = english.Duration(p.P95)
		}
		if hours := v.Hours.Value[row.Code]; hours != nil {
			row.Chart = sparkline(hours)
		}
	}
}

// sparkline draws a day's attempts.
func sparkline(hours []reports.PeriodCount) template.HTML {
	var good, bad []int64
	var delivered, failed int64
	for _, h := range hours {
		good, bad = append(good, h.AttemptDelivered), append(bad, h.AttemptFailed+h.AttemptUnknown)
		delivered += h.AttemptDelivered
		failed += h.AttemptFailed + h.AttemptUnknown
	}
	return chart.Spark(fmt.Sprintf("%s succeeded, %s failed", count(delivered, "attempt"), english.Number(failed)), good, bad)
}

// rows are all partners with how their endpoints are, as far as that could be
// read for this very page.
func (v partnersView) rows() []partnerRow {
	why := map[string]string{}
	for _, p := range v.Failing.Value {
		if p.Attempts > 0 {
			why[p.PartnerCode] = failure(p)
		}
	}
	rows := make([]partnerRow, 0, len(v.Partners.Value))
	for _, p := range v.Partners.Value {
		row := partnerRow{PartnerName: p, Href: deliveries.PartnerPath(p.Code), Waits: deliveriesOf(p.Code, webhook.Pending), Known: v.Windows.Fresh}
		if row.Known {
			row.Windows = v.Windows.Value[p.Code]
			row.Health, row.Why = healthOf(row.Windows, v.Now)
		}
		if row.Health.Word == healthFailing && v.Failing.Fresh {
			row.Why = cmp.Or(why[p.Code], row.Why)
		}
		if p.Disabled {
			row.Health, row.Why = shell.Bad(healthDisabled), ""
		}
		if v.Recent.Fresh {
			if row.Recent = v.Recent.Value[p.Code]; row.Recent.Attempts > 0 {
				row.Share = english.Percent(row.Recent.Delivered, row.Recent.Attempts)
			}
			if w := row.Health.Word; row.Recent.Attempts >= failingAttempts && row.Recent.Delivered == 0 && (w == healthHealthy || w == healthQuiet) {
				row.Health, row.Why = shell.Bad(healthFailing), "no attempt has succeeded"
			}
		}
		if v.Oldest.Fresh {
			row.Oldest = v.Oldest.Value[p.Code]
		}
		rows = append(rows, row)
	}
	return rows
}

// The words for a partner's health, the worst first.
const (
	healthFailing    = "failing"
	healthSlow       = "slow"
	healthRecovering = "recovering"
	healthHeld       = "held"
	healthDisabled   = "disabled"
	healthHealthy    = "healthy"
	healthQuiet      = "quiet"
)

var healths = []string{healthFailing, healthSlow, healthRecovering, healthHeld, healthDisabled, healthHealthy, healthQuiet}

// failingAttempts is how many recent attempts, of which none succeeded, make a
// partner fail, however short a time that took.
const failingAttempts = 3

// quietAfter is after how long without a success a partner is quiet.
const quietAfter = 24 * time.Hour

// healthOf says in a word how a partner's endpoints are, and why; the worst
// comes first. Endpoints that are paused or disabled do not fail.
func healthOf(w reports.PartnerWindows, now time.Time) (shell.Pill, string) {
	all := w.Breakers[webhook.BreakerClosed] + w.Breakers[webhook.BreakerOpen] + w.Breakers[webhook.BreakerHalfOpen]
	of := func(n int, how string) string {
		return fmt.Sprintf("%s of %s %s", english.Number(n), count(all, "endpoint"), how)
	}
	switch {
	case w.Stopped > 0:
		return shell.Bad(healthFailing), of(w.Stopped, "held back by its breaker")
	case w.Failing > 0:
		return shell.Bad(healthFailing), of(w.Failing, "without a success for a minute")
	case w.Slow > 0:
		return shell.Warn(healthSlow), english.Number(int64(math.Round(w.SlowPace.Times()))) + " times its usual"
	case w.Probing > 0:
		return shell.Warn(healthRecovering), of(w.Probing, "tried again")
	case w.Held > 0 || all > 0 && w.Shut == all:
		return shell.Warn(healthHeld), of(w.Shut, "paused or disabled")
	case all == 0:
		return shell.Idle(healthQuiet), "no endpoint"
	case w.LastSuccess.IsZero():
		return shell.Idle(healthQuiet), "no success yet"
	case now.Sub(w.LastSuccess) > quietAfter:
		return shell.Idle(healthQuiet), "no success for a day"
	}
	return shell.Good(healthHealthy), ""
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
