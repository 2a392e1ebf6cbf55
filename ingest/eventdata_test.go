package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/webhook"
)

// exampleWith returns the catalogue's example of a type with some members replaced;
// an empty text removes the member.
func exampleWith(t testing.TB, typ webhook.Type, changes map[string]string) json.RawMessage {
	t.Helper()
	about, ok := webhook.Describe(typ)
	if !ok {
		t.Fatalf("no type %s", typ)
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(about.Example), &members); err != nil {
		t.Fatal(err)
	}
	for name, raw := range changes {
		if members[name] = json.RawMessage(raw); raw == "" {
			delete(members, name)
		}
	}
	data, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func mustReadEvent(t testing.TB, typ webhook.Type, data json.RawMessage) parsed {
	t.Helper()
	p, err := readEvent(string(typ), data)
	if err != nil {
		t.Fatalf("read %s %s: %v", typ, data, err)
	}
	return p
}

// eventProblems returns what readEvent finds wrong, as "pointer detail" lines.
func eventProblems(t testing.TB, webhookType string, data json.RawMessage) []string {
	t.Helper()
	p, err := readEvent(webhookType, data)
	if err == nil {
		t.Fatalf("%s %s was accepted as %s", webhookType, data, p.Data)
	}
	var e *webhook.Error
	if !errors.As(err, &e) || e.Kind != webhook.KindInvalid || len(e.Fields) == 0 {
		t.Fatalf("the error is %#v, want an invalid request that names fields", err)
	}
	var lines []string
	for _, f := range e.Fields {
		lines = append(lines, f.Field+" "+f.Detail)
	}
	return lines
}

func TestExamplesOfTheCatalogueAreReadAsTheyAreSent(t *testing.T) {
	want := map[webhook.Type]parsed{
		webhook.CreateCard: {ObjectID: "card_01", OrderingKey: "card_01", Status: "Init", CreatedAt: "1700000000",
			DefaultKey: "CreateCard|card_01|Init|1700000000"},
		webhook.TopupCard: {ObjectID: "topup_01", OrderingKey: "card_01", Status: "Completed", CreatedAt: "1700000100",
			DefaultKey: "TopupCard|topup_01|Completed|1700000100"},
		webhook.CardTransaction: {ObjectID: "tx_01", OrderingKey: "card_01", Status: "Pending", CreatedAt: "1700000200",
			DefaultKey: "CardTransaction|tx_01|Pending|1700000200"},
		webhook.ProfileUpdated: {ObjectID: "acc_01", OrderingKey: "acc_01", Status: "REJECTED", CreatedAt: "1700000300",
			DefaultKey: "ProfileApplication.Updated|acc_01|REJECTED|1700000300"},
	}
	for _, about := range webhook.Catalog {
		if !about.FromInside {
			continue
		}
		expected := want[about.Type]
		expected.Type, expected.Data = about.Type, []byte(about.Example)
		if diff := cmp.Diff(expected, mustReadEvent(t, about.Type, json.RawMessage(about.Example))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", about.Type, diff)
		}
	}
}

type eventVectors struct {
	Events []struct{ Name, Input, Output string } `json:"our_event_data"`
	Edge   []struct{ Name, Input, Expect string } `json:"negative_and_edge"`
}

func readEventVectors(t testing.TB) eventVectors {
	raw, err := os.ReadFile("testdata/eventdata_vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v eventVectors
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestEventVectorsComeOutInCanonicalForm(t *testing.T) {
	for _, v := range readEventVectors(t).Events {
		switch webhook.Type(v.Name) {
		case "empty":
			continue // no type has empty data
		case webhook.ProfileUpdated:
			// The vector holds one spelling only; partners get both.
			v.Output = strings.TrimSuffix(v.Output, "}") + `,"rejectReason":"DOC_EXPIRED | Giấy tờ hết hạn | Document expired","status":"REJECTED"}`
		}
		if got := string(mustReadEvent(t, webhook.Type(v.Name), json.RawMessage(v.Input)).Data); got != v.Output {
			t.Errorf("%s:\n got %s\nwant %s", v.Name, got, v.Output)
		}
	}
}

// Every document that strict JSON refuses is refused, and none of the others
// is an event either: they have unknown members.
func TestEdgeVectorsAreRefused(t *testing.T) {
	for _, v := range readEventVectors(t).Edge {
		input := v.Input
		if digits, ok := strings.CutPrefix(input, "hex:"); ok {
			if _, err := fmt.Sscanf(digits, "%x", &input); err != nil {
				t.Fatal(err)
			}
		}
		for _, about := range webhook.Catalog {
			eventProblems(t, string(about.Type), json.RawMessage(input))
		}
	}
}

func TestUnknownTypesAndOurOwnAreRefused(t *testing.T) {
	want := []string{"/webhookType must be one of CreateCard, TopupCard, CardTransaction, ProfileApplication.Updated"}
	for _, typ := range []string{"", "createcard", "CardBlocked", "CashoutOrder.Updated"} {
		if diff := cmp.Diff(want, eventProblems(t, typ, json.RawMessage(`{}`))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", typ, diff)
		}
	}
}

func TestDataMustBeOneStrictObject(t *testing.T) {
	tests := map[string]string{
		"":                       "/data must be valid JSON in UTF-8",
		"null":                   "/data must be an object",
		"[]":                     "/data must be an object",
		`"{}"`:                   "/data must be an object",
		`{"id":"a"} x`:           "/data must be valid JSON in UTF-8",
		`{"id":"a",}`:            "/data must be valid JSON in UTF-8",
		"{\"id\":\"\xff\"}":      "/data must be valid JSON in UTF-8",
		"{\"\xed\xa0\x80\":1}":   "/data must be valid JSON in UTF-8",
		`{"amount":01}`:          "/data must be valid JSON in UTF-8",
		"{\"id\":\"tab\there\"}": "/data must be valid JSON in UTF-8",
		`{"id":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`: "/data must be valid JSON in UTF-8",
	}
	for data, want := range tests {
		if got := eventProblems(t, "TopupCard", json.RawMessage(data)); len(got) != 1 || got[0] != want {
			t.Errorf("%.40q: %q", data, got)
		}
	}
}

func TestAllProblemsOfAnEventComeTogetherInTheOrderOfItsFields(t *testing.T) {
	data := `{"zebra":1, "a/b~c":{}, "signature":"x", "id":"", "amount":"much", "amount":1, "fee":[],
		"feeDetails":[{"amount":1,"currency":"USD","feeType":"FX"},{"amount":"x","feeType":7,"rate":1},3],
		"status":"Done", "type":"", "createdAt":1700000000000}`
	want := []string{
		"/data/amount must not be given twice",
		"/data/id must be an id of 1 to 128 characters without control characters",
		"/data/amount " + numberLimits,
		"/data/cardId is required",
		"/data/fee " + numberLimits,
		"/data/feeDetails/1/amount " + numberLimits,
		"/data/feeDetails/1/currency is required",
		"/data/feeDetails/1/feeType must be a text",
		"/data/feeDetails/1/rate is not known here",
		"/data/feeDetails/2 must be an object",
		"/data/status must be one of Pending, Completed, Rejected",
		"/data/type must be one of Consumption, ConsumptionFee, Refund",
		"/data/createdAt " + secondsLimits,
		"/data/a~1b~0c is not known here",
		"/data/signature must not be given: the gateway makes the signature",
		"/data/zebra is not known here",
	}
	for range 20 { // the order does not depend on that of a map
		if diff := cmp.Diff(want, eventProblems(t, "CardTransaction", json.RawMessage(data))); diff != "" {
			t.Fatalf("problems (-want +got):\n%s", diff)
		}
	}
}

func TestAHostileEventGetsAShortAnswer(t *testing.T) {
	var data strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&data, `,"%d%s":1`, i, strings.Repeat("x", 300))
	}
	got := eventProblems(t, "CreateCard", json.RawMessage("{"+data.String()[1:]+"}"))
	if text := strings.Join(got, "\n"); len(text) > 8<<10 {
		t.Errorf("the error is %d bytes long", len(text))
	}
	if last := got[len(got)-1]; len(got) != maxProblems+1 || last != "/data has 19956 more problems" {
		t.Errorf("%d problems, the last is %q", len(got), last)
	}
}

func TestFieldsThatMayBeAbsentAreSentEmpty(t *testing.T) {
	for _, raw := range []string{"", "null"} {
		data := exampleWith(t, webhook.CardTransaction, map[string]string{"description": raw, "feeDetails": raw})
		got := string(mustReadEvent(t, webhook.CardTransaction, data).Data)
		if !strings.Contains(got, `"description":"","fee":0.5,"feeDetails":[],`) {
			t.Errorf("without description and feeDetails: %s", got)
		}
		data = exampleWith(t, webhook.ProfileUpdated, map[string]string{"rejectReason": raw, "kycRejectReason": raw, "signature": "null"})
		got = string(mustReadEvent(t, webhook.ProfileUpdated, data).Data)
		if !strings.Contains(got, `"kycRejectReason":"","kycStatus":"REJECTED","rejectReason":"",`) {
			t.Errorf("without a reject reason: %s", got)
		}
	}
}

func TestEveryOtherFieldIsRequired(t *testing.T) {
	for _, about := range webhook.Catalog {
		for _, f := range about.Fields {
			if !about.FromInside || f.Name == "description" || f.Name == "feeDetails" || f.Name == "rejectReason" {
				continue
			}
			want := "/data/" + f.Name + " is required"
			for _, raw := range []string{"", "null"} {
				changes := map[string]string{f.Name: raw}
				if f.Alias != "" {
					changes[f.Alias] = raw
					want = "/data/status is required, under this name or as kycStatus"
				}
				got := eventProblems(t, string(about.Type), exampleWith(t, about.Type, changes))
				if len(got) != 1 || got[0] != want {
					t.Errorf("%s without %s: %q", about.Type, f.Name, got)
				}
			}
		}
	}
}

func TestBothSpellingsOfKYCFieldsAreReadAndSent(t *testing.T) {
	want := `{"accountId":"a","createdAt":1,"kycRejectReason":"X | Y | Z","kycStatus":"REJECTED","rejectReason":"X | Y | Z","status":"REJECTED"}`
	for _, data := range []string{
		`{"accountId":"a","createdAt":1,"status":"REJECTED","rejectReason":"X | Y | Z"}`,
		`{"accountId":"a","createdAt":1,"kycStatus":"REJECTED","kycRejectReason":"X | Y | Z"}`,
		`{"accountId":"a","createdAt":1,"status":"REJECTED","kycRejectReason":"X | Y | Z","kycStatus":null}`,
		want,
	} {
		if got := string(mustReadEvent(t, webhook.ProfileUpdated, json.RawMessage(data)).Data); got != want {
			t.Errorf("%s:\n got %s\nwant %s", data, got, want)
		}
	}
	got := eventProblems(t, "ProfileApplication.Updated", json.RawMessage(
		`{"accountId":"a","createdAt":1,"status":"NONE","kycStatus":"VERIFIED","rejectReason":"","kycRejectReason":"X"}`))
	if diff := cmp.Diff([]string{
		"/data/kycStatus must equal /data/status if both are given",
		"/data/kycRejectReason must equal /data/rejectReason if both are given",
	}, got); diff != "" {
		t.Errorf("spellings that disagree (-want +got):\n%s", diff)
	}
}

// An account that is rejected, submits again and is rejected again is told of
// three times.
func TestDefaultKeysTellEventsApart(t *testing.T) {
	keys := map[string]string{}
	for _, data := range []string{
		`{"accountId":"a","createdAt":1,"status":"REJECTED"}`,
		`{"accountId":"a","createdAt":2,"status":"SUBMITTED"}`,
		`{"accountId":"a","createdAt":3,"status":"REJECTED"}`,
		`{"accountId":"a|REJECTED","createdAt":1,"status":"REJECTED"}`,
		`{"accountId":"a|REJECTED|1","createdAt":1,"status":"REJECTED"}`,
		`{"accountId":"b","createdAt":1,"status":"REJECTED"}`,
	} {
		key := mustReadEvent(t, webhook.ProfileUpdated, json.RawMessage(data)).DefaultKey
		if other, taken := keys[key]; taken {
			t.Errorf("%s and %s share the key %q", data, other, key)
		}
		keys[key] = data
	}
	same := mustReadEvent(t, webhook.ProfileUpdated, json.RawMessage(`{"kycStatus":"REJECTED","createdAt":"1.0e0","accountId":"\u0061"}`))
	if _, known := keys[same.DefaultKey]; !known {
		t.Errorf("the same event in other words has another key: %q", same.DefaultKey)
	}
}
