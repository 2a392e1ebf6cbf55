package shell

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ledgerhook/dashboard/shell/shelltest"
	"ledgerhook/partners"
	"ledgerhook/web"
)

// fill leaves nothing for an hour of what crowd.go gives of something.
func (s *stage) fill(t *testing.T, key string) {
	t.Helper()
	if ok, _ := s.crowds.Allow(t.Context(), key, web.Rate{Interval: time.Hour, Burst: 2}); !ok {
		t.Fatalf("nothing is left of %s", key)
	}
}

// shut makes every look at who somebody is fail.
func (s *stage) shut(t *testing.T) {
	t.Helper()
	for _, table := range []string{"sessions", "login_failures", "invites"} {
		if _, err := s.Bench.Raw.ExecContext(t.Context(), "ALTER TABLE "+table+" RENAME TO gone_"+table); err != nil {
			t.Fatal(err)
		}
	}
}

// checkShort holds what is promised of the refusal of one of many.
func checkShort(t *testing.T, what string, status int, resp *http.Response, body string) {
	t.Helper()
	if resp.StatusCode != status || len(body) > 600 || !strings.Contains(body, "Try again") || resp.Header.Get("Cache-Control") != "no-store" ||
		!strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%s: %s, %v, %d bytes: %.200s", what, resp.Status, resp.Header, len(body), body)
	}
	if status == http.StatusTooManyRequests && resp.Header.Get("Retry-After") == "" {
		t.Errorf("%s: it does not say when to come back", what)
	}
}

func TestStrangersBeyondTheirRateAreRefusedInShortAndWithoutTheLedger(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	viewer := s.SignIn(t, "acme", partners.RoleViewer)
	if resp, _ := ask(t, viewer, "GET", s.portal.URL+"/portal/account", nil); resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	s.fill(t, "portal strangers")
	if resp, _ := ask(t, viewer, "GET", s.portal.URL+"/portal/account", nil); resp.StatusCode != http.StatusOK {
		t.Errorf("somebody who has signed in: %s", resp.Status)
	}
	if resp, _ := ask(t, stranger, "GET", s.portal.URL+"/portal/static/"+s.assets.hashed["app.css"], nil); resp.StatusCode != http.StatusOK {
		t.Errorf("a file: %s", resp.Status)
	}
	s.shut(t)
	made := &http.Client{Transport: shelltest.WithCookie("ledgerhook_portal=made-up")}
	for what, one := range map[string]struct {
		client       *http.Client
		method, path string
		status       int
	}{
		"the sign-in page":         {stranger, "GET", "/portal/login", http.StatusTooManyRequests},
		"a sign-in":                {stranger, "POST", "/portal/login", http.StatusTooManyRequests},
		"an invitation":            {stranger, "GET", "/portal/invite/guess", http.StatusTooManyRequests},
		"a page":                   {stranger, "GET", "/portal/people", http.StatusTooManyRequests},
		"an unknown session":       {made, "GET", "/portal/account", http.StatusTooManyRequests},
		"a stream of no session":   {made, "GET", "/portal/live", http.StatusTooManyRequests},
		"a page that there is not": {made, "GET", "/portal/no/such/page", http.StatusNotFound},
		"a file that there is not": {made, "GET", "/portal/static/none.css", http.StatusTooManyRequests},
	} {
		resp, body := ask(t, one.client, one.method, s.portal.URL+one.path, guess)
		checkShort(t, what, one.status, resp, body)
	}
}

func TestAPersonGetsAShareOfThePages(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	one, other := s.SignIn(t, "", partners.RoleViewer), s.SignIn(t, "", partners.RoleViewer)
	look := func(c *http.Client) (*http.Response, string) { return ask(t, c, "GET", s.ops.URL+"/ops/account", nil) }
	for _, c := range []*http.Client{one, other} {
		if resp, _ := look(c); resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status)
		}
	}
	_, token, _ := strings.Cut(string(one.Transport.(shelltest.WithCookie)), "=")
	s.fill(t, "ops session/"+string(partners.HashPageToken(token)))
	resp, body := look(one)
	checkShort(t, "one", http.StatusTooManyRequests, resp, body)
	if resp, _ := look(other); resp.StatusCode != http.StatusOK {
		t.Errorf("another one: %s", resp.Status)
	}
}

