package portal

import (
	"context"
	"net/http"
	"slices"
	"time"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/ledger/accounts"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// secretRoutes are the partner's pages about its webhook secrets.
func (s pages) secretRoutes() []shell.Route {
	return []shell.Route{
		shell.Read("GET /portal/secrets", s.secretsPage),
		shell.Act("POST /portal/secrets", s.createSecret),
		shell.Act("POST /portal/secrets/{id}/activate", s.moveSecret("activate", (*accounts.Accounts).ActivateSecret)),
		shell.Act("POST /portal/secrets/{id}/revoke", s.moveSecret("revoke", (*accounts.Accounts).RevokeSecret)),
	}
}

// secretsView is the partner's webhook secrets, newest first, without their
// values.
type secretsView struct {
	Secrets shell.Reading[[]secretRow]
	Acts    shell.Reading[[]secretAct]
	Steps   []secretStep
	Fresh   secretMade
	Form    string // of the form that makes one
	Done    string
	Problem string
}

// secretMade is a secret whose value is shown this once; the zero value is none.
type secretMade struct{ ID, Value string }

// secretRow is one secret.
type secretRow struct {
	partners.Secret
	State shell.Pill
	Says  string // what it does, and what the receiver has to
	Form  string
}

// Live are the secrets that sign, or will.
func (v secretsView) Live() []secretRow { return v.of(func(r secretRow) bool { return !r.Revoked() }) }

// Revoked are those that sign no more.
func (v secretsView) Revoked() []secretRow { return v.of(secretRow.Revoked) }

func (v secretsView) of(want func(secretRow) bool) (rows []secretRow) {
	for _, row := range v.Secrets.Value {
		if want(row) {
			rows = append(rows, row)
		}
	}
	return rows
}

// Revoked reports whether the secret signs no more.
func (r secretRow) Revoked() bool { return r.Secret.State == partners.SecretRevoked }

// Pending reports whether the secret can be activated.
func (r secretRow) Pending() bool { return r.Secret.State == partners.SecretPending }

// Retiring reports whether it still signs beside the active one.
func (r secretRow) Retiring() bool { return r.Secret.State == partners.SecretRetiring }

// Ends is when it signed last, or will; zero: nobody knows.
func (r secretRow) Ends() time.Time {
	if r.RevokedAt.IsZero() {
		return r.RetiresAt
	}
	return r.RevokedAt
}

// secretAct is what somebody did with a secret.
type secretAct struct {
	At            time.Time
	Who           string // empty: somebody of the gateway's operator
	Did, SecretID string
}

// secretStep is one step of a rotation.
type secretStep struct {
	Name, Means string
	Tone        string // as of an order's track
}

// secretActs is how many acts the page lists.
const secretActs = 20

func (s pages) secretsPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	done := map[string]string{
		"activate": locale.Text("The new secret signs from now on, and the previous one beside it for 24 hours."),
		"revoke":   locale.Text("The secret no longer signs."), "again": deliveries.DoneBefore,
	}[r.URL.Query().Get("done")]
	v := secretsView{}
	if done != "" {
		v.Done = q.T(done)
	}
	return s.showSecrets(w, r, q, http.StatusOK, v)
}

func (s pages) showSecrets(w http.ResponseWriter, r *http.Request, q *shell.Request, status int, v secretsView) error {
	ctx, cancel := context.WithTimeout(r.Context(), shell.PanelLimit)
	defer cancel()
	code := q.User.PartnerCode
	var secrets shell.Reading[[]partners.Secret]
	shell.Together(
		func() {
			secrets = shell.Cached(ctx, s.Memory, "secrets/"+code, func(ctx context.Context) ([]partners.Secret, error) { return s.Accounts.Secrets(ctx, code) })
		},
		func() {
			v.Acts = shell.Cached(ctx, s.Memory, "secrets/acts/"+code+"/"+q.Locale, func(ctx context.Context) ([]secretAct, error) {
				found, _, err := s.Trail.AuditEntries(ctx, partners.AuditFilter{PartnerCode: code, Action: "secret.", Limit: secretActs})
				return actsOf(q, found), err
			})
		},
	)
	v.Secrets = shell.Reading[[]secretRow]{At: secrets.At, Known: secrets.Known, Fresh: secrets.Fresh}
	for _, secret := range slices.Backward(secrets.Value) {
		v.Secrets.Value = append(v.Secrets.Value, secretRowOf(q, secret))
	}
	v.Steps, v.Form = secretSteps(q, secrets.Value), shell.NewFormToken()
	q.Once = v.Fresh.Value != ""
	return q.RenderStatus(w, r, status, "secrets", v)
}

