package ingest_test

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"ledgerhook/ingest"
	"ledgerhook/partners"
)

// newToken makes a token with scopes through the API and returns its answer.
func (a *api) newToken(t *testing.T, name string, until time.Time, scopes ...partners.TokenScope) answer {
	t.Helper()
	return a.want(t, 201, "POST", "/tokens", map[string]any{"name": name, "scopes": scopes, "expiresAt": until.Format(time.RFC3339Nano)})
}

// as is the header that shows a token's value.
func as(made string) []string { return []string{"Authorization", "Bearer " + made} }

func TestATokenIsShownOnceAndKnownByItsHash(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		made := a.newToken(t, "billing", time.Now().Add(time.Hour), partners.ScopeIngest, partners.ScopeRead, partners.ScopeRead)
		value, id := made.text(t, "token"), made.text(t, "tokenId")
		if prefix := made.text(t, "prefix"); len(value) < 40 || !strings.HasPrefix(value, prefix) || len(prefix) > 10 {
			t.Errorf("the token %q is shown as %q", value, prefix)
		}
		listed := a.want(t, 200, "GET", "/tokens", nil, `"name":"billing"`, `"scopes":["ingest","read"]`, `"state":"active"`, `"createdBy":"api"`, `"lastUsedAt":null`, `"revokedAt":null`)
		audit := a.want(t, 200, "GET", "/audit?action=token.create", nil, `"actor":"api"`, id, "billing (ingest,read) until ")
		for what, text := range map[string]string{"list": string(listed.body), "audit log": string(audit.body), "log": a.log.text()} {
			if strings.Contains(text, value) {
				t.Errorf("the %s shows the token", what)
			}
		}
		if n := a.Count(t, "SELECT COUNT(*) FROM internal_tokens WHERE name = 'billing' AND length(hash) = 32 AND length(shown) = 10"); n != 1 {
			t.Errorf("%d tokens are stored as they should be", n)
		}
		a.want(t, 409, "POST", "/tokens", map[string]any{"name": "billing", "scopes": []string{"read"}, "expiresAt": time.Now().Add(time.Hour)}, "billing", "choose another")
	})
}

func TestAWrongTokenRequestNamesItsField(t *testing.T) {
	a := one(t)
	soon := time.Now().Add(time.Hour).Format(time.RFC3339)
	for body, says := range map[string]string{
		`{"scopes":["read"],"expiresAt":"` + soon + `"}`:                                                               "/name",
		`{"name":"A b","scopes":["read"],"expiresAt":"` + soon + `"}`:                                                  "/name",
		`{"name":"` + strings.Repeat("a", 65) + `","scopes":["read"],"expiresAt":"` + soon + `"}`:                      "1 to 64",
		`{"name":"a","expiresAt":"` + soon + `"}`:                                                                      "/scopes",
		`{"name":"a","scopes":[],"expiresAt":"` + soon + `"}`:                                                          "at least one",
		`{"name":"a","scopes":["read","root"],"expiresAt":"` + soon + `"}`:                                             "/scopes/1",
		`{"name":"a","scopes":["read"]}`:                                                                               "/expiresAt",
		`{"name":"a","scopes":["read"],"expiresAt":"tomorrow"}`:                                                        "RFC 3339",
		`{"name":"a","scopes":["read"],"expiresAt":"2020-01-01T00:00:00Z"}`:                                            "in the future",
		`{"name":"a","scopes":["read"],"expiresAt":"` + time.Now().AddDate(1, 0, 3).Format(time.RFC3339) + `"}`:        "366 days",
		`{"name":"a","scopes":["read"],"expiresAt":"` + soon + `","token":"chosen-by-the-caller-is-not-for-the-best"}`: "/token",
	} {
		a.want(t, 400, "POST", "/tokens", body, says)
	}
	a.want(t, 404, "POST", "/tokens/tok_1/revoke", nil, "tok_1")
	if n := a.Count(t, "SELECT COUNT(*) FROM internal_tokens"); n != 0 {
		t.Errorf("%d tokens were made", n)
	}
}

