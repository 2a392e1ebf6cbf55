// Package app puts the gateway together: it builds the chosen roles from a
// configuration, runs them and takes them down in order.
package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"ledgerhook/config"
	"ledgerhook/dashboard"
	"ledgerhook/delivery"
	"ledgerhook/delivery/guard"
	"ledgerhook/delivery/maintenance"
	"ledgerhook/delivery/queue"
	"ledgerhook/ingest"
	"ledgerhook/ledger"
	"ledgerhook/ledger/accounts"
	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	ledgerincidents "ledgerhook/ledger/incidents"
	"ledgerhook/ledger/prices"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// Options are what a process adds to its configuration.
type Options struct {
	Log     *slog.Logger
	Version string // of the program, for User-Agent and metrics
	// Drain is how long a stop waits for what is being sent; 0: 20 s.
	Drain time.Duration
	// FirstLogin is told of the first operator's password when it was
	// generated: once in a ledger's life, and before anything else can fail.
	FirstLogin func(FirstLogin)
}

// App is a running process of the gateway.
type App struct {
	config  config.Config
	log     *slog.Logger
	version string
	drain   time.Duration
	first   func(FirstLogin)

	token      string
	box        *signer.Box
	masterKeys *masterKeys
	db         *database.DB
	ledger     *ledger.Ledger
	accounts   *accounts.Accounts
	trail      *audit.Trail
	reports    *reports.Reports
	prices     *prices.Prices
	incidents  *ledgerincidents.Store
	queue      *queue.Queue
	tracer     trace.Tracer // nil: nobody asks for spans
	limiter    *web.Limiter // of rates, through the queue's Redis and connections of its own
	keys       *keyring
	composer   *delivery.Composer
	refusals   *ingest.Refusals // nil without the role that takes events
	tokens     *ingest.Tokens   // nil without that role
	worker     *delivery.Worker // nil without its role

	dispatcher *delivery.Dispatcher

	registry           *prometheus.Registry
	deliveryMetrics    *delivery.Metrics
	maintenanceMetrics *maintenance.Metrics
	webMetrics         *web.Metrics
	ingestMetrics      *ingest.Metrics
	databaseMetrics    *database.Metrics
	ledgerMetrics      *ledger.Metrics
	orderMetrics       *orderMetrics
	mail               *prometheus.CounterVec // by result
	partnerMetrics     *ingest.PartnerMetrics // nil without the role api
	health             *web.Health
	retained           atomic.Pointer[error] // of the newest run of the retention
	retention          prometheus.Gauge      // when it last ended well; nil without the role worker

	public, internal net.Listener // public is nil without a role that partners use
	internalServer   *http.Server
	certificates     map[string]*shownCertificate // of the listeners that speak TLS themselves, by name

	cleanups cleanups
	stopping atomic.Bool
	failOnce sync.Once
	failed   chan struct{}
	err      error
}

// Start builds and runs the roles of cfg and returns when it serves. What it
// had begun when it fails is taken down again. What can fail without writing
// anything comes first: a wrong setting, a port that is taken, a store that
// cannot be reached.
func Start(ctx context.Context, cfg config.Config, o Options) (*App, error) {
	a := &App{config: cfg, log: o.Log, version: o.Version, drain: cmp.Or(o.Drain, drainTime), first: o.FirstLogin, failed: make(chan struct{}), health: &web.Health{}, certificates: map[string]*shownCertificate{}}
	for _, step := range []func(context.Context) error{
		a.checkSettings, a.openListeners, a.startMetrics, a.renewCertificates, a.openTracing, a.openQueue, a.openLedger, a.openSecrets, a.openKeys, a.openPeople, a.outliveWorker, a.startWorker, a.serve, a.noteVersion,
	} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, a.cleanups.run(context.WithoutCancel(ctx)))
		}
	}
	a.log.Info("ledgerhook is running", "version", a.version, "roles", cfg.Roles.String(), "public", a.PublicURL(), "internal", a.InternalURL())
	return a, nil
}

// StopLimit is what all parts of a stop may take, one after the other: 20 s of
// draining and 5 s of cutting off, 5 s for each listener and for the last
// codes, 3 s for the worker's lease, and some for the stores.
const StopLimit = 45 * time.Second

// Stop takes the process down: it is no longer ready and takes no new requests
// from partners, then no new deliveries, up to 20 s for what is being sent;
// then the internal listener and the stores close. ctx bounds it; see StopLimit.
func (a *App) Stop(ctx context.Context) error {
	a.stopping.Store(true)
	err := a.cleanups.run(ctx)
	a.log.Info("ledgerhook has stopped")
	return err
}

// Done is closed when the process cannot go on; Err then says why.
func (a *App) Done() <-chan struct{} { return a.failed }

