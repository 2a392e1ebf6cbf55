package ingest_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerhook/orders"
	"ledgerhook/partners"
)

// tokens asks for tokens and returns them.
func (g *gate) tokens(t *testing.T, changes members) (accessToken, refreshToken string) {
	t.Helper()
	data := g.grant(t, access, changes)["data"].(map[string]any)
	return data["accessToken"].(string), data["refreshToken"].(string)
}

func TestTheTokenEnvelopeHasBothSpellings(t *testing.T) {
	eachGate(t, func(t *testing.T, g *gate) {
		before := time.Now().Unix()
		m := g.grant(t, access, nil, "lang", "vi")
		data := m["data"].(map[string]any)
		if want := []string{"data", "errorCode", "message", "success"}; !slices.Equal(slices.Sorted(maps.Keys(m)), want) {
			t.Errorf("members of the envelope: %v", m)
		}
		if m["success"] != true || fmt.Sprint(m["errorCode"]) != "0" || m["message"] != orders.SuccessMessage("vi") || len(data) != 6 {
			t.Errorf("%v", m)
		}
		for name, life := range map[string]time.Duration{"access": partners.AccessLife, "refresh": partners.RefreshLife} {
			at, err := strconv.ParseInt(data[name+"TokenExpiresAt"].(string), 10, 64)
			if late := at - before - int64(life/time.Second); err != nil || late < 0 || late > 5 || data[name+"TokenExpiredAt"] != data[name+"TokenExpiresAt"] {
				t.Errorf("%s: %v", name, data)
			}
		}
		// A refreshed pair comes in the same envelope.
		again := g.grant(t, refresh, members{"refreshToken": data["refreshToken"]})["data"].(map[string]any)
		if len(again) != 6 || again["accessToken"] == data["accessToken"] || again["refreshTokenExpiresAt"] != data["refreshTokenExpiresAt"] {
			t.Errorf("%v after %v", again, data)
		}
	})
}

func TestABearerTokenMustBeTheUsersOwn(t *testing.T) {
	eachGate(t, func(t *testing.T, g *gate) {
		good, _ := g.tokens(t, nil)
		bob, _ := g.tokens(t, members{"userEmail": "bob@example.com"})
		other := g.account(t, "globex", keys()[2])
		foreign := g.granted(t, access, post(t, g.handler, access, other.body(t, access, nil)))["data"].(map[string]any)["accessToken"].(string)
		expired, _ := g.tokens(t, nil)
		g.set(t, "UPDATE access_tokens SET expires_at = $1 WHERE expires_at = (SELECT MAX(expires_at) FROM access_tokens) AND family_id = (SELECT MAX(id) FROM token_families)", ago(0))
		g.grant(t, create, nil)

		ask := func(op string, granted bool, headers ...string) {
			t.Helper()
			if granted {
				g.grant(t, op, nil, headers...)
			} else {
				g.refuse(t, key(orders.KeyAccessTokenInvalid), op, nil, headers...)
			}
		}
		for _, required := range []bool{false, true} {
			g.settings(t, "acme", func(s *partners.Settings) { s.RequireAccessToken = required })
			for _, op := range []string{review, create, details} {
				ask(op, !required)
				ask(op, true, "Authorization", "Bearer "+good)
				ask(op, true, "Authorization", "bearer  "+good+" ")
				for _, wrong := range []string{"Bearer " + bob, "Bearer " + foreign, "Bearer " + expired, "Bearer " + good + "x", "Bearer", "Basic " + good, good[1:]} {
					ask(op, false, "Authorization", wrong)
				}
			}
			unknown := members{"externalOrderId": "unknown"}
			g.refuse(t, key(orders.KeyOrderNotFound), details, unknown, "Authorization", "Bearer "+bob)
			g.refuse(t, key(orders.KeyAccessTokenInvalid), details, unknown, "Authorization", "Bearer "+foreign)
			g.grant(t, send, members{"email": fmt.Sprint(required, "@example.com")}) // signing in needs no token
		}
		g.grant(t, review, members{"userEmail": "AN@example.com"}, "Authorization", "Bearer "+good)
	})
}

