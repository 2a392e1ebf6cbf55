package reports

import (
	"context"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/orders"
)

// OrderCounts counts all orders by their status; a status without any is not
// there. Unfinished orders are counted live by an index that leads to no
// others, final ones by their rollups, both at one moment.
func (l *Reports) OrderCounts(ctx context.Context) (map[orders.Status]int64, error) {
	counts := map[orders.Status]int64{}
	var final, open []string
	for _, s := range orders.Statuses {
		if s.Final() {
			final = append(final, rows.FactOrder+string(s))
		} else {
			open = append(open, string(s))
		}
	}
	t := new(database.Statement).Add("SELECT status, COUNT(*) FROM orders WHERE status IN ")
	database.InList(t, open).Add(" GROUP BY status UNION ALL SELECT SUBSTR(fact, ?), CAST(SUM(n) AS BIGINT) FROM rollups_all WHERE fact IN ", len(rows.FactOrder)+1)
	database.InList(t, final).Add(" GROUP BY fact")
	err := t.Query(ctx, l.db.Read, func(row database.Row) error {
		var status orders.Status
		var n int64
		err := row.Scan(&status, &n)
		counts[status] = n
		return err
	})
	return counts, err
}
