package reports

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/webhook"
)

// The bounds of the list of partners.
const (
	// MaxPartners is how many partners are compared.
	MaxPartners = 2000
	// AnswerWithin is how far back answers are looked for, and AnswerSample in how
	// many deliveries of each partner, the newest.
	AnswerWithin = 24 * time.Hour
	AnswerSample = 100
)

// PartnerName is a partner as lists name it.
type PartnerName struct {
	Code, Name string
	Disabled   bool
}

// PartnerNames lists the partners by code whose code or name holds what is typed,
// in capital letters or small ones: at most MaxPartners, and one more that says that
// there are others. It compares letters itself, since SQLite knows small ones of
// ASCII alone.
func (l *Reports) PartnerNames(ctx context.Context, typed string) (found []PartnerName, err error) {
	t := new(database.Statement).Add("SELECT code, name, disabled FROM partners ORDER BY code")
	if typed == "" {
		t.Add(" LIMIT ?", MaxPartners+1)
	}
	typed = strings.ToLower(typed)
	err = t.Query(ctx, l.db.Read, func(row database.Row) error {
		var p PartnerName
		err := row.Scan(&p.Code, &p.Name, &p.Disabled)
		if len(found) <= MaxPartners && (strings.Contains(strings.ToLower(p.Code), typed) || strings.Contains(strings.ToLower(p.Name), typed)) {
			found = append(found, p)
		}
		return err
	})
	return found, err
}

// OldestWaitingOf is when the oldest delivery of each partner was created that
// waits for its first or its next attempt; one of whom none waits is not there.
func (l *Reports) OldestWaitingOf(ctx context.Context, codes []string) (map[string]time.Time, error) {
	found := map[string]time.Time{}
	if len(codes) == 0 {
		return found, nil
	}
	from, err := l.db.OldestOpen(ctx)
	if err != nil {
		return nil, err
	}
	t := new(database.Statement).Add(`SELECT p.code, COALESCE((SELECT d.created_at FROM deliveries d WHERE d.due_at IS NOT NULL AND d.partner_code = p.code
		AND d.id >= ? AND d.id < ? ORDER BY d.id LIMIT 1), 0) FROM partners p WHERE p.code IN `, from, database.Below("", database.Soon(time.Time{}), webhook.DeliveryPrefix))
	err = database.InList(t, codes).Query(ctx, l.db.Read, func(row database.Row) error {
		var code string
		var at time.Time
		err := row.Scan(&code, database.Time(&at))
		if !at.IsZero() {
			found[code] = at
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for the oldest that waits: %w", err)
	}
	return found, nil
}

// AnswerTimes are how long the newest answers of each partner took: of those of
// its newest AnswerSample deliveries within AnswerWithin that were answered at
// last, so that one who answers nothing costs no more than others; one of whom
// none was is not there. It takes up to 500 codes, which is how many SELECTs
// SQLite joins by UNION.
func (l *Reports) AnswerTimes(ctx context.Context, codes []string) (map[string]Percentiles, error) {
	found := map[string]Percentiles{}
	if len(codes) == 0 {
		return found, nil
	}
	now := time.Now()
	t := l.db.NewestAnswers(codes, webhook.TimeBound(webhook.DeliveryPrefix, now.Add(-AnswerWithin)), database.Below("", database.Soon(time.Time{}), webhook.DeliveryPrefix), AnswerSample)
	times := map[string][]time.Duration{}
	err := t.Query(ctx, l.db.Read, func(row database.Row) error {
		var code string
		var took time.Duration
		err := row.Scan(&code, database.Duration(&took))
		times[code] = append(times[code], took)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the newest answers: %w", err)
	}
	for code, times := range times {
		found[code] = percentiles(times)
	}
	return found, nil
}

// HoursOf counts by hour, like Series, what became true for each of the
// partners from since until until; one without anything is not there.
func (l *Reports) HoursOf(ctx context.Context, codes []string, since, until time.Time) (map[string][]PeriodCount, error) {
	found := map[string][]PeriodCount{}
	if len(codes) == 0 {
		return found, nil
	}
	first, last := database.Micros(since)/database.HourMicros, (database.Micros(until)-1)/database.HourMicros
	t := new(database.Statement).Add("SELECT partner_code, hour, fact, SUM(n) FROM rollups WHERE hour >= ? AND hour <= ? AND partner_code IN ", first, last)
	database.InList(database.InList(t, codes).Add(" AND fact IN "), periodFacts)
	err := t.Add(" GROUP BY 1, 2, 3").Query(ctx, l.db.Read, func(row database.Row) error {
		var code, fact string
		var hour, n int64
		if err := row.Scan(&code, &hour, &fact, &n); err != nil {
			return err
		}
		hours := found[code]
		if hours == nil {
			hours = make([]PeriodCount, last-first+1)
			for i := range hours {
				hours[i].Since = database.FromMicros((first + int64(i)) * database.HourMicros)
			}
			found[code] = hours
		}
		*hours[hour-first].count(fact) += n
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the rollups of partners: %w", err)
	}
	return found, nil
}
