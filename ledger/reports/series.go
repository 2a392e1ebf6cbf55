package reports

import (
	"context"
	"fmt"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// HourCount is what became true in one hour: deliveries by what they became,
// attempts by their outcome. Tests are outside all counts.
type HourCount struct {
	Hour                                            time.Time // its beginning, UTC
	Created, Delivered, Exhausted, Cancelled        int64
	Settled                                         int64 // of those exhausted, by now; see webhook.Delivery.Settled
	AttemptDelivered, AttemptFailed, AttemptUnknown int64
}

// count returns the field that counts a fact, nil for one this program does
// not know.
func (c *HourCount) count(fact string) *int64 {
	switch fact {
	case rows.FactCreated:
		return &c.Created
	case string(webhook.Delivered):
		return &c.Delivered
	case string(webhook.Exhausted):
		return &c.Exhausted
	case string(webhook.Cancelled):
		return &c.Cancelled
	case rows.FactSettled:
		return &c.Settled
	case rows.FactAttempt + string(webhook.OutcomeDelivered):
		return &c.AttemptDelivered
	case rows.FactAttempt + string(webhook.OutcomeFailed):
		return &c.AttemptFailed
	case rows.FactAttempt + string(webhook.OutcomeUnknown):
		return &c.AttemptUnknown
	}
	return nil
}

// maxSeriesHours bounds what Series answers: a year.
const maxSeriesHours = 366 * 24

// Series counts by hour what became true from since until until, of one
// partner, or of all that the scope holds (empty code). Every hour that has begun in this time is
// there, the quiet ones with zeros, oldest first; the hours of since and until
// are counted whole. It reads rollups only, which are written in the same
// transaction as the deliveries: the counts are exact at the moment of the
// call, and zeros for a partner that the scope does not hold. More than a year
// is an Invalid error.
func (l *Reports) Series(ctx context.Context, s partners.Scope, partnerCode string, since, until time.Time) ([]HourCount, error) {
	from, to := database.Micros(since)/database.HourMicros, (database.Micros(until)-1)/database.HourMicros
	if to < from {
		return nil, nil
	}
	if to-from >= maxSeriesHours {
		return nil, webhook.Invalid("since", "must be at most a year before until")
	}
	hours := make([]HourCount, to-from+1)
	for i := range hours {
		hours[i].Hour = database.FromMicros((from + int64(i)) * database.HourMicros)
	}
	t := new(database.Statement)
	if s.All() && partnerCode == "" {
		t.Add("SELECT hour, fact, SUM(n) FROM rollups_all WHERE hour >= ? AND hour <= ?", from, to)
	} else {
		t.Add("SELECT hour, fact, SUM(n) FROM rollups WHERE hour >= ? AND hour <= ?", from, to).Within(s, "partner_code")
		t.Equal("partner_code", partnerCode)
	}
	err := t.Add(" GROUP BY hour, fact").Query(ctx, l.db.Read, func(row database.Row) error {
		var hour, n int64
		var name string
		if err := row.Scan(&hour, &name, &n); err != nil {
			return err
		}
		if field := hours[hour-from].count(name); field != nil {
			*field += n
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the rollups: %w", err)
	}
	return hours, nil
}

// RollupLag is how far the rollups are behind the deliveries: the newest
// delivery's creation less the end of the newest hour counted, never negative.
// Both are written in one transaction, so anything but 0 is a fault.
func (l *Reports) RollupLag(ctx context.Context) (time.Duration, error) {
	var newest time.Time
	var hour int64
	if err := l.db.Read.QueryRowContext(ctx, "SELECT COALESCE(MAX(hour), -1) FROM rollups_all").Scan(&hour); err != nil {
		return 0, err
	}
	counted := database.FromMicros((hour + 1) * database.HourMicros)
	// Once more, as it is at the moment of the deliveries.
	err := l.db.Read.QueryRowContext(ctx, `SELECT COALESCE((SELECT created_at FROM deliveries WHERE id >= $1 AND id < $2 AND trigger <> 'test' ORDER BY id DESC LIMIT 1), 0),
		COALESCE((SELECT MAX(hour) FROM rollups_all), -1)`, webhook.TimeBound(webhook.DeliveryPrefix, counted),
		database.Below("", database.Soon(time.Time{}), webhook.DeliveryPrefix)).Scan(database.Time(&newest), &hour)
	return max(0, newest.Sub(database.FromMicros((hour+1)*database.HourMicros))), err
}
