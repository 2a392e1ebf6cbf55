package ledger_test

import (
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func search(t *testing.T, b *ledgertest.Bench, q reports.DeliveryQuery) reports.DeliveryPage {
	t.Helper()
	page, err := b.SearchDeliveries(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func found(page reports.DeliveryPage) (ids []string) {
	for _, d := range page.Items {
		ids = append(ids, d.ID)
	}
	return ids
}

// attempted is the record of an attempt that took a time.
func attempted(t *testing.T, b *ledgertest.Bench, job delivery.Job, a webhook.Attempt, v delivery.Verdict, took time.Duration) {
	t.Helper()
	a.Phases.Total = took
	record(t, b, job, a, v)
}

func TestDeliveriesAreSearchedByEveryFilterPageByPage(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Partner(t, "other")
		a1, a2 := b.Endpoint(t, "acme", 8, webhook.TopupCard), b.Endpoint(t, "acme", 8, webhook.CreateCard)
		o := b.Endpoint(t, "other", 8)
		set(t, b, a2.ID, func(e *webhook.Endpoint) { e.URL = "https://Second.example.com:8443/hook?x=1" })
		began := time.Now().Add(-2 * time.Millisecond)
		add := func(e delivery.NewEvent) string { return store(t, b, e).DeliveryIDs[0] }
		sent := add(ledgertest.NewEvent("acme", "tp_1", "Pending"))
		attempted(t, b, take(t, b, one(t, b)), ok, delivered, 40*time.Millisecond)
		gone := add(ledgertest.NewEvent("acme", "tp_2", "Pending"))
		attempted(t, b, take(t, b, one(t, b)), failed, exhausted, 2*time.Second)
		later := add(typed("acme", webhook.CreateCard, "card_7", "Init"))
		send(t, b, b.Tickets(), webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorDNS}, retryAt(time.Now().Add(time.Hour)))
		queued := add(ledgertest.NewEvent("other", "tp_1", "Pending"))
		sending := add(ledgertest.NewEvent("acme", "tp_3", "Pending"))
		take(t, b, b.Tickets()[1])
		set(t, b, a1.ID, pause)
		held := add(ledgertest.NewEvent("acme", "tp_4", "Pending"))
		ended := add(ledgertest.NewEvent("acme", "tp_6", "Pending"))
		if err := b.CancelDelivery(t.Context(), ended, "no use"); err != nil {
			t.Fatal(err)
		}
		b.Partner(t, "lonely")
		unrouted := add(ledgertest.NewEvent("lonely", "tp_5", "Pending"))
		order := b.Order(t, "other", "shop-1", time.Hour)
		all := []string{unrouted, ended, held, sending, queued, later, gone, sent}
		event := look(t, b, gone).EventID
		type states = []webhook.State

		for name, c := range map[string]struct {
			query reports.DeliveryQuery
			want  []string
		}{
			"everything":              {reports.DeliveryQuery{}, all},
			"a partner's":             {reports.DeliveryQuery{PartnerCode: "acme"}, []string{ended, held, sending, later, gone, sent}},
			"seen by a partner":       {reports.DeliveryQuery{Scope: partners.Only("acme")}, []string{ended, held, sending, later, gone, sent}},
			"another's, by a partner": {reports.DeliveryQuery{Scope: partners.Only("acme"), PartnerCode: "other"}, nil},
			"by nobody":               {reports.DeliveryQuery{Scope: partners.Only("nobody")}, nil},
			"an endpoint's":           {reports.DeliveryQuery{EndpointID: a2.ID}, []string{later}},
			"another's endpoint":      {reports.DeliveryQuery{Scope: partners.Only("acme"), EndpointID: o.ID}, nil},
			"no endpoint's":           {reports.DeliveryQuery{EndpointID: "ep_0"}, nil},
			"an endpoint's exhausted": {reports.DeliveryQuery{EndpointID: a1.ID, States: states{webhook.Exhausted}}, []string{gone}},
			"a host's":                {reports.DeliveryQuery{Host: "second.example.com"}, []string{later}},
			"a shared host's":         {reports.DeliveryQuery{Host: "Partner.example.com"}, []string{ended, held, sending, queued, gone, sent}},
			"delivered":               {reports.DeliveryQuery{States: states{webhook.Delivered}}, []string{sent}},
			"exhausted":               {reports.DeliveryQuery{States: states{webhook.Exhausted}}, []string{gone}},
			"pending":                 {reports.DeliveryQuery{States: states{webhook.Pending}}, []string{later}},
			"held":                    {reports.DeliveryQuery{States: states{webhook.Held}}, []string{unrouted, held}},
			"queued":                  {reports.DeliveryQuery{States: states{webhook.Queued}}, []string{queued}},
			"sending":                 {reports.DeliveryQuery{States: states{webhook.Sending}}, []string{sending}},
			"cancelled":               {reports.DeliveryQuery{States: states{webhook.Cancelled}}, []string{ended}},
			"not yet ended":           {reports.DeliveryQuery{States: states{webhook.Held, webhook.Pending, webhook.Queued, webhook.Sending}}, []string{unrouted, held, sending, queued, later}},
			"ended":                   {reports.DeliveryQuery{States: states{webhook.Delivered, webhook.Exhausted, webhook.Cancelled}}, []string{ended, gone, sent}},
			"of a type":               {reports.DeliveryQuery{Types: []webhook.Type{webhook.CreateCard, webhook.CardTransaction}}, []string{later}},
			"answered 500":            {reports.DeliveryQuery{StatusCode: 500}, []string{gone}},
			"answered 5xx":            {reports.DeliveryQuery{StatusClass: 5}, []string{gone}},
			"answered 2xx":            {reports.DeliveryQuery{StatusClass: 2}, []string{sent}},
			"of a class":              {reports.DeliveryQuery{ErrorClasses: []webhook.ErrorClass{webhook.ErrorDNS}}, []string{later}},
			"never attempted":         {reports.DeliveryQuery{AttemptsMax: 1, States: states{webhook.Held, webhook.Queued}}, []string{unrouted, held, queued}},
			"attempted":               {reports.DeliveryQuery{AttemptsMin: 1}, []string{sending, later, gone, sent}},
			"slow":                    {reports.DeliveryQuery{DurationMin: time.Second}, []string{gone}},
			"fast":                    {reports.DeliveryQuery{DurationMin: time.Millisecond, DurationMax: time.Second}, []string{sent}},
			"late at first":           {reports.DeliveryQuery{DelayMin: time.Minute}, nil},
			"first ones":              {reports.DeliveryQuery{Triggers: []webhook.Trigger{webhook.TriggerFirst}}, all},
			"replays":                 {reports.DeliveryQuery{Triggers: []webhook.Trigger{webhook.TriggerReplay}}, nil},
			"about an object":         {reports.DeliveryQuery{Reference: "tp_1"}, []string{queued, sent}},
			"about a card":            {reports.DeliveryQuery{Reference: "card_1", PartnerCode: "acme"}, []string{ended, held, sending, later, gone, sent}},
			"about another's card":    {reports.DeliveryQuery{Reference: "card_1", Scope: partners.Only("other")}, []string{queued}},
			"a card's exhausted":      {reports.DeliveryQuery{Reference: "card_1", States: states{webhook.Exhausted}}, []string{gone}},
			"of an event":             {reports.DeliveryQuery{Reference: event}, []string{gone}},
			"by its id":               {reports.DeliveryQuery{Reference: gone}, []string{gone}},
			"of an order":             {reports.DeliveryQuery{Reference: order.ID}, nil},
			"needs attention":         {reports.DeliveryQuery{NeedsAttention: true}, []string{unrouted, held, later, gone}},
			"a partner's attention":   {reports.DeliveryQuery{NeedsAttention: true, Scope: partners.Only("lonely")}, []string{unrouted}},
			"an endpoint's attention": {reports.DeliveryQuery{NeedsAttention: true, EndpointID: a1.ID}, []string{held, gone}},
			"since the beginning":     {reports.DeliveryQuery{Since: began}, all},
			"since a time to come":    {reports.DeliveryQuery{Since: time.Now().Add(time.Hour)}, nil},
			"until the beginning":     {reports.DeliveryQuery{Until: began}, nil},
			"from a cursor on":        {reports.DeliveryQuery{Cursor: queued}, []string{later, gone, sent}},
		} {
			q := c.query
			if q.Scope == (partners.Scope{}) {
				q.Scope = partners.Everything()
			}
			page := search(t, b, q)
			same(t, name, found(page), c.want)
			same(t, name+": next page", page.Next, "")
			if q.Cursor == "" {
				n, err := b.NewSince(t.Context(), q, "dlv_")
				if err != nil || n != len(c.want) {
					t.Errorf("%s: %d are new (%v), want %d", name, n, err, len(c.want))
				}
			}
			if len(c.want) <= 2 {
				continue // one page, as seen
			}
			var paged []string
			q.Limit = 2
			for {
				page := search(t, b, q)
				paged = append(paged, found(page)...)
				if page.Next == "" {
					break
				}
				same(t, name+": size of a page before the last", len(page.Items), 2)
				q.Cursor = page.Next
			}
			same(t, name+", page by page", paged, c.want)
		}
		if page := search(t, b, reports.DeliveryQuery{}); len(page.Items) > 0 {
			t.Errorf("without a scope %d deliveries are seen", len(page.Items))
		}
	})
}

