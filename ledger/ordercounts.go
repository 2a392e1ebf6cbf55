package ledger

import (
	"context"

	"ledgerhook/orders"
)

// factOrder begins the names of the facts that count orders by the final
// status that they reached.
const factOrder = "order_"

// OrderCounts counts all orders by their status; a status without any is not
// there. Unfinished orders are counted live by an index that leads to no
// others, final ones by their rollups, both at one moment.
func (l *Ledger) OrderCounts(ctx context.Context) (map[orders.Status]int64, error) {
	counts := map[orders.Status]int64{}
	var final, open []string
	for _, s := range orders.Statuses {
		if s.Final() {
			final = append(final, factOrder+string(s))
		} else {
			open = append(open, string(s))
		}
	}
	t := new(statement).add("SELECT status, COUNT(*) FROM orders WHERE status IN ")
	list(t, open).add(" GROUP BY status UNION ALL SELECT SUBSTR(fact, ?), CAST(SUM(n) AS BIGINT) FROM rollups_all WHERE fact IN ", len(factOrder)+1)
	list(t, final).add(" GROUP BY fact")
	err := t.query(ctx, l.db.read, func(rows row) error {
		var status orders.Status
		var n int64
		err := rows.Scan(&status, &n)
		counts[status] = n
		return err
	})
	return counts, err
}
