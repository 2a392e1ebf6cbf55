package shell

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"ledgerhook/partners"
)

// hub asks once a second what is new, of each subject once however many pages
// listen, and of nothing while nobody does.
type hub struct {
	log      *slog.Logger
	asking   chan struct{} // bounds what is asked at once
	mu       sync.Mutex
	topics   map[string]*topic
	streams  map[*stream]bool
	refused  map[string]time.Time // sessions, until when they may not listen
	watching bool                 // whether their sessions go on
	ended    context.Context      // is over when nobody may listen any more
	end      func()
}

// hubReads is how many subjects are asked at once: live pages leave the
// readers' connections to those that are asked for.
const hubReads = 2

func newHub(log *slog.Logger) *hub {
	h := &hub{log: log, asking: make(chan struct{}, hubReads), topics: map[string]*topic{}, streams: map[*stream]bool{}, refused: map[string]time.Time{}}
	h.ended, h.end = context.WithCancel(context.Background())
	return h
}

// EndStreams ends the event streams of all pages, and at once those that are
// asked for afterwards: a listener that closes waits for its answers.
func (d *Shell) EndStreams() { d.hub.end() }

// source reads what a subject is now, in few words: a listener hears of it
// when it differs from before.
type source func(context.Context) (string, error)

type topic struct {
	listeners map[chan string]bool
	last      string
	stop      context.CancelFunc
}

// pollEvery is how often a subject is looked at while somebody listens.
const pollEvery = time.Second

// listen returns what hears of name's changes, the newest only if it is slow,
// and how to leave.
func (h *hub) listen(name string, read source) (<-chan string, func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[name]
	if t == nil {
		ctx, cancel := context.WithCancel(context.Background())
		t = &topic{listeners: map[chan string]bool{}, stop: cancel}
		h.topics[name] = t
		go h.poll(ctx, t, read)
	}
	news := make(chan string, 1)
	if t.last != "" {
		news <- t.last
	}
	t.listeners[news] = true
	return news, func() { h.leave(name, t, news) }
}

func (h *hub) leave(name string, t *topic, news chan string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(t.listeners, news)
	if len(t.listeners) == 0 && h.topics[name] == t {
		t.stop()
		delete(h.topics, name)
	}
}

func (h *hub) poll(ctx context.Context, t *topic, read source) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		now, err := h.ask(ctx, read)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			h.log.DebugContext(ctx, "news for live pages cannot be read", "error", err)
		default:
			h.tell(t, now)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// ask reads a subject when its turn has come.
func (h *hub) ask(ctx context.Context, read source) (string, error) {
	select {
	case h.asking <- struct{}{}:
		defer func() { <-h.asking }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	return WithDeadline(ctx, read)
}

func (h *hub) tell(t *topic, now string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now == t.last {
		return
	}
	t.last = now
	for news := range t.listeners {
		select {
		case <-news: // it has not read the one before
		default:
		}
		news <- now
	}
}

// streamLife is how long a page listens before it has to show anew who it is.
const streamLife = 5 * time.Minute

// live tells a page of the operators or of a partner that something has
// changed, as server-sent events.
func (s *Surface) live(w http.ResponseWriter, r *http.Request, q *Request) error {
	partner := q.User.PartnerCode
	scope := partners.Only(partner)
	if s.Name == Ops {
		scope = partners.Everything()
	}
	return s.Stream(w, r, q, "changes/"+partner, func(ctx context.Context) (string, error) {
		return s.version(ctx, scope)
	}, func(now string) string { return "event: change\ndata: " + now + "\n\n" })
}

// Stream answers with server-sent events until the client leaves or its session
// ends: what event makes of each state of a subject.
func (s *Surface) Stream(w http.ResponseWriter, r *http.Request, q *Request, name string, read source, event func(string) string) error {
	ended, leaveRoom, ok := s.hub.enter(q.User.ID, q.Session.ID, s.liveSessions)
	if !ok {
		s.hub.refuse(q.sessionKey, q.Now)
		return q.surplus(reloadEvery)
	}
	defer leaveRoom()
	control := http.NewResponseController(w)
	if err := control.SetWriteDeadline(time.Now().Add(streamLife + time.Minute)); err != nil {
		return fmt.Errorf("lift the limit on a stream: %w", err)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	news, leave := s.hub.listen(name, read)
	defer leave()
	end := time.NewTimer(streamLife)
	defer end.Stop()
	breath := time.NewTicker(15 * time.Second)
	defer breath.Stop()
	text := "retry: 3000\n\n"
	for {
		if _, err := w.Write([]byte(text)); err != nil || control.Flush() != nil {
			return nil // the client has left
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-ended.Done():
			return nil
		case <-end.C:
			return nil
		case <-breath.C:
			text = ":\n\n" // keeps proxies from closing
		case now := <-news:
			text = event(now)
		}
	}
}

// version changes with every fact that is counted of what the scope holds.
func (s *Surface) version(ctx context.Context, scope partners.Scope) (string, error) {
	now := time.Now()
	hours, err := s.Reports.Series(ctx, scope, "", now.Add(-time.Hour), now)
	if err != nil || len(hours) == 0 {
		return "", err
	}
	var counted int64
	for _, h := range hours {
		counted += h.Created + h.Delivered + h.Exhausted + h.Cancelled + h.AttemptDelivered + h.AttemptFailed + h.AttemptUnknown
	}
	return fmt.Sprintf("%d.%d", hours[0].Since.Unix(), counted), nil
}
