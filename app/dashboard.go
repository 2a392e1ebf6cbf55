package app

import (
	"net"
	"net/http"
	"strings"
	"time"

	"ledgerhook/config"
	"ledgerhook/dashboard"
	"ledgerhook/dashboard/oidc"
	"ledgerhook/delivery/guard"
	"ledgerhook/ledger/accounts"
	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/incidents"
	"ledgerhook/ledger/prices"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// mountDashboard mounts the operators' pages on the internal listener and the
// partners' on the public one.
func (a *App) mountDashboard(internal, public *http.ServeMux) (*dashboard.Dashboard, error) {
	var settings []dashboard.Setting
	for _, v := range a.config.Masked() {
		settings = append(settings, dashboard.Setting{Name: v.Name, Value: v.Text, Default: v.Default, Meaning: v.Meaning, Secret: v.Secret})
	}
	sendMail, err := a.sendMail()
	if err != nil {
		return nil, err
	}
	pages, err := dashboard.New(dashboard.Options{
		Database: a.db.ForPages(), Ledger: a.ledger.ForPages(), Accounts: accounts.New(a.db.ForPages()), Trail: audit.New(a.db.ForPages()), Reports: reports.New(a.db.ForPages().ForReports()), Prices: prices.New(a.db.ForPages()), Incidents: incidents.New(a.db.ForPages(), a.audience()), Box: a.box, Queue: a.queue, Metrics: a.webMetrics, AuditFailed: a.ingestMetrics.AuditFailed, Log: a.log, Version: a.version,
		Secure: strings.HasPrefix(a.PublicURL(), "https:"), PublicURL: a.PublicURL(), Key: a.keys.currentPublic,
		Guard: guard.New(a.config.AllowCIDRs), Resolver: net.DefaultResolver,
		Settings: settings, Health: a.health, Limiter: a.limiter, Slots: a.slots, SendMail: sendMail, SignIn: signIn(a.config, a.internal.Addr()),
		Composer: a.composer, Retry: webhook.RetryPolicy{Waits: a.config.Retry}, Timeout: a.config.Timeout, Retention: a.config.Retention,
		RateAge: a.config.RateAge, FailedQuotes: a.failedQuotes(),
	})
	if err != nil {
		return nil, err
	}
	ops, portal := pages.Ops(), pages.Portal()
	internal.Handle("/ops", ops)
	internal.Handle("/ops/", ops)
	public.Handle("/portal", portal)
	public.Handle("/portal/", portal)
	return pages, nil
}

// signIn is how operators sign in at the provider; nil: they have passwords.
func signIn(cfg config.Config, internal net.Addr) *dashboard.SignIn {
	if cfg.OIDCIssuer == "" {
		return nil
	}
	at := cfg.Operators(internal).String()
	return &dashboard.SignIn{Provider: provider(cfg, at+dashboard.CallbackPath), Name: cfg.OIDCName, BreakGlass: cfg.BreakGlass, Address: at}
}

// provider is the one of the settings, which sends operators back to redirect.
func provider(cfg config.Config, redirect string) *oidc.Provider {
	o := oidc.Options{Issuer: cfg.OIDCIssuer, ClientID: cfg.OIDCClientID, ClientSecret: cfg.OIDCClientSecret, RedirectURL: redirect,
		Scopes: strings.Split(cfg.OIDCScopes, ","), GroupsClaim: cfg.OIDCGroupsClaim}
	for _, g := range cfg.OIDCRoles {
		o.Roles = append(o.Roles, oidc.GroupRole{Group: g.Group, Role: partners.Role(g.Role)})
	}
	return oidc.New(o)
}

// slots are what this process can send at once and what it sends; without a
// worker nothing is known of them.
func (a *App) slots() (busy, total int, known bool) {
	if a.worker == nil {
		return 0, 0, false
	}
	return a.worker.InFlight(), a.config.Concurrency, true
}

// failedQuotes are the quotes that this process could not give; nil if it
// serves no partners.
func (a *App) failedQuotes() func() (int, string, time.Time) {
	if a.partnerMetrics == nil {
		return nil
	}
	return func() (int, string, time.Time) {
		f := a.partnerMetrics.FailedQuotes()
		return f.Count, string(f.Key), f.At
	}
}