func TestOnlySomeRefusedSignInsAreExplained(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	post := func() (*http.Response, string) { return ask(t, stranger, "POST", s.portal.URL+"/portal/login", guess) }
	s.portalDoor.remember("address 127.0.0.1", time.Now(), time.Minute)
	if resp, body := post(); resp.StatusCode != http.StatusTooManyRequests || !strings.Contains(body, `value="somebody"`) {
		t.Errorf("a locked address: %s", resp.Status)
	}
	s.fill(t, "portal explained")
	s.fill(t, "portal strangers") // which a locked address takes nothing of
	s.shut(t)
	for range 3 {
		resp, body := post()
		checkShort(t, "a locked address", http.StatusTooManyRequests, resp, body)
	}
}

func TestWhoFindsTheDoorCrowdedMayHearSoInShort(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for range doorPlaces {
		s.portalDoor.enter()
	}
	s.fill(t, "portal explained")
	resp, body := ask(t, stranger, "POST", s.portal.URL+"/portal/login", guess)
	checkShort(t, "a crowd", http.StatusTooManyRequests, resp, body)
}

func TestARefusalIsKeptBackUnlessThereAreTooManyOrTheProcessStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(slog.New(slog.DiscardHandler))
		s := &Surface{Shell: &Shell{hub: h, delayed: make(chan struct{}, 1)}}
		took := func(ctx context.Context) time.Duration {
			began := time.Now()
			s.delay(ctx)
			return time.Since(began)
		}
		if d := took(t.Context()); d != refusalDelay {
			t.Errorf("a refusal is kept back for %s, want %s", d, refusalDelay)
		}
		left, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		if d := took(left); d != time.Second {
			t.Errorf("whose client hangs up after 1 s is kept back for %s", d)
		}
		ended := make(chan time.Duration)
		go func() { ended <- took(t.Context()) }()
		synctest.Wait()
		if d := took(t.Context()); d != 0 {
			t.Errorf("one more than may be is kept back for %s", d)
		}
		h.end()
		if d := <-ended; d != 0 {
			t.Errorf("the process stops, and a refusal is kept back for %s", d)
		}
	})
}

func TestARefusedStreamIsNotLookedUpAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	viewer := s.Bench.NewPerson(t, "", partners.RoleViewer)
	c := s.SignInAs(t, viewer)
	for n := range maxPersonStreams {
		if resp := open(t, c, s.ops.URL+"/ops/live"); resp.StatusCode != http.StatusOK {
			t.Fatalf("stream %d: %s", n, resp.Status)
		}
	}
	again := s.SignInAs(t, viewer)
	for n := range 3 {
		resp := open(t, again, s.ops.URL+"/ops/live")
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		checkShort(t, "a stream too many", http.StatusTooManyRequests, resp, string(body))
		if n == 0 {
			s.shut(t)
		}
	}
}

func TestASessionIsRefusedForAWhileOrUntilThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(slog.New(slog.DiscardHandler))
		defer h.end()
		_, leave, _ := h.enter("one", "session", func(context.Context, []string) (map[string]bool, error) { return map[string]bool{"session": true}, nil })
		h.refuse("a", time.Now())
		if !h.refuses("a", time.Now()) || h.refuses("b", time.Now()) {
			t.Error("it is not known who was refused")
		}
		time.Sleep(refusedFor)
		if h.refuses("a", time.Now()) {
			t.Errorf("still refused after %s", refusedFor)
		}
		h.refuse("a", time.Now())
		leave()
		if h.refuses("a", time.Now()) {
			t.Error("still refused although a page has left")
		}
		time.Sleep(2 * pollEvery) // the watch ends
	})
}

// What a refusal costs, and what it would cost as a page.
func BenchmarkARefusedSignIn(b *testing.B) {
	d := &Shell{Memory: newMemory(), crowds: web.NewLimiter(nil), hub: newHub(slog.New(slog.DiscardHandler)), portalDoor: newDoor(), Options: Options{Log: slog.New(slog.DiscardHandler)}}
	var err error
	if d.assets, err = loadAssets(); err != nil {
		b.Fatal(err)
	}
	d.portalDoor.remember("address 192.0.2.1", time.Now(), time.Hour)
	handler := web.Observe(d.Log, nil, NewSurface(d, Portal, nil).Handler())
	for _, short := range []bool{false, true} {
		name := map[bool]string{false: "page", true: "short"}[short]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !short {
					d.crowds = web.NewLimiter(nil)
				}
				r := httptest.NewRequest("POST", "/portal/login", strings.NewReader(url.Values{"username": {"u"}, "password": {"p"}}.Encode()))
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				if w.Code != http.StatusTooManyRequests {
					b.Fatal(w.Code)
				}
			}
		})
	}
}
