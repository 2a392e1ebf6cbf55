package main

import "testing"

const erasedDoc = `{"events":3,"attempts":5,"cancelledDeliveries":1,"orders":1,"quotes":2,"letters":1,"users":1,"sessions":1,"unfinishedOrders":0,"beingSent":0,"done":`

func TestAnErasureIsPreviewedThenDoneForAReason(t *testing.T) {
	s := newServer(t, map[string][]string{"POST /internal/v1/erasures": {"200 " + erasedDoc + "false}", `200 {"beingSent":1,"events":2,"done":false}`, "200 " + erasedDoc + "true}"}})
	got := run(t, s.env(), "", "erase", "preview", "acme", "--email", "ann@example.com")
	got.has(t, exitOK, "ledgerhook erase start")
	golden(t, "erase-preview", "stdout:\n"+got.out+"stderr:\n"+got.errors)
	if asked := s.last(t); asked.body != `{"partnerCode":"acme","email":"ann@example.com","dryRun":true}` {
		t.Errorf("asked %s", asked.body)
	}
	got = run(t, s.env(), "", "erase", "start", "acme", "--email", "ann@example.com", "--reason", "request 4711", "--json")
	got.has(t, exitOK, "deliveries being sent: 1; going on\nerased")
	if got.out != `{"events":5,"attempts":5,"cancelledDeliveries":1,"orders":1,"quotes":2,"letters":1,"users":1,"sessions":1,"unfinishedOrders":0,"beingSent":0,"done":true}`+"\n" {
		t.Errorf("printed %s", got.out)
	}
	if asked := s.last(t); asked.body != `{"partnerCode":"acme","email":"ann@example.com","reason":"request 4711"}` {
		t.Errorf("asked %s", asked.body)
	}
}

func TestAnErasureNeedsOneSubjectAndAReason(t *testing.T) {
	s := newServer(t, nil)
	run(t, s.env(), "", "erase", "start", "acme", "--card", "card_1").has(t, exitUsage, "--reason")
	run(t, s.env(), "", "erase", "preview", "acme").has(t, exitUsage, "email")
	run(t, s.env(), "", "erase", "preview", "acme", "--card", "card_1", "--order", "ord_1").has(t, exitUsage, "card")
}

func TestAnUnfinishedOrderIsNamedInThePreview(t *testing.T) {
	s := newServer(t, map[string][]string{"POST /internal/v1/erasures": {`200 {"orders":2,"unfinishedOrders":1}`}})
	run(t, s.env(), "", "erase", "preview", "acme", "--order", "order-1").has(t, exitOK, "have not ended yet: 1")
}
