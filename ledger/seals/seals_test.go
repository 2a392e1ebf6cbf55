package seals_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/ledger/seals"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

func TestMain(m *testing.M) { ledgertest.Main(m) }

var (
	oldKey = bytes.Repeat([]byte{1}, signer.MasterKeySize)
	newKey = bytes.Repeat([]byte{2}, signer.MasterKeySize)
	admin  = partners.AuditEntry{Actor: "admin", Action: "master-key.rotate"}
	before = partners.AuditEntry{Actor: "admin", Action: "test"}
)

// letter is longer than a code, so that another key does not find so many
// characters by chance.
const letter = "123456, and so on to the end"

func boxOf(t testing.TB, key []byte, others ...[]byte) *signer.Box {
	t.Helper()
	box, err := signer.NewBox(key, others...)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// both knows both keys and seals with the one that the ledger says.
func both(t testing.TB, b *ledgertest.Bench) *signer.Box {
	t.Helper()
	box := boxOf(t, newKey, oldKey)
	if _, err := b.DB.CheckMasterKey(t.Context(), box); err != nil {
		t.Fatal(err)
	}
	return box
}

// stocked is what was sealed in a ledger.
type stocked struct {
	person  partners.Person
	totp    partners.TOTPSecret
	account partners.Account
	refresh string // a token that was used once
}

// stock fills every sealed column of a new ledger, as the gateway does.
func stock(t *testing.T, b *ledgertest.Bench, box *signer.Box) (s stocked) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, now := t.Context(), time.Now()
	must(b.DB.KeepMasterKey(ctx, box))
	key, err := signer.GenerateKey(2048)
	must(err)
	stored := partners.SigningKey{ID: key.ID(), PublicPEM: key.PublicPEM(), CreatedAt: now, ActivatesAt: now}
	stored.Sealed = box.Seal(stored.SealPurpose(), key.PrivatePEM())
	must(b.DB.AddSigningKey(ctx, stored))
	s.account, err = partners.NewAccount(box, "acme", "Acme", string(key.PublicPEM()), now)
	must(err)
	must(b.CreatePartner(ctx, s.account.Partner, s.account.First, before))
	_, err = b.CreateEndpoint(ctx, delivery.NewEndpoint("acme", "https://partner.example.com/hook", now), func(e *webhook.Endpoint) error {
		return delivery.EndpointChange{Headers: delivery.Headers{"Authorization": "Bearer s3cret"}}.Apply(box, e)
	}, before)
	must(err)
	s.person, s.totp = b.NewPerson(t, "acme", partners.RoleAdmin), partners.NewTOTPSecret()
	must(b.SetTOTP(ctx, s.person, box.Seal(s.person.SealPurpose(), s.totp), 1, nil, nil, before))
	must(partners.NewMailbox(b.Accounts, box).Carry(ctx, partners.Letter{To: partners.Addressee{PartnerCode: "acme", Email: "ann@example.com"}, Code: letter}))
	tokens := partners.NewTokens(b.Accounts, box, slog.New(slog.DiscardHandler))
	pair, err := tokens.Issue(ctx, partners.NewUser("acme", "ann@example.com"))
	must(err)
	s.refresh = pair.Refresh
	_, _, err = tokens.Refresh(ctx, "acme", pair.Refresh)
	must(err)
	return s
}

