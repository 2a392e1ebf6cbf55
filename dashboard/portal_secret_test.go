package dashboard

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
)

var (
	secretValue = regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`)
	secretForm  = regexp.MustCompile(`action="(/portal/secrets/(sec_[0-9A-Z]+)/(activate|revoke))"><input type="hidden" name="form" value="([^"]+)"`)
)

// secretForms are the forms of the page, by what they do.
func secretForms(t *testing.T, c *http.Client, base string) map[string][2]string {
	t.Helper()
	_, body := ask(t, c, "GET", base+"/portal/secrets", nil)
	if secretValue.MatchString(body) {
		t.Error("the page shows a secret again")
	}
	forms := map[string][2]string{}
	for _, f := range secretForm.FindAllStringSubmatch(body, -1) {
		forms[f[3]+" "+f[2]] = [2]string{f[1], f[4]}
	}
	return forms
}

func TestASecretIsMadeShownOnceActivatedAndTheOldOneRevoked(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stageOn(t, b)
		b.Partner(t, "acme")
		c, base := s.SignIn(t, "acme", partners.RoleDeveloper), s.portal.URL
		state := func() (all []string) {
			t.Helper()
			found, err := s.Accounts.Secrets(t.Context(), "acme")
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range found {
				all = append(all, string(secret.State))
			}
			return all
		}
		want := func(states string) {
			t.Helper()
			if got := strings.Join(state(), " "); got != states {
				t.Errorf("secrets are %q, want %q", got, states)
			}
		}
		create := newForm(t, c, base+"/portal/secrets")
		resp, body := ask(t, c, "POST", base+"/portal/secrets", create)
		value := secretValue.FindString(strings.ReplaceAll(body, "&#43;", "+"))
		if resp.StatusCode != 201 || value == "" || !strings.Contains(body, "only this once") || resp.Header.Get("Cache-Control") != "no-store" {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		want("active pending")
		if resp, body := ask(t, c, "POST", base+"/portal/secrets", create); resp.StatusCode != 409 || !strings.Contains(body, "this secret was shown already") || secretValue.MatchString(body) {
			t.Errorf("the same form again: %d", resp.StatusCode)
		}
		found, err := s.Accounts.Secrets(t.Context(), "acme")
		if err != nil {
			t.Fatal(err)
		}
		old, fresh := found[0].ID, found[1].ID
		act := func(what, id, done string, form [2]string) {
			t.Helper()
			resp, body := ask(t, c, "POST", base+form[0], url.Values{"form": {form[1]}})
			if resp.StatusCode != 303 || resp.Header.Get("Location") != "/portal/secrets?done="+done {
				t.Errorf("%s %s: %d %s %.300s", what, id, resp.StatusCode, resp.Header.Get("Location"), body)
			}
		}
		activate := secretForms(t, c, base)["activate "+fresh]
		act("activate", fresh, "activate", activate)
		act("activate", fresh, "again", activate)
		want("retiring active")
		if _, body := ask(t, c, "GET", base+"/portal/secrets?done=activate", nil); !strings.Contains(body, "Still signs beside the active one, for 23 h 59 m more") {
			t.Errorf("%s", body)
		}
		forms := secretForms(t, c, base)
		if _, offered := forms["revoke "+fresh]; offered || len(forms) != 1 {
			t.Errorf("offered: %v", forms)
		}
		act("revoke", old, "revoke", forms["revoke "+old])
		want("revoked active")
		if resp, body := ask(t, c, "POST", base+"/portal/secrets/"+fresh+"/revoke", newForm(t, c, base+"/portal/secrets"), "Accept-Language", "vi"); resp.StatusCode != 409 || !strings.Contains(body, "không thể thu hồi khóa đang dùng") {
			t.Errorf("the active one: %d %s", resp.StatusCode, body)
		}
		_, body = ask(t, c, "GET", base+"/portal/secrets", nil)
		for _, says := range []string{"created the secret", "activated the secret", "revoked the secret", "Somebody", old, fresh} {
			if says != "Somebody" && !strings.Contains(body, says) {
				t.Errorf("the history lacks %q", says)
			}
		}
		if acts := s.actsOf(t, "acme"); acts != "secret.revoke secret.activate secret.create" {
			t.Errorf("acts %q", acts)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM form_tokens WHERE result LIKE '%whsec%'"); n != 0 {
			t.Error("a secret is kept with its form")
		}
	})
}

func TestAFormWithoutItsTokenIsRefusedInThePagesLanguage(t *testing.T) {
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	e := s.Bench.Endpoint(t, "acme", 8)
	c := s.SignIn(t, "acme", partners.RoleDeveloper)
	resp, body := ask(t, c, "POST", s.portal.URL+"/portal/endpoints/"+e.ID+"/remove", nil, "Accept-Language", "vi")
	if resp.StatusCode != 400 || !strings.Contains(body, "hãy tải lại trang") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestElevenPendingSecretsAreTooMany(t *testing.T) {
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	c, base := s.SignIn(t, "acme", partners.RoleDeveloper), s.portal.URL
	for range 10 {
		if resp, _ := ask(t, c, "POST", base+"/portal/secrets", newForm(t, c, base+"/portal/secrets")); resp.StatusCode != 201 {
			t.Fatalf("%d", resp.StatusCode)
		}
	}
	resp, body := ask(t, c, "POST", base+"/portal/secrets", newForm(t, c, base+"/portal/secrets"), "Accept-Language", "zh")
	if resp.StatusCode != 409 || !strings.Contains(body, "已有 10 个待激活的密钥") || secretValue.MatchString(body) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}
