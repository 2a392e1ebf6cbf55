package orders

import (
	"testing"
	"testing/synctest"
	"time"
)

func usdt(t testing.TB) Rate {
	return Rate{Crypto: "USDT", Network: "TRC20", Price: amount(t, "25345.5"), WalletAddress: "TWallet1", UpdatedAt: time.Now()}
}

func TestQuoteHoldsForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := FeeRules{Processing: FeeRule{Fixed: 1_000}, System: FeeRule{BasisPoints: 50}}
		q, err := NewQuote("PARTNER01", "user@example.com", 100_000, usdt(t), rules, DefaultQuoteValidity)
		if err != nil {
			t.Fatal(err)
		}
		if q.TotalPayment != 101_500 || q.Fees != (Fees{Processing: 1_000, System: 500}) {
			t.Errorf("total %d, fees %+v", q.TotalPayment, q.Fees)
		}
		if got := q.TokenAmount.String(); got != "4.004656" { // 4.00465565…
			t.Errorf("token amount %s", got)
		}
		if !q.CreatedAt.Equal(time.Now()) || q.ExpiresAt.Sub(q.CreatedAt) != time.Minute {
			t.Errorf("created %s, expires %s", q.CreatedAt, q.ExpiresAt)
		}
		if q.CreatedAt.Location() != time.UTC {
			t.Errorf("created in %s, want UTC", q.CreatedAt.Location())
		}
	})
}

func TestQuoteThatNoJSONReaderWouldKeepIsRefused(t *testing.T) {
	rate := usdt(t)
	rate.Price = amount(t, "0.000007")
	if err := rate.Validate(); err != nil {
		t.Fatal(err)
	}
	_, err := NewQuote("PARTNER01", "user@example.com", MaxVND, rate, FeeRules{}, time.Minute)
	if keyOf(err) != KeyPriceUnavailable {
		t.Errorf("error %v, want %s", err, KeyPriceUnavailable)
	}
}

func TestStaleRateGivesNoPrice(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		updated time.Time
		want    Key
	}{
		{now, ""},
		{now.Add(-DefaultRateAge), ""},
		{now.Add(-DefaultRateAge - time.Millisecond), KeyPriceUnavailable},
		{time.Time{}, KeyPriceUnavailable},
		{now.Add(time.Second), ""}, // another machine's clock
	} {
		if err := (Rate{Crypto: "USDT", WalletAddress: "TWallet1", UpdatedAt: test.updated}).Check(now, DefaultRateAge); keyOf(err) != test.want {
			t.Errorf("updated %s: %v, want %q", test.updated, err, test.want)
		}
	}
	if err := (Rate{Crypto: "USDT", UpdatedAt: now}).Check(now, DefaultRateAge); keyOf(err) != KeyPriceUnavailable {
		t.Errorf("without a wallet, which nobody could pay to: %v", err)
	}
	if err := UnknownCrypto("DOGE"); keyOf(err) != KeyCryptoNotSupported {
		t.Errorf("unknown: %v", err)
	}
}

func TestWrongRatesAreRefused(t *testing.T) {
	for field, change := range map[string]func(*Rate){
		"/crypto":        func(r *Rate) { r.Crypto = "usdt" },
		"/network":       func(r *Rate) { r.Network = "" },
		"/walletAddress": func(r *Rate) { r.WalletAddress = "" },
	} {
		rate := usdt(t)
		change(&rate)
		checkField(t, rate.Validate(), field)
	}
	for _, price := range []string{"0", "-1", "1.0000001", "9007199254740993"} {
		rate := usdt(t)
		rate.Price = amount(t, price)
		checkField(t, rate.Validate(), "/price")
	}
}
