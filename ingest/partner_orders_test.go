package ingest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerhook/orders"
	"ledgerhook/partners"
)

// shown holds the members of an answer against want, by their JSON text.
func shown(t *testing.T, answer map[string]any, want members) {
	t.Helper()
	for path, value := range want {
		var at any = answer
		for name := range strings.SplitSeq(path, ".") {
			inside, _ := at.(map[string]any)
			at = inside[name]
		}
		if fmt.Sprint(at) != fmt.Sprint(value) {
			t.Errorf("%s is %v, want %v", path, at, value)
		}
	}
}

func TestAQuoteIsExactToTheDong(t *testing.T) {
	eachGate(t, func(t *testing.T, g *gate) {
		shown(t, g.grant(t, review, members{"fiatAmount": 50000}), members{
			"fiatAmount": 50000, "currency": "VND", "price": "25345.5", "tokenAmount": "1.972737", "totalPayment": 50000, "processingFee": 0, "systemFee": 0})
		g.settings(t, "acme", func(s *partners.Settings) {
			s.Fees = partners.Fees{Processing: partners.Fee{Fixed: 1000, BasisPoints: 15}, System: partners.Fee{BasisPoints: 1}}
		})
		// 0.15 % of 333,333 is 499.9995, 0.01 % is 33.3333; 334,866 / 25,345.5 is 13.2120494…
		shown(t, g.grant(t, review, members{"fiatAmount": 333333}), members{
			"processingFee": 1500, "systemFee": 33, "totalPayment": 334866, "tokenAmount": "13.21205"})
		shown(t, g.grant(t, create, members{"fiatAmount": 333333}), members{
			"fees.processingFee": 1500, "fees.systemFee": 33, "bankTransfer.totalPayment": 334866, "tokenTransfer.amount": "13.21205",
			"fiatAmount": 333333, "paidAmount": 0})
	})
}

func TestAnAmountCountsByValueAndVerifiesInBothForms(t *testing.T) {
	g := newGate(t, newBench(t))
	for _, literal := range []string{"50000", "50000.0", "5e4", "5.0E+4", "500000e-1"} {
		for _, signed := range []string{"50000", literal} {
			m := g.acme.complete(review).with(members{"fiatAmount": json.Number(signed)})
			signature, err := g.acme.key.Sign([]byte(g.acme.text(review, m)))
			if err != nil {
				t.Fatal(err)
			}
			change := members{"fiatAmount": json.Number(literal), "signature": signature}
			shown(t, g.grant(t, review, change), members{"fiatAmount": 50000})
			change["fiatAmount"] = 50001
			g.refuse(t, key(orders.KeyAuthFailed), review, change)
		}
	}
	for _, literal := range []string{"050000", "+50000", "0x10", "5e", "1_000"} {
		checkRefusal(t, review, key(orders.KeyInvalidJSON), "en",
			post(t, g.handler, review, bytes.Replace(g.acme.body(t, review, nil), []byte("500000"), []byte(literal), 1)))
	}
}

func TestASandboxTakesNoLessThanItsOwnMinimum(t *testing.T) {
	g := newGate(t, newBench(t))
	g.grant(t, review, members{"fiatAmount": 10000})
	g.grant(t, review, members{"fiatAmount": orders.MaxVND})
	g.handler = g.process(t, orders.SandboxLimits)
	g.refuse(t, orders.Error{Key: orders.KeyAmountBelowMinimum, Min: 50000}, review, members{"fiatAmount": 49999})
	g.grant(t, create, members{"fiatAmount": 50000})
	g.refuse(t, orders.Error{Key: orders.KeyAmountBelowMinimum, Min: 50000}, create, members{"externalOrderId": "small", "fiatAmount": 10000})
}

