package partners

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"ledgerhook/signer"
)

// shelf is a store of token families in memory.
type shelf struct {
	families map[string]*Family
	refresh  map[string]string // hash to family
	access   map[string]accessOf
}

type accessOf struct {
	family    string
	expiresAt time.Time
}

func newShelf(t testing.TB, log *bytes.Buffer) (*shelf, *Tokens) {
	t.Helper()
	box, err := signer.NewBox(bytes.Repeat([]byte{7}, signer.MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	s := &shelf{map[string]*Family{}, map[string]string{}, map[string]accessOf{}}
	return s, NewTokens(s, box, slog.New(slog.NewTextHandler(log, nil)))
}

func (s *shelf) AddFamily(_ context.Context, f Family, first Issued) error {
	s.families[f.ID] = &f
	s.add(f.ID, first)
	return nil
}

func (s *shelf) add(family string, i Issued) {
	s.refresh[string(i.Refresh)] = family
	s.access[string(i.Access)] = accessOf{family, i.AccessExpires}
}

func (s *shelf) AlterFamily(_ context.Context, refresh []byte, change func(*Family) (*Issued, error)) (bool, error) {
	id, found := s.refresh[string(refresh)]
	if !found {
		return false, nil
	}
	f := *s.families[id]
	issued, err := change(&f)
	if err != nil {
		return true, err
	}
	s.families[id] = &f
	if issued != nil {
		s.add(id, *issued)
	}
	return true, nil
}

func (s *shelf) AccessToken(_ context.Context, access []byte) (AccessToken, bool, error) {
	a, found := s.access[string(access)]
	if !found {
		return AccessToken{}, false, nil
	}
	f := s.families[a.family]
	return AccessToken{f.User, a.expiresAt, f.RevokedAt}, true, nil
}

var bob = NewUser("acme", "bob@example.com")

// steps drives tokens and fails the test on an error.
type steps struct {
	t *testing.T
	*Tokens
}

func (s steps) issue() Pair {
	s.t.Helper()
	pair, err := s.Issue(s.t.Context(), bob)
	if err != nil {
		s.t.Fatal(err)
	}
	return pair
}

func (s steps) refresh(token string) (Pair, bool) {
	s.t.Helper()
	pair, ok, err := s.Refresh(s.t.Context(), "acme", token)
	if err != nil {
		s.t.Fatal(err)
	}
	return pair, ok
}

func (s steps) good(u User, token string) bool {
	s.t.Helper()
	holder, ok, err := s.Holder(s.t.Context(), token)
	if err != nil {
		s.t.Fatal(err)
	}
	return ok && holder == u
}

func inBubble(t *testing.T, test func(t *testing.T, s steps)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		_, tokens := newShelf(t, new(bytes.Buffer))
		test(t, steps{t, tokens})
	})
}

func TestTokensAre256BitsInBase64URL(t *testing.T) {
	inBubble(t, func(t *testing.T, s steps) {
		seen := map[string]bool{}
		for range 100 {
			p := s.issue()
			for _, token := range []string{p.Access, p.Refresh} {
				raw, err := base64.RawURLEncoding.DecodeString(token)
				if err != nil || len(raw) != 32 || seen[token] {
					t.Fatalf("token %q (%v)", token, err)
				}
				seen[token] = true
			}
			if got := time.Until(p.AccessExpires); got != time.Hour {
				t.Fatalf("the access token lives %s", got)
			}
			if got := time.Until(p.RefreshExpires); got != 720*time.Hour {
				t.Fatalf("the refresh token lives %s", got)
			}
		}
	})
}

func TestAnAccessTokenIsGoodForItsUserForAnHour(t *testing.T) {
	inBubble(t, func(t *testing.T, s steps) {
		p := s.issue()
		for _, test := range []struct {
			name  string
			user  User
			token string
			want  bool
		}{
			{"its user", bob, p.Access, true},
			{"its user in capitals", NewUser("acme", "BOB@example.com"), p.Access, true},
			{"another e-mail", NewUser("acme", "ann@example.com"), p.Access, false},
			{"another partner", NewUser("other", "bob@example.com"), p.Access, false},
			{"the refresh token", bob, p.Refresh, false},
			{"something else", bob, "x", false},
			{"nothing", bob, "", false},
		} {
			if got := s.good(test.user, test.token); got != test.want {
				t.Errorf("%s: good %v", test.name, got)
			}
		}
		time.Sleep(AccessLife - time.Nanosecond)
		if !s.good(bob, p.Access) {
			t.Error("ended early")
		}
		time.Sleep(time.Nanosecond)
		if s.good(bob, p.Access) {
			t.Error("still good after an hour")
		}
	})
}

func TestALostAnswerCanBeAskedForAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, s steps) {
		first := s.issue()
		time.Sleep(time.Hour)
		second, ok := s.refresh(first.Refresh)
		if !ok || second.Refresh == first.Refresh || !s.good(bob, second.Access) {
			t.Fatalf("refreshed: %v", ok)
		}
		time.Sleep(RefreshGrace - time.Nanosecond)
		if again, ok := s.refresh(first.Refresh); !ok || again != second {
			t.Errorf("asked again: %v, the same %v", ok, again == second)
		}
		if third, ok := s.refresh(second.Refresh); !ok || third == second {
			t.Error("the successor is not good after the repetition")
		}
	})
}