// Err is why the process could not go on.
func (a *App) Err() error {
	select {
	case <-a.failed:
		return a.err
	default:
		return nil
	}
}

func (a *App) fail(err error) {
	a.failOnce.Do(func() {
		a.err = err
		close(a.failed)
	})
}

// Token is the bearer of the internal API.
func (a *App) Token() string { return a.token }

// PublicURL is where partners reach this process; empty without such a listener.
func (a *App) PublicURL() string {
	if a.public == nil {
		return ""
	}
	return a.config.Public(a.public.Addr()).String()
}

// InternalURL is where this process answers the company's own systems.
func (a *App) InternalURL() string { return a.config.Internal(a.internal.Addr()).String() }

// openQueue opens the queue and hands over to it what the ledger admits.
func (a *App) openQueue(ctx context.Context) error {
	q, err := queue.Open(ctx, queue.Options{URL: a.config.RedisURL, Timeout: max(a.config.Timeout, delivery.MaxTimeout), Log: a.log})
	if err != nil {
		return fmt.Errorf("%w; check LEDGERHOOK_REDIS_URL and that Redis runs there", err)
	}
	a.queue = q
	a.cleanups.add("close the queue", func(context.Context) error { return q.Close() })
	limits, err := q.Aside()
	if err != nil {
		return err
	}
	a.limiter = web.NewLimiter(limits)
	a.cleanups.add("close the limits' connections", func(context.Context) error { return limits.Close() })
	a.dispatcher = delivery.StartDispatcher(q, a.deliveryMetrics, a.log)
	a.cleanups.add("stop the dispatcher", func(context.Context) error { a.dispatcher.Stop(); return nil })
	a.health.Add("queue", q.Ready)
	return nil
}

// openLedger opens the ledger with the newest schema.
func (a *App) openLedger(ctx context.Context) error {
	at := databaseOptions(a.config, a.log)
	at.Metrics = a.databaseMetrics
	if err := prepareSchema(ctx, at); err != nil {
		return a.adviseLedger(err)
	}
	db, err := database.Open(ctx, at)
	if err != nil {
		return a.adviseLedger(err)
	}
	a.db = db
	a.cleanups.add("close the database", func(context.Context) error { return db.Close() })
	l := ledger.New(db, ledger.Options{
		Retry: webhook.RetryPolicy{Waits: a.config.Retry}, Admitted: a.dispatcher.Dispatch, Slots: a.dispatcher,
		DeliveriesMade: a.ingestMetrics.DeliveriesMade, OrderMoved: a.orderMetrics.moved, Metrics: a.ledgerMetrics,
	})
	a.ledger, a.accounts, a.trail, a.reports, a.prices = l, accounts.New(db), audit.New(db), reports.New(db), prices.New(db)
	a.incidents = ledgerincidents.New(db, a.audience())
	a.cleanups.add("close the ledger", func(context.Context) error { l.Close(); return nil })
	a.health.Add("ledger", l.Ready)
	if a.config.ReadURL != "" {
		a.health.AddWarning("replica", db.CheckReplica)
	}
	if a.config.Roles.API {
		a.refusals = ingest.NewRefusals(l, a.ingestMetrics, a.log)
		a.background("store what was refused", a.refusals.Run)
		a.tokens = ingest.NewTokens(a.accounts, a.log)
		a.background("store when tokens were used", a.tokens.Run)
	}
	return nil
}

// noteVersion says that this version has begun to serve. The process does without
// if that cannot be written.
func (a *App) noteVersion(ctx context.Context) error {
	if err := a.trail.Serves(ctx, a.version); err != nil {
		a.log.Error("the audit log does not say that this version serves", "version", a.version, "error", err)
	}
	return nil
}

// adviseLedger adds to why the ledger does not open what to do about it.
func (a *App) adviseLedger(err error) error {
	var away *webhook.Error
	switch {
	case errors.Is(err, database.ErrInUse):
		return fmt.Errorf("%w; stop that process or set another LEDGERHOOK_DATA_DIR", err)
	case !errors.As(err, &away) || away.Kind != webhook.KindUnavailable:
		return err // says it itself
	case a.config.DatabaseURL == "":
		return fmt.Errorf("%w; check LEDGERHOOK_DATA_DIR", away.Err)
	}
	return fmt.Errorf("%w; check LEDGERHOOK_DATABASE_URL and that PostgreSQL runs there", away.Err)
}

// prepareSchema migrates a database that is this process's own, or blank. One
// that others use is migrated by the command "migrate" only.
func prepareSchema(ctx context.Context, o database.Options) error {
	if o.DatabaseURL != "" {
		blank, err := database.Blank(ctx, o)
		if err != nil || !blank {
			return err
		}
	}
	_, err := ledger.Migrate(ctx, o)
	return err
}

