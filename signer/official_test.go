package signer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// signedNow is a notification as it is sent at this moment, while a secret is
// being replaced.
type signedNow struct {
	retiring, active string
	headers          http.Header
	body             []byte
}

func signNow(t *testing.T, data string) signedNow {
	t.Helper()
	key := vectorKey(t, "service")
	n := Notification{WebhookType: "CreateCard", Success: true, Data: []byte(data)}
	rsaSignature, err := key.Sign(n.Data)
	if err != nil {
		t.Fatal(err)
	}
	body, err := n.Body(rsaSignature)
	if err != nil {
		t.Fatal(err)
	}
	s := signedNow{retiring: NewWebhookSecret(), active: NewWebhookSecret(), body: body}
	now := time.Now()
	signature, err := StandardSignature([]string{s.retiring, s.active}, "evt_1", now, body)
	if err != nil {
		t.Fatal(err)
	}
	s.headers = standardHeaders("evt_1", strconv.FormatInt(now.Unix(), 10), signature)
	return s
}

func TestTheOfficialGoLibraryVerifiesUs(t *testing.T) {
	s := signNow(t, `{"description":"Giấy tờ <&> 😀","id":"card_01"}`)
	for _, secret := range []string{s.retiring, s.active} {
		webhook, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := webhook.Verify(s.body, s.headers); err != nil {
			t.Error(err)
		}
		if err := webhook.Verify(append(s.body, ' '), s.headers); err == nil {
			t.Error("it takes another body too")
		}
	}
}

func TestWeVerifyTheOfficialGoLibrary(t *testing.T) {
	for _, v := range readStandard(t).Symmetric {
		webhook, err := standardwebhooks.NewWebhook(v.Secret)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(v.Timestamp, 0)
		signature, err := webhook.Sign(v.ID, at, []byte(v.Body))
		if err != nil {
			t.Fatal(err)
		}
		h := standardHeaders(v.ID, strconv.FormatInt(v.Timestamp, 10), signature)
		if err := VerifyStandard([]string{v.Secret}, h, []byte(v.Body), at); err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
		if err := webhook.VerifyIgnoringTimestamp([]byte(v.Body), standardHeaders(v.ID, fmt.Sprint(v.Timestamp), v.Signature)); err != nil {
			t.Errorf("%s: it does not take the vector: %v", v.Name, err)
		}
	}
}

func TestTheOfficialJavaScriptLibraryVerifiesUs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "js")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "js"))); err != nil {
		t.Fatal(err)
	}
	run(t, nil, "npm", "ci", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund")

	s := signNow(t, `{"description":"Giấy tờ <&> 😀","id":"card_01"}`)
	type verification struct {
		Secret  string            `json:"secret"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	}
	headers := make(map[string]string)
	for name := range s.headers {
		headers[name] = s.headers.Get(name)
	}
	input, err := json.Marshal([]verification{
		{s.retiring, headers, string(s.body)},
		{s.active, headers, string(s.body)},
		{s.active, headers, string(s.body) + " "},
	})
	if err != nil {
		t.Fatal(err)
	}
	var results []any
	if err := json.Unmarshal(run(t, input, "node", filepath.Join(dir, "verify.mjs")), &results); err != nil {
		t.Fatal(err)
	}
	if len(results) != 3 || results[0] != true || results[1] != true || results[2] == true {
		t.Errorf("the library says %v", results)
	}
}

// RFC 8785 writes numbers as ECMAScript does, so ECMAScript is asked: edges
// of float64, neighbours of powers of ten, and random bits.
func TestNumbersAreWrittenAsNodeWritesThem(t *testing.T) {
	var floats []float64
	for i := range uint64(1000) {
		floats = append(floats, math.Float64frombits(i), math.Float64frombits(0x0010_0000_0000_0000-500+i))
	}
	for exponent := -323; exponent <= 308; exponent++ {
		power, err := strconv.ParseFloat(fmt.Sprintf("1e%d", exponent), 64)
		if err != nil {
			t.Fatal(err)
		}
		floats = append(floats, power, math.Nextafter(power, 0), math.Nextafter(power, math.MaxFloat64))
	}
	for range 30_000 {
		if float := math.Float64frombits(rand.Uint64()); !math.IsNaN(float) && !math.IsInf(float, 0) {
			floats = append(floats, float)
		}
	}
	var input bytes.Buffer
	for _, float := range floats {
		fmt.Fprintf(&input, "%016x\n", math.Float64bits(float))
	}
	lines := bufio.NewScanner(bytes.NewReader(run(t, input.Bytes(), "node", filepath.Join("testdata", "js", "numbers.mjs"))))
	for _, float := range floats {
		if !lines.Scan() {
			t.Fatal("node wrote too few lines")
		}
		literal := strconv.FormatFloat(float, 'e', -1, 64)
		got, err := Canonical([]byte(literal))
		if err != nil || string(got) != lines.Text() {
			t.Fatalf("%s became %s, %v; node writes %s", literal, got, err, lines.Text())
		}
	}
}

func run(t *testing.T, input []byte, name string, args ...string) []byte {
	t.Helper()
	command := exec.Command(name, args...)
	command.Stdin = bytes.NewReader(input)
	var stderr strings.Builder
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", name, err, output, stderr.String())
	}
	return output
}
