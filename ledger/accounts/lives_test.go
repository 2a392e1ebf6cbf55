package accounts_test

import (
	"testing"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/orders"
	"ledgerhook/partners"
)

// What began by a clock that was 400 s ahead lives no longer than from now on,
// and nobody is signed out.
func TestNobodyStaysInForLongerByAClockThatWasAhead(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		tokens := newTokens(t, b)
		pair, _ := refresh(t, tokens, issue(t, tokens).Refresh)
		now := time.Now().Truncate(time.Microsecond)
		session := signIn(t, b, person(t, b, "acme", "eve", partners.RoleAdmin), now)
		invite(t, b, partners.Invite{PartnerCode: "acme", Role: partners.RoleAdmin, InvitedBy: "admin"})
		if _, err := b.TryLogin(t.Context(), []string{"username eve"}, now); err != nil {
			t.Fatal(err)
		}
		if _, err := b.SetRate(t.Context(), orders.Rate{Crypto: "USDT", WalletAddress: "TWallet1"}); err != nil {
			t.Fatal(err)
		}
		ends := []struct {
			table, column string
			life          time.Duration
		}{
			{"access_tokens", "expires_at", partners.AccessLife},
			{"token_families", "expires_at", partners.RefreshLife},
			{"token_families", "current_until", partners.RefreshIdle},
			{"token_families", "ends_at", partners.RefreshIdle + partners.AccessLife},
			{"token_families", "rotated_at", 0},
			{"sessions", "expires_at", partners.SessionLife},
			{"sessions", "seen_at", 0},
			{"invites", "expires_at", partners.InviteLife},
			{"login_failures", "last_at", 0},
			{"secrets", "retires_at", partners.SecretOverlap},
			{"rates", "updated_at", 0},
		}
		ahead := func(by time.Duration) {
			for _, end := range ends {
				change(t, b, "UPDATE "+end.table+" SET "+end.column+" = $1", now.Add(end.life+by).UnixMicro())
			}
		}
		later := func() (n int) {
			for _, end := range ends {
				n += b.Count(t, "SELECT COUNT(*) FROM "+end.table+" WHERE "+end.column+" > $1", now.Add(end.life).UnixMicro())
			}
			return n
		}
		ahead(database.MaxClockSkew)
		want := later()
		sweep(t, b, now)
		same(t, "ends of clocks that differ a little", later(), want)
		ahead(400 * time.Second)
		sweep(t, b, now)
		same(t, "ends later than a life from now", later(), 0)
		same(t, "the session is live", live(t, b, session, now), true)
		checkAccess(t, tokens, pair.Access, true)
		if _, ok := refresh(t, tokens, pair.Refresh); !ok {
			t.Error("the refresh token is no longer good")
		}
	})
}

// A key is replaced because it may be known to others: it must not verify for
// longer because a clock was ahead.
func TestAReplacedKeyVerifiesForADayAlsoByAClockThatWasAhead(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Partner(t, "umbrella")
		now := time.Now().Truncate(time.Microsecond).UTC()
		right := now.Add(partners.KeyOverlap)
		for code, ahead := range map[string]time.Duration{"acme": 40 * 24 * time.Hour, "umbrella": database.MaxClockSkew} {
			_, err := b.UpdatePartner(t.Context(), code, func(p *partners.Partner) error { return p.ReplaceKey([]byte("new"), now.Add(ahead)) })
			if err != nil {
				t.Fatal(err)
			}
		}
		sweep(t, b, now)
		for code, until := range map[string]time.Time{"acme": right, "umbrella": right.Add(database.MaxClockSkew)} {
			p, err := b.Accounts.Partner(t.Context(), code)
			if err != nil {
				t.Fatal(err)
			}
			same(t, code+" verifies by the old key", p.OldKeys, []partners.OldKey{{PEM: []byte("pem"), Until: until}})
		}
	})
}
