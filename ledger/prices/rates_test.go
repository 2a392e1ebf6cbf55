package prices_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/orders"
)

func TestMain(m *testing.M) { ledgertest.Main(m) }

func TestARateIsTheNewestThatWasSet(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		_, err := b.Rate(t.Context(), "USDT")
		if refused, ok := errors.AsType[*orders.Error](err); !ok || refused.Key != orders.KeyCryptoNotSupported {
			t.Errorf("before any: %v", err)
		}
		var want orders.Rate
		for _, price := range []string{"25000", "25345.123456"} {
			want, err = b.SetRate(t.Context(), orders.Rate{Crypto: "USDT", Network: "TRC20", Price: ledgertest.Amount(t, price), WalletAddress: "T1"})
			if err != nil {
				t.Fatal(err)
			}
		}
		got, err := b.Rate(t.Context(), "USDT")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if err := got.Check(time.Now(), orders.DefaultRateAge); err != nil {
			t.Errorf("just set: %v", err)
		}
		btc, err := b.SetRate(t.Context(), orders.Rate{Crypto: "BTC", Network: "BITCOIN", Price: ledgertest.Amount(t, "1500000000"), WalletAddress: "B1"})
		if err != nil {
			t.Fatal(err)
		}
		all, err := b.Rates(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]orders.Rate{btc, want}, all); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTheNewestValidQuoteOfTheSameIsFound(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		quote := func(partner, email, crypto string, fiat int64, validity time.Duration) orders.Quote {
			rate := orders.Rate{Crypto: crypto, Network: "TRC20", Price: ledgertest.Amount(t, "25345.5"), WalletAddress: "T1", UpdatedAt: time.Now().Add(-time.Minute)}
			q, err := orders.NewQuote(partner, email, fiat, rate, orders.FeeRules{System: orders.FeeRule{BasisPoints: 30}}, validity)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.AddQuote(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			return q
		}
		quote("acme", "a@example.com", "USDT", 50_000, time.Minute)
		want := quote("acme", "a@example.com", "USDT", 50_000, time.Minute)
		quote("acme", "a@example.com", "USDT", 50_000, -time.Second) // newer, and over
		quote("acme", "a@example.com", "USDT", 50_000, time.Hour)    // newer, of a clock that was ahead
		quote("acme", "a@example.com", "USDT", 60_000, time.Minute)
		quote("acme", "a@example.com", "BTC", 50_000, time.Minute)
		quote("acme", "b@example.com", "USDT", 50_000, time.Minute)
		quote("other", "a@example.com", "USDT", 50_000, time.Minute)
		got, found, err := b.ValidQuote(t.Context(), "acme", "a@example.com", "USDT", 50_000, time.Minute)
		if err != nil || !found {
			t.Fatalf("found %t, %v", found, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if _, found, err := b.ValidQuote(t.Context(), "acme", "a@example.com", "USDT", 70_000, time.Minute); found || err != nil {
			t.Errorf("of an amount never quoted: found %t, %v", found, err)
		}
	})
}
