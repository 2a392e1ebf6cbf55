package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ledgerhook/webhook"
)

// checkStrict decodes into what takes any JSON.
func checkStrict(text []byte) error { return Decode(text, new(json.RawMessage)) }

// said is what a client reads of an error, "" for none.
func said(err error) string {
	if err == nil {
		return ""
	}
	var e *webhook.Error
	if !errors.As(err, &e) {
		return "internal: " + err.Error()
	}
	return NewProblem(Status(e.Kind), e).Detail
}

func TestDecodeAcceptsWhatEveryParserReadsAlike(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `null`, `true`, ` false `, `0`, `-0.5e+10`, `1E-2`, `""`, "\t[1 ,\r\n2]\n",
		`{"a":{"b":[1,"x",null]},"":1}`, `"\u00e9\n\"\\\/\b\f\r\t"`, `"\ud83d\ude00"`, `"😀é"`, `"\u0000"`, "\"\uFFFD\x7f\"",
		`{"a":1,"A":2}`, strings.Repeat("[", 32) + strings.Repeat("]", 32), `[{},{},[[]],{"a":[]}]`,
	} {
		if err := checkStrict([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestDecodeNamesWhatIsNoStrictJSON(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "the body is empty",
		"{":                      "line 1, column 2: a member name in quotes is missing",
		`{"a"`:                   "line 1, column 5: a colon is missing",
		`{"a" 1}`:                "line 1, column 6: a colon is missing",
		`{"a":1,}`:               "line 1, column 8: a member name",
		`{"a":1 "b":2}`:          "line 1, column 8: an object goes on",
		"[1,\n 2,]":              "line 2, column 4: a value is missing",
		"[1 2]":                  "line 1, column 4: an array goes on",
		"{}{}":                   "line 1, column 3: something follows",
		"\ufeff{}":               "begins with a byte order mark",
		"{} //":                  "something follows",
		"tru":                    "a value is missing",
		"nulL":                   "a value is missing",
		"NaN":                    "a value is missing",
		"01":                     "something follows",
		"+1":                     "a value is missing",
		"-":                      "a number lacks digits",
		"1.":                     "a number lacks digits",
		".5":                     "a value is missing",
		"1e":                     "a number lacks digits",
		`'a'`:                    "a value is missing",
		`"a`:                     "a string does not end",
		`"\`:                     "an escape is not one",
		`"\x"`:                   "an escape is not one",
		`"\u12g4"`:               "four hexadecimal digits",
		`"\u12`:                  "four hexadecimal digits",
		`"\u+123"`:               "four hexadecimal digits",
		`"\ud800\u12"`:           "four hexadecimal digits",
		"\"a\nb\"":               "a control character",
		"\"é\x00\"":              "line 1, column 3: a control character",
		"{\"é\":1}\x00":          "something follows",
		`{"a":{"b":1,"b":2}}`:    "/a/b must be there once",
		`{"a":1,"\u0061":2}`:     "/a must be there once",
		`[{"x/~":0,"x/~":0}]`:    "/0/x~1~0 must be there once",
		"{\"a\":[0,\"\xff\"]}":   "/a/1 must be valid UTF-8",
		"{\"a\":{\"\xc3(\":1}}":  "/a must be valid UTF-8",
		"\"\xed\xa0\x80\"":       "the body must be valid UTF-8",
		`{"a":"\ud800"}`:         "/a must not hold half a surrogate pair",
		`{"a":"\udc00x"}`:        "/a must not hold half a surrogate pair",
		`{"a":"\ud800\ud800"}`:   "/a must not hold half a surrogate pair",
		`{"a":{"b":"\ud83dxx"}}`: "/a/b must not hold half a surrogate pair",
		strings.Repeat("[", 33):  "the body is nested deeper than 32 levels at line 1, column 33",
	} {
		if got := said(checkStrict([]byte(text))); !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if !utf8.ValidString(said(checkStrict([]byte(text)))) {
			t.Errorf("%q: the answer is not UTF-8", text)
		}
	}
}

func TestDeepNestingCostsNothing(t *testing.T) {
	for _, open := range []string{"[", `{"a":`, `[{"a":`} {
		text := []byte(strings.Repeat(open, 100_000))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := checkStrict(text)
		runtime.ReadMemStats(&after)
		if got := said(err); !strings.Contains(got, "nested deeper than 32 levels") {
			t.Errorf("%s…: %s", open, got)
		}
		if spent := after.TotalAlloc - before.TotalAlloc; spent > 64<<10 {
			t.Errorf("%s…: cost %d bytes", open, spent)
		}
	}
}

func TestAPointerRepeatsLittleOfTheClientsText(t *testing.T) {
	name := strings.Repeat("é", 100_000)
	got := said(checkStrict(fmt.Appendf(nil, `{"%s":1,"%s":2}`, name, name)))
	if len(got) > 200 || !utf8.ValidString(got) || !strings.Contains(got, "é… must be there once") {
		t.Errorf("%d bytes: %.200s", len(got), got)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00",null,true,{}]}`, `{"a":1,"a":2}`, "\"\xff\"", `"\ud800"`, "[[[[", `01`, "{\"a\" :1 }\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		found := scan(text)
		switch {
		case found == nil && !(json.Valid(text) && utf8.Valid(text)):
			t.Errorf("accepted %q, which is not valid JSON", text)
		case found != nil && found.grammar && json.Valid(text):
			t.Errorf("called %q no JSON: %s", text, found.detail)
		}
		if !utf8.ValidString(said(checkStrict(text))) {
			t.Errorf("the answer to %q is not UTF-8", text)
		}
		var a, b order
		if Decode(text, &a) == nil && json.Unmarshal(text, &b) != nil {
			t.Errorf("Decode accepted %q, which encoding/json does not", text)
		}
	})
}

func TestWhatEncodingJSONWritesIsAccepted(t *testing.T) {
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		scalars := []*rapid.Generator[any]{rapid.Float64().AsAny(), rapid.Int64().AsAny(), rapid.String().AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil)}
		if depth > 0 {
			scalars = append(scalars, rapid.SliceOfN(value(depth-1), 0, 4).AsAny(), rapid.MapOfN(rapid.String(), value(depth-1), 0, 4).AsAny())
		}
		return rapid.OneOf(scalars...)
	}
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.MarshalIndent(value(4).Draw(t, "value"), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := checkStrict(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	})
}

