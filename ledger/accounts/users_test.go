package accounts_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func byAdmin(action string) partners.AuditEntry {
	return partners.AuditEntry{Actor: "admin", Action: action}
}

// invite stores an invitation and returns the hash of its link's token.
func invite(t *testing.T, b *ledgertest.Bench, i partners.Invite) []byte {
	t.Helper()
	_, hash := partners.NewPageToken()
	i.ID = webhook.NewID(webhook.InvitePrefix)
	if i.CreatedAt.IsZero() {
		i.CreatedAt = time.Now()
	}
	i.ExpiresAt = i.CreatedAt.Add(partners.InviteLife)
	if err := b.CreateInvite(t.Context(), hash, i, byAdmin("invite")); err != nil {
		t.Fatal(err)
	}
	return hash
}

// person makes somebody through an invitation.
func person(t *testing.T, b *ledgertest.Bench, partnerCode, username string, role partners.Role) partners.Person {
	t.Helper()
	hash := invite(t, b, partners.Invite{PartnerCode: partnerCode, Role: role, InvitedBy: "admin"})
	p := partners.Person{ID: webhook.NewID(webhook.PersonPrefix), Username: username, Name: username, CreatedAt: time.Now()}
	p, err := b.AcceptInvite(t.Context(), hash, p, "hash of "+username, time.Now(), byAdmin("invite.accept"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// signIn starts a session of somebody at a time and returns the hash of its token.
func signIn(t *testing.T, b *ledgertest.Bench, p partners.Person, at time.Time) []byte {
	t.Helper()
	_, hash := partners.NewPageToken()
	s := partners.Session{ID: webhook.NewID(webhook.SessionPrefix), PersonID: p.ID, CreatedAt: at, ExpiresAt: at.Add(partners.SessionLife), IP: "127.0.0.1", UserAgent: "b\x00"}
	if err := b.StartSession(t.Context(), hash, s, partners.AuditEntry{Actor: p.Actor(), Action: "login"}); err != nil {
		t.Fatal(err)
	}
	return hash
}

func live(t *testing.T, b *ledgertest.Bench, hash []byte, at time.Time) bool {
	t.Helper()
	_, _, found, err := b.Session(t.Context(), hash, at)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestThereIsOneFirstOperator(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		var made atomic.Int64
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				p := partners.Person{ID: webhook.NewID(webhook.PersonPrefix), Username: "admin", Name: "Admin", Role: partners.RoleAdmin, CreatedAt: time.Now()}
				created, err := b.CreateFirstOperator(t.Context(), p, "hash")
				if err != nil {
					t.Error(err)
				}
				if created {
					made.Add(1)
				}
			})
		}
		wg.Wait()
		same(t, "made", made.Load(), 1)
		has, err := b.HasOperator(t.Context())
		same(t, "has an operator", []any{has, err}, []any{true, error(nil)})
		told, _, err := b.AuditEntries(t.Context(), partners.AuditFilter{Action: "person.create", Limit: 2})
		same(t, "told", []any{len(told), err}, []any{1, error(nil)})
	})
}

func TestAnInvitationMakesOnePersonOnce(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		eve := person(t, b, "acme", "eve", partners.RoleDeveloper)
		same(t, "eve", []any{eve.PartnerCode, eve.Role}, []any{"acme", "developer"})

		hash := invite(t, b, partners.Invite{PartnerCode: "acme", Role: partners.RoleViewer})
		accept := func(username string, at time.Time) error {
			p := partners.Person{ID: webhook.NewID(webhook.PersonPrefix), Username: username, Name: "x", CreatedAt: at}
			_, err := b.AcceptInvite(t.Context(), hash, p, "h", at, byAdmin("invite.accept"))
			return err
		}
		wantKind(t, accept("eve", time.Now()), webhook.KindConflict) // taken; the link still works
		wantKind(t, accept("late", time.Now().Add(partners.InviteLife)), webhook.KindConflict)
		var accepted atomic.Int64
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				if accept(fmt.Sprint("user", i), time.Now()) == nil {
					accepted.Add(1)
				}
			})
		}
		wg.Wait()
		same(t, "accepted", accepted.Load(), 1)
		same(t, "people", b.Count(t, "SELECT COUNT(*) FROM people"), 2)
		_, err := b.Invite(t.Context(), []byte("nothing"))
		wantKind(t, err, webhook.KindNotFound)

		open := invite(t, b, partners.Invite{PartnerCode: "acme", Role: partners.RoleViewer})
		i, err := b.Invite(t.Context(), open)
		if err != nil || !i.Open(time.Now()) {
			t.Fatalf("invitation %+v (%v)", i, err)
		}
		wantKind(t, b.WithdrawInvite(t.Context(), "other", i.ID, byAdmin("invite.withdraw")), webhook.KindNotFound)
		if listed, err := b.Invites(t.Context(), "other", false, time.Now()); err != nil || len(listed) != 0 {
			t.Errorf("invitations of another partner: %v (%v)", listed, err)
		}
		listed, err := b.Invites(t.Context(), "acme", false, time.Now())
		if err != nil || len(listed) != 1 || listed[0] != i {
			t.Errorf("invitations %+v (%v), want %+v", listed, err, i)
		}
		if err := b.WithdrawInvite(t.Context(), "acme", i.ID, byAdmin("invite.withdraw")); err != nil {
			t.Error(err)
		}
		hash = open
		wantKind(t, accept("never", time.Now()), webhook.KindNotFound)
	})
}

