package accounts_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/signer"
)

func newBox(t *testing.T) *signer.Box {
	t.Helper()
	box, err := signer.NewBox(bytes.Repeat([]byte{1}, signer.MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func newTokens(t *testing.T, b *ledgertest.Bench) *partners.Tokens {
	return partners.NewTokens(b, newBox(t), slog.New(slog.DiscardHandler))
}

func issue(t *testing.T, tokens *partners.Tokens) partners.Pair {
	t.Helper()
	pair, err := tokens.Issue(t.Context(), annUser)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func refresh(t *testing.T, tokens *partners.Tokens, token string) (partners.Pair, bool) {
	t.Helper()
	pair, ok, err := tokens.Refresh(t.Context(), "acme", token)
	if err != nil {
		t.Fatal(err)
	}
	return pair, ok
}

func checkAccess(t *testing.T, tokens *partners.Tokens, token string, want bool) {
	t.Helper()
	if holder, got, err := tokens.Holder(t.Context(), token); err != nil || got != want || got && holder != annUser {
		t.Errorf("the access token is good: %v, want %v (%v)", got, want, err)
	}
}

func TestParallelRefreshesGiveOneSuccessor(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		tokens := newTokens(t, b)
		first := issue(t, tokens)
		pairs := make([]partners.Pair, 20)
		var wg sync.WaitGroup
		for i := range pairs {
			wg.Go(func() {
				pair, ok, err := tokens.Refresh(t.Context(), "acme", first.Refresh)
				if err != nil || !ok {
					t.Errorf("refresh: %v, %v", ok, err)
				}
				pairs[i] = pair
			})
		}
		wg.Wait()
		for _, pair := range pairs {
			if pair != pairs[0] || pair.Refresh == first.Refresh {
				t.Fatalf("20 refreshes with one token gave\n%+v\n%+v", pairs[0], pair)
			}
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM refresh_tokens"); n != 2 {
			t.Errorf("%d refresh tokens, want the first and its successor", n)
		}
		checkAccess(t, tokens, first.Access, true)
		checkAccess(t, tokens, pairs[0].Access, true)
	})
}

// long moves the last rotation of a token's family out of the grace.
func long(t *testing.T, b *ledgertest.Bench, token string) {
	t.Helper()
	hash := sha256.Sum256([]byte(token))
	found, err := b.AlterFamily(t.Context(), hash[:], func(f *partners.Family) (*partners.Issued, error) {
		f.RotatedAt = f.RotatedAt.Add(-partners.RefreshGrace)
		return nil, nil
	})
	if err != nil || !found {
		t.Fatalf("found %v, %v", found, err)
	}
}

func TestReuseOutsideTheGraceRevokesTheFamily(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		tokens := newTokens(t, b)
		other := issue(t, tokens)
		first := issue(t, tokens)
		second, ok := refresh(t, tokens, first.Refresh)
		if !ok {
			t.Fatal("the first refresh failed")
		}
		long(t, b, first.Refresh)
		for _, token := range []string{first.Refresh, second.Refresh, first.Access, "unknown"} {
			if _, ok := refresh(t, tokens, token); ok {
				t.Error("a token was good after the reuse")
			}
		}
		checkAccess(t, tokens, first.Access, false)
		checkAccess(t, tokens, second.Access, false)
		checkAccess(t, tokens, other.Access, true)
		if _, ok := refresh(t, tokens, other.Refresh); !ok {
			t.Error("another family was revoked, too")
		}
	})
}

func TestTheLedgerHoldsNoTokenAndNoCode(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		tokens := newTokens(t, b)
		first := issue(t, tokens)
		second, _ := refresh(t, tokens, first.Refresh)
		mailbox := partners.NewMailbox(b, newBox(t))
		if err := mailbox.Carry(t.Context(), partners.Letter{To: annAddress, Code: "314159"}); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"token_families", "refresh_tokens", "access_tokens", "users", "mailbox"} {
			for _, row := range dump(t, b, table) {
				for _, secret := range []string{first.Access, first.Refresh, second.Access, second.Refresh, "314159"} {
					if bytes.Contains(row, []byte(secret)) {
						t.Errorf("%s holds a secret: %q", table, row)
					}
				}
			}
		}
	})
}

