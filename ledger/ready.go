package ledger

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// commitSlow is how long a transaction of the delivery path takes when
// something is wrong.
const commitSlow = 3 * time.Second

// Ready reports whether the ledger takes what is written to it: a mark of this
// check is committed, and no transaction of the delivery path has waited for
// 3 s. The error says what is wrong, without a secret, and is Unavailable.
func (l *Ledger) Ready(ctx context.Context) error {
	for _, w := range l.writers() {
		if began := w.began.Load(); began != nil && time.Since(*began) > commitSlow {
			return unavailable(fmt.Errorf("commits do not come through: one has waited for %s", time.Since(*began).Round(time.Second)))
		}
	}
	_, err := l.write.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
		"ready/"+strconv.Itoa(l.slot%rollupSlots), []byte(time.Now().UTC().Format(time.RFC3339)))
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return unavailable(fmt.Errorf("write to the ledger at %s: %w", l.place, l.explain(err)))
}

// explain says of what an operator can mend what it comes from.
func (l *Ledger) explain(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "25006" {
		return fmt.Errorf("PostgreSQL is read-only, a standby or with default_transaction_read_only on: %w", err)
	}
	return err
}