func TestReuseRevokesTheFamily(t *testing.T) {
	tests := []struct {
		name  string
		reuse func(s steps, first, second Pair) (token string)
	}{
		{"the one before, after the grace", func(_ steps, first, _ Pair) string { time.Sleep(RefreshGrace); return first.Refresh }},
		{"one before that, within the grace", func(s steps, first, second Pair) string { s.refresh(second.Refresh); return first.Refresh }},
		{"one before, after the end of the newest", func(_ steps, first, _ Pair) string { time.Sleep(RefreshIdle); return first.Refresh }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s steps) {
				other := s.issue()
				first := s.issue()
				second, _ := s.refresh(first.Refresh)
				token := test.reuse(s, first, second)
				if _, ok := s.refresh(token); ok {
					t.Error("the token was good twice")
				}
				for name, refresh := range map[string]string{"first": first.Refresh, "second": second.Refresh} {
					if _, ok := s.refresh(refresh); ok {
						t.Errorf("the %s refresh token is good after the reuse", name)
					}
				}
				if s.good(bob, first.Access) || s.good(bob, second.Access) {
					t.Error("an access token is good after the reuse")
				}
				if _, ok := s.refresh(other.Refresh); !ok && test.name != "one before, after the end of the newest" {
					t.Error("another family was revoked, too")
				}
			})
		})
	}
}

func TestARefreshTokenIsItsPartnersOnly(t *testing.T) {
	inBubble(t, func(t *testing.T, s steps) {
		p := s.issue()
		for _, token := range []string{p.Refresh, p.Access, "", "x"} {
			if _, ok, err := s.Refresh(t.Context(), "other", token); ok || err != nil {
				t.Errorf("good for another partner: %v", err)
			}
		}
		if _, ok := s.refresh(p.Access); ok {
			t.Error("an access token refreshed")
		}
		if _, ok := s.refresh(p.Refresh); !ok {
			t.Error("another partner's attempt spoiled the token")
		}
	})
}

// In use a family lives 30 days, unused 7.
func TestAFamilyEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, s steps) {
		idle := s.issue()
		used := s.issue()
		end := used.RefreshExpires
		for step := 6 * 24 * time.Hour; time.Until(end) > step; {
			time.Sleep(step)
			next, ok := s.refresh(used.Refresh)
			if !ok || !next.RefreshExpires.Equal(end) {
				t.Fatalf("with %s to go: good %v, ends %s", time.Until(end), ok, next.RefreshExpires)
			}
			used = next
		}
		if _, ok := s.refresh(idle.Refresh); ok {
			t.Error("an idle family is good after 7 days")
		}
		time.Sleep(time.Until(end))
		if _, ok := s.refresh(used.Refresh); ok {
			t.Error("the family is good after 30 days")
		}
	})
}

func TestTheLogNamesAReuseAndNoToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		_, tokens := newShelf(t, &log)
		s := steps{t, tokens}
		first := s.issue()
		second, _ := s.refresh(first.Refresh)
		time.Sleep(RefreshGrace)
		s.refresh(first.Refresh)
		s.refresh(first.Refresh)
		if got := bytes.Count(log.Bytes(), []byte("reused")); got != 1 {
			t.Errorf("%d lines about one reuse:\n%s", got, &log)
		}
		for _, token := range []string{first.Access, first.Refresh, second.Access, second.Refresh} {
			if bytes.Contains(log.Bytes(), []byte(token)) {
				t.Error("a token stands in the log")
			}
		}
	})
}

// Of all tokens of a family, at any time at most one gives new ones, and once
// a second holder shows up nobody gets any.
func TestOneChainOfTokensPerFamily(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := start
		f := Family{ID: "fam_1", User: bob, ExpiresAt: now.Add(RefreshLife)}
		_, issued := f.next(now)
		all := [][]byte{issued.Refresh}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 29, 30, 31, 3600, 86_400, 604_800}).Draw(t, "seconds")) * time.Second)
			i := rapid.IntRange(0, len(all)-1).Draw(t, "token")
			newest := i == len(all)-1
			v := f.decide(all[i], now)
			want := refuse
			switch age := now.Sub(f.RotatedAt); {
			case !f.RevokedAt.IsZero():
			case newest && now.Before(f.CurrentUntil):
				want = rotate
			case newest:
			case i == len(all)-2 && age < RefreshGrace:
				want = repeat
			default:
				want = revoke
			}
			if v != want {
				t.Fatalf("token %d of %d: verdict %d, want %d", i+1, len(all), v, want)
			}
			switch v {
			case rotate:
				_, issued = f.next(now)
				f.RotatedAt = now
				all = append(all, issued.Refresh)
				if f.CurrentUntil.After(f.ExpiresAt) || f.CurrentUntil.Sub(now) > RefreshIdle {
					t.Fatal(fmt.Sprint("a refresh token lives until ", f.CurrentUntil))
				}
			case revoke:
				f.RevokedAt = now
			}
		}
	})
}
