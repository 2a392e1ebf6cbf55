package ledger_test

import (
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func TestDeliveriesAreListedByEveryFilterPageByPage(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Partner(t, "other")
		a1, a2 := b.Endpoint(t, "acme", 8, webhook.TopupCard), b.Endpoint(t, "acme", 8, webhook.CreateCard)
		o := b.Endpoint(t, "other", 8)
		began := time.Now().Add(-2 * time.Millisecond)
		add := func(e delivery.NewEvent) string { return store(t, b, e).DeliveryIDs[0] }
		sent := add(ledgertest.NewEvent("acme", "tp_1", "Pending"))
		drain(t, b)
		gone := add(ledgertest.NewEvent("acme", "tp_2", "Pending"))
		send(t, b, b.Tickets(), failed, exhausted)
		later := add(typed("acme", webhook.CreateCard, "card_1", "Init"))
		send(t, b, b.Tickets(), webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorDNS}, retryAt(time.Now().Add(time.Hour)))
		queued := add(ledgertest.NewEvent("other", "tp_1", "Pending"))
		sending := add(ledgertest.NewEvent("acme", "tp_3", "Pending"))
		take(t, b, b.Tickets()[1])
		set(t, b, a1.ID, pause)
		held := add(ledgertest.NewEvent("acme", "tp_4", "Pending"))
		b.Partner(t, "lonely")
		unrouted := add(ledgertest.NewEvent("lonely", "tp_5", "Pending"))
		all := []string{unrouted, held, sending, queued, later, gone, sent}
		event := look(t, b, gone).EventID

		for name, c := range map[string]struct {
			filter delivery.Filter
			want   []string
		}{
			"everything":            {delivery.Filter{}, all},
			"a partner's":           {delivery.Filter{PartnerCode: "acme"}, []string{held, sending, later, gone, sent}},
			"an endpoint's":         {delivery.Filter{EndpointID: a2.ID}, []string{later}},
			"another's endpoint":    {delivery.Filter{PartnerCode: "acme", EndpointID: o.ID}, nil},
			"delivered":             {delivery.Filter{State: webhook.Delivered}, []string{sent}},
			"exhausted":             {delivery.Filter{State: webhook.Exhausted}, []string{gone}},
			"pending":               {delivery.Filter{State: webhook.Pending}, []string{later}},
			"held":                  {delivery.Filter{State: webhook.Held}, []string{unrouted, held}},
			"queued":                {delivery.Filter{State: webhook.Queued}, []string{queued}},
			"sending":               {delivery.Filter{State: webhook.Sending}, []string{sending}},
			"cancelled":             {delivery.Filter{State: webhook.Cancelled}, nil},
			"of a type":             {delivery.Filter{Type: webhook.CreateCard}, []string{later}},
			"answered 500":          {delivery.Filter{StatusCode: 500}, []string{gone}},
			"of a class":            {delivery.Filter{ErrorClass: webhook.ErrorDNS}, []string{later}},
			"about an object":       {delivery.Filter{Reference: "tp_1"}, []string{queued, sent}},
			"of an event":           {delivery.Filter{Reference: event}, []string{gone}},
			"since the beginning":   {delivery.Filter{Since: began}, all},
			"since a time to come":  {delivery.Filter{Since: time.Now().Add(time.Hour)}, nil},
			"until the beginning":   {delivery.Filter{Until: began}, nil},
			"until a time to come":  {delivery.Filter{Until: time.Now().Add(time.Hour)}, all},
			"a partner's exhausted": {delivery.Filter{PartnerCode: "acme", State: webhook.Exhausted, Type: webhook.TopupCard, StatusCode: 500}, []string{gone}},
			"from a cursor on":      {delivery.Filter{Cursor: queued}, []string{later, gone, sent}},
			"cursor and until":      {delivery.Filter{Cursor: queued, Until: began}, nil},
		} {
			c.filter.Limit = 100
			found, next, err := b.Deliveries(t.Context(), c.filter)
			if err != nil || next != "" {
				t.Errorf("%s: next page %q (%v)", name, next, err)
			}
			same(t, name, ids(found), c.want)

			var paged []string
			c.filter.Limit = 2
			for {
				page, next, err := b.Deliveries(t.Context(), c.filter)
				if err != nil {
					t.Fatal(err)
				}
				paged = append(paged, ids(page)...)
				if next == "" {
					break
				}
				same(t, name+": size of a page before the last", len(page), 2)
				c.filter.Cursor = next
			}
			same(t, name+", page by page", paged, c.want)
		}
	})
}

func ids(found []delivery.DeliveryWithWindow) (ids []string) {
	for _, d := range found {
		ids = append(ids, d.ID)
	}
	return ids
}

func TestEventsAreListedByEveryFilterPageByPage(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Partner(t, "other")
		began := time.Now().Add(-2 * time.Millisecond)
		var all []string
		add := func(e delivery.NewEvent) string {
			all = append([]string{store(t, b, e).EventID}, all...)
			return all[0]
		}
		first := add(ledgertest.NewEvent("acme", "tp_1", "Pending"))
		card := add(typed("acme", webhook.CreateCard, "card_1", "Init"))
		theirs := add(ledgertest.NewEvent("other", "tp_1", "Pending"))
		for name, c := range map[string]struct {
			filter delivery.EventFilter
			want   []string
		}{
			"everything":           {delivery.EventFilter{}, all},
			"a partner's":          {delivery.EventFilter{PartnerCode: "acme"}, []string{card, first}},
			"of a type":            {delivery.EventFilter{Type: webhook.CreateCard}, []string{card}},
			"about an object":      {delivery.EventFilter{Reference: "tp_1"}, []string{theirs, first}},
			"a partner's object":   {delivery.EventFilter{PartnerCode: "other", Reference: "tp_1"}, []string{theirs}},
			"since the beginning":  {delivery.EventFilter{Since: began}, all},
			"since a time to come": {delivery.EventFilter{Since: time.Now().Add(time.Hour)}, nil},
			"until the beginning":  {delivery.EventFilter{Until: began}, nil},
			"from a cursor on":     {delivery.EventFilter{Cursor: card}, []string{first}},
		} {
			var got []string
			c.filter.Limit = 1
			for {
				page, next, err := b.Events(t.Context(), c.filter)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range page {
					got = append(got, e.ID)
				}
				if next == "" {
					break
				}
				c.filter.Cursor = next
			}
			same(t, name, got, c.want)
		}
		_, err := b.Event(t.Context(), partners.Everything(), "evt_none")
		wantKind(t, err, webhook.KindNotFound)
		_, err = b.Delivery(t.Context(), "dlv_none")
		wantKind(t, err, webhook.KindNotFound)
	})
}