func databaseOptions(cfg config.Config, log *slog.Logger) database.Options {
	return database.Options{DatabaseURL: cfg.DatabaseURL, ReadURL: cfg.ReadURL, DataDir: cfg.DataDir, Log: log}
}

// openListeners takes the ports: the internal one, and the public one for
// roles that partners use.
func (a *App) openListeners(context.Context) (err error) {
	if a.internal, err = a.listen("internal", "LEDGERHOOK_INTERNAL_LISTEN", a.config.InternalListen, InternalCertificate); err != nil {
		return err
	}
	if a.config.Roles.API || a.config.Roles.Dashboard {
		a.public, err = a.listen("public", "LEDGERHOOK_LISTEN", a.config.Listen, PublicCertificate)
	}
	return err
}

// listen takes a port, to speak TLS there if the settings name a certificate.
func (a *App) listen(name, setting, address string, load func(config.Config) (*web.Certificate, error)) (net.Listener, error) {
	certificate, err := load(a.config)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w; set another %s", err, setting)
	}
	a.cleanups.add("give the port back", func(context.Context) error {
		if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil // its server has closed it
	})
	if certificate == nil {
		return listener, nil
	}
	a.certificates[name] = &shownCertificate{Certificate: certificate}
	return tls.NewListener(listener, certificate.ServerConfig()), nil
}

// outliveWorker makes the internal listener close after the worker has
// drained, so that a stopping process still tells how it is.
func (a *App) outliveWorker(context.Context) error {
	a.cleanups.add("close the internal listener", func(ctx context.Context) error {
		if a.internalServer == nil {
			return nil
		}
		return closeServer(ctx, a.internalServer)
	})
	return nil
}

// serve answers on the listeners from now on.
func (a *App) serve(context.Context) error {
	a.health.Add("process", func(context.Context) error {
		if a.stopping.Load() {
			return errors.New("is stopping")
		}
		return nil
	})
	internal, public := http.NewServeMux(), http.NewServeMux()
	a.mountObservation(internal)
	if a.config.Roles.API {
		internal.Handle("/internal/v1/", a.internalAPI())
		if err := a.mountPartnerAPI(public); err != nil {
			return err
		}
	}
	var pages *dashboard.Dashboard
	if a.config.Roles.Dashboard {
		var err error
		if pages, err = a.mountDashboard(internal, public); err != nil {
			return err
		}
	}
	a.internalServer = a.serveOn("internal", a.internal, internal)
	if a.public != nil {
		server := a.serveOn("public", a.public, public)
		a.cleanups.add("close the public listener", func(ctx context.Context) error { return closeServer(ctx, server) })
	}
	if pages != nil {
		a.cleanups.add("end the pages' streams", func(context.Context) error { pages.EndStreams(); return nil })
	}
	return nil
}

func (a *App) internalAPI() http.Handler {
	lists := reports.New(a.db.ForReports())
	return (&ingest.Internal{
		Events: a.ledger, Deliveries: a.ledger, Endpoints: a.ledger, Replays: a.ledger, Erasures: a.ledger, Orders: a.ledger, Rates: a.prices, PartnerUpdates: a.ledger,
		Partners: a.accounts, Secrets: a.accounts, Accepted: lists, Sent: lists, OrderLists: lists, Audit: a.trail,
		Mailbox: partners.NewMailbox(a.accounts, a.box),
		Token:   a.token, Tokens: a.tokens, Key: a.keys.current, Keys: signingKeys{a.keys, a.accounts}, MasterKey: a.masterKeys, Box: a.box, Composer: a.composer,
		Guard: guard.New(a.config.AllowCIDRs), Resolver: net.DefaultResolver, Timeout: a.config.Timeout, Limits: terms(a.config).Limits,
		Limiter: a.limiter, Refusals: a.refusals, Metrics: a.ingestMetrics, Web: a.webMetrics, Log: a.log,
	}).Handler()
}

// serveOn serves mux until its server is closed.
func (a *App) serveOn(name string, listener net.Listener, mux *http.ServeMux) *http.Server {
	surface := web.Surface{Name: name, Log: a.log, Metrics: a.webMetrics}
	server := web.NewServer(web.Proxies(a.config.TrustedProxies).Handle(
		web.Observe(a.log, a.webMetrics, web.Trace(a.tracer, name == "internal", surface.Mux(mux)))), a.log)
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			a.fail(fmt.Errorf("serve the %s listener: %w", name, err))
		}
	}()
	return server
}

// closeServer lets requests end for a while, then cuts them off.
func closeServer(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return server.Close()
	}
	return nil
}
