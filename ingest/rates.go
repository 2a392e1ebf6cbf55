package ingest

import (
	"context"
	"encoding/json"
	"net/http"

	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// Rates is what the rates API sets and lists.
type Rates interface {
	SetRate(ctx context.Context, r orders.Rate, by ...partners.AuditEntry) (orders.Rate, error)
	Rates(ctx context.Context) ([]orders.Rate, error)
}

type rateItem struct {
	Crypto        string      `json:"crypto"`
	Network       string      `json:"network"`
	Price         json.Number `json:"price"` // VND per token
	WalletAddress string      `json:"walletAddress"`
	UpdatedAt     web.Time    `json:"updatedAt"`
}

func showRate(r orders.Rate) rateItem {
	return rateItem{r.Crypto, r.Network, json.Number(r.Price.String()), r.WalletAddress, web.Time(r.UpdatedAt)}
}

// putRate sets the rate of a cryptocurrency, which makes it one that orders
// can be made in.
func (a *Internal) putRate(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		Price         *web.Number `json:"price"`
		Network       string      `json:"network"`
		WalletAddress string      `json:"walletAddress"`
	}
	if err := web.DecodeJSON(r, maxBody, &request); err != nil {
		return err
	}
	if request.Price == nil {
		return webhook.Invalid("/price", "is required: VND per token")
	}
	price, err := orders.ParseAmount(string(*request.Price))
	if err != nil {
		return webhook.Invalid("/price", err.Error())
	}
	rate := orders.Rate{Crypto: r.PathValue("crypto"), Network: request.Network, Price: price, WalletAddress: request.WalletAddress}
	if err := rate.Validate(); err != nil {
		return err
	}
	rate, err = a.Rates.SetRate(r.Context(), rate, by(r, "rate.set", ""))
	return writeItem(w, rate, err, showRate)
}

func (a *Internal) listRates(w http.ResponseWriter, r *http.Request) error {
	anything := func(string) error { return nil }
	return list(w, r, anything, cut(a.Rates.Rates, func(r orders.Rate) string { return r.Crypto }), showRate)
}
