package orders

import (
	_ "embed"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
)

// Key names an error of the partner operations. It is what X-Error-Code says.
type Key string

// The keys of the errors that partners get.
const (
	KeyInvalidJSON          Key = "INVALID_JSON"
	KeyMissingField         Key = "MISSING_FIELD"       // with Field
	KeyInvalidField         Key = "INVALID_FIELD"       // with Field
	KeyForbiddenCharacter   Key = "FORBIDDEN_CHARACTER" // with Field
	KeyNotFound             Key = "NOT_FOUND"
	KeyMethodNotAllowed     Key = "METHOD_NOT_ALLOWED"
	KeyBodyTooLarge         Key = "BODY_TOO_LARGE"
	KeyUnsupportedMediaType Key = "UNSUPPORTED_MEDIA_TYPE"
	KeyAuthFailed           Key = "AUTH_FAILED"
	KeyAccessTokenInvalid   Key = "ACCESS_TOKEN_INVALID"
	KeyRefreshTokenInvalid  Key = "REFRESH_TOKEN_INVALID"
	KeyCodeInvalid          Key = "CODE_INVALID"
	KeyVerificationRequired Key = "VERIFICATION_REQUIRED"
	KeyFiatNotSupported     Key = "FIAT_NOT_SUPPORTED"
	KeyCryptoNotSupported   Key = "CRYPTO_NOT_SUPPORTED" // with Value
	KeyAmountNotWhole       Key = "AMOUNT_NOT_WHOLE"
	KeyAmountBelowMinimum   Key = "AMOUNT_BELOW_MINIMUM" // with Min
	KeyAmountAboveMaximum   Key = "AMOUNT_ABOVE_MAXIMUM" // with Max
	KeyWebhookSecretInvalid Key = "WEBHOOK_SECRET_INVALID"
	KeyBankNotSupported     Key = "BANK_NOT_SUPPORTED"
	KeyAccountInvalid       Key = "ACCOUNT_INVALID"
	KeyContentInvalid       Key = "CONTENT_INVALID"
	KeyDuplicateOrder       Key = "DUPLICATE_ORDER"
	KeyOrderNotFound        Key = "ORDER_NOT_FOUND"
	KeyPriceUnavailable     Key = "PRICE_UNAVAILABLE"
	KeyRateLimited          Key = "RATE_LIMITED" // with Seconds
	KeyMaintenance          Key = "MAINTENANCE"
	KeyInternalError        Key = "INTERNAL_ERROR"
)

// Status is the HTTP status of the error. A key that is not in the catalogue
// has the status, code and message of INTERNAL_ERROR.
func (k Key) Status() int { return entryOf(k).Status }

// Code is the errorCode of the access-token envelope, never 0.
func (k Key) Code() int { return entryOf(k).Code }

// Error is a partner's fault, or bad luck, in one of the partner operations.
// Besides the key it holds what the key's message speaks of.
type Error struct {
	Key      Key
	Field    string // the name of a request field, "extendInfo.recipientType"
	Detail   string // of KeyInvalidField and KeyContentInvalid: what would be right, in English, one of details
	Value    string // as the partner sent it
	Min, Max int64  // dong
	Seconds  int    // until a new try makes sense
	Err      error  // the cause, for the log only

	detail texts // a sentence behind the message; may be empty
}

// Error is the key with the message in English and the cause, for the log.
func (e *Error) Error() string {
	text := string(e.Key) + ": " + e.Message("en")
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Message is the sentence for the partner in the language of the lang header:
// en, cn or vi in any case and with blanks around; anything else is en.
func (e *Error) Message(lang string) string {
	l := Language(lang)
	text := entryOf(e.Key).in(l)
	if e.Key == KeyInvalidField || e.Key == KeyContentInvalid {
		text += rightIn(e.Detail, l)
	}
	text = strings.NewReplacer(
		"{field}", e.Field,
		"{value}", e.Value,
		"{min}", grouped(e.Min, l),
		"{max}", grouped(e.Max, l),
		"{seconds}", strconv.Itoa(e.Seconds),
	).Replace(text)
	if detail := e.detail.in(l); detail != "" {
		text += " " + detail
	}
	return text
}

// SuccessMessage is the message of the access-token envelope on success; lang
// is read as by Message.
func SuccessMessage(lang string) string { return catalogue().success.in(Language(lang)) }

// Language is the language that a lang header asks for: en, cn or vi.
func Language(lang string) string {
	switch l := strings.ToLower(strings.TrimSpace(lang)); l {
	case "cn", "vi":
		return l
	}
	return "en"
}

// grouped writes n in groups of three digits as readers of lang expect.
func grouped(n int64, lang string) string {
	separator := ","
	if lang == "vi" {
		separator = "."
	}
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + separator + text[i:]
	}
	return text
}

//go:embed error_messages.json
var messagesJSON []byte

type texts struct {
	EN string `json:"en"`
	CN string `json:"cn"`
	VI string `json:"vi"`
}

func (t texts) in(lang string) string {
	switch lang {
	case "cn":
		return t.CN
	case "vi":
		return t.VI
	}
	return t.EN
}

type entry struct {
	Key    Key `json:"key"`
	Status int `json:"http_status"`
	Code   int `json:"errorCode"`
	texts
}

type messages struct {
	success texts
	byKey   map[Key]entry
}

// catalogue is the embedded table. It is part of the program, so a broken one
// is a bug that the first test finds.
var catalogue = sync.OnceValue(func() messages {
	var file struct {
		Success texts   `json:"success_message"`
		Errors  []entry `json:"errors"`
	}
	if err := json.Unmarshal(messagesJSON, &file); err != nil {
		panic("orders: read the embedded error messages: " + err.Error())
	}
	m := messages{success: file.Success, byKey: make(map[Key]entry, len(file.Errors))}
	for _, e := range file.Errors {
		m.byKey[e.Key] = e
	}
	return m
})

func entryOf(k Key) entry {
	if e, ok := catalogue().byKey[k]; ok {
		return e
	}
	return catalogue().byKey[KeyInternalError]
}
