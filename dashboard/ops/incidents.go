package ops

import (
	"context"
	"net/http"
	"strings"
	"time"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/shell"
	"ledgerhook/incidents"
	"ledgerhook/webhook"
)

func (s pages) incidentRoutes() []shell.Route {
	return []shell.Route{
		shell.Read("GET /ops/incidents", s.incidentsPage),
		shell.Act("POST /ops/incidents/test", s.testIncidents),
		shell.Read("GET /ops/incidents/{id}", s.incidentPage),
		shell.Act("POST /ops/incidents/{id}/acknowledge", s.acknowledgeIncident),
		shell.Act("POST /ops/incidents/{id}/snooze", s.snoozeIncident),
	}
}

// incidentRow is an incident in words.
type incidentRow struct {
	incidents.Incident
	now time.Time
}

// Title says in a line what it is.
func (i incidentRow) Title() string { return incidents.Headline(i.Incident) }

// Found says what was found, with its figures.
func (i incidentRow) Found() string { return incidents.Says(i.Incident) }

// Ended says what became of the deliveries; empty: it keeps none from arriving.
func (i incidentRow) Ended() string { return incidents.Ends(i.Incident) }

// Path is its page.
func (i incidentRow) Path() string { return "/ops/incidents/" + i.ID }

// PartnerPath is the page of the partner whose endpoint it is.
func (i incidentRow) PartnerPath() string { return deliveries.PartnerPath(i.PartnerCode) }

// Whose says whose fault it is.
func (i incidentRow) Whose() shell.Pill {
	if i.Kind.Theirs() {
		return shell.Warn("receiver")
	}
	return shell.Bad("gateway")
}

// Pill is where it stands.
func (i incidentRow) Pill() shell.Pill {
	switch {
	case i.State == incidents.Closed:
		return shell.Good("over")
	case !i.ClearedAt.IsZero():
		return shell.Busy("settling")
	case i.Acknowledged():
		return shell.Idle("acknowledged")
	case i.Snoozed(i.now):
		return shell.Idle("snoozed")
	}
	return shell.Bad("open")
}

// Lasts is for how long it has lasted, or lasted.
func (i incidentRow) Lasts() string {
	end := i.now
	if !i.ClearedAt.IsZero() {
		end = i.ClearedAt
	}
	return english.Duration(max(0, end.Sub(i.Since())))
}

// IsOpen reports whether something can be done about it.
func (i incidentRow) IsOpen() bool { return i.State == incidents.Open }

func incidentRows(found []incidents.Incident, now time.Time) []incidentRow {
	all := make([]incidentRow, len(found))
	for n, i := range found {
		all[n] = incidentRow{i, now}
	}
	return all
}

// incidentsView lists incidents: the open ones, then those that are over.
type incidentsView struct {
	Open, Over    shell.Reading[[]incidentRow]
	Tests         shell.Reading[[]messageRow]
	Rules         []shell.Setting
	Form          string // one-time token; empty for readers who may not act
	Done, Problem string
}

// settingsOf are the settings that say what an incident is and whom to tell.
const settingsOf = "LEDGERHOOK_INCIDENTS_"

func (s pages) incidentsPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	v := incidentsView{}
	switch r.URL.Query().Get("done") {
	case "test":
		v.Done = "The test message is on its way. The list below says what became of it."
	case "again":
		v.Done = "Already done: this form was sent before. Nothing was sent twice."
	}
	return s.showIncidents(w, r, q, http.StatusOK, v)
}

func (s pages) showIncidents(w http.ResponseWriter, r *http.Request, q *shell.Request, status int, v incidentsView) error {
	ctx, cancel := context.WithTimeout(r.Context(), shell.PanelLimit)
	defer cancel()
	list := func(read func(context.Context) ([]incidents.Incident, error)) func(context.Context) ([]incidentRow, error) {
		return func(ctx context.Context) ([]incidentRow, error) {
			found, err := read(ctx)
			return incidentRows(found, q.Now), err
		}
	}
	shell.Together(
		func() { v.Open = shell.Cached(ctx, s.Memory, "incidents/open", list(s.Incidents.Open)) },
		func() { v.Over = shell.Cached(ctx, s.Memory, "incidents/over", list(s.Incidents.Closed)) },
		func() { v.Tests = s.messagesOf(ctx, "") },
	)
	for _, setting := range s.Settings {
		if strings.HasPrefix(setting.Name, settingsOf) {
			v.Rules = append(v.Rules, setting)
		}
	}
	if q.CanAct() {
		v.Form = shell.NewFormToken()
	}
	return q.RenderStatus(w, r, status, "incidents", v)
}

// messageRow is something that was told, or is to be.
type messageRow struct{ incidents.Message }

// Pill is what became of it.
func (m messageRow) Pill() shell.Pill {
	switch {
	case !m.SentAt.IsZero():
		return shell.Good("sent")
	case m.DueAt.IsZero():
		return shell.Bad("given up")
	case m.Failure != "":
		return shell.Warn("tried again")
	}
	return shell.Busy("on its way")
}

// Way is how it goes.
func (m messageRow) Way() string {
	if m.Channel == incidents.Webhook {
		return "notification to the endpoints of " + m.Address
	}
	return "e-mail to " + m.Address
}

