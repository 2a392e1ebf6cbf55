package deliveries

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/ledger/reports"
	"ledgerhook/webhook"
)

// deliveriesView is one page of a search of deliveries.
type deliveriesView struct {
	Query    string // as typed
	Problem  string // what is wrong with it; empty: nothing
	Filters  []shell.Field
	Tabs     []tab
	Views    shell.Views
	Rows     shell.Reading[[]Row]
	Search   searchedPage
	Pager    shell.Pager
	News     string // where to hear of new ones; empty: not on this page
	Newest   string // the first page
	Export   string
	Evidence string // of what the search finds
	Replays  string // where a selection goes; empty: the reader may not
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
	reports.DeliveryPage
	rows []Row
}

// Row is a delivery as the list shows it.
type Row struct {
	reports.FoundDelivery
	State   shell.Pill
	Result  string
	Delay   string // to the first attempt; empty: not known
	Took    string // of the newest attempt; empty: not known
	Waiting waitingNote
}

const deliveriesPageSize = 50

// deliveryRoutes are the pages about deliveries, of every surface.
func (s Pages) deliveryRoutes() []shell.Route {
	return []shell.Route{
		shell.Read("GET "+s.Base+"/deliveries", s.deliveriesPage),
		shell.Read("GET "+s.Base+"/deliveries/live", s.deliveriesLive),
		shell.Read("GET "+s.Base+"/deliveries.csv", s.deliveriesExport),
		shell.Read("GET "+s.Base+"/deliveries/{id}", s.deliveryPage),
		shell.Read("GET "+s.Base+"/deliveries/{id}/signed", s.signedPage),
		shell.Act("POST "+s.Base+"/deliveries/{id}/retry", s.retryDelivery),
		shell.Act("POST "+s.Base+"/deliveries/{id}/cancel", s.cancelDelivery),
	}
}

// RowOf shows a delivery in a list.
func RowOf(q *shell.Request, d reports.FoundDelivery) Row {
	row := Row{FoundDelivery: d, State: shell.Standing(d.Delivery, d.Window), Result: ResultWords(q.T, d.Last), Waiting: waitingOf(q.T, d, q.Now)}
	if delay, ok := d.FirstDelay(); ok {
		row.Delay = q.Duration(delay)
	}
	if !d.LastAt.IsZero() {
		row.Took = q.Duration(d.LastDuration)
	}
	return row
}

// filterKeys are the fields of the filter form; each is a key of the search.
var filterKeys = []string{"partner", "state", "settled", "type", "class", "code", "trigger", "attempts", "duration", "delay", "ref", "host", "endpoint", "since", "until"}

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

// Path is the list with a search.
func Path(base, typed string) string {
	if typed == "" {
		return base + "/deliveries"
	}
	return base + "/deliveries?" + url.Values{"q": {typed}}.Encode()
}

func (s Pages) deliveriesPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	typed, changed := mergeQuery(r.URL.Query())
	if changed {
		http.Redirect(w, r, Path(s.Base, typed), http.StatusSeeOther)
		return nil
	}
	v := deliveriesView{Query: typed, Newest: Path(s.Base, typed), Attempts: s.Retry.Attempts(), ByHand: typed != "", Views: s.ViewsOf(r, q)}
	v.Tabs, v.Filters = deliveryTabs(q, typed), deliveryFilters(q, typed)
	search, err := parseQuery(typed, q.Here(q.Now))
	if err != nil {
		v.Problem, v.Views.Query = QueryProblem(q, err), ""
		return q.RenderStatus(w, r, http.StatusBadRequest, "deliveries", v)
	}
	cursor := r.URL.Query().Get("cursor")
	if cursor != "" {
		if err := webhook.CheckID("cursor", webhook.DeliveryPrefix, cursor); err != nil {
			return err
		}
	}
	search.Scope, search.Cursor, search.Limit = q.Scope(), cursor, deliveriesPageSize
	name := "" // only what a tab leads to is remembered: anybody can type searches without end
	if cursor == "" && slices.ContainsFunc(v.Tabs, func(t tab) bool { return t.Current }) {
		name = "deliveries/" + q.Locale + "/" + search.Scope.Partner() + "/" + typed
	}
	page := shell.Cached(r.Context(), s.Memory, name, func(ctx context.Context) (p searchedPage, err error) {
		p.DeliveryPage, err = s.Reports.SearchDeliveries(ctx, search)
		for _, d := range p.Items {
			p.rows = append(p.rows, RowOf(q, d))
		}
		return p, err
	})
	v.Search = page.Value
	v.Rows = shell.Reading[[]Row]{Value: page.Value.rows, At: page.At, Known: page.Known, Fresh: page.Fresh}
	v.Pager = shell.PagerOf(r.URL, page.Value.Next)
	v.Export = s.Base + "/deliveries.csv?" + url.Values{"q": {typed}}.Encode()
	v.Evidence = s.Base + "/deliveries/evidence?" + url.Values{"q": {typed}}.Encode()
	if cursor == "" && page.Fresh {
		newest := ""
		if len(page.Value.rows) > 0 {
			newest = page.Value.rows[0].ID
		}
		v.News = s.Base + "/deliveries/live?" + url.Values{"q": {typed}, "newest": {newest}}.Encode()
	}
	if q.CanAct() && s.Has("POST "+s.Base+"/replays") {
		v.Replays = s.Base + "/replays"
	}
	return q.Render(w, r, "deliveries", v)
}

