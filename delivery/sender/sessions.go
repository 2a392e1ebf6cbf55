package sender

import (
	"crypto/tls"
	"errors"
	"sync"
	"time"
)

const (
	maxSessions = 2048 // of about 5 kB each, more with long chains of certificates
	// sessionsLast bounds how old what a resumed session tells of its
	// receiver's certificate can be.
	sessionsLast = time.Hour
)

// errResuming ends a handshake that was to resume a session. Nothing was sent
// yet, and the receiver may bear one that begins anew.
var errResuming = errors.New("the TLS session was not resumed")

// sessions are the TLS sessions that new connections resume, which spares the
// receiver its signature and, with TLS 1.2, both a round trip. Only a session
// whose certificate was verified is kept, and crypto/tls looks at its end, its
// name and its chain again before it resumes one.
type sessions struct {
	mu    sync.Mutex
	cache tls.ClientSessionCache
	until time.Time // then all begin anew
}

// at is the session with the receiver at address, "host:port": a name may
// have another receiver on another port.
func (s *sessions) at(address string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); !now.Before(s.until) {
		s.cache, s.until = tls.NewLRUClientSessionCache(maxSessions), now.Add(sessionsLast)
	}
	return &session{cache: s.cache, address: address}
}

// session is the cache of one connection, which knows one address.
type session struct {
	cache   tls.ClientSessionCache
	address string
	offered bool // to the receiver, in the handshake
}

// Get implements tls.ClientSessionCache.
func (s *session) Get(string) (*tls.ClientSessionState, bool) {
	state, ok := s.cache.Get(s.address)
	s.offered = ok && state != nil
	return state, s.offered
}

// Put implements tls.ClientSessionCache.
func (s *session) Put(_ string, state *tls.ClientSessionState) { s.cache.Put(s.address, state) }
