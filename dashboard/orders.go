package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ledgerhook/orders"
	"ledgerhook/webhook"
)

func (s *surface) orderRoutes() []route {
	return []route{
		{"GET /ops/orders", mayRead, s.ordersPage},
		{"GET /ops/orders/{id}", mayRead, s.orderPage},
		{"POST /ops/orders/{id}/move", mayAct, s.moveOrder},
	}
}

// ordersView lists orders, newest first.
type ordersView struct {
	Orders  fact[listed[orders.Order]]
	Filters []field
	Problem string
	Pager   pager
}

const ordersPageSize = 50

// orderPills are the states of an order.
var orderPills = map[orders.Status]pill{
	orders.StatusAwaitingPayment:         {"idle", "awaiting payment"},
	orders.StatusPaymentCompleted:        {"busy", "payment completed"},
	orders.StatusProcessingTokenTransfer: {"busy", "processing token transfer"},
	orders.StatusSuccess:                 {"good", "success"},
	orders.StatusFail:                    {"bad", "failed"},
	orders.StatusError:                   {"warn", "error"},
}

// orderPill is the state of an order.
func orderPill(status orders.Status) pill { return orderPills[status] }

// refusedPill is the state of a change that was refused.
func refusedPill(r *orders.Refusal) pill {
	if r.SettledAt.IsZero() {
		return pill{"bad", "refused, to settle"}
	}
	return pill{"idle", "refused, settled"}
}

func (s *surface) ordersPage(w http.ResponseWriter, r *http.Request, q *request) error {
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
		if err := readMoment(&f.Since, "since", since, q.Now); err != nil {
			v.Problem = q.queryProblem(err)
			return q.renderStatus(w, r, http.StatusBadRequest, "orders", v)
		}
		f.Since = f.Since.Truncate(time.Second)
	}
	v.Orders = recallList(r.Context(), s.Memory, "orders/"+query.Encode(), func(ctx context.Context) ([]orders.Order, string, error) {
		return s.Ledger.Orders(ctx, f)
	})
	v.Pager = pagerOf(r.URL, v.Orders.Value.next)
	return q.render(w, r, "orders", v)
}

func orderFilters(query url.Values) []field {
	status := field{Name: "status", Label: "Status", Type: "select", Options: []option{{Label: "any"}}}
	for _, each := range orders.Statuses {
		status.Options = append(status.Options, option{string(each), orderPills[each].Word, query.Get("status") == string(each)})
	}
	return []field{
		{Name: "partner", Label: "Partner", Value: query.Get("partner")}, status,
		{Name: "ref", Label: "Id or externalOrderId", Value: query.Get("ref"), Mono: true},
		{Name: "since", Label: "Since (UTC)", Value: query.Get("since"), Hint: momentHint},
	}
}
