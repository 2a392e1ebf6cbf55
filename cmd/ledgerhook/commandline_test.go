package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

func TestWhatIsGivenAndEmptyIsRefusedAndNothingAsked(t *testing.T) {
	s := newServer(t, nil)
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"replay", "preview", "--state", "delivered", "--partner", ""}, "--partner is empty"},
		{[]string{"replay", "preview", "--state", "delivered", "--endpoint", ""}, "--endpoint is empty"},
		{[]string{"replay", "preview", "--partner", "acme", "--state", ""}, "--state is empty"},
		{[]string{"replay", "preview", "--partner", "acme", "--type="}, "--type is empty"},
		{[]string{"replay", "preview", "--partner", "acme", "--error", ""}, "--error is empty"},
		{[]string{"replay", "preview", "--partner", "acme", "--reference", ""}, "--reference is empty"},
		{[]string{"replay", "preview", "--partner", "acme", "--since", ""}, "--since is empty"},
		{[]string{"replay", "start", "--partner", "acme", "--reason", "x", "--until", ""}, "--until is empty"},
		{[]string{"replay", "start", "--state", "exhausted", "--reason", "x", "--replay", ""}, "--replay is empty"},
		{[]string{"replay", "start", "--partner", "acme", "--reason", "x", "--code", "0"}, "--code must be more than 0"},
		{[]string{"replay", "start", "--partner", "acme", "--reason", "x", "--rate", "0"}, "--rate must be more than 0"},
		{[]string{"deliveries", "list", "--partner", ""}, "--partner is empty"},
		{[]string{"deliveries", "list", "--state", ""}, "--state is empty"},
		{[]string{"deliveries", "list", "--type", ""}, "--type is empty"},
		{[]string{"deliveries", "list", "--since", ""}, "--since is empty"},
		{[]string{"deliveries", "list", "--code", "0"}, "--code must be more than 0"},
		{[]string{"endpoint", "add", "acme", "--url", "https://a.example/h", "--types", ""}, "--types is empty"},
		{[]string{"endpoint", "add", "acme", "--url", "https://a.example/h", "--max-in-flight", "0"}, "--max-in-flight must be more than 0"},
		{[]string{"verify", "--public-key", "", "--secret", "whsec_x", "body.json"}, "--public-key is empty"},
		{[]string{"deliveries", "show", ""}, "ID is empty"},
		{[]string{"deliveries", "retry", "dlv_1", ""}, "ID is empty"},
		{[]string{"deliveries", "cancel", ""}, "ID is empty"},
		{[]string{"partner", "show", ""}, "CODE is empty"},
		{[]string{"partner", "disable", ""}, "CODE is empty"},
		{[]string{"endpoint", "list", ""}, "CODE is empty"},
		{[]string{"endpoint", "remove", ""}, "ID is empty"},
		{[]string{"secret", "list", ""}, "CODE is empty"},
		{[]string{"secret", "revoke", "acme", ""}, "ID is empty"},
		{[]string{"token", "create", "", "--scopes", "read"}, "NAME is empty"},
		{[]string{"token", "create", "a", "--scopes", ""}, "--scopes is empty"},
		{[]string{"token", "revoke", ""}, "ID is empty"},
		{[]string{"replay", "watch", ""}, "ID is empty"},
		{[]string{"send", "", "--type", "TopupCard", "--data", "-"}, "CODE is empty"},
		{[]string{"verify", "--secret", "whsec_x", ""}, "FILE is empty"},
		{[]string{"deliveries", "show", "."}, `ID cannot be "."`},
		{[]string{"deliveries", "retry", "dlv_1", ".."}, `ID cannot be ".."`},
		{[]string{"partner", "show", ".."}, `CODE cannot be ".."`},
		{[]string{"endpoint", "list", "."}, `CODE cannot be "."`},
		{[]string{"secret", "activate", "acme", "."}, `ID cannot be "."`},
		{[]string{"replay", "watch", "."}, `ID cannot be "."`},
	} {
		got := run(t, s.env(), "", test.args...)
		if want := "ledgerhook: " + test.says + "\n"; got.code != exitUsage || got.errors != want || got.out != "" {
			t.Errorf("%q: exit code %d, stderr %q, want %q\nstdout: %s", test.args, got.code, got.errors, want, got.out)
		}
	}
	if len(s.asked) > 0 {
		t.Errorf("asked the server %v", s.asked)
	}
}

// A script that reads page after page begins with an empty cursor.
func TestAnEmptyCursorIsWhereAListBegins(t *testing.T) {
	s := newServer(t, map[string][]string{"GET /internal/v1/partners": {"200 " + partnersDoc}})
	run(t, s.env(), "", "partner", "list", "--cursor", "").has(t, exitOK, "there are more: --cursor c2")
	if got := s.last(t).line; got != "GET /internal/v1/partners?limit=50" {
		t.Errorf("asked %s", got)
	}
}

