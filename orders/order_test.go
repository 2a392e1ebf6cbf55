package orders

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// create is a create-cashout with everything in it.
func create(t testing.TB) Create {
	return Create{
		PartnerCode: "PARTNER01", Email: "user@example.com", ExternalOrderID: "ORD-0001",
		Crypto: "USDT", FiatCurrency: VND, FiatAmount: amount(t, "50000"),
		ExtendInfo: ExtendInfo{
			TransferContent: "RÚT TIỀN 0001", RecipientName: "NGUYEN VAN A",
			RecipientNumber: "0011001932418", RecipientBankCode: "vcb",
		},
	}
}

// order makes the order of c at 25345.5 VND and a fee of 1000 VND.
func order(t testing.TB, c Create) (Order, error) {
	t.Helper()
	fiat, err := ProductionLimits.Check(c.FiatAmount)
	if err != nil {
		t.Fatal(err)
	}
	rules := FeeRules{Processing: FeeRule{Fixed: 1_000}}
	q, err := NewQuote(c.PartnerCode, c.Email, fiat, usdt(t), rules, DefaultQuoteValidity)
	if err != nil {
		t.Fatal(err)
	}
	return NewOrder(c, q, loadBanks(t, DefaultBankSources), DefaultOrderExpiry)
}

// newOrder is an order that awaits its payment.
func newOrder(t testing.TB) Order {
	t.Helper()
	o, err := order(t, create(t))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestNewOrderCarriesTheQuoteAndTheRecipient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrder(t)
		if o.Type != "CASHOUT" || o.Status != StatusAwaitingPayment || o.Sequence != 0 || o.PaidAmount != 0 {
			t.Errorf("%s %s, sequence %d, paid %d", o.Type, o.Status, o.Sequence, o.PaidAmount)
		}
		if o.FiatAmount != 50_000 || o.BankTransfer.TotalPayment != 51_000 || o.Fees.Processing != 1_000 {
			t.Errorf("fiat %d, total %d, fees %+v", o.FiatAmount, o.BankTransfer.TotalPayment, o.Fees)
		}
		if got := o.TokenTransfer; got.Currency != "USDT" || got.Network != "TRC20" || got.WalletAddress != "TWallet1" ||
			got.Price.String() != "25345.5" || got.Amount.String() != "2.012192" {
			t.Errorf("token transfer %+v", got)
		}
		bank := o.BankTransfer
		bank.TotalPayment, bank.QRToken = 0, ""
		if want := (BankTransfer{BankBIN: "970436", BankName: "Vietcombank", AccountName: "NGUYEN VAN A",
			AccountNumber: "0011001932418", Content: "RUT TIEN 0001"}); bank != want {
			t.Errorf("bank transfer %+v, want %+v", bank, want)
		}
		if o.ExpiresAt.Sub(o.CreatedAt) != 15*time.Minute || !o.CreatedAt.Equal(time.Now()) {
			t.Errorf("created %s, expires %s", o.CreatedAt, o.ExpiresAt)
		}
		if other := newOrder(t); len(o.BankTransfer.QRToken) < 26 || other.BankTransfer.QRToken == o.BankTransfer.QRToken {
			t.Errorf("QR tokens %q and %q", o.BankTransfer.QRToken, other.BankTransfer.QRToken)
		}
	})
}

func TestVietQRPaysTheFiatAmountToTheCustomer(t *testing.T) {
	code, ok := newOrder(t).VietQR()
	want := VietQR{BIN: "970436", Account: "0011001932418", Amount: 50_000, Purpose: "RUT TIEN 0001"}
	if !ok || code != want {
		t.Errorf("code %+v, %t; want %+v", code, ok, want)
	}
	c := create(t)
	c.ExtendInfo.RecipientType = RecipientCard
	o, err := order(t, c)
	if code, _ := o.VietQR(); err != nil || !code.Card {
		t.Errorf("card: %+v, %v", code, err)
	}
}

