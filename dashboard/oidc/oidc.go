// Package oidc signs people in at an OpenID Connect provider: the authorization
// code flow with PKCE, state and nonce.
package oidc

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"ledgerhook/partners"
)

const (
	// patience is how long one request to the provider may take.
	patience = 5 * time.Second
	// knownFor is how long the provider's addresses are not asked for again.
	knownFor = time.Hour
	// restFor is how long a provider that did not answer is left alone, so that
	// many who wait for it wait once.
	restFor = time.Second
)

// GroupRole gives the people of a group of the provider a role here.
type GroupRole struct {
	Group string
	Role  partners.Role
}

// Options say which provider, and what we are to it. All are required.
type Options struct {
	Issuer       string // as the provider's discovery document spells it
	ClientID     string
	ClientSecret string
	RedirectURL  string // where the provider sends people back to, as it is registered there
	Scopes       []string
	GroupsClaim  string      // of the ID token, else of the userinfo endpoint
	Roles        []GroupRole // the first whose group somebody is in counts
}

// Provider is one provider. It is safe for concurrent use.
type Provider struct {
	Options
	http *http.Client

	mu      sync.Mutex
	found   *oidc.Provider
	err     error // why it was not found
	askedAt time.Time
}

// New is a provider that is not asked for anything yet.
func New(o Options) *Provider {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Provider{Options: o, http: &http.Client{Transport: transport, Timeout: patience, CheckRedirect: stay}}
}

// discover finds the provider's addresses; see knownFor and restFor.
func (p *Provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	age := time.Since(p.askedAt)
	if p.found != nil && age < knownFor || p.err != nil && age < restFor {
		return p.found, p.err
	}
	p.found, p.err = oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.http), p.Issuer) // for all who wait
	p.askedAt = time.Now()
	if p.err != nil {
		p.found, p.err = nil, fmt.Errorf("ask %s for its addresses: %w", p.Issuer, clipped(p.err))
	}
	return p.found, p.err
}

// Check returns an error unless the provider answers as the configured issuer.
func (p *Provider) Check(ctx context.Context) error {
	_, err := p.discover(ctx)
	return err
}

func (p *Provider) client(of *oidc.Provider) *oauth2.Config {
	c := &oauth2.Config{ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: of.Endpoint(), RedirectURL: p.RedirectURL, Scopes: p.Scopes}
	var says struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"` // none: client_secret_basic
	}
	c.Endpoint.AuthStyle = oauth2.AuthStyleInHeader // trying both could use the code up
	if of.Claims(&says) == nil && slices.Contains(says.Methods, "client_secret_post") && !slices.Contains(says.Methods, "client_secret_basic") {
		c.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return c
}

// Flow is what a sign-in keeps until its browser comes back. All of it is
// secret from everybody else.
type Flow struct{ State, Nonce, Verifier string }

// Begin is where to send a browser, and what Finish needs when it is back.
func (p *Provider) Begin(ctx context.Context) (address string, f Flow, err error) {
	of, err := p.discover(ctx)
	if err != nil {
		return "", f, err
	}
	f = Flow{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	return p.client(of).AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), f, nil
}

// Identity is who signed in, as the provider says.
type Identity struct {
	Subject  string // the provider's unchanging name for somebody
	Username string // empty: it says none
	Name     string
	Email    string
	Groups   []string
}

// ErrRefused says that the provider answered, but not with a sign-in that is
// valid here and now.
var ErrRefused = errors.New("the provider's answer is no valid sign-in")

// Finish exchanges the code that a browser brought back and verifies who it
// is of. The error wraps ErrRefused unless the provider could not be reached.
func (p *Provider) Finish(ctx context.Context, f Flow, code string) (who Identity, err error) {
	of, err := p.discover(ctx)
	if err != nil {
		return who, err
	}
	ctx = oidc.ClientContext(ctx, p.http)
	token, err := p.client(of).Exchange(ctx, code, oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return who, fmt.Errorf("exchange the code: %w", blame(err))
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return who, fmt.Errorf("%w: it holds no ID token", ErrRefused)
	}
	id, err := of.VerifierContext(ctx, &oidc.Config{ClientID: p.ClientID}).Verify(ctx, raw)
	if err != nil {
		return who, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if id.Nonce != f.Nonce {
		return who, fmt.Errorf("%w: its nonce is another sign-in's", ErrRefused)
	}
	var claims map[string]json.RawMessage
	if err := id.Claims(&claims); err != nil {
		return who, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if claims[p.GroupsClaim] == nil && of.UserInfoEndpoint() != "" {
		more, err := of.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil {
			return who, fmt.Errorf("ask for more about them: %w", clipped(err))
		}
		if more.Subject != id.Subject {
			return who, fmt.Errorf("%w: the userinfo is of another subject", ErrRefused)
		}
		if err := more.Claims(&claims); err != nil {
			return who, fmt.Errorf("%w: %w", ErrRefused, err)
		}
	}
	return Identity{Subject: id.Subject, Username: text(claims["preferred_username"]), Name: text(claims["name"]), Email: text(claims["email"]), Groups: texts(claims[p.GroupsClaim])}, nil
}

// RoleOf is the role that groups give; ok is false if none does.
func (p *Provider) RoleOf(groups []string) (role partners.Role, ok bool) {
	for _, r := range p.Roles {
		if slices.Contains(groups, r.Group) {
			return r.Role, true
		}
	}
	return "", false
}

// blame tells a code that the provider refuses from a provider that fails. What
// it sent along stays out of the log.
func blame(err error) error {
	var answered *oauth2.RetrieveError
	if !errors.As(err, &answered) {
		return clipped(err)
	}
	err = fmt.Errorf("answered %s %.100q", answered.Response.Status, answered.ErrorCode)
	if answered.Response.StatusCode < http.StatusInternalServerError {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// clipped is err without most of the pages that providers send for errors.
func clipped(err error) error { return fmt.Errorf("%.200s", err.Error()) }

// text is a claim that is a string, else empty.
func text(claim json.RawMessage) (s string) {
	_ = json.Unmarshal(claim, &s)
	return s
}

// texts is a claim that is a list of strings, or one string.
func texts(claim json.RawMessage) (all []string) {
	if one := text(claim); one != "" {
		return []string{one}
	}
	_ = json.Unmarshal(claim, &all)
	return all
}
