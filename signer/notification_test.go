package signer

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestANotificationIsOneCanonicalTextThatVerifies(t *testing.T) {
	key := vectorKey(t, "service")
	for _, v := range readSigning(t).WebhookStrings {
		n := Notification{
			WebhookType:       v.WebhookType,
			Data:              []byte(v.CanonicalData),
			TopLevelSignature: v.WebhookType == "ProfileApplication.Updated",
		}
		body, err := n.Body(v.Signature)
		if err != nil {
			t.Fatalf("%s: %v", v.WebhookType, err)
		}
		if canonical, err := Canonical(body); err != nil || !bytes.Equal(canonical, body) {
			t.Errorf("%s: %s is not in canonical form: %v", v.WebhookType, body, err)
		}
		if err := VerifyNotification(key.Public(), body); err != nil {
			t.Errorf("%s: %v", v.WebhookType, err)
		}
		if err := VerifyNotification(anotherKey().Public(), body); !errors.Is(err, ErrSignature) {
			t.Errorf("%s: another key: %v", v.WebhookType, err)
		}
		var got struct {
			Data      map[string]any
			Signature string
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		inside, _ := got.Data["signature"].(string)
		if beside := got.Signature; n.TopLevelSignature && (inside != "" || beside != v.Signature) ||
			!n.TopLevelSignature && (inside != v.Signature || beside != "") {
			t.Errorf("%s: the signature is in the wrong place: %s", v.WebhookType, body)
		}
	}
}

func TestNotificationBodies(t *testing.T) {
	data := []byte(`{"a":"<&>\u2028","zz":1.5}`)
	for _, c := range []struct {
		n         Notification
		signature string
		want      string
	}{
		{Notification{"CreateCard", true, data, false}, "c2ln",
			"{\"data\":{\"a\":\"<&>\u2028\",\"signature\":\"c2ln\",\"zz\":1.5},\"success\":true,\"webhookType\":\"CreateCard\"}"},
		{Notification{"ProfileApplication.Updated", false, data, true}, "c2ln",
			"{\"data\":{\"a\":\"<&>\u2028\",\"zz\":1.5},\"signature\":\"c2ln\",\"success\":false,\"webhookType\":\"ProfileApplication.Updated\"}"},
		{Notification{"CreateCard", true, data, false}, "",
			"{\"data\":{\"a\":\"<&>\u2028\",\"zz\":1.5},\"success\":true,\"webhookType\":\"CreateCard\"}"},
		{Notification{"CreateCard", true, []byte("{}"), false}, "c2ln",
			`{"data":{"signature":"c2ln"},"success":true,"webhookType":"CreateCard"}`},
	} {
		got, err := c.n.Body(c.signature)
		if err != nil || string(got) != c.want {
			t.Errorf("got  %s, %v\nwant %s", got, err, c.want)
		}
	}
	for _, data := range []string{``, `null`, `[]`, `"x"`, `{`, `{"signature":"c2ln"}`, `{"a":9007199254740993}`} {
		for _, top := range []bool{true, false} {
			if got, err := (Notification{"CreateCard", true, []byte(data), top}).Body("c2ln"); err == nil {
				t.Errorf("data %s became %s", data, got)
			}
		}
	}
}

// A receiver that parses and prints the body again still verifies, because
// the signature is over the canonical form; any change of content fails.
func TestVerifyNotificationLooksAtTheContent(t *testing.T) {
	key := vectorKey(t, "service")
	signature := readSigning(t).WebhookStrings[1].Signature
	const fields = `"amount":100.5,"cardId":"card_01","createdAt":1700000000,"fee":1,"id":"tp_01","status":"Completed"`
	for _, c := range []struct {
		name, body string
		ok         bool
	}{
		{"as sent", `{"data":{` + fields + `,"signature":"SIG"},"success":true,"webhookType":"TopupCard"}`, true},
		{"signature beside data", `{"data":{` + fields + `},"signature":"SIG"}`, true},
		{"printed anew", "{\n \"webhookType\": \"TopupCard\", \"data\": {\"signature\": \"SIG\",\n" + strings.ReplaceAll(fields, "100.5", "1.0050e2") + "}}", true},
		{"changed", `{"data":{` + strings.ReplaceAll(fields, "100.5", "100.6") + `,"signature":"SIG"}}`, false},
		{"one member more", `{"data":{` + fields + `,"x":null,"signature":"SIG"}}`, false},
		{"two signatures", `{"data":{` + fields + `,"signature":"SIG"},"signature":"SIG"}`, false},
		{"duplicate member", `{"data":{` + fields + `,"id":"tp_01","signature":"SIG"}}`, false},
		{"duplicate data", `{"data":{},"data":{` + fields + `,"signature":"SIG"}}`, false},
		{"no signature", `{"data":{` + fields + `}}`, false},
		{"null signature", `{"data":{` + fields + `,"signature":null}}`, false},
		{"number as signature", `{"data":{` + fields + `,"signature":1}}`, false},
		{"no data", `{"signature":"SIG"}`, false},
		{"data of another kind", `{"data":[],"signature":"SIG"}`, false},
		{"not an object", `[]`, false},
		{"not JSON", `data`, false},
		{"nothing", ``, false},
	} {
		err := VerifyNotification(key.Public(), []byte(strings.ReplaceAll(c.body, "SIG", signature)))
		if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrSignature) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func FuzzVerifyNotification(f *testing.F) {
	key := vectorKey(f, "service")
	for _, v := range readSigning(f).WebhookStrings {
		body, err := Notification{WebhookType: v.WebhookType, Data: []byte(v.CanonicalData)}.Body(v.Signature)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if VerifyNotification(key.Public(), body) != nil {
			return
		}
		text, signature, err := signedData(body)
		if err != nil || Verify(key.Public(), text, signature) != nil || bytes.Contains(text, []byte(`"signature":`)) {
			t.Fatalf("accepts %q", body)
		}
	})
}

// Composing only puts the signature at its place; reading the data, adding the
// member and writing all of it in canonical form must give the same bytes.
func TestABodyIsItsPartsInCanonicalForm(t *testing.T) {
	names := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"signaturd", "signaturf", "signature ", "signatur", "Signature", "\x00", "\"", "\\", "\U0001F600", "\uFB01"}))
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.MapOf(names, rapid.OneOf(rapid.Just[any]("signature"), rapid.Just[any](1.5),
			rapid.Just[any](map[string]any{"signature": []any{"z", map[string]any{"zz": "{,]"}}}), rapid.Just[any](nil))).Draw(t, "members")
		delete(members, "signature")
		canonical := func(v any) []byte {
			loose, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			text, err := Canonical(loose)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		for _, topLevel := range []bool{false, true} {
			n := Notification{WebhookType: "CreateCard", Success: true, Data: canonical(members), TopLevelSignature: topLevel}
			got, err := n.Body("c2ln")
			if err != nil {
				t.Fatal(err)
			}
			body, data := map[string]any{"webhookType": "CreateCard", "success": true}, maps.Clone(members)
			if topLevel {
				body["signature"] = "c2ln"
			} else {
				data["signature"] = "c2ln"
			}
			body["data"] = data
			if want := canonical(body); !bytes.Equal(got, want) {
				t.Fatalf("got  %s\nwant %s", got, want)
			}
		}
	})
}

func BenchmarkBody(b *testing.B) {
	n := Notification{WebhookType: "TopupCard", Success: true,
		Data: []byte(`{"amount":100.5,"cardId":"card_01","createdAt":1767225600,"fee":1,"id":"topup_01","status":"Completed"}`)}
	signature := strings.Repeat("A", 344)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := n.Body(signature); err != nil {
			b.Fatal(err)
		}
	}
}
