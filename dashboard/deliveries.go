package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"ledgerhook/dashboard/locale"
	"ledgerhook/ledger"
	"ledgerhook/webhook"
)

// deliveriesView is one page of a search of deliveries.
type deliveriesView struct {
	Query    string // as typed
	Problem  string // what is wrong with it; empty: nothing
	Filters  []field
	Tabs     []tab
	Rows     fact[[]deliveryRow]
	Search   searchedPage
	Pager    pager
	News     string // where to hear of new ones; empty: not on this page
	Newest   string // the first page
	Export   string
	Replays  string // where a selection goes; empty: who asks may not
	ByHand   bool   // the search is more than the default
	Attempts int    // of the schedule; 0: not known
}

// tab is a search that is one click away.
type tab struct {
	Title, Href string
	Current     bool
}

// searchedPage is what a page is shown with beside its rows.
type searchedPage struct {
	ledger.DeliveryPage
	rows []deliveryRow
}

// deliveryRow is a delivery as the list shows it.
type deliveryRow struct {
	ledger.FoundDelivery
	State   pill
	Result  string
	Delay   string // to the first attempt; empty: not known
	Took    string // of the newest attempt; empty: not known
	Waiting waitingNote
}

const deliveriesPageSize = 50

// deliveryRoutes are the pages about deliveries, of every surface.
func (s *surface) deliveryRoutes() []route {
	return []route{
		{"GET " + s.base + "/deliveries", mayRead, s.deliveriesPage},
		{"GET " + s.base + "/deliveries/live", mayRead, s.deliveriesLive},
		{"GET " + s.base + "/deliveries.csv", mayRead, s.deliveriesExport},
		{"GET " + s.base + "/deliveries/{id}", mayRead, s.deliveryPage},
		{"GET " + s.base + "/deliveries/{id}/signed", mayRead, s.signedPage},
		{"POST " + s.base + "/deliveries/{id}/retry", mayAct, s.retryDelivery},
		{"POST " + s.base + "/deliveries/{id}/cancel", mayAct, s.cancelDelivery},
	}
}

func (q *request) deliveryRow(d ledger.FoundDelivery) deliveryRow {
	row := deliveryRow{FoundDelivery: d, State: stateOf(d.Shown(d.Window)), Result: resultWords(q.T, d.Last), Waiting: waitingOf(q.T, d, q.Now)}
	if delay, ok := d.FirstDelay(); ok {
		row.Delay = formatDuration(delay)
	}
	if !d.LastAt.IsZero() {
		row.Took = formatDuration(d.LastDuration)
	}
	return row
}

// filterKeys are the fields of the filter form; each is a key of the search.
var filterKeys = []string{"partner", "state", "type", "class", "code", "trigger", "attempts", "duration", "delay", "ref", "host", "endpoint", "since", "until"}

// mergeQuery puts the fields of the filter form into the typed search; a
// field takes the place of the term of its key. changed is false if there are none.
func mergeQuery(values url.Values) (typed string, changed bool) {
	typed = strings.TrimSpace(values.Get("q"))
	for _, key := range filterKeys {
		value := strings.Join(strings.Fields(values.Get(key)), "")
		if !values.Has(key) {
			continue
		}
		changed = true
		var kept []string
		for _, term := range strings.Fields(typed) {
			if !strings.HasPrefix(strings.ToLower(term), key+":") {
				kept = append(kept, term)
			}
		}
		if value != "" {
			kept = append(kept, key+":"+value)
		}
		typed = strings.Join(kept, " ")
	}
	return typed, changed
}

// deliveriesAt is the list with a search.
func deliveriesAt(base, typed string) string {
	if typed == "" {
		return base + "/deliveries"
	}
	return base + "/deliveries?" + url.Values{"q": {typed}}.Encode()
}

func (s *surface) deliveriesPage(w http.ResponseWriter, r *http.Request, q *request) error {
	typed, changed := mergeQuery(r.URL.Query())
	if changed {
		http.Redirect(w, r, deliveriesAt(s.base, typed), http.StatusSeeOther)
		return nil
	}
	v := deliveriesView{Query: typed, Newest: deliveriesAt(s.base, typed), Attempts: s.Retry.Attempts(), ByHand: typed != ""}
	v.Tabs, v.Filters = q.deliveryTabs(typed), q.deliveryFilters(typed)
	search, err := parseQuery(typed, q.Now)
	if err != nil {
		v.Problem = q.queryProblem(err)
		return q.renderStatus(w, r, http.StatusBadRequest, "deliveries", v)
	}
	cursor := r.URL.Query().Get("cursor")
	if cursor != "" {
		if err := webhook.CheckID("cursor", webhook.DeliveryPrefix, cursor); err != nil {
			return err
		}
	}
	search.Scope, search.Cursor, search.Limit = q.scope(), cursor, deliveriesPageSize
	name := "" // only what a tab leads to is remembered: anybody can type searches without end
	if cursor == "" && slices.ContainsFunc(v.Tabs, func(t tab) bool { return t.Current }) {
		name = "deliveries/" + q.Locale + "/" + search.Scope.Partner() + "/" + typed
	}
	page := recall(r.Context(), s.Memory, name, func(ctx context.Context) (p searchedPage, err error) {
		p.DeliveryPage, err = s.Ledger.SearchDeliveries(ctx, search)
		for _, d := range p.Items {
			p.rows = append(p.rows, q.deliveryRow(d))
		}
		return p, err
	})
	v.Search = page.Value
	v.Rows = fact[[]deliveryRow]{Value: page.Value.rows, At: page.At, Known: page.Known, Fresh: page.Fresh}
	v.Pager = pagerOf(r.URL, page.Value.Next)
	v.Export = s.base + "/deliveries.csv?" + url.Values{"q": {typed}}.Encode()
	if cursor == "" && page.Fresh {
		newest := ""
		if len(page.Value.rows) > 0 {
			newest = page.Value.rows[0].ID
		}
		v.News = s.base + "/deliveries/live?" + url.Values{"q": {typed}, "newest": {newest}}.Encode()
	}
	if q.CanAct() && s.has("POST "+s.base+"/replays") {
		v.Replays = s.base + "/replays"
	}
	return q.render(w, r, "deliveries", v)
}