func TestAbsentContentBecomesTheShortID(t *testing.T) {
	c := create(t)
	c.ExtendInfo.TransferContent = ""
	o, err := order(t, c)
	if err != nil {
		t.Fatal(err)
	}
	content := o.BankTransfer.Content
	if clean, err := Purpose(content); clean != content || err != nil || !strings.HasSuffix(o.ID, content) {
		t.Errorf("content %q of order %s", content, o.ID)
	}
}

func TestOrderWithoutRecipientHasAnEmptyBankTransfer(t *testing.T) {
	c := create(t)
	c.ExtendInfo = ExtendInfo{}
	o, err := order(t, c)
	if err != nil {
		t.Fatal(err)
	}
	if o.BankTransfer != (BankTransfer{TotalPayment: 51_000}) {
		t.Errorf("bank transfer %+v", o.BankTransfer)
	}
	if _, ok := o.VietQR(); ok {
		t.Error("there is a code without a recipient")
	}
}

func TestWrongRecipientsAreRefused(t *testing.T) {
	limits := vectors[limitsFile](t, "limits.json").VietQR
	for _, test := range []struct {
		name   string
		change func(*ExtendInfo)
		key    Key
		field  string
	}{
		{"longest account", func(e *ExtendInfo) { e.RecipientNumber = strings.Repeat("9", limits.AccountLen[1]) }, "", ""},
		{"shortest account", func(e *ExtendInfo) { e.RecipientNumber = strings.Repeat("9", limits.AccountLen[0]) }, "", ""},
		{"account type", func(e *ExtendInfo) { e.RecipientType = "ACCOUNT" }, "", ""},
		{"no name", func(e *ExtendInfo) { e.RecipientName = "" }, "", ""},
		{"a name with marks of its own and a no-break space", func(e *ExtendInfo) { e.RecipientName = "NGUYE\u0302\u0303N\u00a0ĐÌNH" }, "", ""},
		{"name too long", func(e *ExtendInfo) { e.RecipientName = strings.Repeat("Ầ", 101) }, KeyInvalidField, "extendInfo.recipientName"},
		{"name with a NUL", func(e *ExtendInfo) { e.RecipientName = "A\x00" }, KeyInvalidField, "extendInfo.recipientName"},
		{"name that turns the line around", func(e *ExtendInfo) { e.RecipientName = "A\u202eB" }, KeyInvalidField, "extendInfo.recipientName"},
		{"name without a recipient", func(e *ExtendInfo) { *e = ExtendInfo{RecipientName: "A\n"} }, KeyInvalidField, "extendInfo.recipientName"},
		{"account too long", func(e *ExtendInfo) { e.RecipientNumber = strings.Repeat("9", limits.AccountLen[1]+1) }, KeyAccountInvalid, ""},
		{"account with blanks", func(e *ExtendInfo) { e.RecipientNumber = "0011 0019" }, KeyAccountInvalid, ""},
		{"unknown bank", func(e *ExtendInfo) { e.RecipientBankCode = "NOPE" }, KeyBankNotSupported, ""},
		{"bank without transfers", func(e *ExtendInfo) { e.RecipientBankCode = "HSBC" }, KeyBankNotSupported, ""},
		{"content too long", func(e *ExtendInfo) { e.TransferContent = strings.Repeat("a", 26) }, KeyContentInvalid, ""},
		{"content of nothing", func(e *ExtendInfo) { e.TransferContent = "越南" }, KeyContentInvalid, ""},
		{"unknown type", func(e *ExtendInfo) { e.RecipientType = "card" }, KeyInvalidField, "extendInfo.recipientType"},
		{"no bank", func(e *ExtendInfo) { e.RecipientBankCode = "" }, KeyMissingField, "extendInfo.recipientBankCode"},
		{"no account", func(e *ExtendInfo) { e.RecipientNumber = "" }, KeyMissingField, "extendInfo.recipientNumber"},
	} {
		c := create(t)
		test.change(&c.ExtendInfo)
		_, err := order(t, c)
		if keyOf(err) != test.key {
			t.Errorf("%s: %v, want %q", test.name, err, test.key)
		}
		if e, ok := err.(*Error); ok && e.Field != test.field {
			t.Errorf("%s: field %q, want %q", test.name, e.Field, test.field)
		}
	}
}