type money struct {
	Amount Number `json:"amount"`
}

// level reads itself.
type level string

func (l *level) UnmarshalJSON(b []byte) error {
	if string(b) != `"low"` && string(b) != `"high"` {
		return errors.New("must be low or high")
	}
	*l = level(b[1 : len(b)-1])
	return nil
}

type order struct {
	money
	ID      string                     `json:"id"`
	Count   int8                       `json:"count"`
	On      *bool                      `json:"on"`
	Tags    []string                   `json:"tags"`
	Lines   []struct{ Note string }    `json:"lines"`
	Extra   map[string]json.RawMessage `json:"extra"`
	Raw     json.RawMessage            `json:"raw"`
	Due     Time                       `json:"due"`
	Level   level                      `json:"level"`
	Next    *order                     `json:"next"`
	Ignored string                     `json:"-"`
}

func TestDecodeReadsExactly(t *testing.T) {
	var got order
	err := Decode([]byte(`{"amount":10000000000000000000.10,"id":"x","count":-128,"on":true,"tags":["a"],
		"lines":[{"Note":"n"}],"extra":{"k":{"deep":1}},"raw":{"b": 1},
		"due":"2026-01-02T03:04:05+07:00","level":"low","next":{"id":null,"tags":null}}`), &got)
	if err != nil {
		t.Fatal(err)
	}
	on := true
	want := order{
		money: money{"10000000000000000000.10"}, ID: "x", Count: -128, On: &on, Tags: []string{"a"},
		Extra: map[string]json.RawMessage{"k": []byte(`{"deep":1}`)}, Raw: []byte(`{"b": 1}`),
		Due: got.Due, Level: "low", Next: &order{},
	}
	want.Lines = []struct{ Note string }{{"n"}}
	same := cmp.Options{cmp.AllowUnexported(order{}), cmp.Comparer(func(a, b Time) bool { return time.Time(a).Equal(time.Time(b)) })}
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Error(diff)
	}
	if FormatTime(time.Time(got.Due)) != "2026-01-01T20:04:05.000Z" {
		t.Errorf("due %v", got.Due)
	}
}