// peek is what a key has sealed, without the purpose, for which GCM only vouches;
// nil: the key has not sealed it, as far as can be told.
func (s stocked) peek(t *testing.T, key, sealed []byte) []byte {
	t.Helper()
	const head, tag = 1 + 12, 16
	if len(sealed) < head+tag || sealed[0] != 1 {
		return nil
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	plain := bytes.Clone(sealed[head : len(sealed)-tag])
	cipher.NewCTR(block, append(bytes.Clone(sealed[1:head]), 0, 0, 0, 2)).XORKeyStream(plain, plain)
	printed := len(plain) >= 20 && !bytes.ContainsFunc(plain, func(r rune) bool { return r != '\n' && (r < ' ' || r > '~') })
	if printed || bytes.Equal(plain, s.totp) || string(plain) == "ledgerhook" {
		return plain
	}
	return nil
}

// sealedWith names the columns in which a key has sealed something, sorted.
func (s stocked) sealedWith(t *testing.T, b *ledgertest.Bench, key []byte) (columns []string) {
	t.Helper()
	b.EachValue(t, func(column string, value []byte) {
		if s.peek(t, key, value) != nil && !slices.Contains(columns, column) {
			columns = append(columns, column)
		}
	})
	slices.Sort(columns)
	return columns
}

// finish rotates until that has ended.
func finish(t *testing.T, b *ledgertest.Bench, box seals.Box) (last partners.MasterKeyRotation) {
	t.Helper()
	for range 10 {
		r, err := seals.Settling(b.DB, 0).Rotate(t.Context(), box, boxOf(t, newKey), admin)
		if err != nil {
			t.Fatal(err)
		}
		if r.Done {
			return r
		}
	}
	t.Fatal("it never ends")
	return last
}

// Whatever is sealed anywhere in the ledger is in the list, and after the change
// of the key the old one opens nothing. A new sealed column that is not in the
// list fails here once stock fills it.
func TestTheOldMasterKeyOpensNothingAnyMore(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stock(t, b, boxOf(t, oldKey))
		all := append(seals.Columns(), "meta.value")
		slices.Sort(all)
		if diff := cmp.Diff(all, s.sealedWith(t, b, oldKey)); diff != "" {
			t.Fatalf("sealed columns (-listed +found):\n%s", diff)
		}
		if r := finish(t, b, both(t, b)); r.Key != boxOf(t, newKey).Names()[0] || r.Previous != boxOf(t, oldKey).Names()[0] || len(r.Unreadable) > 0 {
			t.Errorf("it says %+v", r)
		}
		if found := s.sealedWith(t, b, oldKey); len(found) > 0 {
			t.Errorf("the old key still opens %v", found)
		}
		if diff := cmp.Diff(all, s.sealedWith(t, b, newKey)); diff != "" {
			t.Errorf("columns that the new key opens (-all +found):\n%s", diff)
		}
		s.check(t, b, boxOf(t, newKey))
		if others, unreadable, err := seals.New(b.DB).Look(t.Context(), boxOf(t, newKey)); others != 0 || len(unreadable) > 0 || err != nil {
			t.Errorf("of another key %d, unreadable %v, %v", others, unreadable, err)
		}
		entries, _, err := b.AuditEntries(t.Context(), partners.AuditFilter{Action: "master-key.rotate", Limit: 10})
		if err != nil || len(entries) != 2 || !strings.HasPrefix(entries[1].Detail, "begun:") || !strings.HasPrefix(entries[0].Detail, "ended:") {
			t.Errorf("the audit log: %+v, %v", entries, err)
		}
	})
}

// check reads what stock stored, with a box.
func (s stocked) check(t *testing.T, b *ledgertest.Bench, box *signer.Box) {
	t.Helper()
	if _, err := b.DB.CheckMasterKey(t.Context(), box); err != nil {
		t.Error(err)
	}
	c, err := b.Credentials(t.Context(), s.person.ID)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := box.Open(c.SealPurpose(), c.SealedTOTP); err != nil || !bytes.Equal(plain, s.totp) {
		t.Errorf("the secret of sign-in codes: %v", err)
	}
	p, err := b.Accounts.Partner(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := box.Open(p.SealPurpose(), p.SealedSecret); err != nil || string(plain) != s.account.SecretKey {
		t.Errorf("the partner's secret key: %v", err)
	}
	if letters, _, err := partners.NewMailbox(b.Accounts, box).List(t.Context(), "", 10); err != nil || len(letters) != 1 || letters[0].Code != letter {
		t.Errorf("the letters are %+v, %v", letters, err)
	}
	if _, ok, err := partners.NewTokens(b.Accounts, box, slog.New(slog.DiscardHandler)).Refresh(t.Context(), "acme", s.refresh); err != nil || !ok {
		t.Errorf("the pair that may be asked for again: %v, %v", ok, err)
	}
}

// meddling is a box that does something when a text has been sealed again and is
// not stored yet.
type meddling struct {
	*signer.Box
	do func(purpose string)
}

func (m meddling) Reseal(purpose string, sealed []byte) ([]byte, error) {
	again, err := m.Box.Reseal(purpose, sealed)
	if again != nil {
		m.do(purpose)
	}
	return again, err
}

// What a process changes just then, even one that has not turned yet, is never
// overwritten.
func TestAChangeMadeMeanwhileStays(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stock(t, b, boxOf(t, oldKey))
		meddled := 0
		box := meddling{both(t, b), func(purpose string) {
			if meddled++; purpose != s.person.SealPurpose() || meddled > len(seals.Columns()) {
				return
			}
			s.totp = partners.NewTOTPSecret()
			if err := b.SetTOTP(t.Context(), s.person, boxOf(t, oldKey).Seal(purpose, s.totp), 1, nil, nil, before); err != nil {
				t.Error(err)
			}
		}}
		first, err := seals.Settling(b.DB, 0).Rotate(t.Context(), box, boxOf(t, newKey), admin)
		if err != nil || first.Resealed != len(seals.Columns())-1 {
			t.Errorf("%+v, %v", first, err)
		}
		finish(t, b, box)
		s.check(t, b, boxOf(t, newKey))
		if found := s.sealedWith(t, b, oldKey); len(found) > 0 {
			t.Errorf("the old key still opens %v", found)
		}
	})
}

