package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// api is the gateway's internal API, which the demo uses as any internal
// system does.
type api struct {
	base, token string
	http        *http.Client
}

// refusal is an answer that is not 2xx.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return fmt.Sprintf("answered %d: %s", r.status, r.text) }

// call sends body, decodes a 2xx answer into out and returns its status.
func (a *api) call(ctx context.Context, method, path string, body, out any) (int, error) {
	var payload io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return 0, fmt.Errorf("encode a request of %s: %w", path, err)
		}
		payload = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, payload)
	if err != nil {
		return 0, fmt.Errorf("make a request of %s: %w", path, err)
	}
	if a.token != "" { // the public listener takes none
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := a.http.Do(req)
	if err != nil {
		return 0, fmt.Errorf("call %s: %w", path, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, fmt.Errorf("read the answer of %s: %w", path, err)
	}
	if res.StatusCode/100 != 2 {
		return res.StatusCode, fmt.Errorf("%s %w", path, &refusal{res.StatusCode, string(raw)})
	}
	if out == nil {
		return res.StatusCode, nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return res.StatusCode, fmt.Errorf("understand the answer of %s: %w", path, err)
	}
	return res.StatusCode, nil
}

// delivery is what the summary needs to know of one.
type delivery struct {
	EventID      string `json:"eventId"`
	State        string `json:"state"`
	AttemptCount int    `json:"attemptCount"`
}

// deliveries lists all of a partner's deliveries made since a time.
func (a *api) deliveries(ctx context.Context, partner string, since time.Time) ([]delivery, error) {
	query := url.Values{"partnerCode": {partner}, "limit": {strconv.Itoa(500)},
		"since": {since.UTC().Format(time.RFC3339Nano)}}
	var all []delivery
	for {
		var page struct {
			Items      []delivery `json:"items"`
			NextCursor string     `json:"nextCursor"`
		}
		if _, err := a.call(ctx, http.MethodGet, "/internal/v1/deliveries?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.NextCursor == "" {
			return all, nil
		}
		query.Set("cursor", page.NextCursor)
	}
}
