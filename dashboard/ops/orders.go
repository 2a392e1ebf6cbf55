package ops

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/shell"
	"ledgerhook/ledger/reports"
	"ledgerhook/orders"
	"ledgerhook/webhook"
)

func (s pages) orderRoutes() []shell.Route {
	return []shell.Route{
		shell.Read("GET /ops/orders", s.ordersPage),
		shell.Read("GET /ops/orders/{id}", s.orderPage),
		shell.Act("POST /ops/orders/{id}/move", shell.Form(s.moveOrder)),
	}
}

// ordersView lists orders, newest first.
type ordersView struct {
	Orders  shell.Reading[shell.Listed[reports.OrderStanding]]
	Filters []shell.Field
	Views   shell.Views
	Problem string
	Pager   shell.Pager
	q       *shell.Request
}

// Waits says who waits for what of an order.
func (v ordersView) Waits(s reports.OrderStanding) string { return waitsOf(v.q, s) }

// What waits takes: orders that somebody waits for.
const (
	waitsPartner = "partner" // for our notification of the status
	waitsUs      = "us"      // until the order has ended
)

const ordersPageSize = 50

// orderPills are the states of an order.
var orderPills = map[orders.Status]shell.Pill{
	orders.StatusAwaitingPayment:         shell.Idle("awaiting payment"),
	orders.StatusPaymentCompleted:        shell.Busy("payment completed"),
	orders.StatusProcessingTokenTransfer: shell.Busy("processing token transfer"),
	orders.StatusSuccess:                 shell.Good("success"),
	orders.StatusFail:                    shell.Bad("failed"),
	orders.StatusError:                   shell.Warn("error"),
}

// orderPill is the state of an order.
func orderPill(status orders.Status) shell.Pill { return orderPills[status] }

// refusedPill is the state of a change that was refused.
func refusedPill(r *orders.Refusal) shell.Pill {
	if r.SettledAt.IsZero() {
		return shell.Bad("refused, to settle")
	}
	return shell.Idle("refused, settled")
}

func (s pages) ordersPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	query := r.URL.Query()
	f := orders.Filter{PartnerCode: strings.TrimSpace(query.Get("partner")), Status: orders.Status(query.Get("status")),
		Reference: strings.TrimSpace(query.Get("ref")), Cursor: query.Get("cursor"), Limit: ordersPageSize}
	v := ordersView{Filters: orderFilters(query), Views: s.ViewsOf(r, q), q: q}
	waits, cursor := query.Get("waits"), webhook.OrderPrefix
	switch waits {
	case "", waitsUs:
	case waitsPartner:
		cursor = webhook.DeliveryPrefix
	default:
		return webhook.Invalid("waits", "must be partner or us: who waits")
	}
	if f.Status != "" && !f.Status.Known() {
		return webhook.Invalid("status", "must be one of the statuses of an order")
	}
	if f.Cursor != "" {
		if err := webhook.CheckID("cursor", cursor, f.Cursor); err != nil {
			return err
		}
	}
	if since := strings.TrimSpace(query.Get("since")); since != "" {
		if err := deliveries.ReadMoment(&f.Since, "since", since, q.Here(q.Now)); err != nil {
			v.Problem, v.Views.Query = deliveries.QueryProblem(q, err), ""
			return q.RenderStatus(w, r, http.StatusBadRequest, "orders", v)
		}
		f.Since = f.Since.Truncate(time.Second)
	}
	v.Orders = shell.CachedList(r.Context(), s.Memory, "orders/"+query.Encode(), func(ctx context.Context) ([]reports.OrderStanding, string, error) {
		return s.ordersOf(ctx, f, waits)
	})
	v.Pager = shell.PagerOf(r.URL, v.Orders.Value.Next)
	return q.Render(w, r, "orders", v)
}

// ordersOf lists orders, of those that somebody waits for if waits says whom.
func (s pages) ordersOf(ctx context.Context, f orders.Filter, waits string) (_ []reports.OrderStanding, next string, err error) {
	list := s.Reports.Orders
	switch waits {
	case waitsPartner:
		return s.Reports.UntoldOrders(ctx, f)
	case waitsUs:
		list = s.Reports.UnfinishedOrders
	}
	found, next, err := list(ctx, f)
	if err != nil {
		return nil, "", err
	}
	standings, err := s.Reports.Standings(ctx, found)
	return standings, next, err
}

func orderFilters(query url.Values) []shell.Field {
	status := shell.Field{Name: "status", Label: "Status", Type: "select", Options: []shell.Option{{Label: "any"}}}
	for _, each := range orders.Statuses {
		status.Options = append(status.Options, shell.Option{Value: string(each), Label: orderPills[each].Word, Chosen: query.Get("status") == string(each)})
	}
	return []shell.Field{
		{Name: "partner", Label: "Partner", Value: query.Get("partner")}, status,
		{Name: "waits", Label: "Who waits", Type: "select", Options: []shell.Option{{Label: "any"},
			{Value: waitsPartner, Label: "the partner, to be told", Chosen: query.Get("waits") == waitsPartner},
			{Value: waitsUs, Label: "we, for it to end", Chosen: query.Get("waits") == waitsUs}}},
		{Name: "ref", Label: "Id or reference", Value: query.Get("ref"), Mono: true},
		{Name: "since", Label: "Since", Value: query.Get("since"), Hint: deliveries.MomentHint},
	}
}
