package ledger

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"ledgerhook/ledger/database"
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
			return database.Unavailable(fmt.Errorf("commits do not come through: one has waited for %s", time.Since(*began).Round(time.Second)))
		}
	}
	return l.db.Ready(ctx, strconv.Itoa(l.slot%rollupSlots))
}
