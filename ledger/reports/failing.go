package reports

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/webhook"
)

const (
	// maxFailing is how many failing endpoints are looked at, those that fail
	// for longest.
	maxFailing = 1000
	// FailingShown is how many partners or hosts are told of.
	FailingShown = 20
)

// FailingPartner is a partner of whose open endpoints at least one fails.
type FailingPartner struct {
	PartnerCode   string
	Endpoints     int      // that fail
	Hosts         []string // of these, sorted
	FailingSince  time.Time
	LastSuccess   time.Time // the newest of these endpoints; zero: none ever
	Breakers      int       // of these, not closed
	BreakerReason string    // of one of them
	OpenUntil     time.Time // when the first of these breakers lets a probe through; zero: not known
	Waiting       int64     // deliveries that wait for these endpoints
	GivenUp       int       // deliveries that these endpoints have ended exhausted since their last success
	// What the newest attempt at the endpoint came to that has failed most often
	// since its last success, how many attempts at it failed since, and how many
	// of these, the newest, came to the same.
	Last            webhook.LastResult
	Attempts, Alike int
}

// FailingHost is a host of which at least one open endpoint fails.
type FailingHost struct {
	Host         string
	Endpoints    int // that fail
	Partners     []string
	FailingSince time.Time
	LastSuccess  time.Time // the newest of these endpoints; zero: none ever
	Waiting      int64
	Served       int  // open endpoints on the host that had a success since some fail
	Differ       bool // the endpoints that fail do so in different ways
}

// alike reports whether two failures may have one cause: the same answer, or
// none at all, as far as they are known.
func alike(x, y webhook.LastResult) bool {
	return x == y || x.StatusCode == 0 && y.StatusCode == 0 || x.Outcome == "" || y.Outcome == ""
}

// failingEndpoint is an open endpoint that fails.
type failingEndpoint struct {
	partner, host string
	window        webhook.Window
}

// failing lists the open endpoints that fail for FailingAfter or longer.
func (l *Reports) failing(ctx context.Context, now time.Time) (found []failingEndpoint, err error) {
	t := new(database.Statement).Add("SELECT e.partner_code, e.host, "+rows.WindowColumns+` FROM windows w JOIN endpoints e ON e.id = w.endpoint_id
		WHERE w.failing_since > 0 AND w.failing_since <= ? AND `+openWindow+" AND e.removed_at = 0 ORDER BY w.failing_since, e.id LIMIT ?",
		database.Micros(now.Add(-FailingAfter)), maxFailing)
	found, err = database.Collect(ctx, l.db.Read, t, func(e *failingEndpoint) []any {
		return append([]any{&e.partner, &e.host}, rows.WindowFields(&e.window)...)
	})
	return found, err
}

// FailingPartners lists up to FailingShown partners with failing endpoints,
// those with most waiting first.
func (l *Reports) FailingPartners(ctx context.Context) ([]FailingPartner, error) {
	now := time.Now()
	endpoints, err := l.failing(ctx, now)
	if err != nil || len(endpoints) == 0 {
		return nil, err
	}
	byCode := map[string]*FailingPartner{}
	for _, e := range endpoints {
		p := byCode[e.partner]
		if p == nil {
			p = &FailingPartner{PartnerCode: e.partner, FailingSince: e.window.Health.FailingSince}
			byCode[e.partner] = p
		}
		p.add(e)
	}
	worst := slices.SortedFunc(maps.Values(byCode), func(x, y *FailingPartner) int {
		return cmp.Or(cmp.Compare(y.Waiting, x.Waiting), cmp.Compare(y.Endpoints, x.Endpoints), cmp.Compare(x.PartnerCode, y.PartnerCode))
	})
	worst = worst[:min(len(worst), FailingShown)]
	found := make([]FailingPartner, len(worst))
	for i, p := range worst {
		slices.Sort(p.Hosts)
		found[i] = *p
	}
	return found, nil
}

func (p *FailingPartner) add(e failingEndpoint) {
	w := e.window
	p.Endpoints++
	p.GivenUp += w.Health.Failed
	p.Waiting += int64(w.WaitingFirst + w.WaitingAgain + w.WaitingBlocked)
	if !slices.Contains(p.Hosts, e.host) {
		p.Hosts = append(p.Hosts, e.host)
	}
	if w.Health.LastSuccess.After(p.LastSuccess) {
		p.LastSuccess = w.Health.LastSuccess
	}
	if h := w.Health; h.Attempts > p.Attempts {
		p.Last, p.Attempts, p.Alike = h.Last, h.Attempts, h.Alike
	}
	if w.Breaker.State == webhook.BreakerClosed {
		return
	}
	p.Breakers++
	p.BreakerReason = cmp.Or(p.BreakerReason, w.Breaker.Reason)
	if until := w.Breaker.OpenUntil; !until.IsZero() && (p.OpenUntil.IsZero() || until.Before(p.OpenUntil)) {
		p.OpenUntil = until
	}
}

// FailingHosts lists up to FailingShown hosts with failing endpoints, those of
// most partners first: one host of many partners tells of more than one
// receiver's trouble.
func (l *Reports) FailingHosts(ctx context.Context) ([]FailingHost, error) {
	endpoints, err := l.failing(ctx, time.Now())
	if err != nil {
		return nil, fmt.Errorf("list failing endpoints: %w", err)
	}
	byHost, first := map[string]*FailingHost{}, map[string]webhook.LastResult{}
	for _, e := range endpoints {
		h := byHost[e.host]
		if h == nil {
			h = &FailingHost{Host: e.host, FailingSince: e.window.Health.FailingSince}
			byHost[e.host], first[e.host] = h, e.window.Health.Last
		}
		h.Endpoints++
		h.Differ = h.Differ || !alike(first[e.host], e.window.Health.Last)
		h.Waiting += int64(e.window.WaitingFirst + e.window.WaitingAgain + e.window.WaitingBlocked)
		if e.window.Health.LastSuccess.After(h.LastSuccess) {
			h.LastSuccess = e.window.Health.LastSuccess
		}
		if !slices.Contains(h.Partners, e.partner) {
			h.Partners = append(h.Partners, e.partner)
		}
	}
	worst := slices.SortedFunc(maps.Values(byHost), func(x, y *FailingHost) int {
		return cmp.Or(cmp.Compare(len(y.Partners), len(x.Partners)), cmp.Compare(y.Endpoints, x.Endpoints), cmp.Compare(x.Host, y.Host))
	})
	worst = worst[:min(len(worst), FailingShown)]
	if err := l.readServed(ctx, byHost, worst); err != nil {
		return nil, fmt.Errorf("look for endpoints that are served: %w", err)
	}
	found := []FailingHost{}
	for _, h := range worst {
		slices.Sort(h.Partners)
		found = append(found, *h)
	}
	return found, nil
}

// readServed counts the endpoints of failing hosts that do not fail.
func (l *Reports) readServed(ctx context.Context, byHost map[string]*FailingHost, hosts []*FailingHost) error {
	if len(hosts) == 0 {
		return nil
	}
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.Host
	}
	t := new(database.Statement).Add("SELECT e.host, w.last_success FROM endpoints e JOIN windows w ON w.endpoint_id = e.id WHERE w.failing_since = 0 AND " + openWindow + " AND e.removed_at = 0 AND e.host IN ")
	return database.InList(t, names).Query(ctx, l.db.Read, func(row database.Row) error {
		var host string
		var last time.Time
		err := row.Scan(&host, database.Time(&last))
		if h := byHost[host]; h != nil && last.After(h.FailingSince) {
			h.Served++
		}
		return err
	})
}