// Whenever it is broken off, processes that know both keys can read everything,
// and a further call brings it to its end.
func TestABrokenOffChangeIsFinishedByTheNextCall(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stock(t, b, boxOf(t, oldKey))
		for left := len(seals.Columns()) - 1; left > 0; left-- {
			ctx, kill := context.WithCancel(t.Context())
			resealed := 0
			box := meddling{both(t, b), func(string) {
				if resealed++; resealed == 2 { // so one more each time
					kill()
				}
			}}
			if _, err := seals.Settling(b.DB, 0).Rotate(ctx, box, boxOf(t, newKey), admin); err == nil {
				t.Fatal("it was not broken off")
			}
			kill()
			for _, key := range [][]byte{oldKey, newKey} {
				if _, err := b.DB.CheckMasterKey(t.Context(), boxOf(t, key)); err == nil {
					t.Error("a process that knows one key is let in")
				}
			}
			if others, unreadable, err := seals.New(b.DB).Look(t.Context(), both(t, b)); err != nil || len(unreadable) > 0 || others != left {
				t.Errorf("of the old key are %d, want %d; unreadable %v, %v", others, left, unreadable, err)
			}
		}
		finish(t, b, both(t, b))
		s.check(t, b, boxOf(t, newKey))
	})
}

// A process that does not know the new key keeps it from being changed, one that
// has not turned yet or may still be writing keeps the change from ending.
func TestAChangeWaitsForEveryProcess(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		stock(t, b, boxOf(t, oldKey))
		box, old, ctx := both(t, b), boxOf(t, oldKey), t.Context()
		hold := func(id string, of *signer.Box) {
			t.Helper()
			if err := seals.New(b.DB).Hold(ctx, id, "host-"+id+"/1", of.Names()); err != nil {
				t.Fatal(err)
			}
		}
		step := func(after time.Duration) (partners.MasterKeyRotation, error) {
			return seals.Settling(b.DB, after).Rotate(ctx, box, boxOf(t, newKey), admin)
		}
		hold("a", box)
		hold("b", old)
		if r, err := step(0); webhook.KindOf(err) != webhook.KindConflict || !strings.Contains(err.Error(), "host-b/1;") || strings.Contains(err.Error(), "host-a") {
			t.Fatalf("beside a process that knows one key: %+v, %v", r, err)
		}
		if box.Names()[0] != old.Names()[0] {
			t.Error("it has turned all the same")
		}
		hold("b", boxOf(t, oldKey, newKey))
		if r, err := step(0); err != nil || !slices.Equal(r.WaitingFor, []string{"host-a/1", "host-b/1"}) || r.Resealed > 0 || r.Done {
			t.Fatalf("beside processes that have not turned: %+v, %v", r, err)
		}
		hold("a", box)
		if err := seals.New(b.DB).Release(ctx, "b"); err != nil {
			t.Fatal(err)
		}
		if r, err := step(0); err != nil || r.Resealed != len(seals.Columns()) || r.Done {
			t.Fatalf("once they have: %+v, %v", r, err)
		}
		if r, err := step(time.Hour); err != nil || r.Done || len(r.WaitingFor) > 0 {
			t.Fatalf("while something may still be written: %+v, %v", r, err)
		}
		if r, err := step(0); err != nil || !r.Done {
			t.Fatalf("at the end: %+v, %v", r, err)
		}
		if r, err := step(time.Hour); err != nil || !r.Done || r.Resealed > 0 {
			t.Fatalf("after the end: %+v, %v", r, err)
		}
		for _, silent := range []string{"1000000000", "-2000000000"} { // a clock may have been ahead, too
			if _, err := b.Raw.ExecContext(ctx, "UPDATE master_key_holders SET keys = 'another', seen_at = seen_at - "+silent); err != nil {
				t.Fatal(err)
			}
			if r, err := step(0); err != nil || !r.Done {
				t.Errorf("beside what broke off: %+v, %v", r, err)
			}
		}
		if err := seals.New(b.DB).Forget(ctx, false); err != nil {
			t.Fatal(err)
		}
		if n := b.Count(t, "SELECT COUNT(*) FROM master_key_holders"); n != 0 {
			t.Errorf("%d are not forgotten", n)
		}
	})
}

// A text that no key opens is named, and holds up nothing.
func TestATextThatNoKeyOpensIsNamed(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		s := stock(t, b, boxOf(t, oldKey))
		for i := range 25 {
			b.Partner(t, fmt.Sprintf("foreign-%02d", i))
		}
		r := finish(t, b, both(t, b))
		if len(r.Unreadable) != 20 || r.Unreadable[0] != "partners foreign-00" {
			t.Errorf("unreadable are %v", r.Unreadable)
		}
		if _, unreadable, err := seals.New(b.DB).Look(t.Context(), boxOf(t, newKey)); err != nil || !slices.Equal(unreadable, r.Unreadable) {
			t.Errorf("unreadable are %v, %v", unreadable, err)
		}
		s.check(t, b, boxOf(t, newKey))
	})
}

// A change is not over before transactions that had begun before have ended.
func TestAChangeSettlesLongerThanATransactionLasts(t *testing.T) {
	t.Parallel()
	if seals.SettleTime <= 10*time.Second {
		t.Errorf("it settles for %s", seals.SettleTime)
	}
}
