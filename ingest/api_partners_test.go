package ingest_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/signer"
)

func TestAPartnersSecretsAreShownOnceAndSealedAtRest(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		made := a.want(t, 201, "POST", "/partners", map[string]any{"partnerCode": "acme", "name": "Acme", "publicKey": string(keys()[1].PublicPEM())})
		secretKey, webhookSecret := made.text(t, "secretKey"), made.text(t, "webhookSecretKey")
		if made.text(t, "publicKey") != string(keys()[0].PublicPEM()) || len(secretKey) < 40 {
			t.Errorf("%s", made.body)
		}
		if _, err := signer.ParseWebhookSecret(webhookSecret); err != nil {
			t.Error(err)
		}
		another := a.want(t, 201, "POST", "/partners/acme/secrets", nil, `"state":"pending"`)

		secrets := []string{secretKey, webhookSecret, strings.TrimPrefix(webhookSecret, "whsec_"), another.text(t, "webhookSecretKey")}
		for _, path := range []string{"/partners", "/partners/acme", "/partners/acme/secrets", "/audit"} {
			got := a.want(t, 200, "GET", path, nil)
			for _, secret := range secrets {
				if bytes.Contains(got.body, []byte(secret)) || strings.Contains(a.log.text(), secret) {
					t.Errorf("GET %s, or the log, shows a secret", path)
				}
			}
		}
		opened := map[string]bool{}
		rows, err := a.Raw.QueryContext(t.Context(), `SELECT 'secret-key/' || code, secret_key FROM partners
			UNION ALL SELECT 'webhook-secret/' || id, sealed FROM secrets`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var purpose string
			var sealed []byte
			if err := rows.Scan(&purpose, &sealed); err != nil {
				t.Fatal(err)
			}
			for _, secret := range secrets {
				if bytes.Contains(sealed, []byte(secret)) {
					t.Errorf("%s is not sealed", purpose)
				}
			}
			plain, err := a.box.Open(purpose, sealed)
			if err != nil {
				t.Errorf("%s: %v", purpose, err)
			}
			opened[string(plain)] = true
		}
		if err := rows.Err(); err != nil || !opened[secretKey] || !opened[webhookSecret] || !opened[another.text(t, "webhookSecretKey")] {
			t.Errorf("what is stored is not what was shown (%v)", err)
		}
	})
}

func TestAPartnerIsCreatedFromGoodInputOnly(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		key := string(keys()[1].PublicPEM())
		for _, tt := range []struct {
			body map[string]any
			says string
		}{
			{map[string]any{"publicKey": key}, "/partnerCode"},
			{map[string]any{"partnerCode": "a b", "publicKey": key}, "/partnerCode"},
			{map[string]any{"partnerCode": "a\x00", "publicKey": key}, "/partnerCode"},
			{map[string]any{"partnerCode": strings.Repeat("a", 33), "publicKey": key}, "/partnerCode"},
			{map[string]any{"partnerCode": "acme"}, "/publicKey"},
			{map[string]any{"partnerCode": "acme", "publicKey": "x"}, "/publicKey"},
			{map[string]any{"partnerCode": "acme", "publicKey": key + key}, "/publicKey"},
			{map[string]any{"partnerCode": "acme", "publicKey": string(keys()[1].PrivatePEM())}, "private key"},
			{map[string]any{"partnerCode": "acme", "publicKey": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}, "certificate"},
			{map[string]any{"partnerCode": "acme", "publicKey": key, "name": strings.Repeat("é", 201)}, "/name"},
			{map[string]any{"partnerCode": "acme", "publicKey": key, "name": "a\nb"}, "/name"},
			{map[string]any{"partnerCode": "acme", "publicKey": key, "nothing": 1}, "/nothing"},
			{map[string]any{"partnerCode": "acme", "publicKey": key, "settings": map[string]any{"signatures": []string{}}}, "/settings/signatures"},
			{map[string]any{"partnerCode": "acme", "publicKey": key, "settings": map[string]any{"signatures": []string{"rsa", "rsa"}}}, "/settings/signatures"},
			{map[string]any{"partnerCode": "acme", "publicKey": key, "settings": map[string]any{"signatures": []any{nil}}}, "/settings/signatures"},
			{map[string]any{"partnerCode": "acme", "publicKey": key, "settings": map[string]any{"nothing": 1}}, "/settings/nothing"},
		} {
			got := a.want(t, 400, "POST", "/partners", tt.body, tt.says)
			if strings.Contains(string(got.body), "PRIVATE KEY") {
				t.Errorf("the answer repeats a key: %s", got.body)
			}
		}
		if n := a.Count(t, "SELECT COUNT(*) FROM partners"); n != 0 {
			t.Errorf("%d partners were created", n)
		}
		a.want(t, 201, "POST", "/partners", map[string]any{"partnerCode": "acme", "publicKey": key, "name": nil, "settings": nil})
		a.want(t, 409, "POST", "/partners", map[string]any{"partnerCode": "acme", "publicKey": key}, "acme already")
		a.want(t, 200, "GET", "/partners/acme", nil, `"name":"acme"`, `"state":"active"`, `"signatures":["rsa","standard"]`, `"oldKeyUntil":null`)
	})
}

