package app

import (
	"context"
	"net/http"
	"time"

	"ledgerhook/config"
	"ledgerhook/ingest"
	"ledgerhook/ledger/accounts"
	"ledgerhook/ledger/prices"
	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/partners/mail"
	"ledgerhook/web"
)

// mailTime is how long a stopping process goes on sending codes.
const mailTime = 5 * time.Second

// mountPartnerAPI mounts what partners call and fetch.
func (a *App) mountPartnerAPI(mux *http.ServeMux) error {
	(&ingest.Public{Keys: a.keys.published, Metrics: a.webMetrics, Log: a.log}).Register(mux)
	mountDocs(mux)
	postman, err := mail.Open(a.config.SMTPURL, partners.NewMailbox(a.accounts, a.box), a.log, a.mailed)
	if err != nil {
		return err
	}
	a.cleanups.add("send the last codes", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, mailTime)
		defer cancel()
		return postman.Close(ctx)
	})
	ours, people := a.ledger.ForPartners(), accounts.New(a.db.ForPartners())
	banks, err := orders.LoadBanks(orders.DefaultBankSources)
	if err != nil {
		return err
	}
	limits := orders.ProductionLimits
	if a.config.Environment == config.Sandbox {
		limits = orders.SandboxLimits
	}
	a.partnerMetrics = ingest.NewPartnerMetrics(a.registry)
	(&ingest.Partner{
		Partners: people, Secrets: people, Orders: ours, Prices: prices.New(a.db.ForPartners()),
		Tokens: partners.NewTokens(people, a.box, a.log),
		Codes:  partners.NewCodes(people, func() [][]byte { return a.box.Derive(partners.PepperLabel) }, postman),
		Banks:  banks, Key: a.keys.current, Box: a.box, Limiter: a.limiter, Limits: limits, Terms: terms(a.config), PublicURL: a.PublicURL(),
		Metrics: a.partnerMetrics, Web: a.webMetrics, Log: a.log,
	}).Register(mux)
	return nil
}

// terms are the numbers of the partner interface as they are configured.
func terms(c config.Config) ingest.Terms {
	return ingest.Terms{
		OrderExpiry: c.OrderExpiry, QuoteValidity: c.QuoteValidity, RateAge: c.RateAge,
		Limits:    partners.Limits{PerSecond: c.PerSecond, Burst: c.Burst, CreatePerSecond: c.CreatePerSecond, CreateBurst: c.CreateBurst},
		EmailRate: web.PerMinute(c.EmailPerMinute), BadSignatureRate: web.PerMinute(c.BadSignaturesPerMinute),
	}
}