func TestACodeSignsInOnceAndItsAnswerIsSigned(t *testing.T) {
	eachGate(t, func(t *testing.T, g *gate) {
		g.tokens(t, members{"userEmail": "An@Example.com"})
		letter := <-g.letters
		if letter.To.Email != "An@Example.com" || letter.To.PartnerCode != "acme" {
			t.Errorf("a letter to %+v", letter.To)
		}
		g.tokens(t, nil) // the code is still good: no other is sent
		g.settings(t, "acme", func(s *partners.Settings) { s.RequireVerifiedEmail = true })
		g.refuse(t, key(orders.KeyVerificationRequired), review, nil)
		g.refuse(t, key(orders.KeyVerificationRequired), create, nil)
		g.refuse(t, key(orders.KeyCodeInvalid), verify, members{"code": letter.Code, "email": "bob@example.com"})
		m := g.grant(t, verify, members{"code": letter.Code, "email": "AN@example.com"})
		if m["email"] != "AN@example.com" || len(m) != 4 {
			t.Errorf("%v", m)
		}
		g.grant(t, review, nil, "Authorization", "Bearer "+m["accessToken"].(string))
		g.grant(t, create, nil)
		g.refuse(t, key(orders.KeyCodeInvalid), verify, members{"code": letter.Code})
		g.tokens(t, nil)
		if len(g.letters) != 0 {
			t.Errorf("%d letters to an e-mail that is verified", len(g.letters))
		}
	})
}

func TestAskingForACodeAnswersAlwaysTheSame(t *testing.T) {
	g := newGate(t, newBench(t))
	first := g.ask(t, send, nil)
	for range 5 { // only the first sends a letter
		if got := g.ask(t, send, nil); got.status != http.StatusOK || string(got.body) != string(first.body) {
			t.Errorf("%d %s, after %s", got.status, got.body, first.body)
		}
	}
	if len(g.letters) != 1 {
		t.Errorf("%d letters", len(g.letters))
	}
}

// TestOfAHundredGuessesFiveReachACode guesses through ten processes that each
// limit by themselves, as when Redis is away.
func TestOfAHundredGuessesFiveReachACode(t *testing.T) {
	eachGate(t, func(t *testing.T, g *gate) {
		g.grant(t, send, nil)
		code := (<-g.letters).Code
		wrong := g.acme.body(t, verify, members{"code": notCode(code)})
		var all sync.WaitGroup
		for range 10 {
			process := g.process(t, orders.ProductionLimits)
			all.Go(func() {
				for range 10 {
					checkRefusal(t, verify, key(orders.KeyCodeInvalid), "en", post(t, process, verify, wrong))
				}
			})
		}
		all.Wait()
		if n := g.compared.Load(); n != partners.CodeTries {
			t.Errorf("%d guesses were compared, want %d", n, partners.CodeTries)
		}
		g.refuse(t, key(orders.KeyCodeInvalid), verify, members{"code": code})
		failures := g.Count(t, "SELECT failures FROM users WHERE email = 'an@example.com'")
		locked := g.Count(t, "SELECT locked_until FROM users WHERE email = 'an@example.com'")
		if failures != partners.FailuresBeforeLock || int64(locked) < ago(0) {
			t.Errorf("%d failures counted, locked until %d", failures, locked)
		}
		// A new code does not open the lock; time does.
		g.set(t, "UPDATE users SET sends = ''")
		g.grant(t, send, nil)
		code = (<-g.letters).Code
		g.refuse(t, key(orders.KeyCodeInvalid), verify, members{"code": code})
		g.set(t, "UPDATE users SET locked_until = $1", ago(0))
		g.grant(t, verify, members{"code": code})
	})
}

func notCode(code string) string {
	if code == "000000" {
		return "000001"
	}
	return "000000"
}

