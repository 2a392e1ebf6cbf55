package acceptance

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
// stores may take some.
var client = &http.Client{Timeout: 20 * time.Second}

// answer is what the gateway said.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// call makes one request of the internal API. The error tells that there was
// no answer at all.
func (g *gateway) call(method, path string, body any) (answer, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return answer{}, err
	}
	base, token := g.reach()
	request, err := http.NewRequest(method, base+path, bytes.NewReader(text))
	if err != nil {
		return answer{}, err
	}
	if body == nil {
		request.Body, request.ContentLength = http.NoBody, 0
	} else {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	said, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, said}, err
}

// must makes a request that is answered with status, and decodes the answer.
func (g *gateway) must(method, path string, body any, status int, into any) {
	g.tb.Helper()
	a, err := g.call(method, path, body)
	if err != nil {
		g.tb.Fatal(err)
	}
	if a.status != status {
		g.tb.Fatalf("%s %s: %d, want %d: %s", method, path, a.status, status, a.body)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		g.tb.Fatalf("%s %s: %v: %s", method, path, err, a.body)
	}
}

// shown is a delivery as the API shows it.
type shown struct {
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

// deliveries lists those of a partner, in a state if one is given.
func (g *gateway) deliveries(partner, state string) (all []shown) {
	g.tb.Helper()
	query := url.Values{"partnerCode": {partner}, "limit": {"500"}}
	if state != "" {
		query.Set("state", state)
	}
	for {
		var page struct {
			Items      []shown
			NextCursor string
		}
		g.must("GET", "/internal/v1/deliveries?"+query.Encode(), nil, http.StatusOK, &page)
		all = append(all, page.Items...)
		if page.NextCursor == "" {
			return all
		}
		query.Set("cursor", page.NextCursor)
	}
}

// delivery shows one with its attempts.
func (g *gateway) delivery(id string) (d shown) {
	g.tb.Helper()
	g.must("GET", "/internal/v1/deliveries/"+id, nil, http.StatusOK, &d)
	return d
}

// await waits until every delivery of a partner has ended, and returns them.
func (g *gateway) await(partner string, limit time.Duration) (all []shown) {
	g.tb.Helper()
	ended := func(d shown) bool { return slices.Contains([]string{"delivered", "exhausted", "cancelled"}, d.State) }
	eventually(g.tb, limit, "every delivery has ended", func() bool {
		for _, state := range []string{"pending", "queued", "sending", "held"} {
			var page struct{ Items []shown }
			g.must("GET", fmt.Sprintf("/internal/v1/deliveries?partnerCode=%s&state=%s&limit=1", partner, state), nil, http.StatusOK, &page)
			if len(page.Items) > 0 {
				return false // which is cheaper to find out than that there is none
			}
		}
		all = g.deliveries(partner, "") // one may have changed its state between two looks
		return !slices.ContainsFunc(all, func(d shown) bool { return !ended(d) })
	})
	return all
}