// Every route has a scope: a token with only that one is let in, and one with
// all others is told which is missing.
func TestEveryRouteDemandsAScope(t *testing.T) {
	a := one(t)
	a.partner(t, "acme")
	endpoint := a.endpoint(t, "acme", nil)
	eventID, ids := a.event(t, "acme", "tp_1", "Pending")
	secrets, _ := a.page(t, "/partners/acme/secrets", "secretId")
	end := time.Now().Add(time.Hour)
	with, without := map[partners.TokenScope][]string{}, map[partners.TokenScope][]string{}
	for _, scope := range partners.TokenScopes {
		with[scope] = as(a.newToken(t, "only-"+string(scope), end, scope).text(t, "token"))
		others := slices.DeleteFunc(slices.Clone(partners.TokenScopes), func(s partners.TokenScope) bool { return s == scope })
		without[scope] = as(a.newToken(t, "no-"+string(scope), end, others...).text(t, "token"))
	}
	scopes := ingest.Scopes()
	for _, request := range everyRequest(t, endpoint, eventID, ids[0], secrets[0]) {
		_, pattern := openDocument(t).mux.Handler(httptest.NewRequest(request[0], "/internal/v1"+request[1], nil))
		scope := scopes[pattern]
		if !slices.Contains(partners.TokenScopes, scope) {
			t.Errorf("%s has the scope %q", pattern, scope)
			continue
		}
		delete(scopes, pattern)
		if got := a.do(t, request[0], request[1], body(request), without[scope]...); got.status != 403 || !strings.Contains(string(got.body), "the scope "+string(scope)) {
			t.Errorf("%s without the scope %s: %d %s", pattern, scope, got.status, got.body)
		}
		if got := a.do(t, request[0], request[1], body(request), with[scope]...); got.status == 401 || got.status == 403 || got.status >= 500 {
			t.Errorf("%s with the scope %s: %d %s", pattern, scope, got.status, got.body)
		}
	}
	if len(scopes) > 0 {
		t.Errorf("%v were not asked", scopes)
	}
	if got := a.sample(t, `ledgerhook_auth_failures_total{reason="scope",surface="internal"}`); got != float64(len(ingest.Routes())) {
		t.Errorf("%v requests without their scope are counted, want %d", got, len(ingest.Routes()))
	}
}

// body is that of one of everyRequest's.
func body(request [3]string) any {
	if request[2] == "" {
		return nil
	}
	return request[2]
}

func TestWhatATokenDidStandsUnderItsName(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		made := a.newToken(t, "desk", time.Now().Add(time.Hour), partners.ScopeAdminister)
		desk := as(made.text(t, "token"))
		if got := a.do(t, "POST", "/partners/acme/disable", nil, desk...); got.status != 200 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		next := a.do(t, "POST", "/tokens", map[string]any{"name": "second", "scopes": []string{"read"}, "expiresAt": time.Now().Add(time.Hour)}, desk...)
		if next.status != 201 || next.text(t, "createdBy") != "token:desk" {
			t.Errorf("%d %s", next.status, next.body)
		}
		a.want(t, 200, "GET", "/audit?actor=token:desk", nil, `"partner.disable"`, `"token.create"`)
		a.want(t, 200, "GET", "/audit?action=partner.create", nil, `"actor":"api"`)
	})
}

func TestATokenThatHasEndedIsAnUnknownOne(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		made := a.newToken(t, "first", time.Now().Add(time.Hour), partners.ScopeRead)
		id, header := made.text(t, "tokenId"), as(made.text(t, "token"))
		if got := a.do(t, "GET", "/rates", nil, header...); got.status != 200 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		unknown := a.do(t, "GET", "/rates", nil, as("lht_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")...)
		revoked := a.want(t, 200, "POST", "/tokens/"+id+"/revoke", nil, `"state":"revoked"`)
		again := a.want(t, 200, "POST", "/tokens/"+id+"/revoke", nil)
		if revoked.text(t, "revokedAt") != again.text(t, "revokedAt") {
			t.Errorf("revoked at %s, and again at %s", revoked.body, again.body)
		}
		over := a.newToken(t, "over", time.Now().Add(time.Hour), partners.ScopeRead)
		if _, err := a.Raw.ExecContext(t.Context(), "UPDATE internal_tokens SET expires_at = 1 WHERE name = 'over'"); err != nil {
			t.Fatal(err)
		}
		for _, ended := range [][]string{header, as(over.text(t, "token"))} {
			got := a.do(t, "GET", "/rates", nil, ended...)
			if got.status != 401 || string(got.body) != string(unknown.body) || got.header.Get("WWW-Authenticate") != unknown.header.Get("WWW-Authenticate") {
				t.Errorf("%d %v %s, an unknown one gets %s", got.status, got.header, got.body, unknown.body)
			}
		}
		a.want(t, 200, "GET", "/tokens", nil, `"state":"revoked"`, `"state":"expired"`)
		a.want(t, 200, "GET", "/audit?action=token.revoke", nil, fmt.Sprintf(`"target":%q,"detail":"first"`, id))
	})
}
