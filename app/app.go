// Package app puts the gateway together: it builds the chosen roles from a
// configuration, runs them and takes them down in order.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ledgerhook/config"
	"ledgerhook/delivery"
	"ledgerhook/delivery/guard"
	"ledgerhook/delivery/queue"
	"ledgerhook/ingest"
	"ledgerhook/ledger"
	"ledgerhook/signer"
	"ledgerhook/web"
)

// Options are what a process adds to its configuration.
type Options struct {
	Log     *slog.Logger
	Version string // of the program, for User-Agent and metrics
}

// App is a running process of the gateway.
type App struct {
	config  config.Config
	log     *slog.Logger
	version string

	token    string
	box      *signer.Box
	ledger   *ledger.Ledger
	queue    *queue.Queue
	keys     *keyring
	composer *delivery.Composer

	registry        *prometheus.Registry
	deliveryMetrics *delivery.Metrics
	webMetrics      *web.Metrics
	health          *web.Health

	publicAddr, internalAddr net.Addr

	cleanups cleanups
	stopping atomic.Bool
	failOnce sync.Once
	failed   chan struct{}
	err      error
}

// Start builds and runs the roles of cfg and returns when its listeners
// accept. What it had begun when it fails is taken down again.
func Start(ctx context.Context, cfg config.Config, o Options) (*App, error) {
	a := &App{config: cfg, log: o.Log, version: o.Version, failed: make(chan struct{}), health: &web.Health{}}
	for _, step := range []func(context.Context) error{
		a.openSecrets, a.startMetrics, a.openStores, a.openKeys, a.startWorker, a.startListeners,
	} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, a.cleanups.run(context.WithoutCancel(ctx)))
		}
	}
	a.log.Info("ledgerhook is running", "version", a.version, "roles", cfg.Roles.String(), "public", a.PublicURL(), "internal", a.InternalURL())
	return a, nil
}

// Stop takes the process down: no new requests, then no new deliveries, up to
// 20 s for what is being sent, then the stores.
func (a *App) Stop(ctx context.Context) error {
	a.stopping.Store(true)
	return a.cleanups.run(ctx)
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
	if a.publicAddr == nil {
		return ""
	}
	return a.config.Public(a.publicAddr).String()
}

// InternalURL is where this process answers the company's own systems.
func (a *App) InternalURL() string { return "http://" + a.internalAddr.String() }

// openStores opens queue and ledger, the ledger with the newest schema.
func (a *App) openStores(ctx context.Context) error {
	options := ledgerOptions(a.config, a.log)
	if err := prepareSchema(ctx, options); err != nil {
		return err
	}
	q, err := queue.Open(ctx, queue.Options{URL: a.config.RedisURL, Timeout: a.config.Timeout, Log: a.log})
	if err != nil {
		return err
	}
	a.queue = q
	a.cleanups.add("close the queue", func(context.Context) error { return q.Close() })
	admission := delivery.StartAdmission(q, a.deliveryMetrics, a.log)
	a.cleanups.add("stop admission", func(context.Context) error { admission.Stop(); return nil })
	options.Admitted = admission.Admit
	l, err := ledger.Open(ctx, options)
	if err != nil {
		return err
	}
	a.ledger = l
	a.cleanups.add("close the ledger", func(context.Context) error { return l.Close() })
	a.health.Add("ledger", l.Ping)
	a.health.Add("queue", q.Ping)
	return l.CheckMasterKey(ctx, a.box)
}

// prepareSchema migrates a database that is this process's own, or blank. One
// that others use is migrated by the command "migrate" only.
func prepareSchema(ctx context.Context, o ledger.Options) error {
	if o.DatabaseURL != "" {
		blank, err := ledger.Blank(ctx, o)
		if err != nil || !blank {
			return err
		}
	}
	_, err := ledger.Migrate(ctx, o)
	return err
}

func ledgerOptions(cfg config.Config, log *slog.Logger) ledger.Options {
	return ledger.Options{DatabaseURL: cfg.DatabaseURL, DataDir: cfg.DataDir, Log: log}
}

// startListeners opens the internal listener, and the public one for roles
// that partners use.
func (a *App) startListeners(context.Context) (err error) {
	a.health.Add("process", func(context.Context) error {
		if a.stopping.Load() {
			return errors.New("is stopping")
		}
		return nil
	})
	roles := a.config.Roles
	internal, public := http.NewServeMux(), http.NewServeMux()
	a.mountObservation(internal)
	if roles.API {
		internal.Handle("/internal/v1/", a.internalAPI())
		(&ingest.Public{Keys: a.keys.public(), Metrics: a.webMetrics, Log: a.log}).Register(public)
	}
	if a.internalAddr, err = a.listen("internal", a.config.InternalListen, internal); err != nil {
		return err
	}
	if roles.API || roles.Dashboard {
		a.publicAddr, err = a.listen("public", a.config.Listen, public)
	}
	return err
}

func (a *App) internalAPI() http.Handler {
	return (&ingest.Internal{
		Events: a.ledger, Deliveries: a.ledger, Partners: a.ledger, Secrets: a.ledger, Endpoints: a.ledger, Audit: a.ledger,
		Token: a.token, Key: a.keys.active, Box: a.box, Composer: a.composer,
		Guard: guard.New(a.config.AllowCIDRs), Resolver: net.DefaultResolver,
		Metrics: ingest.NewMetrics(a.registry), Web: a.webMetrics, Log: a.log,
	}).Handler()
}

// listen serves mux on address until cleanup.
func (a *App) listen(name, address string, mux *http.ServeMux) (net.Addr, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("open the %s listener: %w", name, err)
	}
	surface := web.Surface{Name: name, Log: a.log, Metrics: a.webMetrics}
	server := web.NewServer(web.Observe(a.log, a.webMetrics, surface.Mux(mux)), a.log)
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			a.fail(fmt.Errorf("serve the %s listener: %w", name, err))
		}
	}()
	a.cleanups.add("close the "+name+" listener", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			return server.Close()
		}
		return nil
	})
	return listener.Addr(), nil
}
