package signer

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
)

func TestWhatWasSignedInsteadIsNamed(t *testing.T) {
	const text = "PARTNER01|ORD-0001|USDT|50000|970436|0011001932418|RUT TIEN|User@example.com|k"
	partner := vectorKey(t, "partner")
	read := func(signature string) Request {
		r, err := ReadRequest(OpCreateCashout, with(OpCreateCashout, map[string]string{
			"userEmail": `"User@example.com"`, "fiatAmount": "50000", "signature": `"` + signature + `"`,
			"extendInfo": `{"recipientBankCode":"970436","recipientNumber":"0011001932418","transferContent":"RUT TIEN"}`}))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, c := range [][3]string{ // what is replaced in the text, by what, and what is said of it
		{"50000", "50000.0", `fiatAmount was signed as "50000.0", not as "50000"`},
		{"50000", "50,000", `fiatAmount was signed as "50,000"`},
		{"50000", "5e4", `fiatAmount was signed as "5e4"`},
		{"50000", "5E+04", `fiatAmount was signed as "5E+04"`},
		{"50000|", "|", `fiatAmount was signed as ""`},
		{"50000|", "", "fiatAmount was left out together with its bar"},
		{"970436", "undefined", `bankCode was signed as "undefined"`},
		{"RUT TIEN", "rut tien", `content was signed as "rut tien"`},
		{"RUT TIEN", "RUT TIEN ", `content was signed as "RUT TIEN "`},
		{"User@", "user@", `userEmail was signed as "user@example.com", not as "User@example.com"`},
		{"USDT", "VND", `currency was signed as "VND"`},
		{"|k", "", "secretKey was left out"},
		{"|k", "|", "secretKey was left out"},
		{"|k", "|k\n", "a line end was signed after the text"},
		{"970436|0011001932418", "0011001932418|970436", "bankAccountNumber stands where bankCode belongs"},
		{text, "PARTNER01|User@example.com|k", "the text of access-token was signed"},
		{"|k", "|other", "another secretKey was signed"},
		{"RUT TIEN|User@", "RUT|user@", "more than one value differs"},
	} {
		signature, err := partner.Sign([]byte(strings.Replace(text, c[0], c[1], 1)))
		if err != nil {
			t.Fatal(err)
		}
		if said := read(signature).Explain("k", partner.Public()).String(); !strings.Contains(said, c[2]) {
			t.Errorf("%q as %q: %q, want %q", c[0], c[1], said, c[2])
		}
	}
	right, _ := partner.Sign([]byte(text))
	other, _ := anotherKey().Sign([]byte(text))
	sum, digest := sha1.Sum([]byte(text)), sha256.Sum256([]byte(text))
	old, _ := rsa.SignPKCS1v15(nil, partner.private, crypto.SHA1, sum[:])
	pss, _ := rsa.SignPSS(rand.Reader, partner.private, crypto.SHA256, digest[:], nil)
	for signature, want := range map[string]string{
		other: "another key signed", right[:300]: "it was cut", "!": "not base64",
		base64.StdEncoding.EncodeToString(old): "the digest is not SHA-256", base64.StdEncoding.EncodeToString(pss): "the padding is PSS",
		base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\xff", 256))): "another key signed",
	} {
		if said := read(signature).Explain("k", partner.Public()).String(); !strings.Contains(said, want) {
			t.Errorf("%.20s…: %q, want %q", signature, said, want)
		}
	}
}

func FuzzExplain(f *testing.F) {
	key := vectorKey(f, "partner").Public()
	f.Add("50000", "a@b.c", "c2ln")
	f.Add("-0.0e0", "é\u00a0", strings.Repeat("A", 344))
	f.Fuzz(func(t *testing.T, amount, email, signature string) {
		r := Request{Operation: OpReviewCashout, PartnerCode: "P", Email: strings.ReplaceAll(email, "|", ""), Signature: signature}
		r.FiatAmount.Literal = amount
		var err error
		if r.FiatAmount.Canonical, err = CanonicalNumber(amount); err != nil {
			return
		}
		if r.Explain("a secret", key).None() {
			t.Error("says nothing")
		}
	})
}