func TestDecodeNamesThePointerAndTheWantedType(t *testing.T) {
	for text, want := range map[string]string{
		``:                                      "the body is empty; it must be an object",
		" \n":                                   "the body is empty; it must be an object",
		`[]`:                                    "the body must be an object",
		`"x"`:                                   "the body must be an object",
		`{"idd":1}`:                             "/idd is not a known member",
		`{"ID":"x"}`:                            "/ID is not a known member",
		`{"Ignored":"x"}`:                       "/Ignored is not a known member",
		`{"money":{}}`:                          "/money is not a known member",
		`{"next":{"next":{"x":1}}}`:             "/next/next/x is not a known member",
		`{"lines":[{"Note":""},{"y":1}]}`:       "/lines/1/y is not a known member",
		`{"id":1}`:                              "/id must be a string",
		`{"id":{}}`:                             "/id must be a string",
		`{"amount":"1"}`:                        "/amount must be a number",
		`{"count":128}`:                         "/count must be a whole number",
		`{"count":1.0}`:                         "/count must be a whole number",
		`{"count":"1"}`:                         "/count must be a whole number",
		`{"on":0}`:                              "/on must be true or false",
		`{"on":"true"}`:                         "/on must be true or false",
		`{"tags":"a"}`:                          "/tags must be an array",
		`{"tags":["a",{}]}`:                     "/tags/1 must be a string",
		`{"extra":[]}`:                          "/extra must be an object",
		`{"extra":{"k":{"a":1,"a":2}}}`:         "/extra/k/a must be there once",
		`{"due":"yesterday"}`:                   "/due must be an RFC 3339 time such as",
		`{"due":1}`:                             "/due must be an RFC 3339 time such as",
		`{"level":"none"}`:                      "/level must be low or high",
		`{"level":{"a":1}}`:                     "/level must be low or high",
		`{"next":7}`:                            "/next must be an object",
		`{"id":"x"} x`:                          "something follows the value",
		"\uFEFF" + `{"id":"x"}`:                 "begins with a byte order mark",
		`{"raw":[[[[` + strings.Repeat("[", 40): "nested deeper than 32 levels",
	} {
		if got := said(Decode([]byte(text), new(order))); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestDecodeJSONAsksForJSONOfBoundedSize(t *testing.T) {
	for _, tt := range []struct {
		name, contentType, encoding, body string
		kind                              webhook.Kind
		want                              string
	}{
		{"plain", "application/json", "", `{"id":"x"}`, 0, ""},
		{"charset", "Application/JSON; charset=UTF-8", "identity", `{"id":"x"}`, 0, ""},
		{"no type", "", "", `{}`, webhook.KindMediaType, "Content-Type must be application/json"},
		{"form", "application/x-www-form-urlencoded", "", `a=b`, webhook.KindMediaType, "Content-Type must be"},
		{"charset without its hyphen", "application/json;charset=UTF8", "", `{"id":"x"}`, 0, ""},
		{"charset in quotes", `APPLICATION/json ; Charset="utf-8"`, "", `{"id":"x"}`, 0, ""},
		{"malformed parameters", "application/json; ;charset=utf-8;", "", `{"id":"x"}`, 0, ""},
		{"a parameter without a value", "application/json; utf-8", "", `{}`, webhook.KindMediaType, "Content-Type must be"},
		{"other charset", "application/json; charset=latin1", "", `{}`, webhook.KindMediaType, "Content-Type must be"},
		{"compressed", "application/json", "gzip", `{}`, webhook.KindMediaType, "must not be compressed"},
		{"as large as may be", "application/json", "", `{"id":"` + strings.Repeat("x", 91) + `"}`, 0, ""},
		{"one byte more", "application/json", "", `{"id":"` + strings.Repeat("x", 92) + `"}`, webhook.KindTooLarge, "must not be larger than 100 bytes"},
		{"empty", "application/json", "", ``, webhook.KindInvalid, "the body is empty; it must be an object"},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, chunked %v", tt.name, chunked), func(t *testing.T) {
				var err error
				server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					err = DecodeJSON(r, 100, new(struct {
						ID string `json:"id"`
					}))
				}))
				req, _ := http.NewRequest("POST", server.URL, strings.NewReader(tt.body))
				if chunked {
					req.ContentLength = -1
				}
				req.Header.Set("Content-Type", tt.contentType)
				req.Header.Set("Content-Encoding", tt.encoding)
				if resp, err := http.DefaultClient.Do(req); err != nil {
					t.Fatal(err)
				} else {
					resp.Body.Close()
				}
				server.Close()
				if !strings.Contains(said(err), tt.want) || (err == nil) != (tt.want == "") || err != nil && webhook.KindOf(err) != tt.kind {
					t.Errorf("kind %d, %q; want kind %d, %q", webhook.KindOf(err), said(err), tt.kind, tt.want)
				}
			})
		}
	}
}
