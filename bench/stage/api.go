package stage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// client gives every answer time, since a gateway under load or without its
// stores may take some. It keeps a connection for each poster: opening one
// costs more than an event does.
var client = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 2 * posters}}

// Answer is what the gateway said.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Call makes one request of the internal API. The error tells that there was
// no answer at all, or that the test is over.
func (g *Gateway) Call(method, path string, body any) (Answer, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return Answer{}, err
	}
	base, token := g.Reach()
	request, err := http.NewRequestWithContext(g.tb.Context(), method, base+path, bytes.NewReader(text))
	if err != nil {
		return Answer{}, err
	}
	if body == nil {
		request.Body, request.ContentLength = http.NoBody, 0
	} else {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	said, err := io.ReadAll(response.Body)
	return Answer{response.StatusCode, response.Header, said}, err
}

// Must makes a request that is answered with status, and decodes the answer.
func (g *Gateway) Must(method, path string, body any, status int, into any) {
	g.tb.Helper()
	a, err := g.Call(method, path, body)
	if err != nil {
		g.tb.Fatal(err)
	}
	if a.Status != status {
		g.tb.Fatalf("%s %s: %d, want %d: %s", method, path, a.Status, status, a.Body)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(a.Body, into); err != nil {
		g.tb.Fatalf("%s %s: %v: %s", method, path, err, a.Body)
	}
}

// Shown is a delivery as the API shows it.
type Shown struct {
	DeliveryID   string
	EventID      string
	State        string
	AttemptCount int
	Attempts     []struct {
		Number      int
		Trigger     string
		Outcome     string
		StatusCode  int
		ErrorDetail string
	}
}

// Deliveries lists those of a partner, in a state if one is given.
func (g *Gateway) Deliveries(partner, state string) (all []Shown) {
	g.tb.Helper()
	query := url.Values{"partnerCode": {partner}, "limit": {"500"}}
	if state != "" {
		query.Set("state", state)
	}
	for {
		var page struct {
			Items      []Shown
			NextCursor string
		}
		g.Must("GET", "/internal/v1/deliveries?"+query.Encode(), nil, http.StatusOK, &page)
		all = append(all, page.Items...)
		if page.NextCursor == "" {
			return all
		}
		query.Set("cursor", page.NextCursor)
	}
}

// Delivery shows one with its attempts.
func (g *Gateway) Delivery(id string) (d Shown) {
	g.tb.Helper()
	g.Must("GET", "/internal/v1/deliveries/"+id, nil, http.StatusOK, &d)
	return d
}

// Await waits until every delivery of a partner has ended, and returns them.
func (g *Gateway) Await(partner string, limit time.Duration) (all []Shown) {
	g.tb.Helper()
	ended := func(d Shown) bool { return slices.Contains([]string{"delivered", "exhausted", "cancelled"}, d.State) }
	Asking(g.tb, limit, "every delivery has ended", func() bool {
		for _, state := range []string{"pending", "queued", "sending", "held"} {
			var page struct{ Items []Shown }
			g.Must("GET", fmt.Sprintf("/internal/v1/deliveries?partnerCode=%s&state=%s&limit=1", partner, state), nil, http.StatusOK, &page)
			if len(page.Items) > 0 {
				return false // which is cheaper to find out than that there is none
			}
		}
		all = g.Deliveries(partner, "") // one may have changed its state between two looks
		return !slices.ContainsFunc(all, func(d Shown) bool { return !ended(d) })
	})
	return all
}
