package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

// capture is a notification as somebody kept it.
type capture struct {
	header http.Header
	body   []byte
}

// readCapture reads a file that holds either a body alone or a whole HTTP/1
// request. Headers that are given beside it win.
func readCapture(raw []byte, headers []string) (capture, error) {
	got := capture{header: http.Header{}, body: raw}
	if first := bytes.TrimLeft(raw, " \t\r\n"); len(first) > 0 && first[0] != '{' {
		var err error
		if got, err = readRequest(first); err != nil {
			return capture{}, err
		}
	}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return capture{}, usage("--header must be like 'webhook-id: evt_…', not %q", h)
		}
		got.header.Set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return got, nil
}

// readRequest reads a whole request. Line ends may have lost their carriage
// returns and an editor may have added a last one.
func readRequest(raw []byte) (capture, error) {
	source := bytes.NewReader(raw)
	lines := bufio.NewReader(source)
	first, _ := lines.ReadString('\n')
	if !strings.Contains(first, " HTTP/") {
		return capture{}, errors.New("the file is neither a JSON body nor an HTTP request that begins like POST /hook HTTP/1.1")
	}
	mime, err := textproto.NewReader(lines).ReadMIMEHeader()
	if err != nil {
		return capture{}, fmt.Errorf("read the request's headers: %w", err)
	}
	header := http.Header(mime)
	if header.Get("Transfer-Encoding") != "" {
		return capture{}, errors.New("the request's body is in chunks; save the body alone and give the headers with --header")
	}
	body := raw[len(raw)-source.Len()-lines.Buffered():]
	if length := header.Get("Content-Length"); length != "" {
		n, err := strconv.Atoi(length)
		if err != nil || n < 0 || n > len(body) {
			return capture{}, fmt.Errorf("the file holds %d bytes of body, not the Content-Length of %s: it was cut or changed", len(body), length)
		}
		body = body[:n]
	}
	return capture{header, body}, nil
}
