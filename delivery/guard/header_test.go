package guard

import (
	"errors"
	"strings"
	"testing"

	"ledgerhook/webhook"
)

func TestCustomHeaders(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		field       string // what the error is about; empty: accepted
	}{
		{"Authorization", "Bearer x", ""},
		{"X-Api-Key", strings.Repeat("v", MaxHeaderValue), ""},
		{"X-Empty", "", ""},
		{"Idempotency-Key", "x", "/headers/Idempotency-Key"},
		{"x-idempotency-key", "x", "/headers/x-idempotency-key"},
		{"Ledgerhook-Attempt", "1", "/headers/Ledgerhook-Attempt"},
		{"Proxy-Authorization", "x", "/headers/Proxy-Authorization"},
		{"TRANSFER-ENCODING", "chunked", "/headers/TRANSFER-ENCODING"},
		{"User-Agent", "x", "/headers/User-Agent"},
		{"Content-Type", "text/plain", "/headers/Content-Type"},
		{"Content-MD5", "x", "/headers/Content-MD5"},
		{"content-digest", "x", "/headers/content-digest"},
		{"Content-Language", "vi", "/headers/Content-Language"},
		{"Content-Disposition", "inline", "/headers/Content-Disposition"},
		{"Content-Whatever", "x", "/headers/Content-Whatever"},
		{"Repr-Digest", "x", "/headers/Repr-Digest"},
		{"Digest", "x", "/headers/Digest"},
		{"ETag", "x", "/headers/ETag"},
		{"Last-Modified", "x", "/headers/Last-Modified"},
		{"Date", "x", "/headers/Date"},
		{"Range", "bytes=0-1", "/headers/Range"},
		{"If-None-Match", "*", "/headers/If-None-Match"},
		{"b3", "0", "/headers/b3"},
		{"X-B3-TraceId", "0", "/headers/X-B3-TraceId"},
		{"Contents", "x", ""},
		{"X~Y", "\x7f", "/headers/X~0Y"},
		{"X-A", "a\tb", "/headers/X-A"},
		{"", "v", "/headers"},
		{"X/A", "v", "/headers"},
		{strings.Repeat("X", MaxHeaderName+1), "v", "/headers"},
	} {
		err := CheckHeader(tt.name, tt.value)
		var e *webhook.Error
		if tt.field == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		} else if !errors.As(err, &e) || e.Fields[0].Field != tt.field {
			t.Errorf("%s: %v, want an error about %s", tt.name, err, tt.field)
		}
	}
}

func TestAHeaderErrorNeverHoldsTheValue(t *testing.T) {
	for _, name := range []string{"Authorization", "Host", "bad name"} {
		if err := CheckHeader(name, "s3cret\n"); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