func TestANewPasswordByLinkTakesEverythingElseAway(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		ann := person(t, b, "", "ann", partners.RoleAdmin)
		_, hashes := partners.NewRecoveryCodes()
		if err := b.SetTOTP(t.Context(), ann, []byte("sealed"), 7, hashes, nil, byAdmin("totp.on")); err != nil {
			t.Fatal(err)
		}
		session := signIn(t, b, ann, time.Now())
		older := invite(t, b, partners.Invite{PersonID: ann.ID, Role: ann.Role})
		hash := invite(t, b, partners.Invite{PersonID: ann.ID, Role: ann.Role})
		if _, err := b.Invite(t.Context(), older); webhook.KindOf(err) != webhook.KindNotFound {
			t.Errorf("the older link still works: %v", err)
		}
		got, err := b.AcceptInvite(t.Context(), hash, partners.Person{}, "new", time.Now(), byAdmin("password.reset"))
		if err != nil || got.ID != ann.ID {
			t.Fatalf("accepted as %+v (%v)", got, err)
		}
		c, err := b.Credentials(t.Context(), ann.ID)
		if err != nil || c.PasswordHash != "new" || c.TOTP || len(c.SealedTOTP) > 0 {
			t.Errorf("credentials %+v (%v)", c, err)
		}
		same(t, "the session lives", live(t, b, session, time.Now()), false)
		left, err := b.RecoveryCodesLeft(t.Context(), ann.ID)
		same(t, "recovery codes", []any{left, err}, []any{0, error(nil)})
	})
}

func TestALinkForANewPasswordEndsWithThePasswordItWasMadeFor(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		eve := person(t, b, "acme", "eve", partners.RoleDeveloper)
		bob := person(t, b, "acme", "bob", partners.RoleDeveloper)
		link := func(p partners.Person) []byte {
			return invite(t, b, partners.Invite{PersonID: p.ID, PartnerCode: "acme", Role: p.Role})
		}
		accept := func(hash []byte) error {
			_, err := b.AcceptInvite(t.Context(), hash, partners.Person{}, "by link", time.Now(), byAdmin("password.reset"))
			return err
		}
		disable := func(disabled bool) {
			t.Helper()
			if _, err := b.AlterPerson(t.Context(), "acme", eve.ID, byAdmin("person.alter"), func(p *partners.Person) error { p.Disabled = disabled; return nil }); err != nil {
				t.Fatal(err)
			}
		}
		password := func(want string) {
			t.Helper()
			c, err := b.Credentials(t.Context(), eve.ID)
			same(t, "the password", []any{c.PasswordHash, err}, []any{want, error(nil)})
		}
		open := invite(t, b, partners.Invite{PartnerCode: "acme", Role: partners.RoleViewer})

		bobs, old := link(bob), link(eve)
		if err := b.SetPassword(t.Context(), eve, "chosen", nil, byAdmin("password.change")); err != nil {
			t.Fatal(err)
		}
		wantKind(t, accept(old), webhook.KindNotFound)
		password("chosen")

		old = link(eve)
		disable(true)
		wantKind(t, accept(old), webhook.KindNotFound)
		late := link(eve)
		wantKind(t, accept(late), webhook.KindConflict) // the person is disabled
		password("chosen")
		disable(false)
		wantKind(t, accept(old), webhook.KindNotFound)
		if err := accept(bobs); err != nil {
			t.Errorf("another's link: %v", err)
		}
		atOnce := link(bob) // as two made at the same time for one person
		change(t, b, "UPDATE invites SET person_id = $1 WHERE hash = $2", eve.ID, atOnce)
		if err := accept(late); err != nil {
			t.Errorf("a link that was refused is used up: %v", err)
		}
		password("by link")
		wantKind(t, accept(atOnce), webhook.KindNotFound)
		wantKind(t, accept(late), webhook.KindConflict)

		if _, err := b.AcceptInvite(t.Context(), open, partners.Person{ID: webhook.NewID(webhook.PersonPrefix), Username: "new", Name: "New"}, "h", time.Now(), byAdmin("invite.accept")); err != nil {
			t.Errorf("an invitation: %v", err)
		}
	})
}