func TestAFiatCurrencyThatIsAbsentIsSignedEmptyOrAsVND(t *testing.T) {
	g := newGate(t, newBench(t))
	signature, err := g.acme.key.Sign([]byte(g.acme.text(review, g.acme.complete(review).with(members{"fiatCurrency": "VND"}))))
	if err != nil {
		t.Fatal(err)
	}
	g.grant(t, review, nil)
	for _, sent := range []any{absent, nil, "", "VND"} {
		g.grant(t, review, members{"fiatCurrency": sent, "signature": signature})
	}
	g.refuse(t, key(orders.KeyAuthFailed), review, members{"fiatCurrency": "USD", "signature": signature})
	g.grant(t, create, members{"fiatCurrency": "VND"})
	g.grant(t, create, nil) // the same order
}

func TestAStaleRateGivesNoPrice(t *testing.T) {
	eachGate(t, func(t *testing.T, g *gate) {
		g.grant(t, create, nil)
		g.set(t, "UPDATE rates SET updated_at = $1", ago(orders.DefaultRateAge+time.Second))
		g.refuse(t, key(orders.KeyPriceUnavailable), review, nil)
		g.refuse(t, key(orders.KeyPriceUnavailable), create, members{"externalOrderId": "order-2"})
		g.grant(t, create, nil) // made before
		g.rate(t, "USDT", "0.000007")
		g.refuse(t, key(orders.KeyPriceUnavailable), review, members{"fiatAmount": 370370367}) // more tokens than a JSON number holds
	})
}

func TestAQuoteIsKeptForAMinute(t *testing.T) {
	eachGate(t, func(t *testing.T, g *gate) {
		next := 0
		price := func(changes members, want string) {
			t.Helper()
			next++
			m := g.grant(t, create, members{"externalOrderId": fmt.Sprint("quoted-", next)}.with(changes))
			shown(t, m, members{"tokenTransfer.price": want})
		}
		g.grant(t, review, nil)
		g.rate(t, "USDT", "26000")
		g.rate(t, "BTC", "26000")
		price(nil, "25345.5")
		price(members{"userEmail": "AN@example.com"}, "25345.5")
		price(members{"fiatAmount": json.Number("5e5")}, "25345.5")
		price(members{"userEmail": "bob@example.com"}, "26000")
		price(members{"fiatAmount": 500001}, "26000")
		price(members{"cryptoCurrency": "BTC"}, "26000")
		other := g.account(t, "globex", keys()[2])
		if got := post(t, g.handler, create, other.body(t, create, nil)); !bytes.Contains(got.body, []byte(`"price":26000`)) {
			t.Errorf("another partner got a quote of acme's: %s", got.body)
		}
		g.rate(t, "USDT", "27000")
		g.grant(t, review, nil)
		price(nil, "27000") // of two quotes the newest
		g.set(t, "UPDATE quotes SET expires_at = expires_at - $1", orders.DefaultQuoteValidity.Microseconds())
		g.rate(t, "USDT", "28000")
		price(nil, "28000")
	})
}

func TestFiftyEqualCreatesAreOneOrderAndFiftyEqualAnswers(t *testing.T) {
	eachGate(t, func(t *testing.T, g *gate) {
		answers := g.parallel(t, g.acme.body(t, create, nil))
		for _, got := range answers {
			g.granted(t, create, got)
			if !bytes.Equal(got.body, answers[0].body) {
				t.Fatalf("%s\nand %s", got.body, answers[0].body)
			}
		}
		if n := g.Count(t, "SELECT COUNT(*) FROM orders"); n != 1 {
			t.Errorf("%d orders", n)
		}
	})
}

func TestOneIDWithTwoAmountsIsOneOrder(t *testing.T) {
	eachGate(t, func(t *testing.T, g *gate) {
		bodies := [][]byte{g.acme.body(t, create, nil), g.acme.body(t, create, members{"fiatAmount": 600000})}
		granted := map[string]int{}
		for _, got := range g.parallel(t, bodies...) {
			if got.status != http.StatusOK {
				checkRefusal(t, create, key(orders.KeyDuplicateOrder), "en", got)
				continue
			}
			granted[fmt.Sprint(g.granted(t, create, got)["fiatAmount"])]++
		}
		if n := g.Count(t, "SELECT COUNT(*) FROM orders"); n != 1 || len(granted) != 1 || granted["500000"]+granted["600000"] != 25 {
			t.Errorf("%d orders, granted %v, want 25 of one amount", n, granted)
		}
	})
}

