// Package ledger holds the transactions that a delivery passes through, from the
// event that is appended to the attempt that is recorded, with whatever else
// moves the window of an endpoint: a change of it or of its partner, an order
// that tells its partner, a replay, the retention.
//
// What moves no window lies beside it: ledger/prices, ledger/accounts and
// ledger/audit. ledger/reports only reads, ledger/rows says how a table is read
// on either side, and all of them go over ledger/database, which is PostgreSQL or
// SQLite.
//
// The writes of the delivery path (append, claim, record and what moves a window)
// go through writers that commit what has gathered in one transaction: one for
// all of it, and on PostgreSQL another one for claims; see writer.go for their
// order of locks.
package ledger

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/orders"
	"ledgerhook/webhook"
)

// Ledger is an open database. It is safe for concurrent use.
type Ledger struct {
	db     *database.DB
	writer *writer
	// On PostgreSQL claims have a writer of their own: they lock no window, unless
	// something has to be taken back.
	claims  *writer
	stripe  int // of the rollups; their column is called slot
	metrics *Metrics

	retry          webhook.RetryPolicy
	slots          delivery.Slots
	deliveriesMade func(t webhook.Type, trigger webhook.Trigger, n int)
	orderMoved     func(from, to orders.Status)
}

// Options say who hears of what the ledger does.
type Options struct {
	// Retry's first wait is the one before the first attempt at a new event's
	// deliveries; what comes after a failure is decided by who records it.
	Retry webhook.RetryPolicy
	// Admitted is told of deliveries that were admitted, after their
	// commit. It must not block. Nil: nobody listens.
	Admitted func([]delivery.Ticket)
	// Slots are where this process delivers what it admits; nil: nowhere. A
	// delivery that has a free one is claimed together with its admission.
	Slots delivery.Slots
	// DeliveriesMade is told of the deliveries that this process made, n of
	// one type and trigger, after their commit. It must not block. Nil: nobody
	// listens.
	DeliveriesMade func(t webhook.Type, trigger webhook.Trigger, n int)
	// Metrics counts what this ledger does; nil: nothing does.
	Metrics *Metrics
	// OrderMoved is told of each order that this process made (from is empty)
	// and of each change of a status, after the commit. It must not block.
	// Nil: nobody listens.
	OrderMoved func(from, to orders.Status)
}

// New starts the writers of the ledger that db holds. Close it before db.
func New(db *database.DB, o Options) *Ledger {
	l := &Ledger{db: db, stripe: rand.IntN(maxStripe), metrics: o.Metrics, retry: o.Retry}
	admitted := o.Admitted
	if admitted == nil {
		admitted = func([]delivery.Ticket) {}
	}
	if l.slots = o.Slots; l.slots == nil {
		l.slots = noSlots{}
	}
	if l.deliveriesMade = o.DeliveriesMade; l.deliveriesMade == nil {
		l.deliveriesMade = func(webhook.Type, webhook.Trigger, int) {}
	}
	if l.orderMoved = o.OrderMoved; l.orderMoved == nil {
		l.orderMoved = func(orders.Status, orders.Status) {}
	}
	l.writer = startWriter(l, l.stripe, database.QueryWriter, admitted)
	if l.claims = l.writer; !db.Embedded() {
		l.claims = startWriter(l, l.stripe+1, database.QueryClaims, admitted)
	}
	return l
}

// writers are those of the ledger, each once.
func (l *Ledger) writers() []*writer {
	return slices.Compact([]*writer{l.claims, l.writer})
}

const (
	// rollupStripes is how many rows of one partner's fact writers spread over.
	rollupStripes = 8
	// maxStripe keeps two writers from sharing a row of all partners' facts,
	// which every batch changes.
	maxStripe = 1 << 16
)

// Close ends the writers after what has gathered.
func (l *Ledger) Close() {
	for _, w := range l.writers() {
		w.stop()
	}
}

// ForPages is l for pages: what they read and change by themselves goes over
// connections of their own; what the writers do for them does not. The
// original alone is closed.
func (l *Ledger) ForPages() *Ledger { return l.over(l.db.ForPages()) }

// ForPartners is the same for the partner API.
func (l *Ledger) ForPartners() *Ledger { return l.over(l.db.ForPartners()) }

func (l *Ledger) over(db *database.DB) *Ledger {
	same := *l
	same.db = db
	return &same
}

// Migrate brings the database up to this program's schema, see
// database.Migrate, and has every entry of the audit log in its chain.
func Migrate(ctx context.Context, o database.Options) (applied int, err error) {
	return database.Migrate(ctx, o, func(db *database.DB) error {
		if err := audit.ChainOldEntries(ctx, db); err != nil {
			return fmt.Errorf("put old audit entries into the chain: %w", err)
		}
		return nil
	})
}

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
	return l.db.Ready(ctx, strconv.Itoa(l.stripe%rollupStripes))
}