// A link that is used while its person is disabled, or changes their password,
// either came first or does nothing. Nobody waits in a circle.
func TestALinkAndTheChangeThatEndsItAgree(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		for i := range 10 {
			eve := person(t, b, "acme", fmt.Sprint("eve", i), partners.RoleDeveloper)
			hash := invite(t, b, partners.Invite{PersonID: eve.ID, PartnerCode: "acme", Role: eve.Role})
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					_, err := b.AcceptInvite(t.Context(), hash, partners.Person{}, "by link", time.Now(), byAdmin("password.reset"))
					if kind := webhook.KindOf(err); err != nil && kind != webhook.KindConflict && kind != webhook.KindNotFound {
						t.Error(err)
					}
				})
			}
			wg.Go(func() {
				if err := b.SetPassword(t.Context(), eve, "chosen", nil, byAdmin("password.change")); err != nil {
					t.Error(err)
				}
			})
			wg.Go(func() {
				_, err := b.AlterPerson(t.Context(), "acme", eve.ID, byAdmin("person.disable"), func(p *partners.Person) error { p.Disabled = true; return nil })
				if err != nil {
					t.Error(err)
				}
			})
			wg.Wait()
			c, err := b.Credentials(t.Context(), eve.ID)
			same(t, "the password", []any{c.PasswordHash, err}, []any{"chosen", error(nil)})
			same(t, "links that work", b.Count(t, "SELECT COUNT(*) FROM invites WHERE person_id = $1 AND used_at = 0", eve.ID), 0)
		}
	})
}

func TestCredentialsAreFoundOnlyWhereTheirPersonBelongs(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		ann := person(t, b, "", "ann", partners.RoleViewer)
		eve := person(t, b, "acme", "eve", partners.RoleAdmin)
		for _, q := range []struct {
			username  string
			operators bool
			want      string
		}{{"ann", true, ann.ID}, {"ann", false, ""}, {"eve", false, eve.ID}, {"eve", true, ""}, {"bob", true, ""}} {
			c, err := b.CredentialsByName(t.Context(), q.username, q.operators)
			same(t, fmt.Sprint(q), []any{c.ID, err}, []any{q.want, error(nil)})
			same(t, "has a password", c.PasswordHash != "", q.want != "")
		}
		_, err := b.PersonOf(t.Context(), "other", eve.ID)
		wantKind(t, err, webhook.KindNotFound)
		_, err = b.AlterPerson(t.Context(), "other", eve.ID, byAdmin("x"), func(p *partners.Person) error { p.Name = "x"; return nil })
		if err == nil {
			t.Error("another partner's person is changed")
		}
		_, err = b.PersonOf(t.Context(), "acme", ann.ID)
		wantKind(t, err, webhook.KindNotFound)
		for _, q := range []struct {
			filter partners.PeopleFilter
			want   string
		}{
			{partners.PeopleFilter{Limit: 5}, "ann"}, {partners.PeopleFilter{AnyPartner: true, Limit: 5}, "eve"},
			{partners.PeopleFilter{PartnerCode: "acme", Limit: 5}, "eve"}, {partners.PeopleFilter{PartnerCode: "other", Limit: 5}, ""},
		} {
			names := ""
			found, _, err := b.People(t.Context(), q.filter)
			for _, p := range found {
				names += p.Username
			}
			same(t, fmt.Sprintf("%+v", q.filter), []any{names, err}, []any{q.want, error(nil)})
		}
	})
}