func TestARefusalOfWhatAFlagSaysNamesTheFlag(t *testing.T) {
	refusal := func(fields ...string) []string { // a pointer or a parameter each, and what is wrong with it
		var details, errors []string
		for i := 0; i < len(fields); i += 2 {
			kind := "parameter"
			if fields[i][0] == '/' {
				kind = "pointer"
			}
			details = append(details, fields[i]+" "+fields[i+1])
			errors = append(errors, fmt.Sprintf(`{%q:%q,"detail":%q}`, kind, fields[i], fields[i+1]))
		}
		return []string{fmt.Sprintf(`400 {"detail":%q,"errors":[%s]}`, strings.Join(details, "; "), strings.Join(errors, ","))}
	}
	keyFile := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(keyFile, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path, args string
		refusal    []string
		code       int
		says       string
	}{
		{"GET /internal/v1/deliveries", "deliveries list --state foo", refusal("state", "must be one of [held]"), exitUsage, "--state must be one of [held]"},
		{"GET /internal/v1/deliveries", "deliveries list --code 9", refusal("statusCode", "must be from 100"), exitUsage, "--code must be from 100"},
		{"GET /internal/v1/partners", "partner list --cursor foo", refusal("cursor", "must be the nextCursor"), exitUsage, "--cursor must be the nextCursor"},
		{"POST /internal/v1/partners", "partner create acme --public-key KEYFILE", refusal("/publicKey", "there is no PEM block"), exitUsage, "--public-key there is no PEM block"},
		{"POST /internal/v1/partners", "partner create a.b --public-key KEYFILE --name x", refusal("/partnerCode", "must be short", "/name", "must be printable"), exitUsage, "CODE must be short; --name must be printable"},
		{"POST /internal/v1/partners/acme/rotate-key", "partner rotate-key acme --public-key KEYFILE", refusal("/publicKey", "has 1024 bits"), exitUsage, "--public-key has 1024 bits"},
		{"PUT /internal/v1/rates/usdt", "rate set usdt --price 0 --network a --wallet b", refusal("/crypto", "must be A-Z", "/price", "must be above 0", "/network", "must be short", "/walletAddress", "must be short"),
			exitUsage, "CRYPTO must be A-Z; --price must be above 0; --network must be short; --wallet must be short"},
		{"POST /internal/v1/tokens", "token create A --scopes all --days 365", refusal("/name", "must be short", "/scopes/0", "must be read", "/expiresAt", "must be sooner"),
			exitUsage, "NAME must be short; --scopes must be read; --days must be sooner"},
		{"POST /internal/v1/replays", "replay preview --type Foo", refusal("/filter/webhookType", "must be known"), exitUsage, "--type must be known"},
		{"POST /internal/v1/replays", "replay start --partner p --reason x --rate 2000", refusal("/ratePerSecond", "must be 1 to 1000"), exitUsage, "--rate must be 1 to 1000"},
		{"POST /internal/v1/replays", "replay start --partner p --reason x", refusal("/filter", "must match"), exitFailed, "/filter must match"},
		{"POST /internal/v1/partners/acme/endpoints", "endpoint add acme --url http://a --types Foo --header Host:x",
			refusal("/url", "must be https", "/webhookTypes/0", "must be known", "/headers/Host", "must not be set"),
			exitUsage, "--url must be https; --types must be known; --header Host must not be set"},
		{"POST /internal/v1/partners/acme/endpoints", "endpoint add acme --url https://a", refusal("/maxInFlight", "is wrong"), exitFailed, "/maxInFlight is wrong"},
		{"POST /internal/v1/events", "send acme --type TopupCard --data -", refusal("/data/state", "is required"), exitFailed, "/data/state is required"},
	} {
		s := newServer(t, map[string][]string{test.path: test.refusal})
		got := run(t, s.env(), "{}", strings.Fields(strings.Replace(test.args, "KEYFILE", keyFile, 1))...)
		if want := "ledgerhook: " + test.says + "\n"; got.code != test.code || got.errors != want {
			t.Errorf("%s: exit code %d and %q, want %d and %q", test.args, got.code, got.errors, test.code, want)
		}
	}
}

func TestNoRedirectIsFollowed(t *testing.T) {
	var strayed atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Store(true) }))
	defer other.Close()
	s := httptest.NewServer(http.RedirectHandler(other.URL+"/login", http.StatusTemporaryRedirect))
	defer s.Close()
	run(t, []string{"LEDGERHOOK_TOKEN=t", "LEDGERHOOK_URL=" + s.URL}, "", "partner", "show", "acme").
		has(t, exitFailed, s.URL+" redirects to "+other.URL+"/login; is LEDGERHOOK_URL the server's internal address?")
	if strayed.Load() {
		t.Error("the redirect was followed")
	}
}
