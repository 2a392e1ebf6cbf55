package shell

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"ledgerhook/partners"
)

var guess = url.Values{"username": {"somebody"}, "password": {"wrong horse"}}

func TestWhoFindsTheDoorCrowdedHearsSoAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for range doorPlaces {
		if _, ok := s.portalDoor.enter(); !ok {
			t.Fatal("no place")
		}
	}
	resp, _ := ask(t, stranger, "POST", s.portal.URL+"/portal/login", guess)
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%s, %v", resp.Status, resp.Header)
	}
	if n := s.Bench.Count(t, "SELECT COUNT(*) FROM login_failures"); n != 0 {
		t.Errorf("it left %d rows", n)
	}
	if resp, _ := ask(t, stranger, "POST", s.ops.URL+"/ops/login", guess); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("the operators' door: %s", resp.Status)
	}
}

func TestALockedTryAsksTheLedgerOnlyNowAndThen(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	_, err := s.Bench.Raw.ExecContext(t.Context(), "INSERT INTO login_failures (subject, n, last_at) VALUES ('address 127.0.0.1', $1, $2)", partners.AddressFailures, time.Now().UnixMicro())
	if err != nil {
		t.Fatal(err)
	}
	for try := range 3 {
		resp, _ := ask(t, stranger, "POST", s.portal.URL+"/portal/login", guess)
		if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
			t.Errorf("try %d: %s, %v", try, resp.Status, resp.Header)
		}
		if _, err := s.Bench.Raw.ExecContext(t.Context(), "DELETE FROM login_failures"); err != nil {
			t.Fatal(err)
		}
	}
	s.portalDoor.locked = map[string]time.Time{} // as after lockMemory
	if resp, _ := ask(t, stranger, "POST", s.portal.URL+"/portal/login", guess); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a lock that was lifted: %s", resp.Status)
	}
	if n := s.Bench.Count(t, "SELECT COUNT(*) FROM audit"); n != 1 {
		t.Errorf("%d entries in the audit log, want that of the try that was none of the locked", n)
	}
}

func TestTheOperatorsDoorIsTheirOwn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if s.opsDoor == s.portalDoor || s.opsDoor.passwords == s.portalDoor.passwords {
		t.Error("who fills the portal's door shuts the operators' too")
	}
}

func TestLinksAreNotGuessedWithoutEnd(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	statuses := map[int]int{}
	for statuses[http.StatusTooManyRequests] == 0 { // a slow machine's guesses are allowed meanwhile
		resp, _ := ask(t, stranger, "GET", s.portal.URL+"/portal/invite/guess", nil)
		if statuses[resp.StatusCode]++; statuses[resp.StatusCode] > 10*invitesOpened.Burst {
			break
		}
	}
	if statuses[http.StatusGone] < invitesOpened.Burst || statuses[http.StatusTooManyRequests] == 0 || len(statuses) != 2 {
		t.Errorf("%v", statuses)
	}
}

func TestATypedUsernameThatNobodyHasIsNotKept(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const typed = "my-password-by-mistake"
	if resp, _ := ask(t, stranger, "POST", s.ops.URL+"/ops/login", url.Values{"username": {typed}, "password": {"x"}}); resp.StatusCode != http.StatusUnauthorized {
		t.Fatal(resp.Status)
	}
	found, _, err := s.Trail.AuditEntries(t.Context(), partners.AuditFilter{Limit: 10})
	if err != nil || len(found) == 0 {
		t.Fatalf("%d entries (%v)", len(found), err)
	}
	for _, e := range found {
		if strings.Contains(e.Detail+e.Target+e.Actor, typed) {
			t.Errorf("the audit log, which nothing is deleted from, holds %+v", e)
		}
	}
}