func TestTheLastAdminCannotBeTakenAway(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		person(t, b, "", "root", partners.RoleAdmin) // the company's counts for nobody's partner
		people := []partners.Person{person(t, b, "acme", "ann", partners.RoleAdmin), person(t, b, "acme", "bob", partners.RoleAdmin)}
		var done atomic.Int64
		var wg sync.WaitGroup
		for i, p := range people { // each takes the other away
			wg.Go(func() {
				_, err := b.AlterPerson(t.Context(), "acme", p.ID, byAdmin("person.alter"), func(p *partners.Person) error {
					p.Disabled, p.Role = i == 0, []partners.Role{partners.RoleAdmin, partners.RoleViewer}[i]
					return nil
				})
				if err == nil {
					done.Add(1)
				} else {
					wantKind(t, err, webhook.KindConflict)
				}
			})
		}
		wg.Wait()
		same(t, "changes done", done.Load(), 1)
	})
}

// A partner that has no admin has none to lose.
func TestSomebodyOfAPartnerWithoutAnAdminCanBeDisabled(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		eve := person(t, b, "acme", "eve", partners.RoleDeveloper)
		session := signIn(t, b, eve, time.Now())
		for _, change := range []func(*partners.Person){
			func(p *partners.Person) { p.Role = partners.RoleViewer },
			func(p *partners.Person) { p.Disabled = true },
		} {
			if _, err := b.AlterPerson(t.Context(), "acme", eve.ID, byAdmin("person.alter"), func(p *partners.Person) error { change(p); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		got, err := b.Person(t.Context(), eve.ID)
		same(t, "eve", []any{got.Role, got.Disabled, err}, []any{partners.RoleViewer, true, error(nil)})
		same(t, "the session lives", live(t, b, session, time.Now()), false)
	})
}

func TestASessionEnds(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		person(t, b, "acme", "root", partners.RoleAdmin)
		eve := person(t, b, "acme", "eve", partners.RoleDeveloper)
		start := time.Now().Truncate(time.Microsecond)

		hash := signIn(t, b, eve, start)
		same(t, "live at once", live(t, b, hash, start), true)
		same(t, "live before it is idle", live(t, b, hash, start.Add(partners.SessionIdle-time.Second)), true) // and is touched
		same(t, "live later", live(t, b, hash, start.Add(partners.SessionIdle+time.Hour)), true)
		same(t, "live when idle", live(t, b, hash, start.Add(3*partners.SessionIdle)), false)
		at := start
		for at.Before(start.Add(partners.SessionLife)) {
			same(t, fmt.Sprint("busy at ", at.Sub(start)), live(t, b, hash, at), true)
			at = at.Add(6 * time.Hour)
		}
		same(t, "live past its whole life", live(t, b, hash, start.Add(partners.SessionLife)), false)
		same(t, "an unknown token", live(t, b, []byte("nothing"), start), false)

		one, two := signIn(t, b, eve, start), signIn(t, b, eve, start)
		listed, err := b.Sessions(t.Context(), eve.ID, start)
		if err != nil || len(listed) != 3 {
			t.Fatalf("sessions %v (%v)", listed, err)
		}
		wantKind(t, b.EndSession(t.Context(), "usr_other", listed[0].ID, byAdmin("session.end")), webhook.KindNotFound)
		if err := b.EndSession(t.Context(), eve.ID, listed[0].ID, byAdmin("session.end")); err != nil {
			t.Error(err)
		}
		same(t, "live after it was ended", live(t, b, two, start), false)
		two = signIn(t, b, eve, start)
		if err := b.SetPassword(t.Context(), eve, "new", two, byAdmin("password")); err != nil {
			t.Error(err)
		}
		same(t, "live after a new password, here and elsewhere", []bool{live(t, b, two, start), live(t, b, one, start)}, []bool{true, false})
		disable := func(disabled bool) {
			t.Helper()
			_, err := b.AlterPerson(t.Context(), "acme", eve.ID, byAdmin("person.alter"), func(p *partners.Person) error { p.Disabled = disabled; return nil })
			if err != nil {
				t.Error(err)
			}
		}
		disable(true)
		same(t, "live when disabled", live(t, b, two, start), false)
		disable(false)
		same(t, "live when enabled again", live(t, b, two, start), false)
		two = signIn(t, b, eve, start)
		change(t, b, "UPDATE partners SET disabled = $1", true)
		same(t, "live when the partner is disabled", live(t, b, two, start), false)
		if err := b.SweepTokens(t.Context(), start.Add(2*partners.SessionLife)); err != nil {
			t.Error(err)
		}
		same(t, "sessions kept", b.Count(t, "SELECT COUNT(*) FROM sessions"), 0)
	})
}

