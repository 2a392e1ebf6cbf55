package browsertest

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"ledgerhook/app/receiver"
)

// captured is a request as a receiver may have kept it.
func captured(got receiver.Received, body []byte) string {
	var b bytes.Buffer
	b.WriteString("POST /hooks HTTP/1.1\n")
	for name := range got.Header {
		fmt.Fprintf(&b, "%s: %s\n", name, got.Header.Get(name))
	}
	b.WriteString("\n")
	b.Write(body)
	return b.String()
}

// isPhone makes the page's window that of a phone.
func (b *tab) isPhone() {
	b.t.Helper()
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 400, Height: height, DeviceScaleFactor: 1, Mobile: true})
}

// fits fails the test if the page is wider than its window.
func (b *tab) fits(as string) {
	b.t.Helper()
	if overflow := value[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); overflow > 0 {
		b.t.Errorf("%s: the page is %d pixels too wide", as, overflow)
	}
}

// The first page leads a partner from nothing to a first notification, and
// then says how its notifications are doing. What the receiver got is judged
// right, and wrong with one byte changed. Who has no script has a phone here.
func TestTheStepsOfTheFirstPageAreWalked(t *testing.T) {
	t.Parallel()
	g := start(t)
	admin := firstAdmin(t, g)
	twice(t, func(t *testing.T, open func(*testing.T, string) *tab) {
		code := codeOf(t)
		c := onboard(t, g, code, "Acme Pay")
		newVisitor(t, g.Public).join(admin.invite(code, "developer"), code)
		came := make(chan receiver.Received, 4)
		server := httptest.NewServer(c.receiver(func(got receiver.Received) receiver.Answer {
			came <- got
			return receiver.OK
		}))
		defer server.Close()

		b := open(t, g.Public)
		if strings.HasSuffix(t.Name(), "/without_scripts") {
			b.isPhone()
		}
		b.signIn("/portal", code, goodPassword)
		b.visit("/portal")
		b.sees("1 of 5 steps done", "Receive your first notification")
		b.readable("with five steps")
		b.fits("with five steps")
		b.press("Add an endpoint")
		b.fill("url", server.URL+"/hooks")
		b.press("Save")
		b.sees("a test event was sent to it", "answered 200")
		if got := <-came; !got.VerifiedRSA || !got.VerifiedStandard {
			t.Errorf("the test event came as %+v", got)
		}
		b.visit("/portal")
		b.sees("4 of 5 steps done", "Notifications arrive when something happens.")
		b.fits("with four steps done")

		postEvents(g, code, 1)
		g.Await(code, patience)
		got := <-came
		b.reloads("1\nGiven up") // delivered
		b.sees("The last 24 hours", "Every endpoint accepts its notifications.", "Nothing needs attention")
		if strings.Contains(b.text(), "steps done") {
			t.Errorf("the steps are still there:\n%s", b.where())
		}
		b.readable("with nothing left to do")
		b.fits("with nothing left to do")

		b.visit("/portal/verify")
		b.fill("request", captured(got, got.Body))
		b.press("Check it")
		b.sees("It is genuine: the gateway sent it, and it is unchanged.", "The body is exactly the one sent, byte for byte.")
		b.readable("what is genuine")
		b.fits("what is genuine")

		changed := bytes.Replace(got.Body, []byte(`"createdAt":1`), []byte(`"createdAt":2`), 1)
		if bytes.Equal(changed, got.Body) {
			t.Fatalf("nothing to change in %s", got.Body)
		}
		b.fill("request", captured(got, changed))
		b.press("Check it")
		b.sees("It does not verify.", "The key is right, but data is not what was signed", "The body is not the one sent.", "data.createdAt")
		b.readable("what was changed")
		b.fits("what was changed")
	})
}
