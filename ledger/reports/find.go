package reports

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// HitKind is what a Hit is.
type HitKind string

// What a text can be found as.
const (
	HitEvent    HitKind = "event"
	HitDelivery HitKind = "delivery"
	HitAttempt  HitKind = "attempt" // ID is its delivery's
	HitEndpoint HitKind = "endpoint"
	HitOrder    HitKind = "order"
	HitReplay   HitKind = "replay" // operators only
	HitPerson   HitKind = "person"
	HitPartner  HitKind = "partner"
	HitHost     HitKind = "host" // ID is the host, in one of the scope's endpoints' URLs
	// HitReference is what events are about: ID is the card, top-up,
	// transaction, account or externalOrderId.
	HitReference HitKind = "reference"
)

// Hit is something that Find found.
type Hit struct {
	Kind        HitKind
	ID          string
	PartnerCode string    // empty: nobody's, or of several
	Label       string    // what else tells it apart: a name, a URL, a type, a state
	At          time.Time // of creation; zero: not known
}

const (
	// MaxHits is how many hits Find answers.
	MaxHits  = 20
	hitsEach = 5 // of one kind
	// maxFindText is as much as a text to find may hold, in bytes.
	maxFindText = 500
)

// finder is one way to find something: by an id's prefix, or by any text.
type finder struct {
	prefix string // of the texts it is for; empty: of all without a known prefix
	kind   HitKind
	query  string // of id, partner code, label and time; ? is the text
	column string // of the partner's code, for the scope
	order  string
}

var finders = []finder{
	{webhook.EventPrefix, HitEvent, "SELECT id, partner_code, webhook_type || ' ' || status, created_at FROM events WHERE id = ?", "partner_code", ""},
	{webhook.DeliveryPrefix, HitDelivery, "SELECT id, partner_code, webhook_type || ' ' || state, created_at FROM deliveries WHERE id = ?", "partner_code", ""},
	{webhook.AttemptPrefix, HitAttempt, "SELECT id, partner_code, webhook_type || ' ' || state, created_at FROM deliveries WHERE id = (SELECT delivery_id FROM attempts WHERE id = ?)", "partner_code", ""},
	{webhook.EndpointPrefix, HitEndpoint, "SELECT id, partner_code, url, created_at FROM endpoints WHERE id = ?", "partner_code", ""},
	{webhook.OrderPrefix, HitOrder, "SELECT id, partner_code, external_order_id || ' ' || status, created_at FROM orders WHERE id = ?", "partner_code", ""},
	{webhook.ReplayPrefix, HitReplay, "SELECT id, '', reason, created_at FROM replays WHERE id = ?", "''", ""},
	{webhook.PersonPrefix, HitPerson, "SELECT id, partner_code, ltrim(username, '/'), created_at FROM people WHERE id = ?", "partner_code", ""},
	{"", HitPartner, "SELECT code, code, name, created_at FROM partners WHERE code = ?", "code", ""},
	{"", HitOrder, "SELECT id, partner_code, external_order_id || ' ' || status, created_at FROM orders WHERE external_order_id = ?", "partner_code", " ORDER BY id DESC"},
	{"", HitReference, "SELECT object_id, partner_code, webhook_type || ' ' || status, created_at FROM events WHERE object_id = ?", "partner_code", " ORDER BY id DESC"},
	{"", HitReference, "SELECT subject, partner_code, webhook_type || ' ' || status, created_at FROM events WHERE subject <> object_id AND subject = ?", "partner_code", " ORDER BY id DESC"},
	{"", HitPerson, "SELECT id, partner_code, ltrim(username, '/'), created_at FROM (SELECT LOWER(?) AS typed) AS t JOIN people ON username IN (typed, '/' || typed) WHERE typed <> ''", "partner_code", ""},
	{"", HitHost, "SELECT host, partner_code, url, created_at FROM endpoints WHERE host = LOWER(?)", "partner_code", " ORDER BY id DESC"},
}

// Find looks a text up as any id, reference, externalOrderId, username, host
// (or URL) or partner, each by an index, and answers up to MaxHits hits of the
// scope. A text that ends with * finds the partners whose code begins with it.
// Of what several hits tell only the newest is left.
func (l *Reports) Find(ctx context.Context, s partners.Scope, what string) (hits []Hit, err error) {
	what = database.Text(strings.TrimSpace(what))
	if what == "" || len(what) > maxFindText {
		return nil, nil
	}
	if begin, cut := strings.CutSuffix(what, "*"); cut {
		t := new(database.Statement).Add("SELECT code, code, name, created_at FROM partners WHERE code >= ? AND code < ?", begin, begin+"\U0010FFFF").Within(s, "code")
		return l.hits(ctx, HitPartner, t.Add(" ORDER BY code LIMIT ?", MaxHits), nil)
	}
	prefix := idPrefix(what)
	if u, err := url.Parse(what); err == nil && u.Host != "" {
		what = u.Hostname()
	}
	for _, f := range finders {
		if f.prefix != prefix {
			continue
		}
		t := new(database.Statement).Add(f.query, what).Within(s, f.column)
		if hits, err = l.hits(ctx, f.kind, t.Add(f.order+" LIMIT ?", hitsEach), hits); err != nil {
			return nil, err
		}
	}
	return hits[:min(len(hits), MaxHits)], nil
}

// idPrefix is the prefix of a known kind of id that what begins with.
func idPrefix(what string) string {
	for _, f := range finders {
		if f.prefix != "" && strings.HasPrefix(what, f.prefix) && webhook.CheckID("", f.prefix, what) == nil {
			return f.prefix
		}
	}
	return ""
}

// hits adds what t finds to hits, each thing of a partner once.
func (l *Reports) hits(ctx context.Context, kind HitKind, t *database.Statement, hits []Hit) ([]Hit, error) {
	err := t.Query(ctx, l.db.Read, func(row database.Row) error {
		h := Hit{Kind: kind}
		if err := row.Scan(&h.ID, &h.PartnerCode, &h.Label, database.Time(&h.At)); err != nil {
			return err
		}
		for _, have := range hits {
			if have.Kind == h.Kind && have.ID == h.ID && have.PartnerCode == h.PartnerCode {
				return nil
			}
		}
		hits = append(hits, h)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find a %s: %w", kind, err)
	}
	return hits, nil
}
