// Package ledgertest opens real, empty ledgers for tests.
package ledgertest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // to make schemas

	"ledgerhook/delivery"
	"ledgerhook/ledger"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// Drivers names the databases that every promise of the ledger holds on.
var Drivers = []string{"sqlite", "postgres"}

// Each runs test once on each kind of database, with a migrated, empty ledger.
func Each(t *testing.T, test func(t *testing.T, b *Bench)) {
	t.Helper()
	for _, driver := range Drivers {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			test(t, New(t, driver))
		})
	}
}

// Bench is a ledger under test, the tickets it handed out and the options to
// open it again.
type Bench struct {
	*ledger.Ledger
	Options ledger.Options
	Raw     *sql.DB // a connection of its own, for looking at rows

	mu      sync.Mutex
	tickets []delivery.Ticket
}

// New opens a migrated, empty ledger of one kind and closes it with the test.
func New(t *testing.T, driver string) *Bench {
	t.Helper()
	b := &Bench{Options: Options(t, driver)}
	b.Options.Admitted = b.admitted
	if _, err := ledger.Migrate(t.Context(), b.Options); err != nil {
		t.Fatal(err)
	}
	b.open(t)
	var err error
	if driver == "postgres" {
		b.Raw, err = sql.Open("pgx", b.Options.DatabaseURL)
	} else {
		b.Raw, err = sql.Open("sqlite", b.Options.DataDir+"/ledger.db?_pragma=busy_timeout(5000)")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = b.Raw.Close()
		if err := b.Ledger.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *Bench) open(t *testing.T) {
	t.Helper()
	l, err := ledger.Open(t.Context(), b.Options)
	if err != nil {
		t.Fatal(err)
	}
	b.Ledger = l
}

// Options name an empty place for a ledger: a folder or a schema of the test's own.
func Options(t *testing.T, driver string) ledger.Options {
	t.Helper()
	if driver == "sqlite" {
		return ledger.Options{DataDir: t.TempDir()}
	}
	return ledger.Options{DatabaseURL: Schema(t)}
}

// Schema makes an empty schema on the test server and returns its address; it
// goes with the test.
func Schema(t testing.TB) string {
	t.Helper()
	server := os.Getenv("LEDGERHOOK_TEST_DATABASE_URL")
	if server == "" {
		t.Fatal("LEDGERHOOK_TEST_DATABASE_URL names no PostgreSQL: run the tests with \"make test\" or \".ci/with-servers go test …\"")
	}
	db, err := sql.Open("pgx", server)
	if err != nil {
		t.Fatal(err)
	}
	name := "t" + strings.ToLower(rand.Text())
	if _, err := db.ExecContext(t.Context(), "CREATE SCHEMA "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if _, err := db.ExecContext(ctx, "DROP SCHEMA "+name+" CASCADE"); err != nil {
			t.Error(err)
		}
		_ = db.Close()
	})
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	query := address.Query()
	query.Set("search_path", name)
	address.RawQuery = query.Encode()
	return address.String()
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
		ID: webhook.NewID(webhook.EndpointPrefix), PartnerCode: code, URL: "https://partner.example.com/hook", Types: types,
		CreatedAt: time.Now(), Window: webhook.Window{MaxInFlight: maxInFlight},
	})
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
			ID: id, PartnerCode: partner, Type: webhook.TopupCard, ObjectID: object, Subject: "card_1", Status: status,
			Data: []byte(`{"id":"` + object + `"}`), KeyID: "key_1", CreatedAt: time.Now(),
		},
		IdempotencyKey: id, Digest: []byte(object + status),
	}
}

// Count returns the number that a query finds.
func (b *Bench) Count(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	if err := b.Raw.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// CheckWindows fails the test unless every window counts exactly what the
// deliveries say.
func (b *Bench) CheckWindows(t *testing.T) {
	t.Helper()
	wrong := b.Count(t, `SELECT COUNT(*) FROM windows w WHERE
		used <> (SELECT COUNT(*) FROM deliveries d WHERE d.endpoint_id = w.endpoint_id AND d.state IN ('queued', 'sending'))
		OR waiting_first <> (SELECT COUNT(*) FROM deliveries d WHERE d.endpoint_id = w.endpoint_id AND d.state = 'pending' AND d.lane = 0)
		OR waiting_again <> (SELECT COUNT(*) FROM deliveries d WHERE d.endpoint_id = w.endpoint_id AND d.state = 'pending' AND d.lane > 0)`)
	if wrong != 0 {
		t.Errorf("%d windows do not count what their deliveries say", wrong)
	}
}
