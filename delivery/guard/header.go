package guard

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"ledgerhook/webhook"
)

// The longest name and value of a custom header, in bytes.
const (
	MaxHeaderName  = 128
	MaxHeaderValue = 4096
)

// reservedHeaders are written by the gateway or by HTTP itself, or describe
// the body, whose bytes the owner of an endpoint does not know. The two
// idempotency keys are among them because net/http takes them for a leave to
// send a request again without telling anybody.
var reservedHeaders = []string{
	"host", "user-agent", "date", "range", "digest", "repr-digest", "etag", "last-modified",
	"accept-encoding", "connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "expect",
	"idempotency-key", "x-idempotency-key", "traceparent", "tracestate", "baggage", "b3",
}

var reservedPrefixes = []string{"webhook-", "ledgerhook-", "content-", "if-", "proxy-", "x-b3-"}

// CheckHeader decides whether an endpoint may carry the custom header name
// with value. The error is a KindInvalid *webhook.Error about the header's
// member of "/headers"; it never holds the value, which may be a credential.
func CheckHeader(name, value string) error {
	if len(name) > MaxHeaderName || !httpguts.ValidHeaderFieldName(name) {
		return webhook.Invalid("/headers", "must have names of at most "+strconv.Itoa(MaxHeaderName)+
			" letters, digits and hyphens")
	}
	field := "/headers/" + strings.ReplaceAll(name, "~", "~0") // "~" is the one token character a JSON pointer escapes
	if reserved(strings.ToLower(name)) {
		return webhook.Invalid(field, "must not be set: the gateway or HTTP itself decides on it")
	}
	if len(value) > MaxHeaderValue || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
		return webhook.Invalid(field, "must have a value of at most "+strconv.Itoa(MaxHeaderValue)+
			" printable ASCII characters")
	}
	return nil
}

func reserved(lower string) bool {
	return slices.Contains(reservedHeaders, lower) ||
		slices.ContainsFunc(reservedPrefixes, func(p string) bool { return strings.HasPrefix(lower, p) })
}
