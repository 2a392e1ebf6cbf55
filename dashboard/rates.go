package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"ledgerhook/orders"
	"ledgerhook/webhook"
)

func (s *surface) rateRoutes() []route {
	return []route{
		{"GET /ops/rates", mayRead, s.ratesPage},
		{"POST /ops/rates", mayAct, s.setRate},
	}
}

// ratesView lists the rates by cryptocurrency, with the form that sets one.
type ratesView struct {
	Rates         fact[[]orders.Rate]
	MaxAge        time.Duration // an older rate gives no price; zero: not known
	Fields        []field       // of the form; empty for who may not set a rate
	Form          string        // one-time token
	Done, Problem string
	now           time.Time
}

// Age is how old a rate is.
func (v ratesView) Age(r orders.Rate) string { return formatDuration(max(0, v.now.Sub(r.UpdatedAt))) }

// State says whether a rate gives prices.
func (v ratesView) State(r orders.Rate) pill {
	switch {
	case r.WalletAddress == "":
		return pill{"bad", "no wallet"}
	case v.MaxAge > 0 && r.Check(v.now, v.MaxAge) != nil:
		return pill{"bad", "too old"}
	}
	return pill{"good", "gives prices"}
}

func (s *surface) ratesPage(w http.ResponseWriter, r *http.Request, q *request) error {
	query := r.URL.Query()
	v := ratesView{}
	switch query.Get("done") {
	case "set":
		v.Done = "The rate is set. Quotes take it from now on."
	case "again":
		v.Done = "Already done: this form was sent before. Nothing was changed twice."
	}
	return s.showRates(w, r, q, http.StatusOK, v, query)
}

// showRates shows the page with what was typed into its form.
func (s *surface) showRates(w http.ResponseWriter, r *http.Request, q *request, status int, v ratesView, typed url.Values) error {
	v.Rates, v.MaxAge, v.now = recall(r.Context(), s.Memory, "rates", s.Ledger.Rates), s.RateAge, q.Now
	if q.CanAct() {
		v.Form = newFormToken()
		v.Fields = []field{
			{Name: "crypto", Label: "Cryptocurrency", Mono: true, Required: true, Hint: "Like USDT."},
			{Name: "price", Label: "Price", Mono: true, Required: true, Hint: "VND per token, like 25450.5."},
			{Name: "network", Label: "Network", Required: true, Hint: "Like TRC20."},
			{Name: "walletAddress", Label: "Wallet address", Mono: true, Required: true, Hint: "Where the partner's tokens go."},
		}
		for i := range v.Fields {
			v.Fields[i].Value = typed.Get(v.Fields[i].Name)
		}
	}
	return q.renderStatus(w, r, status, "rates", v)
}

// setRate makes what the form says the rate of a cryptocurrency from now on.
func (s *surface) setRate(w http.ResponseWriter, r *http.Request, q *request) error {
	if err := r.ParseForm(); err != nil {
		return webhook.Invalid("form", "cannot be read")
	}
	get := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	rate := orders.Rate{Crypto: get("crypto"), Network: get("network"), WalletAddress: get("walletAddress")}
	_, again, err := s.Ledger.OnceForm(r.Context(), r.PostForm.Get("form"), func() (string, error) {
		var err error
		if rate.Price, err = orders.ParseAmount(get("price")); err != nil {
			return "", webhook.Invalid("/price", err.Error())
		}
		if err = rate.Validate(); err == nil {
			_, err = s.Ledger.SetRate(r.Context(), rate, q.audit("rate.set"))
		}
		return rate.Crypto, err
	})
	if err != nil {
		problem, status, err := q.problem(err)
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
