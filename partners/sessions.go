package partners

import "time"

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
