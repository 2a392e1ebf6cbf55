package shell

import (
	"errors"
	"html/template"
	"net/http"
	"strings"

	"rsc.io/qr"

	"ledgerhook/dashboard/chart"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// accountView is the page about oneself.
type accountView struct {
	Sessions []sessionRow
	Recovery int      // codes left
	Codes    []string // new recovery codes, shown this once
	Done     string
	Problem  string
}

type sessionRow struct {
	partners.Session
	Current bool
}

func (s *Surface) accountPage(w http.ResponseWriter, r *http.Request, q *Request) error {
	done := map[string]string{
		"password": q.T("Your password is changed. You are signed out everywhere else."),
		"totp-off": q.T("Sign-in codes are off."),
		"session":  q.T("The session is ended."),
	}[r.URL.Query().Get("done")]
	return s.showAccount(w, r, q, http.StatusOK, accountView{Done: done})
}

func (s *Surface) showAccount(w http.ResponseWriter, r *http.Request, q *Request, status int, v accountView) error {
	sessions, err := s.Accounts.Sessions(r.Context(), q.User.ID, q.Now)
	if err != nil {
		return err
	}
	for _, each := range sessions {
		v.Sessions = append(v.Sessions, sessionRow{each, each.ID == q.Session.ID})
	}
	if q.User.TOTP {
		if v.Recovery, err = s.Accounts.RecoveryCodesLeft(r.Context(), q.User.ID); err != nil {
			return err
		}
	}
	q.Once = len(v.Codes) > 0
	if !Reads(r) {
		q.Path = s.Base + "/account"
	}
	return q.RenderStatus(w, r, status, "account", v)
}

// Problem is an error that the page it belongs to can show, in the reader's
// language; any other is returned.
func (q *Request) Problem(err error) (shown string, status int, other error) {
	var e *webhook.Error
	if !errors.As(err, &e) {
		return "", 0, err
	}
	switch e.Kind {
	case webhook.KindInvalid, webhook.KindConflict, webhook.KindRateLimited:
	default:
		return "", 0, err
	}
	var said []string
	if e.Message != "" {
		said = append(said, q.Say(e.Message))
	}
	for _, f := range e.Fields {
		said = append(said, q.Say(f.Field+" "+f.Detail))
	}
	status = map[webhook.Kind]int{webhook.KindInvalid: 400, webhook.KindConflict: 409, webhook.KindRateLimited: 429}[e.Kind]
	return strings.Join(said, " "), status, nil
}

// proves checks the password of the signed-in person once more, before they
// change what they sign in with. Failures count as those of a sign-in.
func (s *Surface) proves(r *http.Request, q *Request, password string) error {
	tries := s.triesOf(q.User.Username, r)
	wait, err := s.try(r.Context(), tries, q.Now)
	if err != nil {
		return err
	}
	if wait > 0 {
		s.Metrics.AuthFailed(s.Name, failedLocked)
		return &webhook.Error{Kind: webhook.KindRateLimited, Message: "too many failed tries", RetryAfter: wait}
	}
	c, err := s.Accounts.Credentials(r.Context(), q.User.ID)
	if err != nil {
		return err
	}
	right, err := s.door().passwords.Check(r.Context(), c.PasswordHash, password)
	if err != nil {
		return err
	}
	if !right {
		s.Metrics.AuthFailed(s.Name, failedPassword)
		return webhook.Invalid("current", "is not your password")
	}
	return s.Accounts.LoggedIn(r.Context(), tries.all(), tries.username, q.Now)
}

// newPassword reads the two fields of a new password and hashes it.
func (s *Surface) newPassword(r *http.Request, username string) (hash string, err error) {
	password := r.PostForm.Get("password")
	if err := partners.CheckNewPassword(username, password); err != nil {
		return "", err
	}
	if password != r.PostForm.Get("again") {
		return "", webhook.Invalid("again", "must be the same password")
	}
	return s.door().passwords.Hash(r.Context(), password)
}

func (s *Surface) ownToken(r *http.Request) []byte {
	return partners.HashPageToken(cookie(r, s.sessionCookie()))
}

func (s *Surface) changePassword(w http.ResponseWriter, r *http.Request, q *Request) error {
	err := s.proves(r, q, r.PostForm.Get("current"))
	var hash string
	if err == nil {
		hash, err = s.newPassword(r, q.User.Username)
	}
	if err == nil {
		err = s.Accounts.SetPassword(r.Context(), q.User, hash, s.ownToken(r), q.Audit("password.change"))
	}
	return s.afterAccount(w, r, q, err, "password")
}

// afterAccount leads back to the account page, or shows it with what is wrong.
func (s *Surface) afterAccount(w http.ResponseWriter, r *http.Request, q *Request, err error, done string) error {
	if err == nil {
		http.Redirect(w, r, s.Base+"/account?done="+done, http.StatusSeeOther)
		return nil
	}
	problem, status, err := q.Problem(err)
	if err != nil {
		return err
	}
	return s.showAccount(w, r, q, status, accountView{Problem: problem})
}

func (s *Surface) endSession(w http.ResponseWriter, r *http.Request, q *Request) error {
	err := s.Accounts.EndSession(r.Context(), q.User.ID, r.PathValue("id"), q.Audit("session.end"))
	if err != nil {
		return err
	}
	return s.afterAccount(w, r, q, nil, "session")
}

// totpView is the page on which an authenticator app gets its secret.
type totpView struct {
	Secret  string // as it is typed
	Picture template.HTML
	Sealed  string
	Problem string
}

func (s *Surface) enrolPurpose(q *Request) string { return "totp-enrol/" + q.User.ID }

func (s *Surface) totpPage(w http.ResponseWriter, r *http.Request, q *Request) error {
	return s.showTOTP(w, r, q, http.StatusOK, partners.NewTOTPSecret(), "")
}

func (s *Surface) showTOTP(w http.ResponseWriter, r *http.Request, q *Request, status int, secret partners.TOTPSecret, problem string) error {
	code, err := qr.Encode(secret.URL("Ledgerhook", q.User.Username), qr.M)
	if err != nil {
		return err
	}
	return q.RenderStatus(w, r, status, "totp", totpView{
		Secret: secret.String(), Picture: chart.QR(code), Problem: problem, Sealed: s.sealForm(s.enrolPurpose(q), secret.String()),
	})
}

// enrolTOTP turns codes on once the app has shown a right one.
func (s *Surface) enrolTOTP(w http.ResponseWriter, r *http.Request, q *Request) error {
	var text string
	err := s.openForm(s.enrolPurpose(q), r.PostForm.Get("sealed"), &text)
	secret, known := partners.ParseTOTPSecret(text)
	if err != nil || !known {
		return webhook.Invalid("form", "is not one of this page: load it again")
	}
	err = s.proves(r, q, r.PostForm.Get("current"))
	step, right := secret.Check(r.PostForm.Get("code"), q.Now, 0)
	if err == nil && !right {
		err = webhook.Invalid("code", "is not what the app shows now")
	}
	if err != nil {
		problem, status, err := q.Problem(err)
		if err != nil {
			return err
		}
		return s.showTOTP(w, r, q, status, secret, problem)
	}
	codes, hashes := partners.NewRecoveryCodes()
	err = s.Accounts.SetTOTP(r.Context(), q.User, s.Box.Seal(q.User.SealPurpose(), secret), step, hashes, s.ownToken(r), q.Audit("totp.on"))
	if err != nil {
		return err
	}
	q.User.TOTP = true
	return s.showAccount(w, r, q, http.StatusOK, accountView{Codes: codes, Done: q.T("Sign-in codes are on. You are signed out everywhere else.")})
}

func (s *Surface) dropTOTP(w http.ResponseWriter, r *http.Request, q *Request) error {
	err := s.proves(r, q, r.PostForm.Get("current"))
	if err == nil {
		err = s.Accounts.SetTOTP(r.Context(), q.User, nil, 0, nil, s.ownToken(r), q.Audit("totp.off"))
	}
	return s.afterAccount(w, r, q, err, "totp-off")
}