// parallel sends 50 creates at once, the bodies in turn.
func (g *gate) parallel(t *testing.T, bodies ...[]byte) []answer {
	t.Helper()
	answers := make([]answer, 50)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = post(t, g.handler, create, bodies[i%len(bodies)]) })
	}
	all.Wait()
	return answers
}

func TestARepeatedCreateIsComparedByValue(t *testing.T) {
	eachGate(t, func(t *testing.T, g *gate) {
		first := g.ask(t, create, nil)
		info := func(changes members) members { return members{"extendInfo": recipient(changes)} }
		flat := members{"recipientName": "NGUYỄN VĂN AN"} // with the rest at the top level
		for _, same := range []members{
			nil, {"fiatAmount": json.Number("500000.00")}, {"fiatCurrency": "VND"}, {"userEmail": "AN@EXAMPLE.COM"}, {"cryptoCurrency": absent, "currency": "USDT", "signature": g.sign(t, create, nil)},
			info(members{"recipientType": "ACCOUNT"}), info(members{"recipientBankCode": "VCB"}), info(members{"recipientBankCode": "Vietcombank"}), info(members{"more": true}), {"note": "not looked at"},
			{"extendInfo": flat, "bankCode": "970436", "bankAccountNumber": "0011001932418", "content": "RUT TIEN 0001", "signature": g.sign(t, create, nil)},
		} {
			if got := g.ask(t, create, same); got.status != http.StatusOK || !bytes.Equal(got.body, first.body) {
				t.Errorf("%v: %d %s\nwant %s", same, got.status, got.body, first.body)
			}
		}
		different := []members{
			{"fiatAmount": 500001}, {"userEmail": "bob@example.com"}, {"cryptoCurrency": "BTC"}, {"fiatCurrency": "USD"}, {"extendInfo": nil},
			info(members{"recipientName": "SOMEBODY ELSE"}), info(members{"recipientType": "CARD"}), info(members{"recipientBankCode": "ICB"}),
			info(members{"transferContent": "RUT TIEN 0002"}), info(members{"recipientNumber": "0011001932419"}),
		}
		for _, other := range different {
			g.refuse(t, key(orders.KeyDuplicateOrder), create, other)
		}
		other := g.account(t, "globex", keys()[2])
		if got := post(t, g.handler, create, other.body(t, create, nil)); got.status != http.StatusOK {
			t.Errorf("another partner's order with that id: %d %s", got.status, got.body)
		}
		checkRefusal(t, details, key(orders.KeyOrderNotFound), "en", post(t, g.handler, details, other.body(t, details, members{"externalOrderId": "order-2"})))

		// A repetition shows the order as it is now, also a failed one.
		id := g.orderID(t, "order-1")
		if _, _, err := g.TransitionOrder(t.Context(), id, orders.Move{To: orders.StatusFail, Actor: "test", KeyID: keys()[0].ID()}); err != nil {
			t.Fatal(err)
		}
		shown(t, g.grant(t, create, nil), members{"status": "FAIL"})
		shown(t, g.grant(t, details, nil), members{"status": "FAIL"})
		g.refuse(t, key(orders.KeyDuplicateOrder), create, different[0])
	})
}

// sign is acme's signature of a request with members changed.
func (g *gate) sign(t *testing.T, op string, changes members) string {
	t.Helper()
	signature, err := g.acme.key.Sign([]byte(g.acme.text(op, g.acme.complete(op).with(changes))))
	if err != nil {
		t.Fatal(err)
	}
	return signature
}

func (g *gate) orderID(t *testing.T, external string) string {
	t.Helper()
	o, err := g.PartnerOrder(t.Context(), "acme", external)
	if err != nil {
		t.Fatal(err)
	}
	return o.ID
}

