package shell

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
)

func TestASubjectIsAskedOnceASecondForAllAndNotForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(slog.New(slog.DiscardHandler))
		var asked atomic.Int64
		read := func(context.Context) (string, error) { return strconv.FormatInt(asked.Add(1), 10), nil }
		var leave []func()
		var heard []<-chan string
		for range 10 {
			news, stop := h.listen("all", read)
			heard, leave = append(heard, news), append(leave, stop)
		}
		time.Sleep(10*pollEvery + pollEvery/2)
		if n := asked.Load(); n != 11 {
			t.Errorf("asked %d times in 10.5 s", n)
		}
		for _, news := range heard {
			if now := <-news; now != "11" {
				t.Errorf("heard %s, not the newest", now)
			}
		}
		for _, stop := range leave {
			stop()
		}
		time.Sleep(10 * pollEvery)
		if n := asked.Load(); n != 11 || len(h.topics) != 0 {
			t.Errorf("asked %d times, %d subjects left", n, len(h.topics))
		}
	})
}

func TestAPageHearsOfWhatIsNew(t *testing.T) {
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	s.Bench.Endpoint(t, "acme", 10)
	c := s.SignIn(t, "acme", partners.RoleViewer)
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.portal.URL+"/portal/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %v", resp.StatusCode, resp.Header)
	}
	changes := 0
	for lines := bufio.NewScanner(resp.Body); lines.Scan() && changes < 2; {
		if !strings.HasPrefix(lines.Text(), "data: ") {
			continue
		}
		if changes++; changes == 1 {
			if _, err := s.Ledger.Append(t.Context(), ledgertest.NewEvent("acme", "order-1", "done")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if changes != 2 {
		t.Errorf("%d changes", changes)
	}
}

func TestAPersonListensOnFivePagesAndAllOnTwoHundred(t *testing.T) {
	t.Parallel()
	h := newHub(slog.New(slog.DiscardHandler))
	defer h.end()
	going := func(context.Context, []string) (map[string]bool, error) { return nil, errors.New("away") }
	var leave []func()
	for n := range maxStreams {
		_, left, ok := h.enter(strconv.Itoa(n/maxPersonStreams), "session", going)
		if !ok {
			t.Fatalf("stream %d is refused", n)
		}
		leave = append(leave, left)
	}
	if _, _, ok := h.enter("somebody else", "session", going); ok {
		t.Errorf("more than %d", maxStreams)
	}
	leave[7]() // of person 1
	if _, _, ok := h.enter("0", "session", going); ok {
		t.Errorf("more than %d of one person", maxPersonStreams)
	}
	if _, _, ok := h.enter("1", "session", going); !ok {
		t.Error("a reader who left does not give room back")
	}
}

func TestAPageTooManyIsToldToComeBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	viewer := s.Bench.NewPerson(t, "acme", partners.RoleViewer)
	for n := range maxPersonStreams + 1 {
		resp := open(t, s.SignInAs(t, viewer), s.portal.URL+"/portal/live?q="+strconv.Itoa(n))
		if n < maxPersonStreams && resp.StatusCode != http.StatusOK {
			t.Fatalf("page %d: %s", n, resp.Status)
		}
		if n == maxPersonStreams && (resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "15") {
			t.Errorf("page %d: %s, %v", n, resp.Status, resp.Header)
		}
	}
	if resp := open(t, s.SignIn(t, "acme", partners.RoleViewer), s.portal.URL+"/portal/live"); resp.StatusCode != http.StatusOK {
		t.Errorf("another person: %s", resp.Status)
	}
}

func TestAStreamEndsWithItsSession(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *stage, p partners.Person) error{
		"signed out": func(s *stage, p partners.Person) error {
			all, err := s.Accounts.Sessions(t.Context(), p.ID, time.Now())
			if err == nil {
				err = s.Accounts.EndSession(t.Context(), p.ID, all[0].ID, byTest)
			}
			return err
		},
		"disabled": func(s *stage, p partners.Person) error {
			_, err := s.Accounts.AlterPerson(t.Context(), "acme", p.ID, byTest, func(p *partners.Person) error { p.Disabled = true; return nil })
			return err
		},
		"partner disabled": func(s *stage, _ partners.Person) error {
			_, err := s.Ledger.UpdatePartner(t.Context(), "acme", func(p *partners.Partner) error { p.Disabled = true; return nil })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.Bench.Partner(t, "acme")
			viewer := s.Bench.NewPerson(t, "acme", partners.RoleViewer)
			gone, stays := open(t, s.SignInAs(t, viewer), s.portal.URL+"/portal/live"), open(t, s.SignIn(t, "", partners.RoleViewer), s.ops.URL+"/ops/live")
			if err := end(s, viewer); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(gone.Body); err != nil { // which ends with the stream
				t.Errorf("its stream goes on: %v", err)
			}
			s.hub.mu.Lock()
			defer s.hub.mu.Unlock()
			if len(s.hub.streams) != 1 || stays.StatusCode != http.StatusOK {
				t.Errorf("%d streams go on, not the other's alone", len(s.hub.streams))
			}
		})
	}
}

func TestASubjectThatPanicsEndsNoProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(slog.New(slog.DiscardHandler))
		_, leave := h.listen("wrong", func(context.Context) (string, error) { panic("wrong") })
		time.Sleep(3 * pollEvery)
		leave()
	})
}

// open asks for a stream, for at most 20 s.
func open(t *testing.T, c *http.Client, address string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}
