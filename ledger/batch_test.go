package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// One batch holds rows that the database refuses, callers that are refused,
// and good ones. Each gets its own answer.
func TestABadRowNeverSpoilsItsNeighbours(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		store(t, b, keyed("taken", "tp_0", "Pending"))
		storeMany(t, b, "acme", 1)
		tickets := b.Tickets()
		job := take(t, b, tickets[0])

		withoutData := ledgertest.NewEvent("acme", "tp_1", "Pending")
		withoutData.Event.Data = nil
		withNUL := ledgertest.NewEvent("acme", "tp_\x00", "Pending")
		var wrong, nul, nobody, conflict, good1, good2, recorded, claimErr, cancelled, unknownEndpoint error
		var claimed bool
		appendIt := func(err *error, e delivery.NewEvent) func() {
			return func() { _, *err = b.Append(t.Context(), e) }
		}
		together(b.Ledger,
			appendIt(&good1, ledgertest.NewEvent("acme", "tp_2", "Pending")),
			appendIt(&wrong, withoutData),
			appendIt(&nul, withNUL),
			appendIt(&nobody, ledgertest.NewEvent("nobody", "tp_1", "Pending")),
			appendIt(&conflict, keyed("taken", "tp_9", "Pending")),
			appendIt(&good2, ledgertest.NewEvent("acme", "tp_3", "Pending")),
			func() { recorded = tryRecord(t, b.Ledger, result(job, ok, delivered)) },
			func() { _, claimed, claimErr = b.Claim(t.Context(), tickets[1], worker) },
			func() { cancelled = b.CancelDelivery(t.Context(), job.Delivery.ID, "too late") },
			func() {
				_, unknownEndpoint = b.UpdateEndpoint(t.Context(), partners.Everything(), "ep_none", func(*webhook.Endpoint) error { return nil })
			},
		)
		same(t, "the good ones", []error{good1, good2, recorded, claimErr}, make([]error, 4))
		same(t, "claimed", claimed, true)
		wantKind(t, wrong, webhook.KindInternal)
		if b.DB.Embedded() {
			same(t, "NUL in a text, which SQLite takes", nul, error(nil))
		} else {
			wantKind(t, nul, webhook.KindInvalid)
		}
		wantKind(t, nobody, webhook.KindNotFound)
		wantKind(t, conflict, webhook.KindConflict)
		wantKind(t, cancelled, webhook.KindConflict) // sending before, or delivered after, its record
		wantKind(t, unknownEndpoint, webhook.KindNotFound)
		if _, err := b.Append(t.Context(), ledgertest.NewEvent("acme", "tp_1", "Pending")); err != nil {
			t.Errorf("after the bad batch: %v", err)
		}
		same(t, "delivery", look(t, b, job.Delivery.ID).State, webhook.Delivered)
		same(t, "told of", b.Made()["TopupCard first"], b.Count(t, "SELECT COUNT(*) FROM deliveries"))
		b.CheckWindows(t)
	})
}

func TestNobodyWaitsForHisNeighboursAfterABadRow(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 8)
		events := []delivery.NewEvent{ledgertest.NewEvent("acme", "tp_1", "Pending"), ledgertest.NewEvent("acme", "tp_2", "Pending")}
		events[1].Event.Data = nil
		answered := make(chan struct{})
		var errs []error
		var last error
		var slow sync.WaitGroup
		b.TogetherIn(len(events), func() {
			go func() {
				defer close(answered)
				_, errs = b.AppendAll(t.Context(), events)
			}()
		}, func() {
			slow.Go(func() {
				_, last = b.UpdateEndpoint(t.Context(), partners.Everything(), e.ID, func(*webhook.Endpoint) error {
					select {
					case <-answered:
					case <-time.After(5 * time.Second):
						t.Error("what is committed has no answer yet")
					}
					return nil
				})
			})
			for b.Waiting() <= len(events) {
				runtime.Gosched()
			}
		})
		slow.Wait()
		<-answered
		same(t, "the good ones", []error{errs[0], last}, make([]error, 2))
		wantKind(t, errs[1], webhook.KindInternal)
		b.CheckWindows(t)
	})
}

