package dashboard

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// failedOnce appends an event of a partner, whose first attempt is answered as
// a says, and returns the delivery's id.
func (s *stage) failedOnce(t *testing.T, partner, object string, a webhook.Attempt, state webhook.State) string {
	t.Helper()
	return s.sentOnce(t, ledgertest.NewEvent(partner, object, "Pending"), a, state)
}

// sentOnce is failedOnce of any event.
func (s *stage) sentOnce(t *testing.T, e delivery.NewEvent, a webhook.Attempt, state webhook.State) string {
	t.Helper()
	stored, err := s.Ledger.Append(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	s.recordOnce(t, stored.DeliveryIDs[0], a, state)
	return stored.DeliveryIDs[0]
}

// recordOnce has the first attempt at a delivery come to a.
func (s *stage) recordOnce(t *testing.T, id string, a webhook.Attempt, state webhook.State) {
	t.Helper()
	var job delivery.Job
	var err error
	for _, ticket := range s.Bench.Tickets() {
		if ticket.DeliveryID == id {
			if job, _, err = s.Ledger.Claim(t.Context(), ticket, "wrk_1"); err != nil {
				t.Fatal(err)
			}
		}
	}
	a.ID, a.DeliveryID, a.Number, a.StartedAt = webhook.NewID(webhook.AttemptPrefix), id, 1, time.Now()
	v := delivery.Verdict{State: state}
	if state == webhook.Pending {
		v.NextAt = time.Now().Add(time.Hour)
	}
	r := delivery.Result{DeliveryID: a.DeliveryID, EndpointID: job.Delivery.EndpointID, Generation: job.Delivery.Generation, Attempt: a, Verdict: v}
	if _, err := s.Ledger.Record(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

var hostile = webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorHTTP5xx, StatusCode: 503, ErrorDetail: "<script>detail</script>\x00",
	ResponseHeaders: map[string][]string{"X-Bad": {"<script>alert(1)</script>\x00\u202e"}}, ResponseBody: bytes.Repeat([]byte{0, 255, '<', 's'}, webhook.MaxKeptBody/4)}

func TestADeliverysPageShowsWhateverTheReceiverAnsweredAsText(t *testing.T) {
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	s.Bench.Endpoint(t, "acme", 8)
	binary := s.failedOnce(t, "acme", "tp_<script>", hostile, webhook.Exhausted)
	text := hostile
	text.ResponseBody = []byte("<script>alert(2)</script> \u202e")
	script := s.failedOnce(t, "acme", "tp_2", text, webhook.Pending)
	for surface, c := range map[string]struct{ base, partner string }{"ops": {s.ops.URL + "/ops", ""}, "portal": {s.portal.URL + "/portal", "acme"}} {
		client := s.SignIn(t, c.partner, partners.RoleAdmin)
		for _, id := range []string{binary, script} {
			resp, body := ask(t, client, "GET", c.base+"/deliveries/"+id, nil)
			if resp.StatusCode != 200 || strings.Contains(body, "<script>") || strings.ContainsAny(body, "\x00\u202e") || !strings.Contains(body, "answered 503") {
				t.Errorf("%s: %d, %d bytes", surface, resp.StatusCode, len(body))
			}
		}
		if _, body := ask(t, client, "GET", c.base+"/deliveries", nil); !strings.Contains(body, binary) || !strings.Contains(body, script) || strings.Contains(body, "<script>") {
			t.Errorf("%s: the list needs both", surface)
		}
	}
}

// Whether it was reached or blocked: where a name leads to inside the company
// is for the operators alone.
func TestAPartnerIsNotToldOfAddressesInside(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	s.Bench.Endpoint(t, "acme", 8)
	operator, partner := s.SignIn(t, "", partners.RoleAdmin), s.SignIn(t, "acme", partners.RoleAdmin)
	for address, private := range map[string]bool{"10.1.2.3": true, "fd00::7": true, "::ffff:10.1.2.3": true, "93.184.216.34": false} {
		a := webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorConnect, PeerIP: address}
		path := "/deliveries/" + s.failedOnce(t, "acme", "tp_"+address, a, webhook.Exhausted)
		if _, body := ask(t, operator, "GET", s.ops.URL+"/ops"+path, nil); !strings.Contains(body, "<dd>"+address+"</dd>") {
			t.Errorf("%s is not shown to an operator", address)
		}
		_, body := ask(t, partner, "GET", s.portal.URL+"/portal"+path, nil)
		if strings.Contains(body, "<dd>"+address+"</dd>") == private || strings.Contains(body, "a private address") != private {
			t.Errorf("of %s a partner is told wrongly", address)
		}
	}
}

func TestAPartnerSeesAndMovesItsOwnDeliveriesOnly(t *testing.T) {
	s := newStage(t)
	for _, code := range []string{"acme", "other"} {
		s.Bench.Partner(t, code)
		s.Bench.Endpoint(t, code, 8)
	}
	id := s.failedOnce(t, "acme", "tp_1", hostile, webhook.Pending)
	stranger := s.SignIn(t, "other", partners.RoleAdmin)
	base := s.portal.URL + "/portal/deliveries"
	for _, each := range [][2]string{{"GET", ""}, {"POST", "/retry"}, {"POST", "/cancel"}} {
		if resp, _ := ask(t, stranger, each[0], base+"/"+id+each[1], nil); resp.StatusCode != 404 {
			t.Errorf("%s %s: %d", each[0], each[1], resp.StatusCode)
		}
	}
	for _, path := range []string{"?q=state:any", "?q=state:any+partner:acme", ".csv?q=state:any", "?q=" + id} {
		if _, body := ask(t, stranger, "GET", base+path, nil); strings.Contains(body, "deliveries/"+id) || strings.Contains(body, "tp_1") {
			t.Errorf("%s shows another's", path)
		}
	}
	viewer := s.SignIn(t, "acme", partners.RoleViewer)
	if resp, _ := ask(t, viewer, "POST", base+"/"+id+"/cancel", nil); resp.StatusCode != 403 {
		t.Errorf("a viewer cancels: %d", resp.StatusCode)
	}
	own := s.SignIn(t, "acme", partners.RoleDeveloper)
	if resp, _ := ask(t, own, "POST", base+"/"+id+"/cancel", nil); resp.StatusCode != 303 {
		t.Errorf("cancel: %d", resp.StatusCode)
	}
	if resp, body := ask(t, own, "POST", base+"/"+id+"/cancel", nil); resp.StatusCode != 409 || !strings.Contains(body, "has already ended") {
		t.Errorf("cancel again: %d", resp.StatusCode)
	}
	resp, _ := ask(t, own, "POST", base+"/"+id+"/retry", nil)
	if to := resp.Header.Get("Location"); resp.StatusCode != 303 || strings.Contains(to, id) || !strings.HasSuffix(to, "?done=again") {
		t.Errorf("send again: %d %s", resp.StatusCode, to)
	}
	if _, body := ask(t, own, "GET", base+"/"+id, nil); !strings.Contains(body, " cancelled it</span>") || !strings.Contains(body, "repeats this one") {
		t.Error("the history does not tell of it")
	}
}

// A partner reads that its gateway's operator acted, and not who of the
// company; the operators read who it was on either side.
func TestADeliverysHistoryKeepsTheOperatorsNamesToThemselves(t *testing.T) {
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	s.Bench.Endpoint(t, "acme", 8)
	id := s.failedOnce(t, "acme", "tp_1", hostile, webhook.Pending)
	anna, bao := s.Bench.NewPerson(t, "", partners.RoleOperator), s.Bench.NewPerson(t, "acme", partners.RoleDeveloper)
	operator, own := s.SignInAs(t, anna), s.SignInAs(t, bao)
	ops, portal := s.ops.URL+"/ops/deliveries/"+id, s.portal.URL+"/portal/deliveries/"+id
	for _, act := range []struct {
		client  *http.Client
		address string
	}{{operator, ops + "/retry"}, {own, portal + "/cancel"}, {operator, ops + "/retry"}} {
		if resp, _ := ask(t, act.client, "POST", act.address, nil); resp.StatusCode != http.StatusSeeOther {
			t.Fatalf("%s: %d", act.address, resp.StatusCode)
		}
	}
	_, seen := ask(t, operator, "GET", ops, nil)
	for _, says := range []string{anna.Username + " retried it", "acme/" + bao.Username + " cancelled it", anna.Username + " sent it again, as dlv_"} {
		if !strings.Contains(seen, says) {
			t.Errorf("the operators do not read %q", says)
		}
	}
	_, seen = ask(t, own, "GET", portal, nil)
	if strings.Count(seen, "gateway operator retried it") != 2 || !strings.Contains(seen, ">"+bao.Username+" cancelled it") || strings.Contains(seen, anna.Username) {
		t.Errorf("the partner must read what was done, and not who of the operators did it: %s", seen)
	}
}

func TestATestIsNotSentAgain(t *testing.T) {
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	e := s.Bench.Endpoint(t, "acme", 8)
	test, err := delivery.NewTest(e, webhook.TopupCard, "key_1", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	id := s.sentOnce(t, test, hostile, webhook.Exhausted)
	own := s.SignIn(t, "acme", partners.RoleDeveloper)
	page := s.portal.URL + "/portal/deliveries/" + id
	if resp, body := ask(t, own, "GET", page, nil); resp.StatusCode != 200 || strings.Contains(body, id+"/retry") {
		t.Errorf("the page of a test is %d and offers to send it again", resp.StatusCode)
	}
	if resp, body := ask(t, own, "POST", page+"/retry", nil); resp.StatusCode != 409 || !strings.Contains(body, "a test is sent once") {
		t.Errorf("send again: %d", resp.StatusCode)
	}
}

func TestAnExportKeepsFormulasOutAndIsAudited(t *testing.T) {
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	s.Bench.Endpoint(t, "acme", 8)
	s.failedOnce(t, "acme", "=cmd()", hostile, webhook.Exhausted)
	c := s.SignIn(t, "", partners.RoleViewer)
	resp, body := ask(t, c, "GET", s.ops.URL+"/ops/deliveries.csv?q=state:exhausted", nil)
	if resp.StatusCode != 200 || !strings.HasPrefix(body, "\ufeffdelivery_id,") || !strings.Contains(body, ",'=cmd(),") || strings.Count(body, "\n") != 2 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if n := s.Bench.Count(t, "SELECT COUNT(*) FROM audit WHERE action = 'delivery.export' AND detail = 'state:exhausted'"); n != 1 {
		t.Errorf("%d entries in the audit log", n)
	}
	if resp, _ := ask(t, c, "GET", s.ops.URL+"/ops/deliveries.csv?q=nope:1", nil); resp.StatusCode != 400 {
		t.Errorf("a wrong search: %d", resp.StatusCode)
	}
}

func TestTheFilterFormBecomesTheTypedSearch(t *testing.T) {
	s := newStage(t)
	c := s.SignIn(t, "", partners.RoleViewer)
	resp, _ := ask(t, c, "GET", s.ops.URL+"/ops/deliveries?q=state:held+partner:a&state=exhausted&partner=&code=5xx", nil)
	if to := resp.Header.Get("Location"); to != "/ops/deliveries?q=state%3Aexhausted+code%3A5xx" {
		t.Error(to)
	}
	resp, body := ask(t, c, "GET", s.ops.URL+"/ops/deliveries?q=state:lost", nil)
	if resp.StatusCode != 400 || !strings.Contains(body, "there is no “lost”") {
		t.Error(resp.StatusCode)
	}
}

// The operators see who erased it, the partner only that somebody did.
func TestTheContentOfAnErasedDeliveryIsReplacedByWhoErasedIt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Bench.Partner(t, "acme")
	s.Bench.Endpoint(t, "acme", 8)
	id := s.failedOnce(t, "acme", "tp_secret", webhook.Attempt{Outcome: webhook.OutcomeFailed, ErrorClass: webhook.ErrorHTTP5xx, StatusCode: 503, ResponseBody: []byte("what it said")}, webhook.Exhausted)
	d, err := s.Bench.Delivery(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if _, done, err := s.Bench.Erase(t.Context(), partners.DataSubject{PartnerCode: "acme", CardID: "card_1"}, partners.AuditEntry{Actor: "eva.operator", Action: "erase", Detail: "x"}); !done || err != nil {
		t.Fatal(done, err)
	}
	ops, portal := s.SignIn(t, "", partners.RoleAdmin), s.SignIn(t, "acme", partners.RoleAdmin)
	for _, page := range []string{"/ops/deliveries/" + id, "/ops/deliveries/" + id + "/signed", "/ops/events/" + d.EventID} {
		resp, body := ask(t, ops, "GET", s.ops.URL+page, nil)
		if resp.StatusCode != 200 || !strings.Contains(body, "The content was erased by eva.operator.") || strings.Contains(body, "what it said") {
			t.Errorf("%s: %d %s", page, resp.StatusCode, body)
		}
	}
	for _, page := range []string{"/portal/deliveries/" + id, "/portal/deliveries/" + id + "/signed"} {
		resp, body := ask(t, portal, "GET", s.portal.URL+page, nil)
		if resp.StatusCode != 200 || !strings.Contains(body, "The content was erased by gateway operator.") || strings.Contains(body, "eva.operator") || strings.Contains(body, "Send again") {
			t.Errorf("%s: %d %s", page, resp.StatusCode, body)
		}
	}
}
