package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"

	"ledgerhook/webhook"
)

// ReadBody reads the whole body of at most limit bytes. A longer one is a
// KindTooLarge error, one that does not arrive a KindInvalid error.
func ReadBody(r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	const most = 64 << 10 // reserved on the client's word alone
	b := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0), most)+bytes.MinRead))
	_, err := b.ReadFrom(io.LimitReader(r.Body, limit+1))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge(over.Limit)
	case err != nil:
		return nil, &webhook.Error{Kind: webhook.KindInvalid, Message: "the body could not be read to its end", Err: err}
	case int64(b.Len()) > limit:
		return nil, tooLarge(limit)
	}
	return b.Bytes(), nil
}

func tooLarge(limit int64) error {
	return &webhook.Error{Kind: webhook.KindTooLarge, Message: fmt.Sprintf("the body must not be larger than %d bytes", limit)}
}

// emptyParameters are a part of a media type that RFC 9110 allows and the mime
// package does not.
var emptyParameters = regexp.MustCompile(`;[ \t;]*(;|$)`)

// CheckJSONType returns a KindMediaType error unless r says that its body is
// plain JSON in UTF-8, in whatever spelling.
func CheckJSONType(r *http.Request) error {
	media, params, err := mime.ParseMediaType(emptyParameters.ReplaceAllString(r.Header.Get("Content-Type"), "$1"))
	charset, given := params["charset"]
	utf8 := !given || strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "utf8")
	if err != nil || media != "application/json" || !utf8 {
		return &webhook.Error{Kind: webhook.KindMediaType, Message: "the header Content-Type must be application/json"}
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return &webhook.Error{Kind: webhook.KindMediaType, Message: "the body must not be compressed"}
	}
	return nil
}