func secretRowOf(q *shell.Request, secret partners.Secret) secretRow {
	row := secretRow{Secret: secret, Form: shell.NewFormToken()}
	row.Secret.State = secret.StateAt(q.Now)
	switch row.Secret.State {
	case partners.SecretPending:
		row.State, row.Says = shell.Busy(locale.Text("pending")), q.T("Signs nothing yet. Put it into your receivers beside the old one, then activate it.")
	case partners.SecretActive:
		row.State, row.Says = shell.Good(locale.Text("active")), q.T("Signs every notification. Your receivers must know it.")
	case partners.SecretRetiring:
		row.State = shell.Warn(locale.Text("retiring"))
		row.Says = q.T("Still signs beside the active one, for %s more. Remove it from your receivers, then revoke it or let it expire.", q.Duration(secret.RetiresAt.Sub(q.Now).Truncate(time.Minute)))
	default:
		row.State, row.Says = shell.Idle(locale.Text("revoked")), q.T("No longer signs. No receiver needs it.")
	}
	return row
}

func actsOf(q *shell.Request, found []partners.AuditEntry) (acts []secretAct) {
	did := map[string]string{"secret.create": locale.Text("created the secret"), "secret.activate": locale.Text("activated the secret"), "secret.revoke": locale.Text("revoked the secret")}
	for i, row := range deliveries.ActivityRows(q, found) {
		text := did[row.Action]
		if text == "" {
			continue
		}
		acts = append(acts, secretAct{row.At, row.Who, q.T(text), found[i].Detail}) // of these acts the detail is the secret's id
	}
	return acts
}

// secretSteps are the steps of a rotation, and which of them is next.
func secretSteps(q *shell.Request, secrets []partners.Secret) []secretStep {
	has := map[partners.SecretState]bool{}
	for _, secret := range secrets {
		has[secret.StateAt(q.Now)] = true
	}
	next := 0
	switch {
	case has[partners.SecretPending]:
		next = 1
	case has[partners.SecretRetiring]:
		next = 3
	}
	steps := []secretStep{
		{q.T("Create"), q.T("A new secret is made and shown once. It signs nothing yet."), ""},
		{q.T("Install"), q.T("Make your receivers accept the old and the new one: a notification counts if either verifies."), ""},
		{q.T("Activate"), q.T("From now on both sign, for 24 hours. Check that your receivers still accept everything."), ""},
		{q.T("Clean up"), q.T("Remove the old one from your receivers, then revoke it here or let it expire."), ""},
	}
	for i := range steps {
		switch {
		case i < next:
			steps[i].Tone = "good"
		case i == next:
			steps[i].Tone = "idle"
		default:
			steps[i].Tone = "future"
		}
	}
	return steps
}

// createSecret makes a pending secret and shows its value, this once: it
// stands in no log and in no other page.
func (s pages) createSecret(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	if err := r.ParseForm(); err != nil {
		return webhook.Invalid("form", "cannot be read")
	}
	var made secretMade
	_, again, err := s.Accounts.OnceForm(r.Context(), r.PostForm.Get("form"), func() (string, error) {
		secret, value := partners.NewSecret(s.Box, q.User.PartnerCode, q.Now)
		if err := s.Accounts.AddSecret(r.Context(), secret, q.Audit("secret.create")); err != nil {
			return "", err
		}
		made = secretMade{secret.ID, value}
		return secret.ID, nil
	})
	if again && err == nil {
		err = webhook.Conflict("this secret was shown already, once: create another one if you do not have it")
	}
	if err != nil {
		return s.refuseSecret(w, r, q, err)
	}
	return s.showSecrets(w, r, q, http.StatusCreated, secretsView{Fresh: made})
}

// refuseSecret shows the page with why something was not done.
func (s pages) refuseSecret(w http.ResponseWriter, r *http.Request, q *shell.Request, refused error) error {
	problem, status, err := q.Problem(refused)
	if err != nil {
		return err
	}
	return s.showSecrets(w, r, q, status, secretsView{Problem: problem})
}

// moveSecret activates a secret or revokes it.
func (s pages) moveSecret(act string, move func(a *accounts.Accounts, ctx context.Context, code, id string, now time.Time, by ...partners.AuditEntry) (partners.Secret, error)) shell.Page {
	return func(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
		refused := error(nil)
		err := s.once(w, r, func() (string, error) {
			_, refused = move(s.Accounts, r.Context(), q.User.PartnerCode, r.PathValue("id"), q.Now, q.Audit("secret."+act))
			if refused != nil {
				return "", refused
			}
			return "/portal/secrets?done=" + act, nil
		})
		if refused != nil {
			return s.refuseSecret(w, r, q, refused)
		}
		return err
	}
}
