package signer

import (
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Request is what a partner's request says. Texts are exactly as sent; those
// that were absent or null, or that the operation does not have, are empty.
type Request struct {
	Operation         Operation
	PartnerCode       string
	Email             string // userEmail or email
	Code              string
	RefreshToken      string
	ExternalOrderID   string
	CryptoCurrency    string
	FiatCurrency      string // empty means VND
	FiatAmount        Number
	BankCode          string
	BankAccountNumber string
	Content           string
	RecipientName     string
	RecipientType     string
	WebhookSecretKey  string
	Signature         string // base64 as sent
}

// Number is a number of a request, never rounded.
type Number struct {
	Literal   string // the characters of the body
	Canonical string // see CanonicalNumber
}

// ReadRequest reads the body of a request of op: strict JSON, members of
// other names ignored. Values are taken as they stand, without trimming, case
// folding or normalisation, and numbers never pass through a float64.
//
// What is wrong with the body is a *FieldError: separators in signed fields
// first, then what is missing or has the wrong format. Limits and meanings of
// values are not judged here, nor is the signature, see Verify.
func ReadRequest(op Operation, body []byte) (Request, error) {
	return readRequest(op, body, true)
}

// ReadUnsigned is ReadRequest of a body that may still lack its signature.
func ReadUnsigned(op Operation, body []byte) (Request, error) {
	return readRequest(op, body, false)
}

func readRequest(op Operation, body []byte, signed bool) (Request, error) {
	wanted, known := requestMembers[op]
	if !known {
		return Request{}, fmt.Errorf("there is no partner operation %q", op)
	}
	sent, err := readBody(body)
	if err != nil {
		return Request{}, err
	}
	r := Request{Operation: op}
	for _, m := range wanted {
		if err := r.read(m, sent); err != nil {
			return Request{}, err
		}
	}
	for _, m := range wanted {
		m.required = m.required && (signed || m.into(&r) != &r.Signature)
		if err := m.check(*m.into(&r), sent); err != nil {
			return Request{}, err
		}
	}
	if slices.Contains(requestSlots[op], "fiatAmount") {
		if r.FiatAmount, err = readNumber("fiatAmount", sent); err != nil {
			return Request{}, err
		}
	}
	return r, nil
}

// readBody returns the members of a body that are not null, those of
// extendInfo under their full names.
func readBody(body []byte) (map[string]jsontext.Value, error) {
	if err := (strictness{}).hold(body); err != nil {
		return nil, err
	}
	sent := make(map[string]jsontext.Value)
	outer, err := members(body)
	if err != nil {
		return nil, err
	}
	const nested = "extendInfo"
	var inner map[string]jsontext.Value
	if err := json.Unmarshal(outer[nested], &inner); err != nil && outer[nested] != nil {
		return nil, &FieldError{Field: nested, Detail: "must be an object"}
	}
	for name, value := range outer {
		if name != nested && !strings.Contains(name, ".") && !isNull(value) {
			sent[name] = value
		}
	}
	for name, value := range inner {
		if !isNull(value) {
			sent[nested+"."+name] = value
		}
	}
	return sent, nil
}

func isNull(value jsontext.Value) bool { return value.Kind() == 'n' }

// read takes m out of sent. Several spellings must agree, so that no one can
// sign one and have the other processed.
func (r *Request) read(m requestMember, sent map[string]jsontext.Value) error {
	first := ""
	for _, name := range m.names {
		raw, found := sent[name]
		if !found {
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return &FieldError{Field: name, Detail: "must be a string"}
		}
		if m.slot != "" {
			if err := checkSeparators(name, text); err != nil {
				return err
			}
		}
		if first != "" && text != *m.into(r) {
			return &FieldError{Field: name, Detail: "must equal " + first}
		}
		first = name
		*m.into(r) = text
	}
	return nil
}

// check judges the text that read took.
func (m requestMember) check(text string, sent map[string]jsontext.Value) error {
	name := m.names[0]
	for _, other := range m.names {
		if _, found := sent[other]; found {
			name = other
			break
		}
	}
	switch {
	case text == "" && m.required:
		return &FieldError{Field: name, Detail: "is required", Reason: Missing}
	case text != "" && m.format != nil && !m.format(text):
		return &FieldError{Field: name, Detail: m.detail}
	}
	return nil
}

func readNumber(name string, sent map[string]jsontext.Value) (Number, error) {
	raw, found := sent[name]
	if !found {
		return Number{}, &FieldError{Field: name, Detail: "is required", Reason: Missing}
	}
	n := Number{Literal: string(raw)}
	var err error
	n.Canonical, err = CanonicalNumber(n.Literal)
	if field, ok := errors.AsType[*FieldError](err); ok {
		field.Field = name
	}
	return n, err
}

// Candidates are the texts the request may have been signed over, the
// documented one first: with the amount in canonical form, then as sent; and
// with fiatCurrency empty, where it was absent, then as VND ("Numbers",
// "fiatCurrency absent").
func (r Request) Candidates(secretKey string) []string {
	values := make(map[string]string)
	for _, m := range requestMembers[r.Operation] {
		values[m.slot] = *m.into(&r)
	}
	currencies := []string{r.FiatCurrency}
	if r.FiatCurrency == "" && r.Operation == OpReviewCashout {
		currencies = append(currencies, "VND")
	}
	amounts := []string{r.FiatAmount.Canonical}
	if r.FiatAmount.Literal != r.FiatAmount.Canonical {
		amounts = append(amounts, r.FiatAmount.Literal)
	}
	var texts []string
	for _, currency := range currencies {
		for _, amount := range amounts {
			values["fiatCurrency"], values["fiatAmount"] = currency, amount
			texts = append(texts, join(requestSlots[r.Operation], values, secretKey))
		}
	}
	return texts
}

// Verify checks the request's signature: one of keys must have made it over
// one of the request's candidates. The error is ErrSignature.
func (r Request) Verify(secretKey string, keys ...*rsa.PublicKey) error {
	for _, text := range r.Candidates(secretKey) {
		for _, key := range keys {
			if Verify(key, []byte(text), r.Signature) == nil {
				return nil
			}
		}
	}
	return ErrSignature
}
