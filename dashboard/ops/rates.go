package ops

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"ledgerhook/dashboard/shell"
	"ledgerhook/orders"
	"ledgerhook/webhook"
)

func (s pages) rateRoutes() []shell.Route {
	return []shell.Route{
		shell.Read("GET /ops/rates", s.ratesPage),
		shell.Act("POST /ops/rates", shell.Form(s.setRate)),
	}
}

// ratesView lists the rates by cryptocurrency, with the form that sets one.
type ratesView struct {
	Rates         shell.Reading[[]orders.Rate]
	MaxAge        time.Duration // an older rate gives no price; zero: not known
	Fields        []shell.Field // of the form; empty for readers who may not set a rate
	Form          string        // one-time token
	Done, Problem string
	now           time.Time
}

// Age is how old a rate is.
func (v ratesView) Age(r orders.Rate) string { return english.Duration(max(0, v.now.Sub(r.UpdatedAt))) }

// State says whether a rate gives prices.
func (v ratesView) State(r orders.Rate) shell.Pill { return rateState(r, v.now, v.MaxAge) }

// rateState says whether a rate gives prices at a time; a maxAge of zero is not
// known.
func rateState(r orders.Rate, at time.Time, maxAge time.Duration) shell.Pill {
	switch {
	case r.WalletAddress == "":
		return shell.Bad("no wallet")
	case maxAge > 0 && r.Check(at, maxAge) != nil:
		return shell.Bad("too old")
	}
	return shell.Good("gives prices")
}

func (s pages) ratesPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	query := r.URL.Query()
	v := ratesView{}
	switch query.Get("done") {
	case "set":
		v.Done = "The rate is set. Quotes use it from now on."
	case "again":
		v.Done = "Already done: this form was sent before. Nothing was changed twice."
	}
	return s.showRates(w, r, q, http.StatusOK, v, query)
}

// showRates shows the page with what was typed into its form.
func (s pages) showRates(w http.ResponseWriter, r *http.Request, q *shell.Request, status int, v ratesView, typed url.Values) error {
	v.Rates, v.MaxAge, v.now = shell.Cached(r.Context(), s.Memory, "rates", s.Prices.Rates), s.RateAge, q.Now
	if q.CanAct() {
		v.Form = shell.NewFormToken()
		v.Fields = []shell.Field{
			{Name: "crypto", Label: "Cryptocurrency", Mono: true, Required: true, Hint: "Like USDT."},
			{Name: "price", Label: "Price", Mono: true, Required: true, Hint: "VND per token, like 25450.5."},
			{Name: "network", Label: "Network", Required: true, Hint: "Like TRC20."},
			{Name: "walletAddress", Label: "Wallet address", Mono: true, Required: true, Hint: "Where the partner's tokens go."},
		}
		for i := range v.Fields {
			v.Fields[i].Value = typed.Get(v.Fields[i].Name)
		}
	}
	return q.RenderStatus(w, r, status, "rates", v)
}

// setRate makes what the form says the rate of a cryptocurrency from now on.
func (s pages) setRate(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	get := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	rate := orders.Rate{Crypto: get("crypto"), Network: get("network"), WalletAddress: get("walletAddress")}
	_, again, err := s.Accounts.OnceForm(r.Context(), r.PostForm.Get("form"), func() (string, error) {
		var err error
		if rate.Price, err = orders.ParseAmount(get("price")); err != nil {
			return "", webhook.Invalid("/price", err.Error())
		}
		if err = rate.Validate(); err == nil {
			_, err = s.Prices.SetRate(r.Context(), rate, q.Audit("rate.set"))
		}
		return rate.Crypto, err
	})
	if err != nil {
		problem, status, err := q.Problem(err)
		if err != nil {
			return err
		}
		return s.showRates(w, r, q, status, ratesView{Problem: strings.TrimPrefix(problem, "/")}, r.PostForm)
	}
	done := "again"
	if !again {
		done = "set"
	}
	http.Redirect(w, r, "/ops/rates?done="+done, http.StatusSeeOther)
	return nil
}
