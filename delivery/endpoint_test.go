package delivery

import (
	"errors"
	"testing"
	"time"

	"ledgerhook/signer"
	"ledgerhook/webhook"
)

func TestAnEndpointsChangeNamesWhatIsWrongAndLeavesTheRest(t *testing.T) {
	box, err := signer.NewBox(make([]byte, signer.MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	number := func(n int) *int { return &n }
	both := webhook.AckMode("both")
	many := Headers{}
	for i := range MaxHeaders + 1 {
		many["X-"+string(rune('A'+i))] = "v"
	}
	for field, change := range map[string]EndpointChange{
		"/maxInFlight":    {MaxInFlight: number(MaxMaxInFlight + 1)},
		"/rateLimit":      {RateLimit: number(-1)},
		"/ackMode":        {AckMode: &both},
		"/webhookTypes/1": {Types: &[]string{"TopupCard", "TopupCard"}},
		"/timeoutSeconds": {Timeout: number(2)},
		"/headers":        {Headers: many},
		"/headers/Host":   {Headers: Headers{"Host": "x"}},
	} {
		e := NewEndpoint("acme", "https://acme.example/", time.Now())
		err := change.Apply(box, &e)
		var wrong *webhook.Error
		if !errors.As(err, &wrong) || wrong.Fields[0].Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, seconds := range []int{-1, 31, 18_446_744_077} { // the last in nanoseconds wraps around to 3.29 s
		e := NewEndpoint("acme", "https://acme.example/", time.Now())
		if err := (EndpointChange{Timeout: number(seconds)}).Apply(box, &e); err == nil {
			t.Errorf("a timeout of %d s is taken for %s", seconds, e.Timeout)
		}
	}
	e := NewEndpoint("acme", "https://acme.example/", time.Now())
	body, yes := webhook.AckBody, true
	change := EndpointChange{Types: &[]string{"TopupCard"}, MaxInFlight: number(5), RateLimit: number(20), Ordered: &yes, AckMode: &body, Timeout: number(30), Headers: Headers{"X-Key": "s3cret"}}
	if err := errors.Join(change.Apply(box, &e), EndpointChange{}.Apply(box, &e)); err != nil {
		t.Fatal(err)
	}
	headers, err := OpenHeaders(box, e.ID, e.Headers)
	if err != nil || headers["X-Key"] != "s3cret" || len(e.Types) != 1 || e.Window.MaxInFlight != 5 || RateLimit(e.Window) != 20 || !e.Window.Ordered || e.AckMode != body || e.Timeout != 30*time.Second {
		t.Errorf("%+v %v (%v)", e, headers, err)
	}
}

func TestATestIsTheCataloguesExampleOfAType(t *testing.T) {
	e := NewEndpoint("acme", "https://acme.example/", time.Now())
	for _, described := range webhook.Catalog {
		test, err := NewTest(e, described.Type, "key_1", time.Now())
		if err != nil || test.Event.Type != described.Type || test.EndpointID != e.ID || !test.Event.Test || test.Event.Status == "" || string(test.Event.Data) != described.Example {
			t.Errorf("%s: %+v (%v)", described.Type, test, err)
		}
	}
	if _, err := NewTest(e, "Nothing", "key_1", time.Now()); webhook.KindOf(err) != webhook.KindInvalid {
		t.Errorf("an unknown type: %v", err)
	}
	busy := e
	busy.Window.Tests = webhook.MaxTests
	if _, err := NewTest(busy, "", "key_1", time.Now()); webhook.KindOf(err) != webhook.KindRateLimited {
		t.Errorf("a test too many: %v", err)
	}
	for _, types := range [][]webhook.Type{nil, {webhook.ProfileUpdated, webhook.TopupCard}} {
		e.Types = types
		test, err := NewTest(e, "", "key_1", time.Now())
		if want := append(types, webhook.CreateCard)[0]; err != nil || test.Event.Type != want {
			t.Errorf("%v: %s (%v)", types, test.Event.Type, err)
		}
	}
}
