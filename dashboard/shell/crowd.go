package shell

import (
	"context"
	"net/http"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/partners"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// What may be asked of a surface of a process. More of it is refused before it
// is read, looked up in the ledger, rendered or logged: that costs a twentieth
// of a page.
var (
	// strangerRate is for all who have not signed in together: an address tells
	// nothing of them behind a proxy.
	strangerRate = web.PerSecond(100, 200)
	// personRate is for each session.
	personRate = web.PerSecond(50, 300)
	// explainedRate is how many refused sign-ins get the whole page, with what
	// was typed. The others get a sentence.
	explainedRate = web.PerSecond(5, 20)
)

const (
	// refusalDelay is how long the answer to one of too many is kept back.
	// Whoever asks again as soon as there is an answer asks so much less often,
	// and takes the less of what others need.
	refusalDelay = 3 * time.Second
	// maxDelayed is how many answers a process keeps back, at about 20 KB each:
	// what is refused beyond them is told so at once.
	maxDelayed = 2000
)

// admit returns a RateLimited error if there is too much of what the request
// is one of.
func (s *Surface) admit(r *http.Request, q *Request, rt Route) error {
	_, isFile := s.assets.files[r.PathValue("name")]
	signsIn := rt.pattern == "POST "+s.Base+"/login"
	switch {
	case isFile: // costs as little as a refusal
		return nil
	case signsIn: // a locked address has its tries refused, and takes nobody's place
		if wait := s.door().wait(addressSubject(r), q.Now); wait > 0 {
			return s.explain(r.Context(), q, failedLocked, wait)
		}
	case strings.HasSuffix(rt.pattern, "/live") && s.hub.refuses(q.sessionKey, q.Now):
		return q.surplus(reloadEvery)
	}
	wait, ok := s.spare(r.Context(), q)
	if ok {
		return nil
	}
	if signsIn {
		s.Metrics.AuthFailed(s.Name, failedCrowd)
	}
	return q.surplus(wait)
}

// spare takes one of the pages that the reader may still get.
func (s *Surface) spare(ctx context.Context, q *Request) (wait time.Duration, ok bool) {
	key, rate := "strangers", strangerRate
	if s.knows(q) {
		key, rate = q.sessionKey, personRate
	}
	ok, wait = s.crowds.Allow(ctx, s.Name+" "+key, rate)
	return wait, ok
}

// knows reports whether the request's session was somebody's a moment ago.
func (s *Surface) knows(q *Request) bool {
	last, ok := s.Memory.get(keyOf[identity](q.sessionKey))
	return ok && last.value.(identity).found && q.Now.Sub(last.at) < staleSession
}

// explain lets a refused try to sign in have the whole page, or returns the
// error that refuses it in short.
func (s *Surface) explain(ctx context.Context, q *Request, reason string, wait time.Duration) error {
	if !q.explained {
		q.explained, _ = s.crowds.Allow(ctx, s.Name+" explained", explainedRate)
	}
	if q.explained {
		return nil
	}
	s.Metrics.AuthFailed(s.Name, reason)
	return q.surplus(wait)
}

// surplus refuses a request, in short, since there are too many.
func (q *Request) surplus(wait time.Duration) error {
	q.short = true
	return &webhook.Error{Kind: webhook.KindRateLimited, RetryAfter: wait}
}

// addressSubject is what failures of the request's address are counted under.
func addressSubject(r *http.Request) string {
	return partners.LoginAddress + network(web.ClientAddress(r))
}

// shortPages are refusals by language and status: what is told to one of many.
type shortPages map[string]map[int][]byte

func (s *Surface) newShortPages() shortPages {
	all := shortPages{}
	for _, language := range locale.All() {
		say := func(text string) string { return locale.Translate(language, text) }
		all[language] = map[int][]byte{}
		for status, words := range failures {
			all[language][status] = []byte(`<!doctype html><html lang="` + language + `"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
				"<title>" + say(words[0]) + "</title><p>" + say(words[0]) + ". " + say(words[1]) + "</p>" +
				`<p><a href="` + s.Base + `">` + say("Try again") + "</a></p></html>\n")
		}
	}
	return all
}

// refuse answers one of many.
func (s *Surface) refuse(w http.ResponseWriter, r *http.Request, q *Request, status int) {
	web.Surplus(r.Context())
	if status == http.StatusTooManyRequests {
		s.delay(r.Context())
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(s.short[q.Locale][status]) // fails only when the client is gone
}

// delay keeps an answer back, unless as many are already or the process stops.
func (s *Surface) delay(ctx context.Context) {
	select {
	case s.delayed <- struct{}{}:
		defer func() { <-s.delayed }()
	default:
		return
	}
	select {
	case <-time.After(refusalDelay):
	case <-s.hub.ended.Done():
	case <-ctx.Done():
	}
}