func TestATOTPStepAndARecoveryCodeWorkOnce(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		ann := person(t, b, "", "ann", partners.RoleAdmin)
		codes, hashes := partners.NewRecoveryCodes()
		used, err := b.UseTOTPStep(t.Context(), ann.ID, 8)
		same(t, "a step without a secret", []any{used, err}, []any{false, error(nil)})
		if err := b.SetTOTP(t.Context(), ann, []byte("sealed"), 7, hashes, nil, byAdmin("totp.on")); err != nil {
			t.Fatal(err)
		}
		count := func(use func() (bool, error)) (n int64) {
			var good atomic.Int64
			var wg sync.WaitGroup
			for range 5 {
				wg.Go(func() {
					if ok, err := use(); err != nil {
						t.Error(err)
					} else if ok {
						good.Add(1)
					}
				})
			}
			wg.Wait()
			return good.Load()
		}
		for step, want := range map[int64]int64{7: 0, 6: 0} {
			same(t, fmt.Sprint("step ", step), count(func() (bool, error) { return b.UseTOTPStep(t.Context(), ann.ID, step) }), want)
		}
		same(t, "step 8", count(func() (bool, error) { return b.UseTOTPStep(t.Context(), ann.ID, 8) }), 1)
		same(t, "a recovery code", count(func() (bool, error) {
			return b.UseRecoveryCode(t.Context(), ann.ID, partners.HashRecoveryCode(codes[3]))
		}), 1)
		same(t, "another person's", count(func() (bool, error) {
			return b.UseRecoveryCode(t.Context(), "usr_1", partners.HashRecoveryCode(codes[4]))
		}), 0)
	})
}

func TestTriesAtTheSameTimeCannotPassTheLimit(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		now := time.Now().Truncate(time.Microsecond)
		try := func(at time.Time, subjects ...string) time.Duration {
			t.Helper()
			wait, err := b.TryLogin(t.Context(), subjects, at)
			if err != nil {
				t.Error(err)
			}
			return wait
		}
		var allowed atomic.Int64
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() {
				if try(now, []string{"user:ann", "address:1"}[i%2], []string{"user:ann", "address:1"}[1-i%2]) == 0 {
					allowed.Add(1)
				}
			})
		}
		wg.Wait()
		same(t, "tries", allowed.Load(), partners.LoginFailures)
		same(t, "wait of either", []any{try(now, "user:ann"), try(now.Add(time.Minute), "address:1", "user:bob")},
			[]any{partners.LoginLock, partners.LoginLock - time.Minute})
		same(t, "another's", try(now, "user:bob", "address:2"), time.Duration(0))
		if err := b.LoggedIn(t.Context(), []string{"user:ann", "address:1"}, []string{"user:ann"}, now); err != nil {
			t.Error(err)
		}
		for i := range partners.LoginFailures {
			same(t, fmt.Sprint("after a success ", i), try(now, "user:ann"), time.Duration(0))
		}
		same(t, "the address has one try more", try(now, "address:1"), time.Duration(0))
		same(t, "and no second", try(now, "address:1") > 0, true)
		same(t, "when the lock is over", try(now.Add(partners.LoginLock), "address:1"), time.Duration(0))
		if err := b.SweepTokens(t.Context(), now.Add(3*partners.LoginLock)); err != nil {
			t.Error(err)
		}
		same(t, "rows kept", b.Count(t, "SELECT COUNT(*) FROM login_failures"), 0)
	})
}

func TestAFormIsDoneOnce(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		token, _ := partners.NewPageToken()
		done := 0
		do := func() (string, error) { done++; return "rpl_1", nil }
		fail := func() (string, error) { return "", webhook.Conflict("no") }
		_, _, err := b.OnceForm(t.Context(), token, fail)
		wantKind(t, err, webhook.KindConflict)
		for i := range 3 {
			result, again, err := b.OnceForm(t.Context(), token, do)
			same(t, fmt.Sprint("submission ", i), []any{result, again, err}, []any{"rpl_1", i > 0, error(nil)})
		}
		same(t, "done", done, 1)
		_, _, err = b.OnceForm(t.Context(), "", do)
		wantKind(t, err, webhook.KindInvalid)
		other, _ := partners.NewPageToken()
		_, _, err = b.OnceForm(t.Context(), other, func() (string, error) {
			_, again, err := b.OnceForm(t.Context(), other, do)
			same(t, "again meanwhile", again, true)
			wantKind(t, err, webhook.KindConflict)
			return "x", nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
