package delivery_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"ledgerhook/delivery"
	"ledgerhook/delivery/guard"
	"ledgerhook/delivery/maintenance"
	"ledgerhook/delivery/queue"
	"ledgerhook/delivery/sender"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

func TestMain(m *testing.M) {
	// A pool that lost its server looks for it once more a second after its end.
	goleak.VerifyTestMain(ledgertest.Lending{Tests: m}, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// partnerCode is the one partner of these tests.
const partnerCode = "acme"

// gateway is the delivery side of a gateway: a ledger, a queue and what
// workers of it need.
type gateway struct {
	*ledgertest.Bench
	queue       *queue.Queue
	dispatcher  *delivery.Dispatcher
	metrics     *delivery.Metrics
	maintenance *maintenance.Metrics
	registry    *prometheus.Registry
	key         *signer.Key
	box         *signer.Box
	policy      webhook.RetryPolicy
	log         *slog.Logger
	secret      string // the partner's first webhook secret
}

// setup differs from a gateway's usual parts.
type setup struct {
	redisURL string                                    // empty: the embedded queue
	waits    []time.Duration                           // nil: four attempts at once
	enqueuer func(delivery.Enqueuer) delivery.Enqueuer // stands between ledger and queue
	log      *slog.Logger                              // nil: none
}

// signingKey is made once: that takes a while.
var signingKey = sync.OnceValues(func() (*signer.Key, error) { return signer.GenerateKey(2048) })

// start opens b's ledger again with a queue behind it, and registers the partner.
func start(t *testing.T, b *ledgertest.Bench, s setup) *gateway {
	t.Helper()
	if s.waits == nil {
		s.waits = make([]time.Duration, 4)
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	g := &gateway{Bench: b, policy: webhook.RetryPolicy{Waits: s.waits}, registry: prometheus.NewRegistry(), log: s.log}
	g.metrics = delivery.NewMetrics(g.registry)
	g.maintenance = maintenance.NewMetrics(g.registry, g.metrics)
	masterKey := make([]byte, signer.MasterKeySize)
	_, _ = rand.Read(masterKey)
	var err error
	if g.box, err = signer.NewBox(masterKey); err != nil {
		t.Fatal(err)
	}
	if g.key, err = signingKey(); err != nil {
		t.Fatal(err)
	}
	if g.queue, err = queue.Open(t.Context(), queue.Options{URL: s.redisURL, Timeout: 10 * time.Second, Log: g.log}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.queue.Close() })
	var enqueuer delivery.Enqueuer = g.queue
	if s.enqueuer != nil {
		enqueuer = s.enqueuer(g.queue)
	}
	g.dispatcher = delivery.StartDispatcher(enqueuer, g.metrics, g.log)
	t.Cleanup(g.dispatcher.Stop)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b.Options.Admitted, b.Options.Slots = g.dispatcher.Dispatch, g.dispatcher
	b.Reopen(t)
	g.createPartner(t)
	return g
}

func (g *gateway) createPartner(t *testing.T) {
	t.Helper()
	g.secret = signer.NewWebhookSecret()
	first := g.newSecret(g.secret)
	first.State, first.ActivatedAt = partners.SecretActive, first.CreatedAt
	err := g.CreatePartner(t.Context(), partners.Partner{Code: partnerCode, Name: partnerCode, PublicKey: []byte("pem"),
		SealedSecret: []byte("sealed"), Settings: partners.DefaultSettings(), CreatedAt: first.CreatedAt}, first)
	if err != nil {
		t.Fatal(err)
	}
}

func (g *gateway) newSecret(plain string) partners.Secret {
	s := partners.Secret{ID: webhook.NewID(webhook.SecretPrefix), PartnerCode: partnerCode, State: partners.SecretPending, CreatedAt: time.Now()}
	s.Sealed = g.box.Seal(s.SealPurpose(), []byte(plain))
	return s
}

// endpoint registers a URL of the partner.
func (g *gateway) endpoint(t *testing.T, url string) webhook.Endpoint {
	t.Helper()
	e, err := g.CreateEndpoint(t.Context(), webhook.Endpoint{PartnerCode: partnerCode, URL: url,
		CreatedAt: time.Now(), Window: webhook.Window{MaxInFlight: webhook.DefaultMaxInFlight}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// append stores an event of a type with the catalogue's example of its data.
func (g *gateway) append(t *testing.T, typ webhook.Type) delivery.Appended {
	t.Helper()
	described, _ := webhook.Describe(typ)
	id := webhook.NewID(webhook.EventPrefix)
	a, err := g.Append(t.Context(), delivery.NewEvent{
		Event: webhook.Event{ID: id, PartnerCode: partnerCode, Type: typ, ObjectID: id, OrderingKey: id, Status: described.Statuses[0],
			Data: []byte(described.Example), KeyID: g.key.ID(), CreatedAt: time.Now()},
		IdempotencyKey: id, Digest: []byte(id),
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Key implements delivery.Keys.
func (g *gateway) Key(context.Context, string) (*signer.Key, error) { return g.key, nil }

// process is one worker process of the gateway.
type process struct {
	id      string
	worker  *delivery.Worker
	servers *queue.Servers
	cancel  context.CancelFunc // ends what is being sent
	silence context.CancelFunc // ends the heartbeat
	alone   context.CancelFunc // ends the maintenance
	done    sync.WaitGroup     // heartbeat and maintenance
	once    sync.Once
}

// parts differ from a process's usual ones.
type parts struct {
	slots  int             // 0: 16
	ledger delivery.Ledger // nil: the gateway's
	keys   delivery.Keys   // nil: the gateway's
	leases delivery.Leases // nil: the gateway's
	idle   bool            // does no maintenance
	alone  bool            // no other process works on the ledger
}

// run starts a worker process, which stops with the test.
func (g *gateway) run(t *testing.T, p parts) *process {
	t.Helper()
	if p.slots == 0 {
		p.slots = 16
	}
	if p.ledger == nil {
		p.ledger = g.Ledger
	}
	if p.keys == nil {
		p.keys = g
	}
	if p.leases == nil {
		p.leases = g.Ledger
	}
	out := sender.New(sender.Options{Guard: guard.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), UserAgent: "Ledgerhook/test", Timeout: 10 * time.Second})
	t.Cleanup(out.Close)
	run := &process{id: webhook.NewID(webhook.WorkerPrefix)}
	run.worker = delivery.NewWorker(delivery.WorkerOptions{ID: run.id, Ledger: p.ledger, Composer: delivery.NewComposer(p.keys, g.box, g.metrics),
		Sender: out, Policy: g.policy, Metrics: g.metrics, Log: g.log, Alone: p.alone})
	if err := run.worker.TakeLease(t.Context(), p.leases, "test"); err != nil {
		t.Fatal(err)
	}
	var beating, maintaining, sending context.Context
	beating, run.silence = context.WithCancel(context.Background())
	maintaining, run.alone = context.WithCancel(context.Background())
	sending, run.cancel = context.WithCancel(context.Background())
	run.done.Go(func() { run.worker.KeepLease(beating, p.leases, "test") })
	if !p.idle {
		m := &maintenance.Maintainer{Store: g.Ledger, Claims: g.Ledger, Epochs: g.Ledger, Election: g.Ledger, Queue: g.queue, Worker: run.worker, Metrics: g.maintenance, Log: g.log}
		if p.alone {
			m.Election = nil
		}
		run.done.Go(func() { m.Run(maintaining) })
	}
	var err error
	if run.servers, err = g.queue.Serve(sending, p.slots, run.worker); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(run.stop)
	return run
}

// stop takes the process down without waiting for what it is sending.
func (p *process) stop() {
	p.once.Do(func() {
		p.servers.Stop()
		p.cancel()
		p.servers.Shutdown()
		p.silence()
		p.alone()
		p.done.Wait()
	})
}
