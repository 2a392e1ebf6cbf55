package partners

import (
	"strings"
	"time"
)

// The lives of a session.
const (
	SessionIdle = 12 * time.Hour     // without a request
	SessionLife = 7 * 24 * time.Hour // however busy
)

// Session is one sign-in to the pages on one browser.
type Session struct {
	ID        string // ses_…; not the token
	PersonID  string
	CreatedAt time.Time
	SeenAt    time.Time // the newest request, to the minute
	ExpiresAt time.Time // the end that no request moves
	IP        string    // where it was signed in from
	UserAgent string
}

// Live reports whether the session still signs in at now.
func (s Session) Live(now time.Time) bool {
	return now.Before(s.ExpiresAt) && now.Before(s.SeenAt.Add(SessionIdle))
}

// NewPageToken returns a new secret of 256 bits for a cookie, a link or a
// form, base64url, and the hash under which it is known.
func NewPageToken() (token string, hash []byte) {
	token = newToken()
	return token, hashToken(token)
}

// HashPageToken is the hash of a token that came back. Whatever was not given
// out by NewPageToken has the hash of nothing that is known.
func HashPageToken(token string) []byte { return hashToken(token) }

// The throttle of sign-ins, for each username and each address by itself.
const (
	LoginFailures   = 10               // in a row, after which a username is locked
	AddressFailures = 300              // as many of an address, which everybody behind a proxy shares
	LoginLock       = 15 * time.Minute // since the newest failure; failures before are forgotten, too
)

// LoginAddress begins the subject of an address.
const LoginAddress = "address "

// LoginTries are the failed tries to sign in of late of one subject: a
// username, known or not, or an address. A try counts as failed until it is
// taken back.
type LoginTries struct {
	Subject string
	Failed  int
	Last    time.Time
}

// Wait is how long the subject is still locked at now; 0: it is not.
func (t LoginTries) Wait(now time.Time) time.Duration {
	limit := LoginFailures
	if strings.HasPrefix(t.Subject, LoginAddress) {
		limit = AddressFailures
	}
	if t.Failed < limit {
		return 0
	}
	return max(0, t.Last.Add(LoginLock).Sub(now))
}

// Add counts a try.
func (t *LoginTries) Add(now time.Time) {
	if !now.Before(t.Last.Add(LoginLock)) {
		t.Failed = 0
	}
	t.Failed, t.Last = t.Failed+1, now
}

// TakeBack takes one try back, or all of them.
func (t *LoginTries) TakeBack(all bool) {
	t.Failed = max(0, t.Failed-1)
	if all {
		t.Failed = 0
	}
}