// queryProblem is what is wrong with a search, in the language of who asks.
func (q *request) queryProblem(err error) string {
	var wrong *queryError
	if errors.As(err, &wrong) {
		return q.T(wrong.Text, wrong.Args...)
	}
	return err.Error()
}

func (q *request) deliveryTabs(typed string) (tabs []tab) {
	for _, each := range []struct{ title, query string }{
		{locale.Text("Needs attention"), ""}, {locale.Text("All"), "state:any"}, {locale.Text("Exhausted"), "state:exhausted"}, {locale.Text("Held"), "state:held"},
		{locale.Text("Under way"), "state:pending,queued,sending"}, {locale.Text("Delivered"), "state:delivered"},
	} {
		tabs = append(tabs, tab{q.T(each.title), deliveriesAt(q.Base(), each.query), typed == each.query})
	}
	return tabs
}

// deliveryFilters are the fields of the form, filled from the typed search.
func (q *request) deliveryFilters(typed string) []field {
	have := map[string]string{}
	for _, term := range strings.Fields(typed) {
		if key, value, found := strings.Cut(term, ":"); found {
			have[strings.ToLower(key)] = value
		} else {
			have["ref"] = term
		}
	}
	choose := func(key, label string, values []string) field {
		f := field{Name: key, Label: label, Type: "select", Options: []option{{Label: q.T("any")}}}
		known := have[key] == ""
		for _, v := range values {
			known = known || v == have[key]
			f.Options = append(f.Options, option{Value: v, Label: v, Chosen: v == have[key]})
		}
		if !known {
			f.Options = append(f.Options, option{Value: have[key], Label: have[key], Chosen: true})
		}
		return f
	}
	text := func(key, label, hint string) field {
		return field{Name: key, Label: label, Value: have[key], Hint: hint}
	}
	fields := []field{
		choose("state", q.T("State"), append([]string{stateAttention, stateAny}, plain(shownStates)...)),
		choose("type", q.T("Type"), plain(webhook.Types)),
		choose("class", q.T("Failure"), plain(webhook.ErrorClasses)),
		choose("trigger", q.T("Trigger"), plain(shownTriggers)),
		text("since", q.T("Since"), "14:00, 24h, 2026-01-31"),
		text("until", q.T("Until"), "15:30, 2026-02-01"),
		text("code", q.T("Status code"), "503, 5xx"),
		text("attempts", q.T("Attempts"), ">3, 2..4"),
		text("duration", q.T("Duration"), ">2s, <500ms"),
		text("delay", q.T("First delay"), ">5s"),
		text("ref", q.T("Reference"), ""),
		text("host", q.T("Host"), ""),
	}
	if q.Ops() {
		fields = append([]field{text("partner", q.T("Partner"), "")}, fields...)
	}
	return fields
}

// deliveriesLive tells a list how many deliveries of its search are newer than
// its first row.
func (s *surface) deliveriesLive(w http.ResponseWriter, r *http.Request, q *request) error {
	typed := r.URL.Query().Get("q")
	search, err := parseQuery(typed, q.Now)
	if err != nil {
		return webhook.Invalid("q", q.queryProblem(err))
	}
	newest := r.URL.Query().Get("newest")
	if newest == "" {
		newest = webhook.TimeBound(webhook.DeliveryPrefix, q.Now)
	} else if err := webhook.CheckID("newest", webhook.DeliveryPrefix, newest); err != nil {
		return err
	}
	search.Scope = q.scope()
	name := "new/" + search.Scope.Partner() + "/" + newest + "/" + typed
	if s.name == opsSurface {
		name = "ops/" + name
	}
	return s.stream(w, r, q, name, func(ctx context.Context) (string, error) {
		n, err := s.Ledger.NewSince(ctx, search, newest)
		if n >= ledger.MaxNew {
			return strconv.Itoa(ledger.MaxNew) + "+", err
		}
		return strconv.Itoa(n), err
	}, func(n string) string { return "event: new\ndata: " + n + "\n\n" })
}
