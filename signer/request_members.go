package signer

import (
	"regexp"
	"unicode/utf8"
)

// requestMember says where a text of a request comes from.
type requestMember struct {
	into     func(*Request) *string
	slot     string   // its place in the signing string; empty: not signed
	names    []string // where it may stand in the body; several must agree
	required bool
	format   func(string) bool // nil: any; not asked about an empty text
	detail   string            // what format wants
}

func pattern(expression string) func(string) bool { return regexp.MustCompile(expression).MatchString }

// The members of requests, with the formats of "Signed text" and the names of
// "Create mapping" and "Spellings".
var (
	partnerCode = requestMember{
		into: func(r *Request) *string { return &r.PartnerCode },
		slot: "partnerCode", names: []string{"partnerCode"}, required: true,
		format: pattern(`^[A-Za-z0-9_-]{1,32}$`),
		detail: "must be 1 to 32 of A-Z a-z 0-9 _ -",
	}
	userEmail = requestMember{
		into: func(r *Request) *string { return &r.Email },
		slot: "userEmail", names: []string{"userEmail"}, required: true,
		format: func(s string) bool { return len(s) <= 254 },
		detail: "must be at most 254 bytes long",
	}
	email        = userEmail.named("email", "email")
	refreshToken = requestMember{
		into: func(r *Request) *string { return &r.RefreshToken },
		slot: "refreshToken", names: []string{"refreshToken"}, required: true,
	}
	code = requestMember{
		into:  func(r *Request) *string { return &r.Code },
		names: []string{"code"}, required: true,
	}
	externalOrderID = requestMember{
		into: func(r *Request) *string { return &r.ExternalOrderID },
		slot: "externalOrderId", names: []string{"externalOrderId"}, required: true,
		format: pattern(`^[A-Za-z0-9._:-]{1,64}$`),
		detail: "must be 1 to 64 of A-Z a-z 0-9 . _ : -",
	}
	cryptoCurrency = requestMember{
		into: func(r *Request) *string { return &r.CryptoCurrency },
		slot: "cryptoCurrency", names: []string{"cryptoCurrency", "cryptocurrency", "currency"}, required: true,
		format: currencyFormat, detail: currencyDetail,
	}
	fiatCurrency = requestMember{
		into: func(r *Request) *string { return &r.FiatCurrency },
		slot: "fiatCurrency", names: []string{"fiatCurrency"},
		format: currencyFormat, detail: currencyDetail,
	}
	bankCode = requestMember{
		into: func(r *Request) *string { return &r.BankCode },
		slot: "bankCode", names: []string{"extendInfo.recipientBankCode", "bankCode"},
	}
	bankAccountNumber = requestMember{
		into: func(r *Request) *string { return &r.BankAccountNumber },
		slot: "bankAccountNumber", names: []string{"extendInfo.recipientNumber", "bankAccountNumber"},
		format: pattern(`^[A-Za-z0-9]{1,19}$`),
		detail: "must be 1 to 19 of A-Z a-z 0-9",
	}
	content = requestMember{
		into: func(r *Request) *string { return &r.Content },
		slot: "content", names: []string{"extendInfo.transferContent", "content"},
		format: func(s string) bool { return utf8.RuneCountInString(s) <= 100 },
		detail: "must be at most 100 characters long",
	}
	recipientName = requestMember{
		into:  func(r *Request) *string { return &r.RecipientName },
		names: []string{"extendInfo.recipientName"},
	}
	recipientType = requestMember{
		into:  func(r *Request) *string { return &r.RecipientType },
		names: []string{"extendInfo.recipientType"},
	}
	webhookSecretKey = requestMember{
		into:  func(r *Request) *string { return &r.WebhookSecretKey },
		names: []string{"webhookSecretKey"}, required: true,
	}
	signature = requestMember{
		into:  func(r *Request) *string { return &r.Signature },
		names: []string{"signature"}, required: true,
	}
)

var currencyFormat, currencyDetail = pattern(`^[A-Z0-9]{2,10}$`), "must be 2 to 10 of A-Z 0-9"

// named is m in another slot, under other names if there are any.
func (m requestMember) named(slot string, names ...string) requestMember {
	m.slot = slot
	if len(names) > 0 {
		m.names = names
	}
	return m
}

var requestMembers = map[Operation][]requestMember{
	OpAccessToken:  {partnerCode, userEmail, signature},
	OpRefreshToken: {partnerCode, refreshToken, signature},
	OpSendCode:     {partnerCode, email, signature},
	OpVerify:       {partnerCode, email, code, signature},
	OpReviewCashout: {partnerCode, userEmail, cryptoCurrency, fiatCurrency,
		webhookSecretKey, signature},
	OpCreateCashout: {partnerCode, userEmail, externalOrderID, cryptoCurrency.named("currency"), fiatCurrency.named(""),
		bankCode, bankAccountNumber, content, recipientName, recipientType,
		webhookSecretKey, signature},
	OpOrderDetails: {partnerCode, externalOrderID, signature},
}
