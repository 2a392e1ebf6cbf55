package main

import (
	"strings"

	"ledgerhook/signer"
)

// readCapture reads a file that holds either a body alone or a whole HTTP/1
// request. Headers that are given beside it win.
func readCapture(raw []byte, headers []string) (signer.Capture, error) {
	got, err := signer.ReadCapture(raw)
	if err != nil {
		return got, err
	}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return got, usage("--header must be like 'webhook-id: evt_…', not %q", h)
		}
		got.Header.Set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return got, nil
}
