// Package ledgertest opens real, empty ledgers for tests.
package ledgertest

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/ledger/accounts"
	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/prices"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// Drivers names the databases that every promise of the ledger holds on.
var Drivers = []string{"sqlite", "postgres"}

// Each runs test once on each kind of database, with a migrated, empty ledger,
// beside other tests.
func Each(t *testing.T, test func(t *testing.T, b *Bench)) {
	t.Helper()
	each(t, New, test)
}

// EachFresh is Each for tests that change tables and not only their rows.
func EachFresh(t *testing.T, test func(t *testing.T, b *Bench)) {
	t.Helper()
	each(t, NewFresh, test)
}

func each(t *testing.T, open func(*testing.T, string) *Bench, test func(t *testing.T, b *Bench)) {
	t.Helper()
	beside(t)
	for _, driver := range Drivers {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			test(t, open(t, driver))
		})
	}
}

// beside is t.Parallel for a test that may have said so itself.
func beside(t *testing.T) {
	t.Helper()
	defer func() { _ = recover() }()
	t.Parallel()
}

// Bench is a ledger under test, the tickets it handed out and the options to
// open it again.
type Bench struct {
	Process
	At      database.Options
	Options ledger.Options
	Raw     *sql.DB // a connection of its own, for looking at rows

	mu      sync.Mutex
	tickets []delivery.Ticket
	made    map[string]int // deliveries, by type and trigger
}

// Process is what one process has of the ledger.
type Process struct {
	*ledger.Ledger
	*accounts.Accounts
	*audit.Trail
	*reports.Reports
	*prices.Prices
	DB *database.DB
}

// Open opens a ledger that was migrated.
func Open(ctx context.Context, at database.Options, o ledger.Options) (Process, error) {
	db, err := database.Open(ctx, at)
	if err != nil {
		return Process{}, err
	}
	return Process{ledger.New(db, o), accounts.New(db), audit.New(db), reports.New(db), prices.New(db), db}, nil
}

// Close ends the ledger's writers, then its connections.
func (p Process) Close() error {
	p.Ledger.Close()
	return p.DB.Close()
}

// New opens a migrated, empty ledger of one kind and closes it with the test.
func New(t *testing.T, driver string) *Bench {
	t.Helper()
	if !pool.open {
		return NewFresh(t, driver)
	}
	return open(t, driver, borrow(t, driver))
}

// NewFresh is New with tables that no other test had before.
func NewFresh(t *testing.T, driver string) *Bench {
	t.Helper()
	return open(t, driver, fresh(t, driver))
}

// NewFilled is NewFresh with n deliveries of the last weeks, see FillApart.
func NewFilled(t *testing.T, driver string, n int) *Bench {
	t.Helper()
	o := database.Options{DataDir: t.TempDir()}
	if driver == "postgres" {
		s := blank(t)
		t.Cleanup(func() {
			if err := s.drop(); err != nil {
				t.Error(err)
			}
		})
		o = database.Options{DatabaseURL: s.address}
	}
	FillApart(t, o, n)
	return open(t, driver, o)
}

