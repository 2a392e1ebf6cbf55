package orders

import (
	"errors"
	"testing"

	"github.com/cockroachdb/apd/v3"
	"pgregory.net/rapid"

	"ledgerhook/webhook"
)

func TestFeesAreRoundedHalfUp(t *testing.T) {
	for _, test := range []struct {
		rule FeeRule
		fiat int64
		want int64
	}{
		{FeeRule{}, 100_000, 0},
		{FeeRule{Fixed: 1_500}, 100_000, 1_500},
		{FeeRule{BasisPoints: 50}, 100_000, 500},
		{FeeRule{Fixed: 1_000, BasisPoints: 25}, 10_000, 1_025},
		{FeeRule{BasisPoints: 1}, 14_999, 1}, // 1.4999
		{FeeRule{BasisPoints: 1}, 15_000, 2}, // 1.5
		{FeeRule{BasisPoints: 10_000}, MaxVND, MaxVND},
	} {
		if got := test.rule.Of(test.fiat); got != test.want {
			t.Errorf("%+v of %d = %d, want %d", test.rule, test.fiat, got, test.want)
		}
	}
}

func TestTotalIsTheAmountAndBothFees(t *testing.T) {
	rules := FeeRules{Processing: FeeRule{Fixed: 2_000}, System: FeeRule{BasisPoints: 30}}
	fees := rules.Of(1_000_000)
	if fees != (Fees{Processing: 2_000, System: 3_000}) || fees.Total(1_000_000) != 1_005_000 {
		t.Errorf("fees %+v, total %d", fees, fees.Total(1_000_000))
	}
}

// checkField fails unless err is Invalid about field, or nil for no field.
func checkField(t *testing.T, err error, field string) {
	t.Helper()
	var got string
	if e, ok := err.(*webhook.Error); ok && e.Kind == webhook.KindInvalid {
		got = e.Fields[0].Field
	}
	if got != field || field == "" && err != nil {
		t.Errorf("error %v, want one about %q", err, field)
	}
}

func TestTokenAmountIsRoundedUp(t *testing.T) {
	for _, test := range []struct {
		total int64
		price string
		want  string
	}{
		{50_000, "25000", "2"},
		{100_000, "25345.5", "3.945474"}, // 3.94547355…
		{100_000, "3", "33333.333334"},
		{1, "1e15", "0.000001"},
		{10_000, "0.000001", "10000000000"},
	} {
		got, err := TokenAmount(test.total, amount(t, test.price))
		if err != nil || got.String() != test.want {
			t.Errorf("TokenAmount(%d, %s) = %s, %v; want %s", test.total, test.price, got, err, test.want)
		}
	}
	if got, err := TokenAmount(1, Amount{}); err == nil {
		t.Errorf("TokenAmount at the price 0 = %s", got)
	}
}

// The partner never pays less than the total and never a millionth of a token
// too much.
func TestTokenAmountIsTheLeastThatPays(t *testing.T) {
	wide := apd.BaseContext.WithPrecision(200)
	step := apd.New(1, -MaxPlaces)
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Range(1, 4*MaxVND).Draw(t, "total")
		price := amount(t, rapid.StringMatching(`(0|[1-9][0-9]{0,9})\.[0-9]{0,5}[1-9]`).Draw(t, "price"))
		tokens, err := TokenAmount(total, price)
		if err != nil {
			t.Fatal(err)
		}
		if tokens.Places() > MaxPlaces {
			t.Fatalf("%s has more than %d places", tokens, MaxPlaces)
		}
		due := Dong(total)
		var paid, less, paidLess apd.Decimal
		_, err1 := wide.Mul(&paid, &tokens.d, &price.d)
		_, err2 := wide.Sub(&less, &tokens.d, step)
		_, err3 := wide.Mul(&paidLess, &less, &price.d)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		if paid.Cmp(&due.d) < 0 {
			t.Fatalf("%s tokens at %s pay only %s of %d", tokens, price, paid.Text('f'), total)
		}
		if paidLess.Cmp(&due.d) >= 0 {
			t.Fatalf("%s tokens at %s would pay %d too", less.Text('f'), price, total)
		}
	})
}