func TestAFoundDeliveryTellsWhatAListShows(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		storeMany(t, b, "acme", 1)
		due := time.Now().Add(time.Hour).Truncate(time.Microsecond)
		attempted(t, b, take(t, b, one(t, b)), failed, retryAt(due), 1500*time.Millisecond)
		d := search(t, b, reports.DeliveryQuery{Scope: partners.Only("acme")}).Items[0]
		reason, until := d.WaitingFor(d.Window, time.Now())
		delay, known := d.FirstDelay()
		same(t, "row", []any{d.URL, d.Host, d.LastDuration, reason, until, d.Last.StatusCode, d.Attempts, known},
			[]any{"https://partner.example.com/hook", "partner.example.com", 1500 * time.Millisecond, webhook.WaitRetry, due.UTC(), 500, 1, true})
		if delay < 0 || delay > time.Minute || d.LastAt.IsZero() {
			t.Errorf("the first attempt came after %s, the last at %s", delay, d.LastAt)
		}
	})
}

// A page that finds nothing says how far it has looked, and the next goes on.
func TestASearchLooksAtABoundedNumberOfRows(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		old := storeMany(t, b, "acme", 1)[0]
		attempted(t, b, take(t, b, one(t, b)), failed, exhausted, time.Second)
		number := "lpad(CAST(n AS TEXT), 16, '0')"
		if b.DB.Embedded() {
			number = "printf('%016d', n)"
		}
		prefix := webhook.TimeBound(webhook.DeliveryPrefix, time.Now().Add(time.Second))[:len(webhook.DeliveryPrefix)+10]
		change(t, b, `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 20500)
			INSERT INTO deliveries (id, event_id, endpoint_id, partner_code, webhook_type, object_id, sequence, state, reason, generation, attempts, trigger,
			next_trigger, replay_of, lane, claimed_at, worker_id, last_outcome, last_status, last_class, created_at, finished_at)
			SELECT '`+prefix+`' || `+number+`, '', 'ep', 'acme', 'TopupCard', '', 0, 'exhausted', '', 1, 1, 'first', '', '', 0, 0, '', 'failed', 404, 'http_4xx', 7, 8 FROM numbers`)
		q := reports.DeliveryQuery{Scope: partners.Everything(), StatusCode: 500}
		page := search(t, b, q)
		same(t, "found at first", len(page.Items), 0)
		same(t, "looked at", b.Count(t, "SELECT COUNT(*) FROM deliveries WHERE id >= $1", page.Next), reports.SearchRows)
		same(t, "searched to", page.SearchedTo, time.UnixMicro(7).UTC())
		q.Cursor = page.Next
		page = search(t, b, q)
		same(t, "found then", found(page), []string{old})
		same(t, "the end", page.Next+page.SearchedTo.String(), time.Time{}.String())
	})
}