func TestAnUnpaidOrderExpiresAndSaysSo(t *testing.T) {
	eachGate(t, func(t *testing.T, g *gate) {
		g.Endpoint(t, "acme", 10)
		m := g.grant(t, create, nil)
		made, err1 := time.Parse(orders.TimeFormat, m["createdAt"].(string))
		ends, err2 := time.Parse(orders.TimeFormat, m["expiresAt"].(string))
		if err1 != nil || err2 != nil || ends.Sub(made) != 15*time.Minute || !strings.HasSuffix(m["expiresAt"].(string), "Z") {
			t.Errorf("from %v to %v", m["createdAt"], m["expiresAt"])
		}
		g.grant(t, create, members{"externalOrderId": "paid"})
		if _, _, err := g.MarkPayout(t.Context(), g.orderID(t, "paid")); err != nil {
			t.Fatal(err)
		}
		expire := func(want int) {
			t.Helper()
			if n, err := g.ExpireOrders(t.Context(), keys()[0].ID()); n != want || err != nil {
				t.Errorf("%d orders expired, want %d (%v)", n, want, err)
			}
		}
		expire(0)
		shown(t, g.grant(t, details, nil), members{"status": "AWAITING_PAYMENT"})
		g.set(t, "UPDATE orders SET expires_at = $1", ago(time.Millisecond))
		expire(1)
		expire(0)
		shown(t, g.grant(t, details, nil), members{"status": "FAIL", "paidAmount": 0})
		shown(t, g.grant(t, details, members{"externalOrderId": "paid"}), members{"status": "AWAITING_PAYMENT"})

		var data []byte
		if err := g.Raw.QueryRowContext(t.Context(), "SELECT data FROM events").Scan(&data); err != nil {
			t.Fatal(err)
		}
		var told map[string]any
		if err := json.Unmarshal(data, &told); err != nil {
			t.Fatal(err)
		}
		shown(t, told, members{"externalOrderId": "order-1", "status": "FAIL", "previousStatus": "AWAITING_PAYMENT", "sequence": 1,
			"description": "The order expired before it was paid.", "type": "CASHOUT"})
		if n := g.Count(t, "SELECT COUNT(*) FROM deliveries"); n != 1 {
			t.Errorf("%d deliveries", n)
		}
	})
}

func TestAQRCodeIsFoundByItsAddressOnly(t *testing.T) {
	eachGate(t, func(t *testing.T, g *gate) {
		m := g.grant(t, create, nil)
		address, found := strings.CutPrefix(m["bankTransfer"].(map[string]any)["qrUrl"].(string), "https://pay.example.com")
		if !found || len(address) < len("/qr/")+26 {
			t.Fatalf("qrUrl of %v", m)
		}
		get := func(path string) answer {
			return serveRequest(t, g.handler, httptest.NewRequest("GET", path, nil))
		}
		for suffix, kind := range map[string]string{"": "image/png", ".png": "image/png", ".svg": "image/svg+xml"} {
			got := get(address + suffix)
			if got.status != http.StatusOK || got.header.Get("Content-Type") != kind || !strings.Contains(got.header.Get("Content-Security-Policy"), "default-src 'none'") {
				t.Errorf("%s: %d %v", suffix, got.status, got.header)
			}
			if kind == "image/png" {
				if _, err := png.Decode(bytes.NewReader(got.body)); err != nil {
					t.Errorf("%s: %v", suffix, err)
				}
			} else if !bytes.HasPrefix(got.body, []byte("<svg ")) {
				t.Errorf("%.100s", got.body)
			}
		}
		unknown := strings.Repeat("A", 26)
		for _, path := range []string{"/qr/" + unknown, "/qr/" + unknown + ".svg", "/qr/", "/qr/x", "/qr/%00", "/qr/%ff%fe", "/qr/.png", "/qr/.svg", address + "x", strings.ToLower(address),
			address + ".gif", address + "/x", "/qr/" + strings.Repeat("A", 10000)} {
			if got := get(path); got.status != http.StatusNotFound {
				t.Errorf("%.60s: %d %.200s", path, got.status, got.body)
			}
		}
		plain := g.grant(t, create, members{"externalOrderId": "plain", "extendInfo": absent})
		shown(t, plain, members{"bankTransfer.qrUrl": "", "bankTransfer.bankName": "", "bankTransfer.bankAccountNumber": "", "bankTransfer.contentPayment": ""})
	})
}
