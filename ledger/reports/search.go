package reports

import (
	"context"
	"slices"
	"strings"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// The bounds of a search.
const (
	// SearchDefaultLimit and SearchMaxLimit are how many deliveries a page holds.
	SearchDefaultLimit = 50
	SearchMaxLimit     = 500
	// SearchRows is how many deliveries a page looks at, at most, for each index
	// it reads by, when what it searches for is not in the index.
	SearchRows = 20_000
	// nearRows is how many it looks at first.
	nearRows = 1000
	// MaxNew is as far as NewSince counts.
	MaxNew = 100

	// AttentionAfter is how long a delivery may wait or be under way before it
	// needs attention for that alone.
	AttentionAfter = time.Minute
	// AttentionFor is how long after its creation an exhausted delivery needs
	// attention.
	AttentionFor = 7 * 24 * time.Hour
)

// DeliveryQuery narrows a search of deliveries. Empty fields do not, several
// values of one field are alternatives, and all fields must hold together.
type DeliveryQuery struct {
	Scope partners.Scope // required

	// NeedsAttention: exhausted in the last AttentionFor and not settled,
	// retrying, held, or waiting or under way for longer than AttentionAfter.
	// States do not count then.
	NeedsAttention bool

	PartnerCode  string
	PartnerCodes []string // of one of these partners
	EndpointID   string
	Host         string // of the endpoint's URL, lower case, without a port
	States       []webhook.State
	Types        []webhook.Type
	ErrorClasses []webhook.ErrorClass // of the newest attempt
	StatusCode   int                  // of the newest attempt
	StatusClass  int                  // 5 for 500 to 599
	Triggers     []webhook.Trigger
	Settled      *bool // see webhook.Delivery.Settled; nil: either
	// Reference is the id of a delivery, event or order, or what an event is
	// about: its object or ordering key (a card, top-up, transaction, account or
	// externalOrderId).
	Reference string

	AttemptsMin, AttemptsMax int           // begun; 0: no bound
	DurationMin, DurationMax time.Duration // of the newest attempt; 0: no bound
	DelayMin                 time.Duration // from creation to the first attempt; 0: no bound

	Since, Until time.Time // of creation
	Cursor       string    // Next of the page before
	Limit        int       // 0: SearchDefaultLimit; at most SearchMaxLimit
}

// FoundDelivery is a delivery as lists show it.
type FoundDelivery struct {
	delivery.DeliveryWithWindow
	URL, Host    string        // of its endpoint; empty without one
	FirstAt      time.Time     // when its first attempt began; zero: not recorded
	LastAt       time.Time     // when its newest attempt was recorded; zero: not recorded
	LastDuration time.Duration // of the newest attempt; meaningful with LastAt
}

// FirstDelay is the time from creation to the first attempt, false if that is
// not known.
func (d FoundDelivery) FirstDelay() (time.Duration, bool) {
	return max(0, d.FirstAt.Sub(d.CreatedAt)), !d.FirstAt.IsZero()
}

// DeliveryPage is one page of a search, newest first.
type DeliveryPage struct {
	Items []FoundDelivery
	Next  string // the Cursor of the next page; empty: this is the last one
	// SearchedTo is set when the page is not full because it had looked at
	// SearchRows: nothing created after this was left out, and Next goes on.
	SearchedTo time.Time
}

// SearchDeliveries answers one page of deliveries, newest first, read by
// indexes and a bounded number of rows however many deliveries there are. It
// counts no totals. Delivery.WaitingFor and Shown of a row tell what it waits
// for and how its state reads.
func (l *Reports) SearchDeliveries(ctx context.Context, q DeliveryQuery) (page DeliveryPage, err error) {
	switch {
	case q.Limit <= 0:
		q.Limit = SearchDefaultLimit
	case q.Limit > SearchMaxLimit:
		q.Limit = SearchMaxLimit
	}
	q.Until = database.Soon(q.Until)
	paths, err := l.paths(ctx, &q, time.Now())
	if err != nil {
		return page, err
	}
	bound := ""
	for _, p := range paths {
		found, from, at, err := l.along(ctx, q, p)
		if err != nil {
			return page, err
		}
		if from > bound {
			bound, page.SearchedTo = from, at
		}
		page.Items = append(page.Items, found...)
	}
	page.cut(q.Limit, bound)
	return page, nil
}

// along reads a page's rows of one path, and returns the oldest delivery that
// it looked at, empty if it looked at all. Most pages are full by what is near.
func (l *Reports) along(ctx context.Context, q DeliveryQuery, p path) (found []FoundDelivery, bound string, at time.Time, err error) {
	if !p.point {
		near := p
		near.from = l.db.Near(webhook.DeliveryPrefix, database.Below(q.Cursor, q.Until, webhook.DeliveryPrefix), p.from)
		if bound, at, err = l.bound(ctx, q, near, "", nearRows); err != nil {
			return nil, "", at, err
		}
		found, err = l.follow(ctx, q, near, bound)
		all := bound == "" && near.from == p.from
		if err != nil || all || len(found) > q.Limit {
			return found, bound, at, err
		}
	}
	if bound, at, err = l.bound(ctx, q, p, "", SearchRows); err != nil {
		return nil, "", at, err
	}
	found, err = l.follow(ctx, q, p, bound)
	return found, bound, at, err
}

// cut merges what several paths found into one page. Below bound not all of
// them have looked.
func (page *DeliveryPage) cut(limit int, bound string) {
	slices.SortFunc(page.Items, func(x, y FoundDelivery) int { return strings.Compare(y.ID, x.ID) })
	page.Items = slices.CompactFunc(page.Items, func(x, y FoundDelivery) bool { return x.ID == y.ID })
	page.Items = slices.DeleteFunc(page.Items, func(d FoundDelivery) bool { return d.ID < bound })
	page.Next = bound
	if len(page.Items) > limit {
		page.Items = page.Items[:limit]
		page.Next = page.Items[limit-1].ID
		page.SearchedTo = time.Time{}
	}
}

// NewSince counts the deliveries that q finds and that are newer than newest,
// the first row of a page, up to MaxNew.
func (l *Reports) NewSince(ctx context.Context, q DeliveryQuery, newest string) (n int, err error) {
	q.Cursor, q.Until = "", database.Soon(q.Until)
	paths, err := l.paths(ctx, &q, time.Now())
	if err != nil {
		return 0, err
	}
	for _, p := range paths {
		from, _, err := l.bound(ctx, q, p, newest, SearchRows)
		if err != nil {
			return 0, err
		}
		var found int
		t := p.where(new(database.Statement).Add("SELECT COUNT(*) FROM (SELECT d.id"+rows.WindowedFrom), q)
		t.Add(" AND d.id > ? AND d.id >= ?", newest, from)
		q.rest(t, p)
		t.Add(" ORDER BY d.id DESC LIMIT ?) AS found", MaxNew)
		if err := l.db.Read.QueryRowContext(ctx, t.String(), t.Args...).Scan(&found); err != nil {
			return 0, err
		}
		n += found
	}
	return min(n, MaxNew), nil
}

// follow reads the rows of one path from an id on.
func (l *Reports) follow(ctx context.Context, q DeliveryQuery, p path, from string) (found []FoundDelivery, err error) {
	t := &database.Statement{}
	t.Arg(false) // WindowedColumns names it $1
	t.Add("SELECT " + rows.WindowedColumns + ", COALESCE(e.url, ''), COALESCE(e.host, ''), d.first_at, d.last_at, d.last_us" +
		rows.WindowedFrom + " LEFT JOIN endpoints e ON e.id = d.endpoint_id")
	p.where(t, q)
	if from != "" {
		t.Add(" AND d.id >= ?", from)
	}
	q.rest(t, p)
	found, err = database.Collect(ctx, l.db.Read, t.Add(" ORDER BY d.id DESC LIMIT ?", q.Limit+1), func(d *FoundDelivery) []any {
		return append(rows.WindowedFields(&d.DeliveryWithWindow), &d.URL, &d.Host, database.Time(&d.FirstAt), database.Time(&d.LastAt), database.Duration(&d.LastDuration))
	})
	return found, err
}

// bound returns the oldest delivery that a page may look at on its way along
// p if it looks at so many rows, empty if it may look at all of them.
func (l *Reports) bound(ctx context.Context, q DeliveryQuery, p path, above string, rows int) (id string, at time.Time, err error) {
	if q.rest(new(database.Statement), p) {
		t := p.where(new(database.Statement).Add("SELECT d.id, d.created_at FROM deliveries d"), q)
		if above != "" {
			t.Add(" AND d.id > ?", above)
		}
		t.Add(" ORDER BY d.id DESC LIMIT 1 OFFSET ?", rows-1)
		err = t.Query(ctx, l.db.Read, func(found database.Row) error { return found.Scan(&id, database.Time(&at)) })
	}
	return id, at, err
}