// What pages and the API change, they change on the writer's goroutine.
func TestAPanicInAChangeIsItsCallersAlone(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Partner(t, "umbrella")
		e := b.Endpoint(t, "acme", 8)
		var good, endpoint, partner error
		together(b.Ledger,
			func() {
				_, endpoint = b.UpdateEndpoint(t.Context(), partners.Everything(), e.ID, func(e *webhook.Endpoint) error {
					e.Description = "half"
					panic("wrong page")
				})
			},
			func() { _, good = b.Append(t.Context(), ledgertest.NewEvent("acme", "tp_1", "Pending")) },
			func() {
				_, partner = b.UpdatePartner(t.Context(), "umbrella", func(*partners.Partner) error { panic("wrong page") })
			},
		)
		same(t, "the neighbour", good, error(nil))
		for _, err := range []error{endpoint, partner} {
			wantKind(t, err, webhook.KindInternal)
			if err == nil || !strings.Contains(err.Error(), "wrong page") || !strings.Contains(err.Error(), "batch_test.go") {
				t.Errorf("the log would not say where the panic was: %v", err)
			}
		}
		after, err := b.Ledger.Endpoint(t.Context(), partners.Everything(), e.ID)
		same(t, "the endpoint", []any{after.Description, err}, []any{e.Description, error(nil)})
		b.CheckWindows(t)
	})
}

// The change waits for nothing here; it could have waited for a lock, which no
// record needs.
func TestRecordsAreCommittedTogetherBesideAChangeThatFails(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		read := measured(t, b)
		errs := make([]error, 4)
		var do []func()
		var e webhook.Endpoint
		for i := range errs {
			code := fmt.Sprint("acme-", i)
			b.Partner(t, code)
			e = b.Endpoint(t, code, 8)
			store(t, b, ledgertest.NewEvent(code, "tp_1", "Pending"))
			r := result(take(t, b, one(t, b)), ok, delivered)
			do = append(do, func() { errs[i] = tryRecord(t, b.Ledger, r) })
		}
		var change error
		do = append(do, func() {
			_, change = b.UpdateEndpoint(t.Context(), partners.Everything(), e.ID, func(*webhook.Endpoint) error { panic("wrong page") })
		})
		before := read()
		together(b.Ledger, do...)
		after := read()
		same(t, "records", errs, make([]error, len(errs)))
		wantKind(t, change, webhook.KindInternal)
		holders := 2. // of the writers, see TogetherIn
		if b.DB.Embedded() {
			holders = 1
		}
		grown := func(name string) float64 { return after[name] - before[name] }
		same(t, "batches and operations in them", []float64{grown("ledger_commit_batch_size"), grown("ledger_commit_batch_size sum")},
			[]float64{1 + holders, float64(len(errs)) + holders})
		b.CheckWindows(t)
	})
}

func TestAChangeThatTakesTooLongFailsAlone(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		e := b.Endpoint(t, "acme", 8)
		var good, slow, change error
		together(b.Ledger,
			func() { _, good = b.Append(t.Context(), ledgertest.NewEvent("acme", "tp_1", "Pending")) },
			func() { slow = b.ChangeSlowly(t.Context()) },
			func() {
				_, change = b.UpdateEndpoint(t.Context(), partners.Everything(), e.ID, func(e *webhook.Endpoint) error { e.Description = "new"; return nil })
			},
		)
		same(t, "the neighbours", []error{good, change}, make([]error, 2))
		wantKind(t, slow, webhook.KindUnavailable)
		same(t, "deliveries", b.Count(t, "SELECT COUNT(*) FROM deliveries"), 1)
		same(t, "partners without a name", b.Count(t, "SELECT COUNT(*) FROM partners WHERE name = ''"), 0)
		b.CheckWindows(t)
	})
}

func TestACallerThatGivesUpDisturbsNobody(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		ctx, giveUp := context.WithCancel(t.Context())
		gone, stays := ledgertest.NewEvent("acme", "tp_1", "Pending"), ledgertest.NewEvent("acme", "tp_2", "Pending")
		var goneErr, staysErr error
		var one, other sync.WaitGroup
		b.TogetherIn(2, func() {
			one.Go(func() { _, goneErr = b.Append(ctx, gone) })
			other.Go(func() { _, staysErr = b.Append(t.Context(), stays) })
		}, giveUp)
		one.Wait()
		other.Wait()
		same(t, "the neighbour", staysErr, error(nil))
		if !errors.Is(goneErr, context.Canceled) && goneErr != nil {
			t.Error(goneErr)
		}
		// What it had handed over was done all the same.
		gone.Event.ID = webhook.NewID(webhook.EventPrefix)
		a := store(t, b, gone)
		same(t, "duplicate", a.Duplicate, true)
		same(t, "deliveries", len(a.DeliveryIDs), 1)
		same(t, "events", b.Count(t, "SELECT COUNT(*) FROM events"), 2)
		b.CheckWindows(t)
	})
}