// However a bank is named it is one bank, also to orders that an earlier
// version stored with the name as it was sent.
func TestABankIsOneHoweverItIsNamed(t *testing.T) {
	banks := loadBanks(t, DefaultBankSources)
	names := []string{"vcb", "VCB", "970436", "Vietcombank", "VIETCOMBANK", "BFTVVNVX", "bftvvnvxxxx", "BFTVVNVX007"}
	for _, stored := range names {
		c := create(t)
		c.ExtendInfo.RecipientBankCode = stored
		made, err := order(t, c)
		if err != nil || made.BankTransfer.BankBIN != "970436" {
			t.Fatalf("%s: %s, %v", stored, made.BankTransfer.BankBIN, err)
		}
		for _, sent := range names {
			again := create(t)
			again.ExtendInfo.RecipientBankCode = sent
			if !again.Canonical(banks).Made(made) {
				t.Errorf("%s is not taken for %s", sent, stored)
			}
		}
		old := made
		old.Fingerprint = c.Fingerprint() // as earlier versions did
		if !c.Canonical(banks).Made(old) {
			t.Errorf("%s is not taken for itself in an old order", stored)
		}
		c.ExtendInfo.RecipientBankCode = "970436"
		if listed := len(stored) == 8 || len(stored) < 7 || stored == "Vietcombank"; listed && !c.Canonical(banks).Made(old) {
			t.Errorf("970436 is not taken for %s in an old order", stored)
		}
		c.ExtendInfo.RecipientBankCode = "ICB"
		if c.Canonical(banks).Made(made) || c.Canonical(banks).Made(old) {
			t.Errorf("another bank is taken for %s", stored)
		}
	}
}

func TestFingerprintIsOfValuesNotOfSpellings(t *testing.T) {
	want := create(t).Fingerprint()
	for name, change := range map[string]func(*Create){
		"amount as 5e4":        func(c *Create) { c.FiatAmount = amount(t, "5e4") },
		"amount as 50000.0":    func(c *Create) { c.FiatAmount = amount(t, "50000.0") },
		"absent fiat currency": func(c *Create) { c.FiatCurrency = "" },
		"named recipient type": func(c *Create) { c.ExtendInfo.RecipientType = RecipientAccount },
		"partner":              func(c *Create) { c.PartnerCode = "OTHER" }, // ids are per partner anyway
	} {
		c := create(t)
		if change(&c); c.Fingerprint() != want {
			t.Errorf("%s changes the fingerprint", name)
		}
	}
	seen := map[string]string{want: "the original"}
	for name, change := range map[string]func(*Create){
		"e-mail":       func(c *Create) { c.Email = "other@example.com" },
		"id":           func(c *Create) { c.ExternalOrderID = "ORD-0002" },
		"crypto":       func(c *Create) { c.Crypto = "USDC" },
		"amount":       func(c *Create) { c.FiatAmount = amount(t, "50001") },
		"content":      func(c *Create) { c.ExtendInfo.TransferContent = "" },
		"name":         func(c *Create) { c.ExtendInfo.RecipientName = "NGUYEN VAN B" },
		"number":       func(c *Create) { c.ExtendInfo.RecipientNumber = "1" },
		"bank":         func(c *Create) { c.ExtendInfo.RecipientBankCode = "ICB" },
		"type":         func(c *Create) { c.ExtendInfo.RecipientType = RecipientCard },
		"no recipient": func(c *Create) { c.ExtendInfo = ExtendInfo{} },
		"moved text": func(c *Create) {
			c.ExtendInfo.TransferContent, c.ExtendInfo.RecipientName = "RÚT TIỀN 0001NGUYEN", " VAN A"
		},
	} {
		c := create(t)
		change(&c)
		got := c.Fingerprint()
		if twin, taken := seen[got]; taken {
			t.Errorf("%s has the fingerprint of %s", name, twin)
		}
		seen[got] = name
	}
}
