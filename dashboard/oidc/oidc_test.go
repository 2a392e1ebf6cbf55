package oidc_test

import (
	"errors"
	"net/url"
	"slices"
	"testing"

	"ledgerhook/dashboard/oidc"
	"ledgerhook/dashboard/oidc/oidctest"
	"ledgerhook/partners"
)

const redirect = "http://127.0.0.1:1/ops/login/callback"

var ann = oidctest.Person{ID: "id-ann", Username: "ann", Password: "ann's own words", FirstName: "Ann", LastName: "Lee", Email: "ann@example.com", EmailVerified: true, Groups: []string{"everybody", "support"}}

func newProvider(t *testing.T) (p *oidc.Provider, stop func()) {
	t.Helper()
	issuer, stop := oidctest.Start(t, redirect, ann)
	return oidc.New(oidc.Options{Issuer: issuer, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret, RedirectURL: redirect,
		Scopes: []string{"openid", "profile", "email"}, GroupsClaim: "groups",
		Roles: []oidc.GroupRole{{Group: "admins", Role: partners.RoleAdmin}, {Group: "support", Role: partners.RoleOperator}, {Group: "everybody", Role: partners.RoleViewer}}}), stop
}

// begin begins a sign-in and has ann sign in there.
func begin(t *testing.T, p *oidc.Provider) (f oidc.Flow, back url.Values) {
	t.Helper()
	address, f, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(oidctest.SignIn(t, address, ann))
	if err != nil {
		t.Fatal(err)
	}
	return f, u.Query()
}

func TestTheProviderSaysWhoSomebodyIs(t *testing.T) {
	t.Parallel()
	p, _ := newProvider(t)
	address, _, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	asked := u.Query()
	if asked.Get("code_challenge_method") != "S256" || asked.Get("code_challenge") == "" || asked.Get("nonce") == "" || asked.Get("state") == "" ||
		asked.Get("redirect_uri") != redirect || asked.Get("response_type") != "code" {
		t.Errorf("the provider is asked %v", asked)
	}
	f, back := begin(t, p)
	if back.Get("state") != f.State {
		t.Errorf("the provider sends back the state %q, not %q", back.Get("state"), f.State)
	}
	who, err := p.Finish(t.Context(), f, back.Get("code"))
	if err != nil {
		t.Fatal(err)
	}
	if who.Subject != ann.ID || who.Username != "ann" || who.Name != "Ann Lee" || who.Email != ann.Email || !slices.Equal(who.Groups, ann.Groups) {
		t.Errorf("it is %+v", who)
	}
	if role, ok := p.RoleOf(who.Groups); !ok || role != partners.RoleOperator {
		t.Errorf("the first group of the list gives %q", role)
	}
	if role, ok := p.RoleOf([]string{"strangers"}); ok {
		t.Errorf("a group that is not listed gives %q", role)
	}
	if _, err := p.Finish(t.Context(), f, back.Get("code")); !errors.Is(err, oidc.ErrRefused) {
		t.Errorf("the same code once more: %v", err)
	}
}

func TestASignInThatIsNotTheBrowsersOwnIsRefused(t *testing.T) {
	t.Parallel()
	p, _ := newProvider(t)
	other, _ := begin(t, p)
	for name, change := range map[string]func(*oidc.Flow){
		"another nonce":    func(f *oidc.Flow) { f.Nonce = other.Nonce },
		"no nonce":         func(f *oidc.Flow) { f.Nonce = "" },
		"another verifier": func(f *oidc.Flow) { f.Verifier = other.Verifier },
	} {
		f, back := begin(t, p)
		change(&f)
		if who, err := p.Finish(t.Context(), f, back.Get("code")); !errors.Is(err, oidc.ErrRefused) {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
	f, back := begin(t, p)
	o := p.Options
	o.ClientSecret = "wrong"
	if who, err := oidc.New(o).Finish(t.Context(), f, back.Get("code")); !errors.Is(err, oidc.ErrRefused) {
		t.Errorf("with a wrong secret of ours: %+v, %v", who, err)
	}
	if who, err := p.Finish(t.Context(), f, "made-up"); !errors.Is(err, oidc.ErrRefused) {
		t.Errorf("with a code that was made up: %+v, %v", who, err)
	}
}

func TestAProviderThatIsAwayRefusesNobody(t *testing.T) {
	t.Parallel()
	p, stop := newProvider(t)
	f, back := begin(t, p)
	stop()
	if _, err := p.Finish(t.Context(), f, back.Get("code")); err == nil || errors.Is(err, oidc.ErrRefused) {
		t.Errorf("it went away meanwhile: %v", err)
	}
	fresh := oidc.New(p.Options)
	if err := fresh.Check(t.Context()); err == nil {
		t.Error("it is said to answer")
	}
	if _, _, err := fresh.Begin(t.Context()); err == nil {
		t.Error("a sign-in begins")
	}
}

// Whoever is called something else may be somebody else.
func TestAnotherIssuerIsNotTheProvider(t *testing.T) {
	t.Parallel()
	p, _ := newProvider(t)
	if err := p.Check(t.Context()); err != nil {
		t.Error(err)
	}
	o := p.Options
	o.Issuer = o.Issuer[:len(o.Issuer)-1] // the provider's has a slash at its end
	if err := oidc.New(o).Check(t.Context()); err == nil {
		t.Error("a slash less is the same issuer")
	}
}
