package web

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"ledgerhook/webhook"
)

// Why Bearer refuses, as ledgerhook_auth_failures_total counts it.
const (
	reasonMissing   = "missing"
	reasonMalformed = "malformed"
	reasonWrong     = "wrong"
)

// wrongTokens is how many wrong tokens an address may show.
var wrongTokens = PerMinute(30)

// TokenFinder finds out whose a token is: known, and a context that holds it.
// An error says that nobody can tell now.
type TokenFinder func(ctx context.Context, token string) (of context.Context, known bool, err error)

// Bearer lets requests through to next that carry "Authorization: Bearer
// TOKEN" with a token that find knows. All others are answered 401 before their
// body is read, and an unread body closes the connection: next to nothing of
// it is taken in.
//
// An address that shows wrong tokens is told 429 beyond 30 a minute. Its right
// ones are taken all the same: behind a proxy everybody has one address.
func (s Surface) Bearer(find TokenFinder, next http.Handler) http.Handler {
	s.Metrics.AuthReasons(s.Name, reasonMissing, reasonMalformed, reasonWrong)
	limiter := NewLimiter(nil) // a guess at one process is no better for the others
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, reason := bearer(r.Header.Values("Authorization"))
		if reason == "" {
			ctx, known, err := find(r.Context(), token)
			if known {
				next.ServeHTTP(w, r.WithContext(ctx))
				return
			}
			if err != nil {
				refuseBody(w, r)
				s.Fail(w, r, err)
				return
			}
			reason = reasonWrong
		}
		s.Metrics.AuthFailed(s.Name, reason)
		refuseBody(w, r)
		if reason == reasonWrong {
			if ok, wait := limiter.Allow(r.Context(), ClientAddress(r), wrongTokens); !ok {
				s.Fail(w, r, &webhook.Error{Kind: webhook.KindRateLimited, Message: "too many wrong tokens from this address", RetryAfter: wait})
				return
			}
		}
		challenge := `Bearer realm="ledgerhook"`
		if reason == reasonWrong {
			challenge += `, error="invalid_token"`
		}
		w.Header().Set("WWW-Authenticate", challenge)
		s.Fail(w, r, &webhook.Error{Kind: webhook.KindUnauthenticated, Message: "the header Authorization must be Bearer and a valid token"})
	})
}

// bearer returns the token that headers hold, or why they hold none.
func bearer(headers []string) (token, reason string) {
	if len(headers) == 0 {
		return "", reasonMissing
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	if token = strings.TrimLeft(token, " "); len(headers) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", reasonMalformed
	}
	return token, ""
}

// refuseBody makes net/http leave the rest of the request's body unread and
// close the connection after the answer. By itself it would first read up to
// 256 KiB more in the hope of keeping the connection.
func refuseBody(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	w.Header().Set("Connection", "close")
	for {
		inner, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			break
		}
		w = inner.Unwrap()
	}
	// A body over its limit is what net/http knows as a reason to close the
	// connection slowly enough for the client to see the answer.
	over := http.MaxBytesReader(w, io.NopCloser(strings.NewReader("x")), 0)
	_, _ = over.Read(make([]byte, 1))
	// With this deadline its reading on ends at what is already in memory.
	_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
}
