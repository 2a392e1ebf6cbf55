package deliveries

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/delivery"
	"ledgerhook/webhook"
)

// The pages of bulk replays: /ops/replays for operators, /portal/recover for a
// partner's people, who see and replay their own. Both are the same functions;
// the reader's scope goes into every query of the ledger.

func (s Pages) replayRoutes() []shell.Route {
	at := replaysPath(s.Base)
	return []shell.Route{
		shell.Read("GET "+at, s.replaysPage),
		shell.Act("GET "+at+"/new", s.draftPage),
		shell.Act("POST "+s.Base+"/replays", s.draftReplay),
		shell.Act("POST "+at+"/start", s.startReplay),
		shell.Read("GET "+at+"/{id}", s.replayPage),
		shell.Act("POST "+at+"/{id}/pause", s.moveReplay("pause", delivery.ReplayPaused)),
		shell.Act("POST "+at+"/{id}/resume", s.moveReplay("resume", delivery.ReplayRunning)),
		shell.Act("POST "+at+"/{id}/cancel", s.moveReplay("cancel", delivery.ReplayCancelled)),
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
	Replays shell.Reading[shell.Listed[delivery.Replay]]
	Pager   shell.Pager
	Ready   []tab // searches that are one click away
}

const replaysPageSize = 50

func (s Pages) replaysPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	cursor := r.URL.Query().Get("cursor")
	if cursor != "" {
		if err := webhook.CheckID("cursor", webhook.ReplayPrefix, cursor); err != nil {
			return err
		}
	}
	scope := q.Scope()
	list := shell.CachedList(r.Context(), s.Memory, "replays/"+scope.Partner()+"/"+cursor, func(ctx context.Context) ([]delivery.Replay, string, error) {
		return s.Ledger.Replays(ctx, scope, cursor, replaysPageSize)
	})
	return q.Render(w, r, "replays", replaysView{Replays: list, Pager: shell.PagerOf(r.URL, list.Value.Next), Ready: readyDrafts(q)})
}

// readyDrafts are the searches that most replays begin with.
func readyDrafts(q *shell.Request) (tabs []tab) {
	for _, each := range []struct{ title, query string }{
		{locale.Text("Failed in the last hour"), "state:exhausted since:1h"}, {locale.Text("Failed in the last 24 hours"), "state:exhausted since:24h"},
		{locale.Text("Failed in the last 7 days"), "state:exhausted since:7d"},
	} {
		tabs = append(tabs, tab{Title: q.T(each.title), Href: draftAt(replaysPath(q.Base()), each.query)})
	}
	return tabs
}

// replayPill is the state of a replay.
func replayPill(r delivery.Replay) shell.Pill {
	if r.Settled {
		return shell.Good(locale.Text("finished"))
	}
	return map[delivery.ReplayState]shell.Pill{
		delivery.ReplayRunning:   shell.Busy(locale.Text("running")),
		delivery.ReplayPaused:    shell.Warn(locale.Text("paused")),
		delivery.ReplayStopped:   shell.Bad(locale.Text("stopped itself")),
		delivery.ReplayCancelled: shell.Idle(locale.Text("cancelled")),
		delivery.ReplayFinished:  shell.Busy(locale.Text("all queued")),
	}[r.State]
}

// filterWords says what a replay was made of, as a search is typed.
func filterWords(s locale.Speller, ops bool, f delivery.Filter) string {
	var terms []string
	add := func(key, value string) {
		if value != "" {
			terms = append(terms, key+":"+value)
		}
	}
	switch n := len(f.IDs); n {
	case 0:
	case 1:
		terms = append(terms, s.T(locale.Text("1 chosen delivery")))
	default:
		terms = append(terms, s.T(locale.Text("%s chosen deliveries"), s.Number(n)))
	}
	if ops {
		add("partner", cmp.Or(f.PartnerCode, strings.Join(f.PartnerCodes, ",")))
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
	if f.IncludeSettled {
		terms = append(terms, s.T(locale.Text("with what was already delivered")))
	}
	for _, bound := range []struct {
		key string
		at  time.Time
	}{{"since", f.Since}, {"until", f.Until}} {
		if !bound.at.IsZero() {
			add(bound.key, s.Here(bound.at).Format("2006-01-02T15:04:05"))
		}
	}
	return strings.Join(terms, "  ")
}