func open(t *testing.T, driver string, o database.Options) *Bench {
	t.Helper()
	b := &Bench{At: o, made: map[string]int{}}
	b.Options.Admitted = b.admitted
	b.Options.DeliveriesMade = b.deliveriesMade
	b.Reopen(t)
	var err error
	if driver == "postgres" {
		b.Raw, err = openRaw(b.At)
	} else {
		b.Raw, err = sql.Open("sqlite", b.At.DataDir+"/ledger.db?_pragma=busy_timeout(5000)")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = b.Raw.Close()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// openRaw connects to a PostgreSQL ledger's database without a ledger.
func openRaw(o database.Options) (*sql.DB, error) {
	config, err := pgx.ParseConfig(o.DatabaseURL)
	if err != nil {
		return nil, err
	}
	if o.Dial != nil {
		config.DialFunc = o.Dial(config.DialFunc)
	}
	return stdlib.OpenDB(*config), nil
}

// Another opens the same database a second time, as another process would;
// SQLite has no other. Its tickets are b's.
func (b *Bench) Another(t *testing.T) Process {
	t.Helper()
	p, err := Open(t.Context(), b.At, b.Options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// Behind opens the ledger for a process whose clock is ahead of PostgreSQL's by
// so much: its sessions find a clock of our own first. For a bench of NewFresh.
func (b *Bench) Behind(t *testing.T, by string) Process {
	t.Helper()
	b.change(t, "CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $f$ SELECT pg_catalog.clock_timestamp() - interval '"+by+"' $f$")
	b.At.DatabaseURL = With(t, b.At.DatabaseURL, "search_path", func(path string) string { return path + ",pg_catalog" })
	return b.Another(t)
}

// With is the address of a database with another value of a parameter.
func With(t *testing.T, address, parameter string, value func(string) string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set(parameter, value(query.Get(parameter)))
	u.RawQuery = query.Encode()
	return u.String()
}

// Reopen opens the ledger again after it was closed.
func (b *Bench) Reopen(t *testing.T) {
	t.Helper()
	p, err := Open(t.Context(), b.At, b.Options)
	if err != nil {
		t.Fatal(err)
	}
	b.Process = p
}

// Options name an empty place for a ledger: a folder or a schema of the test's own.
func Options(t *testing.T, driver string) database.Options {
	t.Helper()
	if driver == "sqlite" {
		return database.Options{DataDir: t.TempDir()}
	}
	return database.Options{DatabaseURL: Schema(t)}
}

// Schema makes an empty schema on the test server and returns its address; it
// goes with the test.
func Schema(t testing.TB) string {
	t.Helper()
	s := createSchema(t)
	t.Cleanup(func() {
		if err := s.drop(); err != nil {
			t.Error(err)
		}
	})
	return s.address
}

func (b *Bench) admitted(tickets []delivery.Ticket) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tickets = append(b.tickets, tickets...)
}

// Tickets returns the tickets handed out since the last call.
func (b *Bench) Tickets() []delivery.Ticket {
	b.mu.Lock()
	defer b.mu.Unlock()
	tickets := b.tickets
	b.tickets = nil
	return tickets
}

func (b *Bench) deliveriesMade(t webhook.Type, trigger webhook.Trigger, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.made[string(t)+" "+string(trigger)] += n
}

// Made counts the deliveries that the ledger told of, by type and trigger, as
// in "TopupCard first".
func (b *Bench) Made() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.made)
}

// Partner stores a partner with one active secret.
func (b *Bench) Partner(t *testing.T, code string) {
	t.Helper()
	now := time.Now()
	err := b.CreatePartner(t.Context(),
		partners.Partner{Code: code, Name: code, PublicKey: []byte("pem"), SealedSecret: []byte("sealed"), Settings: partners.DefaultSettings(), CreatedAt: now},
		partners.Secret{ID: webhook.NewID(webhook.SecretPrefix), PartnerCode: code, State: partners.SecretActive, Sealed: []byte("sealed"), CreatedAt: now, ActivatedAt: now})
	if err != nil {
		t.Fatal(err)
	}
}

// Endpoint registers an endpoint of a partner for types, all if none.
func (b *Bench) Endpoint(t *testing.T, code string, maxInFlight int, types ...webhook.Type) webhook.Endpoint {
	t.Helper()
	e, err := b.CreateEndpoint(t.Context(), webhook.Endpoint{
		PartnerCode: code, URL: "https://partner.example.com/hook", Types: types,
		CreatedAt: time.Now(), Window: webhook.Window{MaxInFlight: maxInFlight},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// NewEvent is a top-up event of an object, due to be appended.
func NewEvent(partner, object, status string) delivery.NewEvent {
	id := webhook.NewID(webhook.EventPrefix)
	return delivery.NewEvent{
		Event: webhook.Event{
			ID: id, PartnerCode: partner, Type: webhook.TopupCard, ObjectID: object, OrderingKey: "card_1", Status: status,
			Data: []byte(`{"id":"` + object + `"}`), KeyID: "key_1", CreatedAt: time.Now(),
		},
		IdempotencyKey: id, Digest: []byte(object + status),
	}
}

// Count returns the number that a query finds.
func (b *Bench) Count(t TB, query string, args ...any) (n int) {
	t.Helper()
	if err := b.Raw.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// CheckWindows fails the test unless CheckCounts holds, every window belongs to
// an endpoint or is its partner's waiting place, and every sequence, as long as
// nothing of it was deleted, is without gaps.
func (b *Bench) CheckWindows(t TB) {
	t.Helper()
	b.CheckCounts(t)
	b.findNone(t, "a window is an endpoint's or the waiting place of a partner without endpoint", `SELECT w.endpoint_id FROM windows w WHERE
		unrouted = EXISTS (SELECT 1 FROM endpoints e WHERE e.id = w.endpoint_id)
		OR unrouted <> EXISTS (SELECT 1 FROM partners p WHERE p.unrouted = w.endpoint_id AND NOT EXISTS (SELECT 1 FROM endpoints e WHERE e.partner_code = p.code AND e.removed_at = 0))`)
	b.findNone(t, "a delivery has a window", `SELECT id FROM deliveries d WHERE finished_at = 0 AND NOT EXISTS (SELECT 1 FROM windows w WHERE w.endpoint_id = d.endpoint_id)`)
	b.findNone(t, "a sequence has no gaps", `SELECT w.endpoint_id FROM windows w JOIN
		(SELECT endpoint_id, COUNT(*) AS n, COUNT(DISTINCT sequence) AS numbers, MAX(sequence) AS newest FROM deliveries
		WHERE replay_of = '' AND sequence > 0 GROUP BY endpoint_id) d ON d.endpoint_id = w.endpoint_id
		WHERE n <> numbers OR n <> newest OR n <> next_sequence - 1`)
}

// CheckCounts fails the test unless every window counts exactly what the
// deliveries say, every delivery's times fit its state, and those are settled
// whose event another one has brought.
func (b *Bench) CheckCounts(t TB) {
	t.Helper()
	b.findNone(t, "a window counts what its deliveries say", `SELECT w.endpoint_id FROM windows w WHERE
		used <> (SELECT COUNT(*) FROM deliveries d WHERE d.endpoint_id = w.endpoint_id AND d.state IN ('queued', 'sending'))
		OR waiting_first <> (SELECT COUNT(*) FROM deliveries d WHERE d.endpoint_id = w.endpoint_id AND d.state = 'pending' AND d.lane = 0)
		OR waiting_again <> (SELECT COUNT(*) FROM deliveries d WHERE d.endpoint_id = w.endpoint_id AND d.state = 'pending' AND d.lane IN (1, 2))
		OR waiting_blocked <> (SELECT COUNT(*) FROM deliveries d WHERE d.endpoint_id = w.endpoint_id AND d.state = 'pending' AND d.lane = 3)`)
	b.findNone(t, "a delivery's times fit its state", `SELECT id FROM deliveries WHERE (due_at IS NOT NULL) <> (state = 'pending')
		OR (queued_at IS NOT NULL) <> (state IN ('queued', 'sending'))
		OR (finished_at > 0) <> (state IN ('delivered', 'exhausted', 'cancelled'))`)
	const brought = "EXISTS (SELECT 1 FROM deliveries o WHERE o.event_id = d.event_id AND o.endpoint_id || '' = d.endpoint_id AND o.state = 'delivered'"
	b.findNone(t, "what was given up is settled when another delivery has brought its event", "SELECT id FROM deliveries d WHERE state = 'exhausted' AND delivered_by = '' AND "+brought+")")
	b.findNone(t, "only what ended without success is settled, by a delivery that brought its event", `SELECT id FROM deliveries d WHERE delivered_by <> ''
		AND (state NOT IN ('exhausted', 'cancelled') OR EXISTS (SELECT 1 FROM deliveries o WHERE o.id = d.delivered_by) AND NOT `+brought+" AND o.id = d.delivered_by))")
}

// CheckAttempts fails the test unless the attempts of each delivery that is
// over are numbered from 1 without gaps, as many as were begun.
func (b *Bench) CheckAttempts(t TB) {
	t.Helper()
	b.findNone(t, "attempts are numbered without gaps", `SELECT d.id FROM deliveries d LEFT JOIN
		(SELECT delivery_id, COUNT(*) AS n, MIN(number) AS lowest, MAX(number) AS newest FROM attempts GROUP BY delivery_id) a
		ON a.delivery_id = d.id WHERE d.finished_at > 0
		AND (d.attempts <> COALESCE(n, 0) OR COALESCE(newest, 0) <> COALESCE(n, 0) OR COALESCE(lowest, 1) <> 1)`)
}

// findNone fails the test for each id that query finds.
func (b *Bench) findNone(t TB, promise, query string) {
	t.Helper()
	rows, err := b.Raw.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		t.Errorf("broken promise: %s: %s", promise, id)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
}

// TB is what a test and a property have in common.
type TB interface {
	Context() context.Context
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}
