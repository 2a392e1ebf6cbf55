package dashboard

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/delivery"
	"ledgerhook/webhook"
)

// The pages of bulk replays: /ops/replays for operators, /portal/recover for a
// partner's people, who see and replay their own. Both are the same functions;
// the scope of who asks goes into every query of the ledger.

func (s *surface) replayRoutes() []route {
	at := replaysPath(s.base)
	return []route{
		{"GET " + at, mayRead, s.replaysPage},
		{"GET " + at + "/new", mayAct, s.draftPage},
		{"POST " + s.base + "/replays", mayAct, s.draftReplay},
		{"POST " + at + "/start", mayAct, s.startReplay},
		{"GET " + at + "/{id}", mayRead, s.replayPage},
		{"POST " + at + "/{id}/pause", mayAct, s.moveReplay("pause", delivery.ReplayPaused)},
		{"POST " + at + "/{id}/resume", mayAct, s.moveReplay("resume", delivery.ReplayRunning)},
		{"POST " + at + "/{id}/cancel", mayAct, s.moveReplay("cancel", delivery.ReplayCancelled)},
	}
}

// replaysPath is where the replays of a surface are.
func replaysPath(base string) string {
	if base == "/ops" {
		return "/ops/replays"
	}
	return "/portal/recover"
}

// replaysView lists the replays that were started, newest first.
type replaysView struct {
	Replays fact[listed[delivery.Replay]]
	Pager   pager
	Ready   []tab // searches that are one click away
}

const replaysPageSize = 50

func (s *surface) replaysPage(w http.ResponseWriter, r *http.Request, q *request) error {
	cursor := r.URL.Query().Get("cursor")
	if cursor != "" {
		if err := webhook.CheckID("cursor", webhook.ReplayPrefix, cursor); err != nil {
			return err
		}
	}
	scope := q.scope()
	list := recallList(r.Context(), s.Memory, "replays/"+scope.Partner()+"/"+cursor, func(ctx context.Context) ([]delivery.Replay, string, error) {
		return s.Ledger.ReplaysIn(ctx, scope, cursor, replaysPageSize)
	})
	return q.render(w, r, "replays", replaysView{Replays: list, Pager: pagerOf(r.URL, list.Value.next), Ready: q.readyDrafts()})
}

// readyDrafts are the searches that most replays begin with.
func (q *request) readyDrafts() (tabs []tab) {
	for _, each := range []struct{ title, query string }{
		{locale.Text("Failed in the last hour"), "state:exhausted since:1h"}, {locale.Text("Failed in the last 24 hours"), "state:exhausted since:24h"},
		{locale.Text("Failed in the last 7 days"), "state:exhausted since:7d"},
	} {
		tabs = append(tabs, tab{Title: q.T(each.title), Href: draftAt(replaysPath(q.Base()), each.query)})
	}
	return tabs
}

// replayPill is the state of a replay.
func replayPill(state delivery.ReplayState) pill {
	return map[delivery.ReplayState]pill{
		delivery.ReplayRunning:   {"busy", locale.Text("running")},
		delivery.ReplayPaused:    {"warn", locale.Text("paused")},
		delivery.ReplayStopped:   {"bad", locale.Text("stopped itself")},
		delivery.ReplayCancelled: {"idle", locale.Text("cancelled")},
		delivery.ReplayFinished:  {"good", locale.Text("all queued")},
	}[state]
}

// filterWords says what a replay was made of, as a search is typed.
func filterWords(t say, ops bool, f delivery.Filter) string {
	var terms []string
	add := func(key, value string) {
		if value != "" {
			terms = append(terms, key+":"+value)
		}
	}
	if n := len(f.IDs); n > 0 {
		terms = append(terms, t(locale.Text("%s chosen deliveries"), formatNumber(n)))
	}
	if f.PartnerCode != "" && ops {
		add("partner", f.PartnerCode)
	}
	add("replay", f.ReplayID)
	add("endpoint", f.EndpointID)
	add("state", string(f.State))
	add("type", string(f.Type))
	add("class", string(f.ErrorClass))
	if f.StatusCode != 0 {
		add("code", strconv.Itoa(f.StatusCode))
	}
	add("ref", f.Reference)
	for _, bound := range []struct {
		key string
		at  time.Time
	}{{"since", f.Since}, {"until", f.Until}} {
		if !bound.at.IsZero() {
			add(bound.key, bound.at.UTC().Format("2006-01-02T15:04:05"))
		}
	}
	return strings.Join(terms, "  ")
}