// When is when it was sent, else when it was written.
func (m messageRow) When() time.Time {
	if !m.SentAt.IsZero() {
		return m.SentAt
	}
	return m.CreatedAt
}

func (s pages) messagesOf(ctx context.Context, id string) shell.Reading[[]messageRow] {
	return shell.Cached(ctx, s.Memory, "incidents/messages/"+id, func(ctx context.Context) ([]messageRow, error) {
		found, err := s.Incidents.Messages(ctx, id)
		all := make([]messageRow, len(found))
		for i, m := range found {
			all[i] = messageRow{m}
		}
		return all, err
	})
}

// entryRow is a line of an incident's history in words.
type entryRow struct{ incidents.Entry }

// Did says what happened.
func (e entryRow) Did() string {
	return map[incidents.Act]string{
		incidents.ActOpen: "opened", incidents.ActClear: "the fault is over; closes if it stays so", incidents.ActBack: "the fault came back",
		incidents.ActRemind: "people were reminded", incidents.ActClose: "closed", incidents.ActAcknowledge: "acknowledged", incidents.ActSnooze: "snoozed",
	}[e.Act]
}

// Tone is the colour of its dot.
func (e entryRow) Tone() string {
	switch e.Act {
	case incidents.ActOpen, incidents.ActBack:
		return "bad"
	case incidents.ActClose:
		return "good"
	}
	return ""
}

// incidentView is one incident.
type incidentView struct {
	incidentRow
	History       shell.Reading[[]entryRow]
	Messages      shell.Reading[[]messageRow]
	Snoozes       []shell.Option
	Done, Problem string
}

// snoozes are for how long nobody can be reminded.
var snoozes = []shell.Option{{Value: "1h", Label: "1 hour"}, {Value: "8h", Label: "8 hours"}, {Value: "24h", Label: "1 day"}, {Value: "72h", Label: "3 days"}}

func (s pages) incidentPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	id, err := shell.PathID(r, "incident", incidents.Prefix)
	if err != nil {
		return err
	}
	v := incidentView{Snoozes: snoozes}
	switch r.URL.Query().Get("done") {
	case "acknowledge":
		v.Done = "You look after it. Nobody is reminded of it; its end is told."
	case "snooze":
		v.Done = "Nobody is reminded of it meanwhile; its end is told."
	}
	return s.showIncident(w, r, q, http.StatusOK, id, v)
}

func (s pages) showIncident(w http.ResponseWriter, r *http.Request, q *shell.Request, status int, id string, v incidentView) error {
	i, err := s.Incidents.Incident(r.Context(), id)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), shell.PanelLimit)
	defer cancel()
	v.incidentRow = incidentRow{i, q.Now}
	shell.Together(
		func() {
			v.History = shell.Cached(ctx, s.Memory, "incidents/history/"+id, func(ctx context.Context) ([]entryRow, error) {
				found, err := s.Incidents.History(ctx, id)
				all := make([]entryRow, len(found))
				for n, e := range found {
					all[n] = entryRow{e}
				}
				return all, err
			})
		},
		func() { v.Messages = s.messagesOf(ctx, id) },
	)
	return q.RenderStatus(w, r, status, "incident", v)
}

func (s pages) acknowledgeIncident(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	return s.actOn(w, r, q, "acknowledge", func(id string) error {
		return s.Incidents.Acknowledge(r.Context(), id, q.Audit("incident.acknowledge"))
	})
}

func (s pages) snoozeIncident(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	return s.actOn(w, r, q, "snooze", func(id string) error {
		for _, choice := range snoozes {
			if d, err := time.ParseDuration(choice.Value); err == nil && r.PostForm.Get("for") == choice.Value {
				return s.Incidents.Snooze(r.Context(), id, d, q.Audit("incident.snooze"))
			}
		}
		return webhook.Invalid("for", "must be 1h, 8h, 24h or 72h")
	})
}

// actOn does something about an incident and leads back to it.
func (s pages) actOn(w http.ResponseWriter, r *http.Request, q *shell.Request, act string, do func(id string) error) error {
	id, err := shell.PathID(r, "incident", incidents.Prefix)
	if err == nil && r.ParseForm() != nil {
		err = webhook.Invalid("form", "cannot be read")
	}
	if err != nil {
		return err
	}
	if err := do(id); err != nil {
		problem, status, err := q.Problem(err)
		if err != nil {
			return err
		}
		return s.showIncident(w, r, q, status, id, incidentView{Snoozes: snoozes, Problem: problem})
	}
	http.Redirect(w, r, "/ops/incidents/"+id+"?done="+act, http.StatusSeeOther)
	return nil
}

// testIncidents sends a test message to everybody who is told of everything.
func (s pages) testIncidents(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	if err := r.ParseForm(); err != nil {
		return webhook.Invalid("form", "cannot be read")
	}
	_, again, err := s.Accounts.OnceForm(r.Context(), r.PostForm.Get("form"), func() (string, error) {
		_, err := s.Incidents.Test(r.Context(), q.Audit("incident.test"))
		return "", err
	})
	if err != nil {
		problem, status, err := q.Problem(err)
		if err != nil {
			return err
		}
		return s.showIncidents(w, r, q, status, incidentsView{Problem: problem})
	}
	done := "test"
	if again {
		done = "again"
	}
	http.Redirect(w, r, "/ops/incidents?done="+done, http.StatusSeeOther)
	return nil
}
