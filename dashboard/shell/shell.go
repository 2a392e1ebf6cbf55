// Package shell is the frame of every page: requests, layout, live updates.
//
// request.go says who asks, and routes.go what a page may ask of them; render.go
// puts a page's template into the layout, with the parts of parts.go; memory.go
// keeps what was last known while the ledger does not answer; live.go tells an
// open page that something is new. login.go begins the pages about people, which
// every surface has.
package shell

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/delivery"
	"ledgerhook/delivery/guard"
	"ledgerhook/delivery/queue"
	"ledgerhook/ledger"
	"ledgerhook/ledger/accounts"
	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/incidents"
	"ledgerhook/ledger/prices"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// Options are what the pages stand on. All fields but the ones that say so
// are required.
type Options struct {
	Database  *database.DB
	Ledger    *ledger.Ledger
	Accounts  *accounts.Accounts
	Reports   *reports.Reports
	Prices    *prices.Prices
	Trail     *audit.Trail // who did what
	Incidents *incidents.Store
	Box       *signer.Box
	Queue     *queue.Queue
	Metrics   *web.Metrics // nil: none
	// AuditFailed counts an entry that could not be written into the audit log,
	// so that what it tells of was refused; nil: nobody counts.
	AuditFailed func()
	Log         *slog.Logger
	Version     string

	// Secure says that the public URL is https, so that the portal's cookies are
	// Secure whatever a request looks like here.
	Secure bool
	// Key is the public half of the active signing key, which every new
	// notification is signed with.
	Key func() *rsa.PublicKey
	// Guard checks the URLs that partners register, as Resolver finds them.
	Guard    *guard.Guard
	Resolver *net.Resolver
	// PublicURL is how partners reach the gateway, without a slash at its end.
	PublicURL string
	// SendMail hands a text to a mail server; nil: there is none, and links are
	// handed over by people.
	SendMail func(ctx context.Context, to, subject, text string) error
	// SignIn is the provider that operators sign in at; nil: they have passwords.
	SignIn *SignIn
	// Settings is the effective configuration, secrets masked.
	Settings []Setting
	// Health is what /readyz answers from.
	Health *web.Health
	// Limiter bounds the tests of a partner's endpoints. nil: by this process alone.
	Limiter *web.Limiter

	// Slots are how many deliveries this process sends and can send at once;
	// known is false in one without a worker.
	Slots func() (busy, total int, known bool)

	// Composer makes the very bytes that partners get. nil: they are shown
	// without their signature.
	Composer *delivery.Composer
	// Retry is the schedule of a delivery, Timeout the limit of one attempt and
	// Retention how long what was sent is kept; zero: not known.
	Retry     webhook.RetryPolicy
	Timeout   time.Duration
	Retention time.Duration

	// RateAge is how old a rate may be and still give a price, and FailedQuotes
	// how many quotes in a row this process could not give for a reason on our
	// side, with the key and the time of the last; nil: it serves no partners.
	RateAge      time.Duration
	FailedQuotes func() (count int, key string, at time.Time)
}

// Setting is one value of the effective configuration as it is shown.
type Setting struct {
	Name, Value, Default, Meaning string
	Secret                        bool // Value is masked
}

// Shell is what the surfaces of a process share. It is safe for concurrent use.
type Shell struct {
	Options
	Memory  *Memory           // what pages showed last
	Mailbox *partners.Mailbox // codes that were not sent
	Started time.Time         // when the process began to serve pages

	assets  *assets
	hub     *hub
	invited *web.Limiter  // of links that are opened, by address
	crowds  *web.Limiter  // of requests, see crowd.go
	delayed chan struct{} // answers that are kept back, see crowd.go

	opsDoor, portalDoor *door
	providerDoor        *door // apart, so that a provider that hangs keeps no password out
}

// New prepares every asset; an error means that one of them is wrong or an
// option is missing.
func New(o Options) (*Shell, error) {
	if o.Ledger == nil || o.Box == nil || o.Key == nil || o.Guard == nil || o.Resolver == nil || o.Queue == nil || o.Health == nil || o.Slots == nil || o.Log == nil {
		return nil, errors.New("make the pages: an option is missing")
	}
	if o.Limiter == nil {
		o.Limiter = web.NewLimiter(nil)
	}
	s := &Shell{Options: o, Memory: newMemory(), hub: newHub(o.Log), Mailbox: partners.NewMailbox(o.Accounts, o.Box), invited: web.NewLimiter(nil), crowds: web.NewLimiter(nil), delayed: make(chan struct{}, maxDelayed), Started: time.Now(), opsDoor: newDoor(), portalDoor: newDoor(), providerDoor: newDoor()}
	err := locale.Load()
	if err != nil {
		return nil, fmt.Errorf("read the translations of the pages: %w", err)
	}
	if s.assets, err = loadAssets(); err != nil {
		return nil, fmt.Errorf("load the pages' assets: %w", err)
	}
	return s, nil
}