// dump returns every row of a table as one text.
func dump(t *testing.T, b *ledgertest.Bench, table string) (all [][]byte) {
	t.Helper()
	rows, err := b.Raw.QueryContext(t.Context(), "SELECT * FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		var row []byte
		for _, v := range values {
			if text, ok := v.([]byte); ok {
				row = append(row, text...)
			} else {
				row = fmt.Append(row, v)
			}
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTheMailboxShowsLettersForADay(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		mailbox := partners.NewMailbox(b, newBox(t))
		for i := range 5 {
			if err := mailbox.Carry(t.Context(), partners.Letter{To: annAddress, Code: fmt.Sprintf("%06d", i)}); err != nil {
				t.Fatal(err)
			}
		}
		var codes []string
		for cursor, first := "", true; first || cursor != ""; first = false {
			letters, next, err := mailbox.List(t.Context(), cursor, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range letters {
				codes = append(codes, l.Code)
				if l.To != annAddress || l.Subject == "" || !bytes.Contains([]byte(l.Body), []byte(l.Code)) || l.CreatedAt.IsZero() {
					t.Errorf("letter %+v", l)
				}
			}
			cursor = next
		}
		if fmt.Sprint(codes) != "[000004 000003 000002 000001 000000]" {
			t.Errorf("the mailbox shows %v", codes)
		}
		sweep(t, b, time.Now().Add(partners.MailboxLife-time.Minute))
		if n := b.Count(t, "SELECT COUNT(*) FROM mailbox"); n != 5 {
			t.Errorf("%d letters within the day, want 5", n)
		}
		sweep(t, b, time.Now().Add(partners.MailboxLife+time.Minute))
		if n := b.Count(t, "SELECT COUNT(*) FROM mailbox"); n != 0 {
			t.Errorf("%d letters after a day, want none", n)
		}
	})
}

func sweep(t *testing.T, b *ledgertest.Bench, now time.Time) {
	t.Helper()
	if err := errors.Join(b.BoundLives(t.Context(), now), b.BoundAges(t.Context(), now), b.SweepTokens(t.Context(), now)); err != nil {
		t.Fatal(err)
	}
}

func TestTheSweepTakesWhatHasEndedOnly(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		tokens := newTokens(t, b)
		codes, mail := newCodes(b)
		first := issue(t, tokens)
		second, _ := refresh(t, tokens, first.Refresh)
		if err := codes.Send(t.Context(), annAddress); err != nil { // verified below
			t.Fatal(err)
		}
		if !verify(t, codes, (<-mail).Code) {
			t.Fatal("the right code was refused")
		}
		if err := codes.Send(t.Context(), partners.Addressee{PartnerCode: "acme", Email: "bob@example.com"}); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		for _, step := range []struct {
			after                                            time.Duration
			pairs, access, refresh, families, actives, users int
		}{
			{0, 1, 2, 2, 1, 1, 2},
			{partners.RefreshGrace + time.Second, 0, 2, 2, 1, 1, 2},
			{partners.CodeLife + time.Second, 0, 2, 2, 1, 0, 2},
			{partners.AccessLife + time.Second, 0, 0, 2, 1, 0, 2},
			{partners.RefreshIdle + time.Minute, 0, 0, 2, 1, 0, 2},
			{partners.RefreshIdle + partners.AccessLife + time.Second, 0, 0, 0, 0, 0, 2},
			{31 * 24 * time.Hour, 0, 0, 0, 0, 0, 1},
			{3100 * 24 * time.Hour, 0, 0, 0, 0, 0, 1},
		} {
			sweep(t, b, now.Add(step.after))
			for _, is := range []struct {
				query string
				want  int
			}{
				{"SELECT COUNT(*) FROM token_families WHERE length(sealed_pair) > 0", step.pairs},
				{"SELECT COUNT(*) FROM access_tokens", step.access},
				{"SELECT COUNT(*) FROM refresh_tokens", step.refresh},
				{"SELECT COUNT(*) FROM token_families", step.families},
				{"SELECT COUNT(*) FROM users WHERE length(code_digest) > 0", step.actives},
				{"SELECT COUNT(*) FROM users", step.users},
			} {
				if got := b.Count(t, is.query); got != is.want {
					t.Errorf("after %s: %s: %d, want %d", step.after, is.query, got, is.want)
				}
			}
		}
		if _, ok := refresh(t, tokens, second.Refresh); ok {
			t.Error("a swept token is good")
		}
	})
}
