package webhook

import (
	"errors"
	"strings"
	"time"
)

// Kind says whose fault an error is and what the caller can do about it. The
// web package maps each kind to one HTTP status.
type Kind int

const (
	KindInternal        Kind = iota // ours: 500
	KindInvalid                     // the request is wrong: 400
	KindUnauthenticated             // no valid credential: 401
	KindForbidden                   // a valid credential that may not: 403
	KindNotFound                    // 404
	KindConflict                    // the request contradicts what is stored: 409
	KindTooLarge                    // 413
	KindMediaType                   // 415
	KindRateLimited                 // 429, see RetryAfter
	KindUnavailable                 // a store is gone for a while: 503, see RetryAfter
)

// Error is the one error type that callers of the gateway see. Its texts are
// shown to them as they are: they name the field and what would be right, and
// hold no secret. Every other error is internal and shown as such.
type Error struct {
	Kind       Kind
	Message    string       // one sentence
	Fields     []FieldError // what is wrong where, for KindInvalid
	RetryAfter time.Duration
	Err        error // the cause, for the log only
}

// FieldError says what is wrong with one field.
type FieldError struct {
	Field  string // a JSON pointer ("/data/amount") or the name of a query parameter
	Detail string // what would be right
}

// Error is the message, what is wrong with each field and the cause. It is for
// the log: a caller is shown Message and Fields.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Message)
	for i, f := range e.Fields {
		if i == 0 && e.Message != "" {
			b.WriteString(": ")
		} else if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f.Field + " " + f.Detail)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Invalid returns a KindInvalid error about one field.
func Invalid(field, detail string) *Error {
	return &Error{Kind: KindInvalid, Fields: []FieldError{{field, detail}}}
}

// NotFound returns a KindNotFound error: "there is no delivery dlv_1".
func NotFound(noun, id string) *Error {
	return &Error{Kind: KindNotFound, Message: "there is no " + noun + " " + id}
}

// Conflict returns a KindConflict error.
func Conflict(message string) *Error { return &Error{Kind: KindConflict, Message: message} }

// KindOf returns the kind of err, KindInternal if it is not an *Error.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return KindInternal
}
