package dashboard

import (
	"bufio"
	"context"
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
	s.bench.Partner(t, "acme")
	s.bench.Endpoint(t, "acme", 10)
	c := s.signIn(t, "acme", partners.RoleViewer)
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