// TestTheTimeOfARefusedCodeTellsNoCause compares the medians of the causes.
func TestTheTimeOfARefusedCodeTellsNoCause(t *testing.T) {
	eachGate(t, func(t *testing.T, g *gate) {
		g.settings(t, "acme", func(s *partners.Settings) { s.Limits = partners.Limits{PerSecond: 100000, Burst: 100000} })
		names := []string{"wrong", "expired", "used up", "locked", "unknown"}
		prepare := []string{
			"UPDATE users SET tries = 0, failures = 0, locked_until = 0, code_expires_at = $1",
			"UPDATE users SET tries = 0, failures = 0, locked_until = 0, code_expires_at = $1 - 3600000000",
			"UPDATE users SET tries = 5, failures = 0, locked_until = 0, code_expires_at = $1",
			"UPDATE users SET tries = 0, failures = 0, locked_until = $1",
			"DELETE FROM users WHERE locked_until <> $1",
		}
		compareMedians(t, names, func(took [][]time.Duration) {
			for range 25 {
				g.handler = g.process(t, orders.ProductionLimits)
				g.set(t, "DELETE FROM users")
				g.grant(t, send, nil)
				body := g.acme.body(t, verify, members{"code": notCode((<-g.letters).Code)})
				for i, statement := range prepare {
					g.set(t, statement, ago(-10*time.Minute))
					began := time.Now()
					got := post(t, g.handler, verify, body)
					took[i] = append(took[i], time.Since(began))
					checkRefusal(t, verify, key(orders.KeyCodeInvalid), "en", got)
				}
			}
		})
	})
}

func TestTwentyRefreshesWithOneTokenGiveOneSuccessor(t *testing.T) {
	eachGate(t, func(t *testing.T, g *gate) {
		_, token := g.tokens(t, nil)
		body := g.acme.body(t, refresh, members{"refreshToken": token})
		answers := make([]answer, 20)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() { answers[i] = post(t, g.handler, refresh, body) })
		}
		all.Wait()
		for _, got := range answers {
			if got.status != http.StatusOK || string(got.body) != string(answers[0].body) {
				t.Fatalf("%d %s\nand %d %s", got.status, got.body, answers[0].status, answers[0].body)
			}
		}
		if n := g.Count(t, "SELECT COUNT(*) FROM refresh_tokens"); n != 2 {
			t.Errorf("%d refresh tokens", n)
		}
	})
}

func TestATokenUsedAgainOutsideTheGraceRevokesItsFamily(t *testing.T) {
	eachGate(t, func(t *testing.T, g *gate) {
		refreshed := func(token string) (string, string) {
			t.Helper()
			data := g.grant(t, refresh, members{"refreshToken": token})["data"].(map[string]any)
			return data["accessToken"].(string), data["refreshToken"].(string)
		}
		_, apart := g.tokens(t, nil)
		firstAccess, first := g.tokens(t, nil)
		secondAccess, second := refreshed(first)
		if again, _ := refreshed(first); again != secondAccess {
			t.Error("within the grace another pair was given")
		}
		g.grant(t, review, nil, "Authorization", "Bearer "+firstAccess)
		g.set(t, "UPDATE token_families SET rotated_at = rotated_at - $1 WHERE rotated_at > 0", (partners.RefreshGrace).Microseconds())
		for _, token := range []string{first, second, firstAccess, strings.ToLower(first)} {
			g.refuse(t, key(orders.KeyRefreshTokenInvalid), refresh, members{"refreshToken": token})
		}
		for _, token := range []string{firstAccess, secondAccess} {
			g.refuse(t, key(orders.KeyAccessTokenInvalid), review, nil, "Authorization", "Bearer "+token)
		}
		refreshed(apart) // another sign-in goes on
		// Another partner's token is not one of ours, and stays good.
		other := g.account(t, "globex", keys()[2])
		theirs := g.granted(t, access, post(t, g.handler, access, other.body(t, access, nil)))["data"].(map[string]any)["refreshToken"].(string)
		g.refuse(t, key(orders.KeyRefreshTokenInvalid), refresh, members{"refreshToken": theirs})
		g.granted(t, refresh, post(t, g.handler, refresh, other.body(t, refresh, members{"refreshToken": theirs})))
	})
}

// What was typed with blanks around is signed as it was sent and is the same
// user; a domain beyond ASCII gets its letter as xn--.
func TestAnAddressIsReadButSignedAsSent(t *testing.T) {
	t.Parallel()
	g := newGate(t, newBench(t))
	g.tokens(t, members{"userEmail": " Ann@Bücher.example "})
	if letter := <-g.letters; letter.To.Email != "Ann@xn--bcher-kva.example" {
		t.Errorf("a letter to %q", letter.To.Email)
	}
	g.grant(t, send, members{"email": "ann@xn--bcher-kva.example"})
	select {
	case letter := <-g.letters:
		t.Errorf("another user gets a code at once: %+v", letter.To)
	default:
	}
}
