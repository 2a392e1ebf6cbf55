package signer

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

// Capture is a notification as somebody kept it.
type Capture struct {
	Header http.Header
	Body   []byte
	Rest   []byte // what follows the body, by the Content-Length that was kept
}

// Why a capture cannot be read.
var (
	ErrNoRequest = errors.New("the file is neither a JSON body nor an HTTP request that begins like POST /hook HTTP/1.1")
	ErrChunked   = errors.New("the request's body is in chunks; save the body alone and give the headers with --header")
	ErrCut       = errors.New("it was cut or changed")
)

// ReadCapture reads either a body alone, which begins with a brace, or a whole
// HTTP/1 request. Line ends may have lost their carriage returns and an editor
// may have added a last one. An error that is none of the above is about the
// request's headers.
func ReadCapture(raw []byte) (Capture, error) {
	request := bytes.TrimLeft(raw, " \t\r\n")
	if len(request) == 0 || request[0] == '{' {
		return Capture{Header: http.Header{}, Body: raw}, nil
	}
	source := bytes.NewReader(request)
	lines := bufio.NewReader(source)
	first, _ := lines.ReadString('\n')
	if !strings.Contains(first, " HTTP/") {
		return Capture{}, ErrNoRequest
	}
	mime, err := textproto.NewReader(lines).ReadMIMEHeader()
	if err != nil {
		return Capture{}, fmt.Errorf("read the request's headers: %w", err)
	}
	got := Capture{Header: http.Header(mime), Body: request[len(request)-source.Len()-lines.Buffered():]}
	if got.Header.Get("Transfer-Encoding") != "" {
		return Capture{}, ErrChunked
	}
	if length := got.Header.Get("Content-Length"); length != "" {
		n, err := strconv.Atoi(length)
		if err != nil || n < 0 || n > len(got.Body) {
			return Capture{}, fmt.Errorf("the file holds %d bytes of body, not the Content-Length of %s: %w", len(got.Body), length, ErrCut)
		}
		got.Body, got.Rest = got.Body[:n], got.Body[n:]
	}
	return got, nil
}