// QueryProblem is what is wrong with a search, in the reader's language.
func QueryProblem(q *shell.Request, err error) string {
	if wrong, ok := errors.AsType[*queryError](err); ok {
		return q.T(wrong.Text, wrong.Args...)
	}
	return err.Error()
}

func deliveryTabs(q *shell.Request, typed string) (tabs []tab) {
	for _, each := range []struct{ title, query string }{
		{locale.Text("Needs attention"), ""}, {locale.Text("All"), "state:any"}, {locale.Text("Exhausted"), "state:exhausted settled:no"}, {locale.Text("Held"), "state:held"},
		{locale.Text("Under way"), "state:pending,queued,sending"}, {locale.Text("Delivered"), "state:delivered"},
	} {
		tabs = append(tabs, tab{q.T(each.title), Path(q.Base(), each.query), typed == each.query})
	}
	return tabs
}

// deliveryFilters are the fields of the form, filled from the typed search.
func deliveryFilters(q *shell.Request, typed string) []shell.Field {
	have := map[string]string{}
	for _, term := range strings.Fields(typed) {
		if key, value, found := strings.Cut(term, ":"); found {
			have[strings.ToLower(key)] = value
		} else {
			have["ref"] = term
		}
	}
	choose := func(key, label string, values []string) shell.Field {
		f := shell.Field{Name: key, Label: label, Type: "select", Options: []shell.Option{{Label: q.T("any")}}}
		known := have[key] == ""
		for _, v := range values {
			known = known || v == have[key]
			f.Options = append(f.Options, shell.Option{Value: v, Label: v, Chosen: v == have[key]})
		}
		if !known {
			f.Options = append(f.Options, shell.Option{Value: have[key], Label: have[key], Chosen: true})
		}
		return f
	}
	text := func(key, label, hint string) shell.Field {
		return shell.Field{Name: key, Label: label, Value: have[key], Hint: hint}
	}
	fields := []shell.Field{
		choose("state", q.T("State"), append([]string{stateAttention, stateAny}, shell.Plain(shownStates)...)),
		choose("settled", q.T("By another delivery"), []string{"yes", "no"}),
		choose("type", q.T("Type"), shell.Plain(webhook.Types)),
		choose("class", q.T("Failure"), shell.Plain(webhook.ErrorClasses)),
		choose("trigger", q.T("Trigger"), shell.Plain(shownTriggers)),
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
		fields = append([]shell.Field{text("partner", q.T("Partner"), "")}, fields...)
	}
	return fields
}

// deliveriesLive tells a list how many deliveries of its search are newer than
// its first row.
func (s Pages) deliveriesLive(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	typed := r.URL.Query().Get("q")
	search, err := parseQuery(typed, q.Here(q.Now))
	if err != nil {
		return webhook.Invalid("q", QueryProblem(q, err))
	}
	newest := r.URL.Query().Get("newest")
	if newest == "" {
		newest = webhook.TimeBound(webhook.DeliveryPrefix, q.Now)
	} else if err := webhook.CheckID("newest", webhook.DeliveryPrefix, newest); err != nil {
		return err
	}
	search.Scope = q.Scope()
	name := "new/" + search.Scope.Partner() + "/" + newest + "/" + typed
	if s.Name == shell.Ops {
		name = "ops/" + name
	}
	return s.Stream(w, r, q, name, func(ctx context.Context) (string, error) {
		n, err := s.Reports.NewSince(ctx, search, newest)
		if n >= reports.MaxNew {
			return strconv.Itoa(reports.MaxNew) + "+", err
		}
		return strconv.Itoa(n), err
	}, func(n string) string { return "event: new\ndata: " + n + "\n\n" })
}
