package ops

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"ledgerhook/dashboard/shell"
	"ledgerhook/webhook"
)

// partnersQuery is which partners are listed and in which order; it is all in
// the page's address, so that it can be shared.
type partnersQuery struct {
	typed  string // part of a code or name
	health string // one of healths; empty: any
	sort   string // the name of one of partnerSorts; empty: the first
	from   int    // how many come before the page
}

// partnerSort is an order of the list: by which of two partners comes first,
// then by code.
type partnerSort struct {
	name, label string
	descending  bool // the greatest first
	compare     func(x, y partnerRow) int
}

var partnerSorts = []partnerSort{
	{"health", "Health, worst first", false, func(x, y partnerRow) int { return cmp.Compare(x.rank(), y.rank()) }},
	{"code", "Code", false, func(x, y partnerRow) int { return 0 }},
	{"success", "Success, lowest first", false, func(x, y partnerRow) int { return cmp.Compare(x.success(), y.success()) }},
	{"answers", "Answers, slowest first", true, func(x, y partnerRow) int { return cmp.Compare(y.Windows.Pace.Took, x.Windows.Pace.Took) }},
	{"waiting", "Waiting, most first", true, func(x, y partnerRow) int { return cmp.Compare(y.Windows.Waiting, x.Windows.Waiting) }},
	{"oldest", "Oldest waiting first", false, func(x, y partnerRow) int {
		if x.Oldest.IsZero() != y.Oldest.IsZero() {
			return map[bool]int{true: 1, false: -1}[x.Oldest.IsZero()]
		}
		return x.Oldest.Compare(y.Oldest)
	}},
	{"success-at", "Last success, longest ago first", false, func(x, y partnerRow) int { return x.Windows.LastSuccess.Compare(y.Windows.LastSuccess) }},
}

// rank is where a partner's health stands, the worst first; what is not known
// comes before all is well.
func (row partnerRow) rank() int {
	if at := slices.Index(healths, row.Health.Word); at >= 0 {
		return at
	}
	return slices.Index(healths, healthHealthy)
}

// success is the share of recent attempts that succeeded; of none it is above all.
func (row partnerRow) success() float64 {
	if row.Recent.Attempts == 0 {
		return 2
	}
	return float64(row.Recent.Delivered) / float64(row.Recent.Attempts)
}

func readPartnersQuery(query url.Values) (q partnersQuery, err error) {
	q = partnersQuery{typed: strings.TrimSpace(query.Get("q")), health: query.Get("health"), sort: query.Get("sort")}
	if q.health != "" && !slices.Contains(healths, q.health) {
		return q, webhook.Invalid("health", "must be one of: "+strings.Join(healths, ", "))
	}
	if q.sort != "" && !slices.ContainsFunc(partnerSorts, func(s partnerSort) bool { return s.name == q.sort }) {
		var names []string
		for _, s := range partnerSorts {
			names = append(names, s.name)
		}
		return q, webhook.Invalid("sort", "must be one of: "+strings.Join(names, ", "))
	}
	if cursor := query.Get("cursor"); cursor != "" {
		if q.from, err = strconv.Atoi(cursor); err != nil || q.from < 0 {
			return q, webhook.Invalid("cursor", "must be a number, from the link to the next page")
		}
	}
	return q, nil
}

// sorted is the order that was asked for.
func (q partnersQuery) sorted() partnerSort {
	for _, s := range partnerSorts {
		if s.name == q.sort {
			return s
		}
	}
	return partnerSorts[0]
}

// choose returns the rows of the health that was asked for, in their order.
func (q partnersQuery) choose(rows []partnerRow) []partnerRow {
	rows = slices.DeleteFunc(rows, func(row partnerRow) bool { return q.health != "" && row.Health.Word != q.health })
	slices.SortStableFunc(rows, q.sorted().compare)
	return rows
}

// address is the page with another order or health.
func (q partnersQuery) address(key, value string) string {
	query := url.Values{}
	for k, v := range map[string]string{"q": q.typed, "health": q.health, "sort": q.sort} {
		if k == key {
			v = value
		}
		if v != "" {
			query.Set(k, v)
		}
	}
	if len(query) == 0 {
		return "/ops/partners"
	}
	return "/ops/partners?" + query.Encode()
}

// Filters are the fields of the form above the list.
func (q partnersQuery) Filters() []shell.Field {
	health := shell.Field{Name: "health", Label: "Health", Type: "select", Options: []shell.Option{{Label: "any"}}}
	for _, word := range healths {
		health.Options = append(health.Options, shell.Option{Value: word, Label: word, Chosen: word == q.health})
	}
	sort := shell.Field{Name: "sort", Label: "Order", Type: "select"}
	for _, s := range partnerSorts {
		sort.Options = append(sort.Options, shell.Option{Value: s.name, Label: s.label, Chosen: s.name == q.sorted().name})
	}
	return []shell.Field{{Name: "q", Label: "Code or name", Value: q.typed}, health, sort}
}

// column is the head of a column that the list can be sorted by.
type column struct {
	Label, Href string
	Order       string // how the list is sorted by it, as of aria-sort; empty: it is not
	Number      bool
}

// Column is the head of a column with the link that sorts by it.
func (q partnersQuery) Column(label, by string, number bool) column {
	c := column{Label: label, Href: q.address("sort", by), Number: number}
	if s := q.sorted(); s.name == by {
		c.Order = map[bool]string{false: "ascending", true: "descending"}[s.descending]
	}
	return c
}

// Filtered reports whether some partners may be left out.
func (q partnersQuery) Filtered() bool { return q.typed != "" || q.health != "" }