func TestAPatchChangesWhatItNames(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		a.want(t, 200, "PATCH", "/partners/acme", `{"name":"Acme"}`, `"name":"Acme"`, `"signatures":["rsa","standard"]`)
		a.want(t, 200, "PATCH", "/partners/acme", `{"settings":{"signatures":["rsa"]}}`, `"name":"Acme"`, `"signatures":["rsa"]`)
		a.want(t, 200, "PATCH", "/partners/acme", `{}`, `"name":"Acme"`, `"signatures":["rsa"]`)
		a.want(t, 400, "PATCH", "/partners/acme", `{"name":"New","settings":{"signatures":["x"]}}`, "/settings/signatures")
		a.want(t, 400, "PATCH", "/partners/acme", `{"partnerCode":"other"}`, "/partnerCode")
		a.want(t, 200, "GET", "/partners/acme", nil, `"name":"Acme"`, `"signatures":["rsa"]`)
	})
}

func TestARotatedKeyKeepsTheOldOneForADay(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		var before, after struct {
			KeyID       string
			OldKeyUntil *time.Time
		}
		a.want(t, 200, "GET", "/partners/acme", nil).json(t, &before)
		newKey := map[string]any{"publicKey": string(keys()[2].PublicPEM())}
		a.want(t, 200, "POST", "/partners/acme/rotate-key", newKey).json(t, &after)
		if before.KeyID != keys()[1].ID() || before.OldKeyUntil != nil || after.KeyID != keys()[2].ID() || after.OldKeyUntil == nil {
			t.Fatalf("%+v became %+v", before, after)
		}
		if left := time.Until(*after.OldKeyUntil); left < 23*time.Hour+59*time.Minute || left > 24*time.Hour {
			t.Errorf("the old key verifies for %s more", left)
		}
		p, err := a.Accounts.Partner(t.Context(), "acme")
		if err != nil || len(p.OldKeys) != 1 || !bytes.Equal(p.OldKeys[0].PEM, keys()[1].PublicPEM()) || !bytes.Equal(p.PublicKey, keys()[2].PublicPEM()) {
			t.Errorf("stored is %+v (%v)", p, err)
		}
		a.want(t, 409, "POST", "/partners/acme/rotate-key", newKey, "current key already")
		a.want(t, 400, "POST", "/partners/acme/rotate-key", `{"publicKey":"x"}`, "/publicKey")
		a.want(t, 400, "POST", "/partners/acme/rotate-key", `{}`, "/publicKey")
	})
}

