package shell

import (
	"context"
	"maps"
	"slices"
	"time"
)

const (
	// maxStreams is how many pages of a process listen at once, and
	// maxPersonStreams how many of one person: each is a connection, and may be
	// a subject of its own. Any other page is fetched anew, see app.js.
	maxStreams       = 200
	maxPersonStreams = 5
	// reloadEvery is how often a page is fetched that may not listen.
	reloadEvery = 15 * time.Second
	// refusedFor is how long a session that may not listen is refused without a
	// look at whose it is, unless a page stops listening.
	refusedFor = 5 * time.Second
)

// stream is one page that listens.
type stream struct {
	person, session string
	end             context.CancelFunc
}

// enter lets a page of a person listen until ended, unless as many do already.
// live reads which of some sessions go on.
func (h *hub) enter(person, session string, live func(context.Context, []string) (map[string]bool, error)) (ended context.Context, leave func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	own := 0
	for s := range h.streams {
		if s.person == person {
			own++
		}
	}
	if own >= maxPersonStreams || len(h.streams) >= maxStreams {
		return nil, nil, false
	}
	s := &stream{person: person, session: session}
	ended, s.end = context.WithCancel(h.ended)
	h.streams[s] = true
	if !h.watching {
		h.watching = true
		go h.watch(live)
	}
	return ended, func() {
		s.end()
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.streams, s)
		clear(h.refused) // there is room again, perhaps for them
	}, true
}

// refuse keeps in mind that a session may not listen.
func (h *hub) refuse(session string, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.refused) >= maxRemembered {
		clear(h.refused)
	}
	h.refused[session] = now.Add(refusedFor)
}

// refuses reports whether it is known that a session may not listen.
func (h *hub) refuses(session string, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return now.Before(h.refused[session])
}

// watch ends streams whose sessions have ended: it asks once a second for all
// of them, as long as there are any. While that cannot be known they go on, up
// to streamLife.
func (h *hub) watch(live func(context.Context, []string) (map[string]bool, error)) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for range tick.C {
		sessions := map[string][]*stream{}
		h.mu.Lock()
		for s := range h.streams {
			sessions[s.session] = append(sessions[s.session], s)
		}
		h.watching = len(sessions) > 0
		h.mu.Unlock()
		if len(sessions) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(h.ended, readLimit)
		going, err := WithDeadline(ctx, func(ctx context.Context) (map[string]bool, error) {
			return live(ctx, slices.Collect(maps.Keys(sessions)))
		})
		cancel()
		for id, streams := range sessions {
			for _, s := range streams {
				if err == nil && !going[id] {
					s.end()
				}
			}
		}
	}
}

// liveSessions reads which of some sessions still sign somebody in.
func (s *Surface) liveSessions(ctx context.Context, ids []string) (map[string]bool, error) {
	return s.Accounts.LiveSessions(ctx, ids, time.Now())
}
