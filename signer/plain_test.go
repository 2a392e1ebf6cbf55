package signer

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// checkPlain holds that what is taken for plain is its own form, and refused
// for no reason.
func checkPlain(t interface{ Fatalf(string, ...any) }, document []byte) (plain bool) {
	if !isPlain(document) {
		return false
	}
	canonical, err := transform(document)
	if err != nil || string(canonical) != string(document) {
		t.Fatalf("%q is taken for plain, and is %q, %v", document, canonical, err)
	}
	for literal := range numbers(document) {
		if roundedInteger(literal) {
			t.Fatalf("%q is taken for plain and holds %s, which is rounded", document, literal)
		}
	}
	return true
}

func TestWhatWasMadeCanonicalIsPlainAsARule(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]bool{
		`{}`: true, `{"a":{},"b":[]}`: true, `{"a":"Giấy tờ <&> 😀","b":[1,-2,0,true,false,null,{"c":""}]}`: true,
		`{"amount":12.75,"fee":0.000001,"n":-0.5,"t":1767225600,"w":999999999999999}`: true,
		strings.Repeat(`{"a":`, 63) + "{}" + strings.Repeat("}", 63):                  true,
		strings.Repeat(`{"a":`, 64) + "{}" + strings.Repeat("}", 64):                  false,
		"": false, `"a"`: false, `[]`: false, `{} `: false, ` {}`: false, `{`: false, `{"a"`: false, `{"a":`: false, `{"a":1`: false, `{"a":[`: false,
		`{"a":1,}`: false, `{"a":[1,]}`: false, `{,}`: false, `{"a":1}{}`: false, `{"a" :1}`: false, `{"a": 1}`: false,
		`{"b":1,"a":1}`: false, `{"a":1,"a":1}`: false, `{"":1,"":2}`: false, `{"é":1}`: false, `{"a":"\n"}`: false, "{\"a\":\"\n\"}": false,
		"{\"a\":\"\xff\"}": false, "{\"a\":\"\x7f\"}": true, "{\"a\":\"\u2028\"}": true,
		`{"a":-0}`: false, `{"a":01}`: false, `{"a":1.0}`: false, `{"a":1.}`: false, `{"a":.1}`: false, `{"a":-}`: false, `{"a":1e2}`: false,
		`{"a":0.0000001}`: false, `{"a":1234567890123456}`: false, `{"a":0.123456789012345}`: false, `{"a":truE}`: false, `{"a":nul}`: false,
	} {
		if got := checkPlain(t, []byte(document)); got != want {
			t.Errorf("%q is taken for plain: %t, want %t", document, got, want)
		}
	}
}

// Every vector and what became of it, and any numbers and names beside it.
func TestWhatIsTakenForPlainIsItsOwnForm(t *testing.T) {
	t.Parallel()
	v := readVectors[jcsVectors](t, "jcs.json")
	plain := 0
	for _, d := range append(v.Documents, v.Events...) {
		checkPlain(t, []byte(d.Input))
		if checkPlain(t, []byte(d.Output)) {
			plain++
		}
	}
	for _, e := range v.Edge {
		checkPlain(t, []byte(e.Input))
	}
	for _, n := range v.Numbers {
		checkPlain(t, []byte(`{"a":`+n.Text+`}`))
	}
	if plain == 0 {
		t.Error("no vector is plain")
	}
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,10})?(e[0-9])?`)
		value := rapid.MapOf(rapid.StringMatching(`[a-c"\\é]{0,3}`), number).Draw(t, "value")
		pairs := []string{}
		for name, literal := range value {
			quoted, _ := json.Marshal(name)
			pairs = append(pairs, string(quoted)+":"+literal)
		}
		checkPlain(t, []byte("{"+strings.Join(pairs, ",")+"}"))
	})
}

func TestAPlainDocumentIsReadWithoutAllocations(t *testing.T) {
	document := []byte(`{"amount":12.75,"cardId":"card_01","createdAt":1767225600,"list":[{"a":1}],"status":"Completed"}`)
	if allocs := testing.AllocsPerRun(100, func() { isPlain(document) }); allocs > 0 {
		t.Errorf("%.0f allocations", allocs)
	}
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
