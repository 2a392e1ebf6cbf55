package ops

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/shell"
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
	Orders  shell.Fact[shell.Listed[orders.Order]]
	Filters []shell.Field
	Problem string
	Pager   shell.Pager
}

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
	v := ordersView{Filters: orderFilters(query)}
	if f.Status != "" && !f.Status.Known() {
		return webhook.Invalid("status", "must be one of the statuses of an order")
	}
	if f.Cursor != "" {
		if err := webhook.CheckID("cursor", webhook.OrderPrefix, f.Cursor); err != nil {
			return err
		}
	}
	if since := strings.TrimSpace(query.Get("since")); since != "" {
		if err := deliveries.ReadMoment(&f.Since, "since", since, q.Here(q.Now)); err != nil {
			v.Problem = deliveries.QueryProblem(q, err)
			return q.RenderStatus(w, r, http.StatusBadRequest, "orders", v)
		}
		f.Since = f.Since.Truncate(time.Second)
	}
	v.Orders = shell.CachedList(r.Context(), s.Memory, "orders/"+query.Encode(), func(ctx context.Context) ([]orders.Order, string, error) {
		return s.Reports.Orders(ctx, f)
	})
	v.Pager = shell.PagerOf(r.URL, v.Orders.Value.Next)
	return q.Render(w, r, "orders", v)
}

func orderFilters(query url.Values) []shell.Field {
	status := shell.Field{Name: "status", Label: "Status", Type: "select", Options: []shell.Option{{Label: "any"}}}
	for _, each := range orders.Statuses {
		status.Options = append(status.Options, shell.Option{Value: string(each), Label: orderPills[each].Word, Chosen: query.Get("status") == string(each)})
	}
	return []shell.Field{
		{Name: "partner", Label: "Partner", Value: query.Get("partner")}, status,
		{Name: "ref", Label: "Id or externalOrderId", Value: query.Get("ref"), Mono: true},
		{Name: "since", Label: "Since", Value: query.Get("since"), Hint: deliveries.MomentHint},
	}
}
