package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A key is rotated between two attempts of an event: the second sends the bytes
// of the first, signed with the former key, while what is accepted now is signed
// with the new one. Both are published.
func TestARetryKeepsItsKeyWhenAnotherFollows(t *testing.T) {
	t.Parallel()
	_, public := keyPair(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	type attempt struct{ event, key, body string }
	came, answers := make(chan attempt), make(chan int)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		came <- attempt{r.Header.Get("Webhook-Id"), r.Header.Get("Ledgerhook-Key-Id"), string(body)}
		w.WriteHeader(<-answers)
	}))
	t.Cleanup(receiver.Close)
	next := func(answer int) (a attempt) {
		t.Helper()
		select {
		case a = <-came:
		case <-ctx.Done():
			t.Fatal("no attempt was made")
		}
		answers <- answer
		return a
	}
	serve, internal := startServer(ctx, t, "LEDGERHOOK_DELIVERY_ALLOW_CIDRS=127.0.0.0/8", "LEDGERHOOK_DELIVERY_RETRY=0s,1s")
	data := filepath.Join(serve.Dir, "data")
	client := []string{"LEDGERHOOK_URL=" + internal, "LEDGERHOOK_DATA_DIR=" + data}
	runProgram(t, client, "", "partner", "create", "acme", "--public-key", public).has(t, exitOK, "")
	runProgram(t, client, "", "endpoint", "add", "acme", "--url", receiver.URL).has(t, exitOK, "")
	send := func(id string) {
		t.Helper()
		event := `{"id":"` + id + `","cardId":"card_1","amount":250000,"fee":"1250.50","status":"Completed","createdAt":1767225600}`
		runProgram(t, client, event, "send", "acme", "--type", "TopupCard", "--data", "-").has(t, exitOK, "")
	}
	send("top_1")
	first := next(http.StatusServiceUnavailable)
	made := runProgram(t, client, "", "keys", "rotate", "--activate-after", "0s")
	made.has(t, exitOK, "the new key is published")
	key := made.field(t, "key id")
	if !strings.Contains(made.out, "BEGIN PUBLIC KEY") || strings.Contains(made.out, "PRIVATE") {
		t.Error("it does not show the public key alone")
	}
	send("top_2")
	attempts := []attempt{next(http.StatusOK), next(http.StatusOK)}
	i := slices.IndexFunc(attempts, func(a attempt) bool { return a.event == first.event })
	if i < 0 {
		t.Fatalf("%s was not sent again", first.event)
	}
	if attempts[i] != first {
		t.Errorf("the retry is %+v, the first attempt was %+v", attempts[i], first)
	}
	if other := attempts[1-i]; other.key != key || first.key == key {
		t.Errorf("after the rotation %s signs, before it %s, want %s", other.key, first.key, key)
	}
	runProgram(t, client, "", "keys", "rotate").has(t, exitOK, "")
	runProgram(t, client, "", "keys", "rotate").has(t, exitChanged, "rotate again after that")
	var listed struct {
		Items []struct{ KeyID, State string }
	}
	if err := json.Unmarshal([]byte(runProgram(t, client, "", "keys", "list", "--json").out), &listed); err != nil {
		t.Fatal(err)
	}
	if len(listed.Items) != 3 || listed.Items[0].KeyID != first.key || listed.Items[0].State != "retiring" || listed.Items[1].State != "active" || listed.Items[2].State != "pending" {
		t.Errorf("the keys are %+v", listed.Items)
	}
}
