package signer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// readVectors decodes testdata/name into a T.
func readVectors[T any](t testing.TB, name string) T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

type keyPEMs struct {
	PrivatePKCS1 string `json:"private_pkcs1"`
	PrivatePKCS8 string `json:"private_pkcs8"`
	PublicSPKI   string `json:"public_spki"`
	PublicPKCS1  string `json:"public_pkcs1"`
}

type signingVectors struct {
	SecretKey string
	Keys      map[string]keyPEMs
	Strings   []struct {
		Operation string
		Signer    string
		Fields    []struct{ Name, Value string }
		String    string
		Signature string
		Body      string `json:"request_body"`
	}
	WebhookStrings []struct {
		WebhookType   string
		CanonicalData string `json:"canonical_data"`
		String        string
		Signature     string
	} `json:"webhook_strings"`
	Injection []struct {
		Case string
		A, B map[string]string
	}
	SignatureCases []struct{ Case, Signature, Expect string } `json:"signature_cases_for_first_string"`
}

func readSigning(t testing.TB) signingVectors {
	t.Helper()
	v := readVectors[signingVectors](t, "signing_strings.json")
	if len(v.Strings) < 14 || len(v.SignatureCases) < 14 || len(v.WebhookStrings) < 4 || len(v.Injection) < 4 {
		t.Fatal("signing_strings.json is not what it was")
	}
	return v
}

// vectorKey is a key of signing_strings.json: "partner" or "service".
func vectorKey(t testing.TB, name string) *Key {
	t.Helper()
	key, err := ParsePrivateKey([]byte(readSigning(t).Keys[name].PrivatePKCS8))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// anotherKey is a key made once for all tests; making one takes long.
var anotherKey = sync.OnceValue(func() *Key {
	key, err := GenerateKey(2048)
	if err != nil {
		panic(err)
	}
	return key
})