func TestACloseAfterwardsRefusesInsteadOfHanging(t *testing.T) {
	for _, driver := range ledgertest.Drivers {
		t.Run(driver, func(t *testing.T) {
			b := ledgertest.New(t, driver)
			l := b.Ledger
			b.Partner(t, "acme")
			var wg sync.WaitGroup
			var stored atomic.Int64
			for range 20 {
				wg.Go(func() {
					for {
						_, err := l.Append(t.Context(), ledgertest.NewEvent("acme", webhook.NewID("tp_"), "Pending"))
						if err != nil {
							wantKind(t, err, webhook.KindUnavailable)
							return
						}
						stored.Add(1)
					}
				})
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			wg.Wait()
			if n := b.Count(t, "SELECT COUNT(*) FROM events"); int64(n) < stored.Load() {
				t.Errorf("%d events stored, %d answered", n, stored.Load())
			}
			b.Reopen(t)
		})
	}
}

// A connection breaks between a commit and its answer. An event is found by the
// ledger itself, unless that breaks, too; else the caller is told to come back,
// and what it then says again is recognised.
func TestWorkWhoseCommitLostItsAnswerIsRecognised(t *testing.T) {
	b := ledgertest.New(t, "postgres")
	b.Partner(t, "acme")
	b.Endpoint(t, "acme", 8)
	line := startLine(t, b.At.DatabaseURL)
	o := b.At
	o.DatabaseURL = line.url + "&default_query_exec_mode=exec" // a prepared commit would not say what it is
	l, err := ledgertest.Open(t.Context(), o, b.Options)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()

	line.cutCommits.Store(1)
	found, err := l.Append(t.Context(), ledgertest.NewEvent("acme", "tp_0", "Pending"))
	if err != nil || found.Duplicate || len(found.DeliveryIDs) != 1 {
		t.Fatalf("found by the ledger: %+v (%v)", found, err)
	}
	e := ledgertest.NewEvent("acme", "tp_1", "Pending")
	line.cutCommits.Store(2)
	_, err = l.Append(t.Context(), e)
	wantKind(t, err, webhook.KindUnavailable)
	again := e
	again.Event.ID = webhook.NewID(webhook.EventPrefix)
	a, err := l.Append(t.Context(), again)
	if err != nil || !a.Duplicate || a.EventID != e.Event.ID || len(a.DeliveryIDs) != 1 {
		t.Fatalf("said again: %+v (%v)", a, err)
	}
	// Their tickets were not handed out, so the reconciler does.
	none(t, b)
	queued, err := l.Queued(t.Context(), delivery.Queued{}, 10)
	if err != nil || len(queued) != 2 || queued[0].DeliveryID != found.DeliveryIDs[0] || queued[1].DeliveryID != a.DeliveryIDs[0] {
		t.Fatalf("queued: %+v (%v)", queued, err)
	}
	tickets, err := l.Requeue(t.Context(), []delivery.Ticket{queued[1].Ticket})
	if len(tickets) != 1 || err != nil {
		t.Fatalf("requeued %v (%v)", tickets, err)
	}

	line.cutCommits.Store(1)
	ticket := tickets[0]
	_, _, err = l.Claim(t.Context(), ticket, worker)
	wantKind(t, err, webhook.KindUnavailable)
	abandoned, err := l.Claimed(t.Context(), worker, time.Now().Add(time.Minute), 10)
	if err != nil || len(abandoned) != 1 {
		t.Fatalf("abandoned: %+v (%v)", abandoned, err)
	}

	r := result(abandoned[0].Job, ok, delivered)
	line.cutCommits.Store(1)
	wantKind(t, tryRecord(t, l.Ledger, r), webhook.KindUnavailable)
	if err := tryRecord(t, l.Ledger, r); err != nil {
		t.Error(err)
	}
	same(t, "attempts", b.Count(t, "SELECT COUNT(*) FROM attempts"), 1)
	same(t, "state", look(t, b, ticket.DeliveryID).State, webhook.Delivered)
	b.CheckWindows(t)
}

// line is a connection to the database that can break at the worst moment.
type line struct {
	url        string
	cutCommits atomic.Int32 // the next ones
}

func startLine(t *testing.T, databaseURL string) *line {
	t.Helper()
	address, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); open.Wait() })
	server := address.Host
	address.Host = listener.Addr().String()
	query := address.Query()
	query.Set("sslmode", "disable")
	address.RawQuery = query.Encode()
	l := &line{url: address.String()}
	open.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() { l.carry(client, server) })
		}
	})
	return l
}

// carry forwards a connection. A commit that is to be cut reaches the server,
// whose answer reaches nobody.
func (l *line) carry(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	var deaf atomic.Bool
	var back sync.WaitGroup
	back.Go(func() {
		defer client.Close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := server.Read(buffer)
			if deaf.Load() || err != nil {
				return
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
	})
	defer back.Wait()
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			if err == io.EOF {
				_ = server.(*net.TCPConn).CloseWrite()
			}
			return
		}
		if bytes.Contains(buffer[:n], []byte("commit")) && l.cutCommits.Add(-1) >= 0 {
			deaf.Store(true)
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}
