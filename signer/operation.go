package signer

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Operation is one of the partner operations.
type Operation string

// The signed operations of the partner interface.
const (
	OpAccessToken   Operation = "access-token"
	OpRefreshToken  Operation = "refresh-token"
	OpSendCode      Operation = "send-code"
	OpVerify        Operation = "verify"
	OpReviewCashout Operation = "review-cashout"
	OpCreateCashout Operation = "create-cashout"
	OpOrderDetails  Operation = "order-details"
)

// Operations lists every operation.
var Operations = []Operation{OpAccessToken, OpRefreshToken, OpSendCode, OpVerify,
	OpReviewCashout, OpCreateCashout, OpOrderDetails}

var requestSlots = map[Operation][]string{
	OpAccessToken:   {"partnerCode", "userEmail"},
	OpRefreshToken:  {"partnerCode", "refreshToken"},
	OpSendCode:      {"partnerCode", "email"},
	OpVerify:        {"partnerCode", "email"},
	OpReviewCashout: {"partnerCode", "userEmail", "fiatCurrency", "fiatAmount", "cryptoCurrency"},
	OpCreateCashout: {"partnerCode", "externalOrderId", "currency", "fiatAmount", "bankCode",
		"bankAccountNumber", "content", "userEmail"},
	OpOrderDetails: {"partnerCode", "externalOrderId"},
}

var orderSlots = []string{"externalOrderId", "type", "fiatAmount", "status"}

var responseSlots = map[Operation][]string{
	OpVerify:        {"email"},
	OpReviewCashout: {"fiatAmount", "currency", "price", "tokenAmount", "totalPayment"},
	OpCreateCashout: orderSlots,
	OpOrderDetails:  orderSlots, // answers with an order as create-cashout does
}

// RequestSlots names what a request of op signs, in order and before the
// secret key (Authentication, 3). It is nil for an unknown operation.
func RequestSlots(op Operation) []string { return slices.Clone(requestSlots[op]) }

// ResponseSlots names what the response to op signs, as RequestSlots; nil if
// that response is not signed.
func ResponseSlots(op Operation) []string { return slices.Clone(responseSlots[op]) }

// RequestString is the text a partner signs for a request of op: the values
// of RequestSlots exactly as sent and the secret key, joined with bars. An
// absent value is an empty slot. A value that could shift the slots is a
// *FieldError of reason Forbidden; a name that is no slot of op is an error.
func RequestString(op Operation, values map[string]string, secretKey string) (string, error) {
	return signingString(requestSlots[op], "a "+string(op)+" request", values, secretKey)
}

// ResponseString is the text the gateway signs for its response to op, built
// from ResponseSlots as RequestString is. Numbers are given as the very
// characters of the response's body ("Numbers").
func ResponseString(op Operation, values map[string]string, secretKey string) (string, error) {
	return signingString(responseSlots[op], "a "+string(op)+" response", values, secretKey)
}

func signingString(slots []string, what string, values map[string]string, secretKey string) (string, error) {
	if slots == nil {
		return "", fmt.Errorf("%s is not signed", what)
	}
	for name := range values {
		if !slices.Contains(slots, name) {
			return "", fmt.Errorf("%q is not signed in %s", name, what)
		}
	}
	for _, slot := range slots {
		if err := checkSeparators(slot, values[slot]); err != nil {
			return "", err
		}
	}
	return join(slots, values, secretKey), nil
}

// join builds the string of values that passed checkSeparators.
func join(slots []string, values map[string]string, secretKey string) string {
	var b strings.Builder
	for _, slot := range slots {
		b.WriteString(values[slot])
		b.WriteByte('|')
	}
	b.WriteString(secretKey)
	return b.String()
}

// checkSeparators is the rule that keeps two different requests from having
// one signing string: no bar, control character or invalid UTF-8 in a signed
// value ("Signed text").
func checkSeparators(field, value string) error {
	forbidden := func(r rune) bool { return r == '|' || r < 0x20 || r == 0x7f }
	if strings.ContainsFunc(value, forbidden) || !utf8.ValidString(value) {
		return &FieldError{Field: field, Reason: Forbidden,
			Detail: "must not hold a bar, a control character or invalid UTF-8"}
	}
	return nil
}
