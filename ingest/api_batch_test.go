package ingest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// resultView is what became of one event of a batch.
type resultView struct {
	Status      int
	EventID     *string
	DeliveryIDs []string
	Duplicate   bool
	Error       *struct {
		Status int
		Detail string
		Errors []struct{ Pointer, Detail string }
	}
}

func (a *api) batch(t *testing.T, items []string) (results []resultView) {
	t.Helper()
	var got struct{ Results []resultView }
	a.want(t, 200, "POST", "/events/batch", `{"events":[`+strings.Join(items, ",")+`]}`).json(t, &got)
	if len(got.Results) != len(items) {
		t.Fatalf("%d results for %d events", len(got.Results), len(items))
	}
	return got.Results
}

func item(t *testing.T, code, id, status string, members ...string) string {
	t.Helper()
	event := topup(code, id, status)
	for i := 0; i < len(members); i += 2 {
		event[members[i]] = members[i+1]
	}
	raw, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestABadEventOfABatchNeverSpoilsItsNeighbours(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		a.endpoint(t, "acme", nil)
		taken := item(t, "acme", "tp_taken", "Pending", "idempotencyKey", "taken")
		a.want(t, 202, "POST", "/events", taken)

		items := make([]string, 1000)
		for i := range items {
			items[i] = item(t, "acme", fmt.Sprint("tp_", i), "Pending")
		}
		good := items[500]
		bad := map[int]struct {
			text, says string
			status     int
		}{
			0:   {`7`, "an object", 400},
			1:   {`null`, "/partnerCode", 400},
			100: {strings.Replace(good, `{`, `{"partnerCode":"acme",`, 1), "/partnerCode must be there once", 400},
			101: {strings.Replace(good, `"id":"tp_500"`, `"id":"x","id":"y"`, 1), "/data/id must be there once", 400},
			200: {strings.Replace(good, "tp_500", "tp_\xff", 1), "UTF-8", 400},
			201: {strings.Replace(good, "tp_500", `tp_\ud800`, 1), "surrogate", 400},
			300: {strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), "an object", 400},
			301: {`{"data":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, "nested deeper", 400},
			400: {strings.Replace(good, "tp_500", strings.Repeat("x", 300<<10), 1), "262144 bytes", 413},
			501: {item(t, "nobody", "tp_1", "Pending"), "partner nobody", 404},
			600: {item(t, "acme", "tp_other", "Pending", "idempotencyKey", "taken"), "used for other content", 409},
			700: {strings.Replace(good, `"fee":1`, `"fee":01`, 1), "not valid JSON", 400},
			701: {strings.Replace(good, `"fee":1`, `"fee":`, 1), "not valid JSON", 400},
			702: {`{"a":1}{"b":2}`, "known member", 400},
			800: {strings.Replace(good, `"amount":100.5`, `"amount":9007199254740993`, 1), "/data/amount", 400},
			998: {item(t, "a\x00b", "tp_1", "Pending"), "/partnerCode", 400},
			999: {`{"partnerCode":"acme","rateLimit":1}`, "/rateLimit", 400},
		}
		for i, b := range bad {
			items[i] = b.text
		}
		for i, got := range a.batch(t, items) {
			b, isBad := bad[i]
			switch {
			case isBad && (got.Status != b.status || got.EventID != nil || len(got.DeliveryIDs) != 0 || got.Error == nil ||
				got.Error.Status != b.status || !strings.Contains(got.Error.Detail, b.says)):
				t.Errorf("event %d: %d %+v, want %d with %q", i, got.Status, got.Error, b.status, b.says)
			case !isBad && (got.Status != 202 || got.EventID == nil || len(got.DeliveryIDs) != 1 || got.Duplicate || got.Error != nil):
				t.Errorf("event %d: %+v %+v", i, got, got.Error)
			}
		}
		want := 1000 - len(bad) + 1
		if n := a.Count(t, "SELECT COUNT(*) FROM events"); n != want {
			t.Errorf("%d events were stored, want %d", n, want)
		}
		if strings.Contains(a.log.text(), `"level":"ERROR"`) {
			t.Errorf("an error was logged")
		}
		a.CheckWindows(t)
	})
}

func TestAKeyTwiceInABatchIsOneEvent(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		a.endpoint(t, "acme", nil)
		first := item(t, "acme", "tp_1", "Pending", "idempotencyKey", "k")
		got := a.batch(t, []string{
			first, first, item(t, "acme", "tp_2", "Pending", "idempotencyKey", "k"),
			item(t, "acme", "tp_3", "Pending"), item(t, "acme", "tp_3", "Pending"), item(t, "acme", "tp_3", "Completed"),
		})
		for i, want := range []int{202, 200, 409, 202, 200, 202} {
			if got[i].Status != want || got[i].Duplicate != (want == 200) {
				t.Errorf("event %d: %+v, want %d", i, got[i], want)
			}
		}
		for _, pair := range [][2]int{{0, 1}, {3, 4}} {
			x, y := got[pair[0]], got[pair[1]]
			if *x.EventID != *y.EventID || fmt.Sprint(x.DeliveryIDs) != fmt.Sprint(y.DeliveryIDs) {
				t.Errorf("%+v and %+v are not one event", x, y)
			}
		}
	})
}

// A partner with as many endpoints as it may have makes the largest statements.
func TestABatchForTwentyEndpointsIsAcceptedWhole(t *testing.T) {
	each(t, func(t *testing.T, a *api) {
		a.partner(t, "acme")
		for range 20 {
			a.endpoint(t, "acme", nil)
		}
		items := make([]string, 60)
		for i := range items {
			items[i] = item(t, "acme", fmt.Sprint("tp_", i), "Pending")
		}
		for i, got := range a.batch(t, items) {
			if got.Status != 202 || len(got.DeliveryIDs) != 20 {
				t.Fatalf("event %d: %+v", i, got)
			}
		}
		if log := a.log.text(); strings.Contains(log, "item by item") {
			t.Errorf("the batch had to be taken apart")
		}
		a.CheckWindows(t)
	})
}

func TestABatchIsOneListOfOneToAThousandEvents(t *testing.T) {
	a := one(t)
	a.partner(t, "acme")
	good := item(t, "acme", "tp_1", "Pending")
	for body, says := range map[string]string{
		`{"events":[]}`: "1 to 1000",
		`{"events":[` + strings.Repeat("1,", 1000) + `1]}`: "1 to 1000",
		`{"events":[1,]}`:                                   "/events/1",
		`{"events":[,` + good + `]}`:                        "/events/0",
		`{"events":[` + good + `,,` + good + `]}`:           "/events/1",
		`{"events":[` + good + `]`:                          "one object",
		`{"events":[` + good:                                "one object",
		`{"events":[` + good + `}`:                          "one object",
		`{"events":[` + good + `}]}`:                        "one object",
		`{"events":[` + good + `]} x`:                       "one object",
		`{"events":[` + good + `],"more":1}`:                "one object",
		`{"events":[` + good + `],"events":[` + good + `]}`: "one object",
		`{"Events":[` + good + `]}`:                         "one object",
		`{"events":null}`:                                   "one object",
		`{"events":{}}`:                                     "one object",
		`{"events":"x"}`:                                    "one object",
		`{"events":["unterminated]}`:                        "one object",
		`{"events":["\`:                                     "one object",
		`[` + good + `]`:                                    "one object",
		good:                                                "one object",
	} {
		a.want(t, 400, "POST", "/events/batch", body, says)
	}
	if n := a.Count(t, "SELECT COUNT(*) FROM events"); n != 0 {
		t.Errorf("%d events were stored", n)
	}
	a.want(t, 200, "POST", "/events/batch", " {\n\t\"events\" : [ "+good+" ,\r\n"+good+" ] } ", `"status":202`, `"status":200`)
}
