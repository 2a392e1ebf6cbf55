package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ledgerhook/config"
)

const maxAnswer = 64 << 20 // bytes of an answer that are read

// client speaks to the internal API of a running server.
type client struct {
	base        string
	token       string
	tokenSource string // where token was found, for the message about a wrong one
	http        *http.Client
}

// client returns a client for the server that the environment names.
func (c *cli) client() (*client, error) {
	if c.api != nil {
		return c.api, nil
	}
	cfg, err := config.Load("", []string{"LEDGERHOOK_URL=" + c.env("LEDGERHOOK_URL")}) // the others are the server's
	if err != nil {
		return nil, settingsError(err)
	}
	// The API never redirects: whatever does is not it, and must not get the token.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	api := &client{base: cfg.URL.String(), http: &http.Client{Timeout: 30 * time.Second, CheckRedirect: stay}}
	if api.token, api.tokenSource, err = c.token(); err != nil {
		return nil, err
	}
	c.api = api
	return api, nil
}

// token finds the bearer of the internal API: given, in a file that is named,
// or where an embedded server on this machine keeps its own.
func (c *cli) token() (token, source string, err error) {
	if t := c.env("LEDGERHOOK_TOKEN"); t != "" {
		return t, "LEDGERHOOK_TOKEN", nil
	}
	named := c.env("LEDGERHOOK_TOKEN_FILE")
	file := named
	if file == "" {
		file = filepath.Join(cmp.Or(c.env("LEDGERHOOK_DATA_DIR"), "data"), "internal-token")
	}
	raw, err := os.ReadFile(file)
	switch {
	case err == nil:
		return strings.TrimSpace(strings.TrimPrefix(string(raw), "\uFEFF")), file, nil
	case named == "" && errors.Is(err, os.ErrNotExist):
		return "", "", &exitError{exitNotAllowed, fmt.Errorf(
			"no token: set LEDGERHOOK_TOKEN, or LEDGERHOOK_DATA_DIR to the directory of the server's data (there is no %s)", file)}
	}
	return "", "", &exitError{exitNotAllowed, fmt.Errorf("read the token: %w", err)}
}

// call calls the server that the environment names.
func (c *cli) call(ctx context.Context, method, path string, body any) (json.RawMessage, error) {
	api, err := c.client()
	if err != nil {
		return nil, err
	}
	return api.call(ctx, method, path, body)
}

// tell is a call whose answer holds nothing to print; it says that it is done.
func (c *cli) tell(ctx context.Context, method, path string, body any, format string, args ...any) error {
	if _, err := c.call(ctx, method, path, body); err != nil {
		return err
	}
	c.say(format, args...)
	return nil
}

// call sends body as JSON, if there is one, and returns the JSON of a 2xx
// answer. Any other answer is an *apiError.
func (a *client) call(ctx context.Context, method, path string, body any) (json.RawMessage, error) {
	var payload io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		payload = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, payload)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	res, err := a.http.Do(req)
	if err != nil {
		return nil, a.unreachable(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", a.base, err)
	}
	if res.StatusCode/100 != 2 {
		return nil, a.refusal(res, raw)
	}
	if len(raw) > 0 && !json.Valid(raw) {
		return nil, fmt.Errorf("%s does not answer like a Ledgerhook server; is LEDGERHOOK_URL its internal address?", a.base)
	}
	return raw, nil
}

// fetch calls with method and decodes the answer; it returns the JSON too.
func fetch[T any](ctx context.Context, c *cli, method, path string, body any) (T, json.RawMessage, error) {
	var out T
	raw, err := c.call(ctx, method, path, body)
	if err != nil {
		return out, nil, err
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, nil, fmt.Errorf("understand the answer of %s: %w", c.api.base, err)
	}
	return out, raw, nil
}

func (a *client) unreachable(err error) error {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no server answers at %s: start one with ledgerhook serve, or set LEDGERHOOK_URL to its address", a.base)
	case errors.As(err, &timeout) && timeout.Timeout():
		return &exitError{exitTimedOut, fmt.Errorf("%s did not answer in time", a.base)}
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the method and URL, which say nothing to the caller
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Errorf("%s shows a certificate of an authority that this machine does not know: set SSL_CERT_FILE to the authority's certificate, a PEM file", a.base)
	}
	return fmt.Errorf("reach %s: %w", a.base, err)
}

// problem is what this program reads of an RFC 9457 problem document.
type problem struct {
	Title  string       `json:"title"`
	Detail string       `json:"detail"`
	Errors []fieldError `json:"errors"`
}

// fieldError is what a problem document says of one field: of a body by its
// JSON pointer, or of a query by its parameter.
type fieldError struct {
	Pointer   string `json:"pointer"`
	Parameter string `json:"parameter"`
	Detail    string `json:"detail"`
}

func (a *client) refusal(res *http.Response, raw []byte) error {
	if res.StatusCode == http.StatusUnauthorized {
		return &apiError{status: res.StatusCode, text: fmt.Sprintf(
			"%s refuses the token of %s: set LEDGERHOOK_TOKEN to the one it was started with, or to one of ledgerhook token create that is neither expired nor revoked", a.base, a.tokenSource)}
	}
	if to := res.Header.Get("Location"); res.StatusCode/100 == 3 {
		return fmt.Errorf("%s redirects to %s; is LEDGERHOOK_URL the server's internal address?", a.base, to)
	}
	var p problem
	_ = json.Unmarshal(raw, &p) // not a problem document: the status says what is known
	text := cmp.Or(p.Detail, p.Title, "the server answered "+res.Status)
	var fields []string
	for _, e := range p.Errors {
		if !strings.Contains(text, e.Detail) {
			fields = append(fields, strings.TrimPrefix(e.Pointer+e.Parameter, "/")+": "+e.Detail)
		}
	}
	if len(fields) > 0 {
		text += " (" + strings.Join(fields, "; ") + ")"
	}
	if after := res.Header.Get("Retry-After"); after != "" {
		text += "; try again in " + after + " s"
	}
	return &apiError{res.StatusCode, text, p.Errors}
}