func TestASecretsLife(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		a.partner(t, "globex")
		states := func(want ...string) {
			t.Helper()
			if got, _ := a.page(t, "/partners/acme/secrets", "state"); !slices.Equal(got, want) {
				t.Errorf("the secrets are %v, want %v", got, want)
			}
		}
		first, _ := a.page(t, "/partners/acme/secrets", "secretId")
		second := a.want(t, 201, "POST", "/partners/acme/secrets", nil).text(t, "secretId")
		states("active", "pending")
		of := func(id, act string) string { return "/partners/acme/secrets/" + id + "/" + act }
		a.want(t, 409, "POST", of(first[0], "revoke"), nil, "cannot be revoked")
		a.want(t, 200, "POST", of(second, "activate"), nil, `"state":"active"`)
		states("retiring", "active")
		a.want(t, 409, "POST", of(second, "activate"), nil, "only a pending")
		a.want(t, 409, "POST", of(first[0], "activate"), nil, "retiring")
		a.want(t, 200, "POST", of(first[0], "revoke"), nil, `"state":"revoked"`)
		a.want(t, 200, "POST", of(first[0], "revoke"), nil, `"state":"revoked"`) // twice is once
		a.want(t, 409, "POST", of(first[0], "activate"), nil, "revoked")
		states("revoked", "active")

		a.want(t, 404, "POST", "/partners/globex/secrets/"+second+"/revoke", nil) // another partner's
		for range 10 {
			a.want(t, 201, "POST", "/partners/acme/secrets", nil)
		}
		a.want(t, 409, "POST", "/partners/acme/secrets", nil, "10 pending")
	})
}

func TestEveryActIsInTheAuditLog(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		a.want(t, 200, "PATCH", "/partners/acme", `{"name":"x"}`)
		a.want(t, 200, "POST", "/partners/acme/rotate-key", map[string]any{"publicKey": string(keys()[2].PublicPEM())})
		a.want(t, 200, "POST", "/partners/acme/disable", nil)
		a.want(t, 200, "POST", "/partners/acme/enable", nil)
		secret := a.want(t, 201, "POST", "/partners/acme/secrets", nil).text(t, "secretId")
		old, _ := a.page(t, "/partners/acme/secrets?limit=1", "secretId")
		a.want(t, 200, "POST", "/partners/acme/secrets/"+secret+"/activate", nil)
		a.want(t, 200, "POST", "/partners/acme/secrets/"+old[0]+"/revoke", nil)
		endpoint := a.endpoint(t, "acme", nil)
		a.want(t, 200, "PATCH", "/endpoints/"+endpoint, `{"description":"x"}`)
		a.want(t, 200, "POST", "/endpoints/"+endpoint+"/pause", nil)
		_, ids := a.event(t, "acme", "tp_1", "Pending")
		a.want(t, 200, "POST", "/deliveries/"+ids[0]+"/retry", nil)
		a.want(t, 200, "POST", "/deliveries/"+ids[0]+"/cancel", nil)
		a.want(t, 200, "POST", "/endpoints/"+endpoint+"/resume", nil)
		tested := a.want(t, 202, "POST", "/endpoints/"+endpoint+"/test", nil).text(t, "eventId")
		a.want(t, 204, "DELETE", "/endpoints/"+endpoint, nil)
		a.want(t, 404, "DELETE", "/endpoints/"+endpoint, nil) // not done, not noted

		var got struct {
			Items []struct{ Actor, Action, Target, Detail string }
		}
		a.want(t, 200, "GET", "/audit", nil).json(t, &got)
		var acts []string
		for _, item := range slices.Backward(got.Items) {
			acts = append(acts, strings.TrimSpace(fmt.Sprintln(item.Actor, item.Action, item.Target, item.Detail)))
		}
		want := []string{
			"api partner.create acme", "api partner.change acme name: acme → x", "api partner.rotate-key acme publicKey", "api partner.disable acme", "api partner.enable acme",
			"api secret.create acme " + secret, "api secret.activate acme " + secret, "api secret.revoke acme " + old[0],
			"api endpoint.create " + endpoint + " acme", "api endpoint.change " + endpoint + " description", "api endpoint.pause " + endpoint,
			"api delivery.retry " + ids[0], "api delivery.cancel " + ids[0], "api endpoint.resume " + endpoint,
			"api endpoint.test " + endpoint + " " + tested, "api endpoint.remove " + endpoint,
		}
		if diff := cmp.Diff(want, acts); diff != "" {
			t.Errorf("acts (-want +got):\n%s", diff)
		}
	})
}
