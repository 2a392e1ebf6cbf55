package partners_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func TestWhatEachRoleMayDo(t *testing.T) {
	for _, c := range []struct {
		partner string
		role    partners.Role
		want    string
	}{
		{"", partners.RoleViewer, "reads"},
		{"", partners.RoleOperator, "reads acts"},
		{"", partners.RoleAdmin, "reads acts administers audits"},
		{"", partners.RoleAuditor, "reads audits"},
		{"", partners.RoleDeveloper, "reads"}, // no role of an operator
		{"acme", partners.RoleViewer, "reads audits"},
		{"acme", partners.RoleDeveloper, "reads acts audits"},
		{"acme", partners.RoleAdmin, "reads acts administers audits"},
		{"acme", partners.RoleOperator, "reads audits"}, // no role of a partner
	} {
		p := partners.Person{PartnerCode: c.partner, Role: c.role}
		got := "reads"
		for _, right := range []struct {
			has  bool
			name string
		}{{p.CanAct(), " acts"}, {p.CanAdminister(), " administers"}, {p.CanAudit(), " audits"}} {
			if right.has {
				got += right.name
			}
		}
		if got != c.want {
			t.Errorf("%q %s: %s, want %s", c.partner, c.role, got, c.want)
		}
	}
}

func wantField(t *testing.T, what string, err error, field string) {
	t.Helper()
	var e *webhook.Error
	if field == "" && err != nil || field != "" && (!errors.As(err, &e) || len(e.Fields) != 1 || e.Fields[0].Field != field) {
		t.Errorf("%s: %v, want an error about %q", what, err, field)
	}
}

func TestWhoCanHaveWhichRole(t *testing.T) {
	for _, role := range []partners.Role{"viewer", "operator", "developer", "admin", "auditor", "", "Admin", "root"} {
		wants := map[partners.Role][2]string{"viewer": {}, "admin": {}, "operator": {"", "role"}, "auditor": {"", "role"}, "developer": {"role", ""}}
		want, known := wants[role]
		if !known {
			want = [2]string{"role", "role"}
		}
		wantField(t, "operator "+string(role), partners.CheckRole("", role), want[0])
		wantField(t, "partner "+string(role), partners.CheckRole("acme", role), want[1])
	}
}

func TestUsernames(t *testing.T) {
	for typed, want := range map[string]string{
		"admin": "admin", " Ann.Lee@Example.com ": "ann.lee@example.com", "a_b-c+1": "a_b-c+1", "ab": "", "": "",
		strings.Repeat("a", 64): strings.Repeat("a", 64), strings.Repeat("a", 65): "", "ann lee": "", "\u212Aelvin": "", "ánn": "", "a<b>c": "", "ann\x00": "",
	} {
		got, err := partners.NewUsername(typed)
		field := ""
		if want == "" {
			field = "username"
		}
		wantField(t, fmt.Sprintf("%q", typed), err, field)
		if got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}

func TestNamesAndEmails(t *testing.T) {
	for name, ok := range map[string]bool{"Ann Lee": true, "Nguyễn Văn A": true, "陈": true, "": false, "  ": false, "a\nb": false, "a\u202eb": false, "\xff": false, strings.Repeat("陈", 101): false} {
		wantField(t, name, partners.CheckName(name), map[bool]string{false: "name"}[ok])
	}
	for email, ok := range map[string]bool{"": true, "a@example.com": true, "Ann <a@example.com>": false, "a": false, "a@example.com\r\nBcc: b@example.com": false} {
		wantField(t, email, partners.CheckEmail(email), map[bool]string{false: "email"}[ok])
	}
}

func TestAnInvitationIsOpenForThreeDaysAndOnce(t *testing.T) {
	now := time.Now()
	i := partners.Invite{ExpiresAt: now.Add(partners.InviteLife)}
	used := i
	used.UsedAt = now
	for what, got := range map[string][2]bool{
		"at once": {i.Open(now), true}, "before its end": {i.Open(now.Add(72*time.Hour - 1)), true}, "at its end": {i.Open(now.Add(72 * time.Hour)), false},
		"used": {used.Open(now), false},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: open %v", what, got[0])
		}
	}
}

func TestASessionLivesWhileItIsBusyAndNotForever(t *testing.T) {
	start := time.Now()
	s := partners.Session{SeenAt: start, ExpiresAt: start.Add(partners.SessionLife)}
	late := s
	late.SeenAt = s.ExpiresAt.Add(-time.Second)
	for what, got := range map[string][2]bool{
		"at once": {s.Live(start), true}, "before it is idle": {s.Live(start.Add(12*time.Hour - 1)), true}, "idle": {s.Live(start.Add(12 * time.Hour)), false},
		"busy to the end": {late.Live(s.ExpiresAt.Add(-1)), true}, "busy past it": {late.Live(s.ExpiresAt), false},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: live %v", what, got[0])
		}
	}
}

func TestAnAddressMayFailOftenerThanAUsername(t *testing.T) {
	now := time.Now()
	for subject, limit := range map[string]int{"username ops ann": 10, partners.LoginAddress + "192.0.2.1": 300} {
		tries := partners.LoginTries{Subject: subject, Failed: limit - 1, Last: now}
		if wait := tries.Wait(now); wait != 0 {
			t.Errorf("%s: locked for %v after %d failures", subject, wait, tries.Failed)
		}
		tries.Add(now)
		if wait := tries.Wait(now); wait != partners.LoginLock {
			t.Errorf("%s: after %d failures locked for %v", subject, tries.Failed, wait)
		}
	}
}

func TestTenFailuresLockForAWhile(t *testing.T) {
	now := time.Now()
	var tries partners.LoginTries
	for i := range partners.LoginFailures {
		if wait := tries.Wait(now); wait != 0 {
			t.Fatalf("locked for %v after %d failures", wait, i)
		}
		tries.Add(now)
	}
	if wait := tries.Wait(now.Add(time.Minute)); wait != partners.LoginLock-time.Minute {
		t.Errorf("after ten failures locked for %v", wait)
	}
	if wait := tries.Wait(now.Add(partners.LoginLock)); wait != 0 {
		t.Errorf("locked for %v more when the time is up", wait)
	}
	tries.Add(now.Add(partners.LoginLock))
	if tries.Failed != 1 {
		t.Errorf("old failures are remembered: %d", tries.Failed)
	}
	tries.TakeBack(false)
	tries.TakeBack(false)
	if tries.Failed != 0 {
		t.Errorf("%d failures are left", tries.Failed)
	}
}
