package signer

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryFormOfAKeyIsTheSameKey(t *testing.T) {
	for name, forms := range readSigning(t).Keys {
		key := vectorKey(t, name)
		old, err := ParsePrivateKey([]byte(forms.PrivatePKCS1))
		if err != nil || old.ID() != key.ID() {
			t.Errorf("%s: PKCS#1: %v", name, err)
		}
		if got := string(key.PrivatePEM()); got != forms.PrivatePKCS8 {
			t.Errorf("%s: PrivatePEM is not the PKCS#8 form", name)
		}
		if got := string(key.PublicPEM()); got != forms.PublicSPKI {
			t.Errorf("%s: PublicPEM is not the SPKI form", name)
		}
		for _, text := range []string{forms.PublicSPKI, forms.PublicPKCS1,
			"\r\n" + strings.ReplaceAll(forms.PublicSPKI, "\n", "\r\n")} {
			public, err := ParsePublicKey([]byte(text))
			if err != nil || !public.Equal(key.Public()) {
				t.Errorf("%s: %v from %s", name, err, text)
			}
		}
	}
}

func TestGenerateKey(t *testing.T) {
	for _, bits := range []int{0, 1024, 2047, 8192} {
		if _, err := GenerateKey(bits); err == nil {
			t.Errorf("made a key of %d bits", bits)
		}
	}
	key := anotherKey()
	if got := key.Public().N.BitLen(); got != 2048 {
		t.Errorf("the key has %d bits", got)
	}
	back, err := ParsePrivateKey(key.PrivatePEM())
	if err != nil || back.ID() != key.ID() {
		t.Errorf("the key does not read back: %v", err)
	}
	for _, text := range []string{fmt.Sprint(key), fmt.Sprintf("%+v", key), fmt.Sprintf("%#v", key)} {
		if text != key.ID() {
			t.Errorf("printing the key shows %.40q", text)
		}
	}
}

func TestOnlyGoodPublicKeysAreTaken(t *testing.T) {
	partner := readSigning(t).Keys["partner"]
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &curve.PublicKey, curve)
	if err != nil {
		t.Fatal(err)
	}
	ofBits := func(bits uint) string {
		n := new(big.Int).Lsh(big.NewInt(1), bits-1)
		return string(PublicPEM(&rsa.PublicKey{N: n.SetBit(n, 0, 1), E: 65537}))
	}
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "no PEM"},
		{"no PEM", "ssh-rsa AAAA", "no PEM"},
		{"certificate", toPEM("CERTIFICATE", certificate), "certificate"},
		{"trusted certificate", toPEM("TRUSTED CERTIFICATE", certificate), "certificate"},
		{"certificate request", toPEM("CERTIFICATE REQUEST", certificate), "certificate"},
		{"PKCS#1 private key", partner.PrivatePKCS1, "private key"},
		{"PKCS#8 private key", partner.PrivatePKCS8, "private key"},
		{"elliptic curve", toPEM("PUBLIC KEY", must(x509.MarshalPKIXPublicKey(&curve.PublicKey))), "not an RSA key"},
		{"another block", toPEM("SSH2 PUBLIC KEY", []byte("x")), `"SSH2 PUBLIC KEY"`},
		{"garbage inside", toPEM("PUBLIC KEY", []byte("garbage")), "does not hold"},
		{"two keys", partner.PublicSPKI + partner.PublicSPKI, "one key"},
		{"1024 bits", ofBits(1024), "1024 bits"},
		{"2047 bits", ofBits(2047), "2047 bits"},
		{"8193 bits", ofBits(8193), "8193 bits"},
		{"exponent 1", string(PublicPEM(&rsa.PublicKey{N: anotherKey().Public().N, E: 1})), "exponent"},
	} {
		if _, err := ParsePublicKey([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want it to say %q", c.name, err, c.want)
		}
	}
	if _, err := ParsePublicKey([]byte(ofBits(2048))); err != nil {
		t.Errorf("2048 bits: %v", err)
	}
}

func TestOnlyGoodPrivateKeysAreTaken(t *testing.T) {
	partner := readSigning(t).Keys["partner"]
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	encrypted := strings.Replace(partner.PrivatePKCS1, "KEY-----\n",
		"KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n", 1)
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "no PEM"},
		{"public key", partner.PublicSPKI, `"PUBLIC KEY"`},
		{"encrypted PKCS#1", encrypted, "passphrase"},
		{"encrypted PKCS#8", toPEM("ENCRYPTED PRIVATE KEY", []byte("x")), "passphrase"},
		{"elliptic curve", toPEM("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(curve))), "not an RSA key"},
		{"garbage inside", toPEM("PRIVATE KEY", []byte("garbage")), "does not hold"},
		{"two keys", partner.PrivatePKCS8 + partner.PrivatePKCS8, "one key"},
	} {
		if _, err := ParsePrivateKey([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want it to say %q", c.name, err, c.want)
		}
	}
}

func toPEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func must(der []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return der
}

// The key of RFC 7638, section 3.1, and the thumbprint printed there.
func TestKeyIDIsTheThumbprint(t *testing.T) {
	n, err := base64.RawURLEncoding.DecodeString("0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7a" +
		"PFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2Qvzq" +
		"Y368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINH" +
		"aQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw")
	if err != nil {
		t.Fatal(err)
	}
	key := &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: 65537}
	if got := KeyID(key); got != "key_NzbLsXh8uDCcd-6M" {
		t.Errorf("the id is %s", got)
	}
}

func TestJWKS(t *testing.T) {
	if got := string(JWKS()); got != `{"keys":[]}` {
		t.Errorf("an empty set is %s", got)
	}
	partner, service := vectorKey(t, "partner"), vectorKey(t, "service")
	var set struct{ Keys []map[string]string }
	if err := json.Unmarshal(JWKS(partner.Public(), service.Public()), &set); err != nil {
		t.Fatal(err)
	}
	for i, key := range []*Key{partner, service} {
		got := set.Keys[i]
		n, err := base64.RawURLEncoding.DecodeString(got["n"])
		if err != nil || !bytes.Equal(n, key.Public().N.Bytes()) {
			t.Errorf("n is %s", got["n"])
		}
		delete(got, "n")
		want := map[string]string{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": key.ID(), "e": "AQAB"}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

func TestSignaturesAreTheVectors(t *testing.T) {
	v := readSigning(t)
	for _, s := range v.Strings {
		checkSignature(t, s.Operation, vectorKey(t, s.Signer), s.String, s.Signature)
	}
	for _, s := range v.WebhookStrings {
		checkSignature(t, s.WebhookType, vectorKey(t, "service"), s.String, s.Signature)
	}
}

func checkSignature(t *testing.T, name string, key *Key, text, want string) {
	t.Helper()
	got, err := key.Sign([]byte(text))
	if err != nil || got != want {
		t.Errorf("%s: signed as %s, %v", name, got, err)
	}
	if err := Verify(key.Public(), []byte(text), want); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if err := Verify(anotherKey().Public(), []byte(text), want); !errors.Is(err, ErrSignature) {
		t.Errorf("%s: another key: %v", name, err)
	}
}

func TestVerifyTakesTolerantBase64AndNothingElse(t *testing.T) {
	v := readSigning(t)
	public := vectorKey(t, "partner").Public()
	text := []byte(v.Strings[0].String)
	for _, c := range v.SignatureCases {
		err := Verify(public, text, c.Signature)
		accept := strings.HasPrefix(c.Expect, "accept")
		if accept != (err == nil) {
			t.Errorf("%s: %v; want %s", c.Case, err, c.Expect)
		}
		if err != nil && !errors.Is(err, ErrSignature) {
			t.Errorf("%s: %v is not an ErrSignature", c.Case, err)
		}
	}
	good := v.Strings[0].Signature
	for _, c := range []struct {
		name, signature string
		accept          bool
	}{
		{"blanks and tabs", " " + good[:10] + "\t \v\f\n" + good[10:] + " ", true},
		{"one = of two", strings.TrimSuffix(good, "="), true},
		{"white space among the padding", strings.TrimSuffix(good, "=") + "\n=", true},
		{"padding too long", good + "=", false},
		{"padding in the middle", good[:4] + "=" + good[4:], false},
		{"bits after the end", good[:len(good)-3] + "h==", false},
		{"no-break space", "\u00a0" + good, false},
		{"twice", good + good, false},
	} {
		if err := Verify(public, text, c.signature); c.accept != (err == nil) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestOpenSSLVerifiesOurSignatures(t *testing.T) {
	key := vectorKey(t, "service")
	dir := t.TempDir()
	publicFile, signatureFile := filepath.Join(dir, "public.pem"), filepath.Join(dir, "signature")
	writeFile(t, publicFile, key.PublicPEM())
	verify := func(text string) error {
		command := exec.Command("openssl", "dgst", "-sha256", "-verify", publicFile, "-signature", signatureFile)
		command.Stdin = strings.NewReader(text)
		output, err := command.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, output)
		}
		return nil
	}
	v := readSigning(t)
	texts := []string{"", v.WebhookStrings[0].String, v.Strings[len(v.Strings)-1].String, "Rút tiền | 中文 \x00"}
	for _, text := range texts {
		signature, err := key.Sign([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := base64.StdEncoding.DecodeString(signature)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, signatureFile, raw)
		if err := verify(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if err := verify(text + "\n"); err == nil {
			t.Errorf("%q: openssl takes another text", text)
		}
	}
}

func writeFile(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func FuzzDecodeBase64(f *testing.F) {
	for _, c := range readSigning(f).SignatureCases {
		f.Add(c.Signature)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw, err := decodeBase64(text)
		if err != nil {
			return
		}
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			again, err := decodeBase64("\r\n " + encoding.EncodeToString(raw))
			if err != nil || !bytes.Equal(again, raw) {
				t.Fatalf("%q is %x, then %x, %v", text, raw, again, err)
			}
		}
	})
}

func FuzzParseKeys(f *testing.F) {
	for _, forms := range readSigning(f).Keys {
		f.Add([]byte(forms.PublicSPKI))
		f.Add([]byte(forms.PublicPKCS1))
		f.Add([]byte(forms.PrivatePKCS8))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		public, err := ParsePublicKey(text)
		if err != nil {
			return
		}
		if again, err := ParsePublicKey(PublicPEM(public)); err != nil || !again.Equal(public) {
			t.Fatalf("does not read back: %v", err)
		}
	})
}

// A partner who sends something else than its public key is told what that is
// and what to do, whatever the mistake.
func TestAWrongKeySaysWhatItIsAndWhatToDo(t *testing.T) {
	t.Parallel()
	spki := readSigning(t).Keys["partner"].PublicSPKI
	block, _ := pem.Decode([]byte(spki))
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	key := parsed.(*rsa.PublicKey)
	pss := must(asn1.Marshal(struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}{pkix.AlgorithmIdentifier{Algorithm: rsaPSS}, asn1.BitString{Bytes: x509.MarshalPKCS1PublicKey(key), BitLength: 8 * len(x509.MarshalPKCS1PublicKey(key))}}))
	edwards := must(x509.MarshalPKIXPublicKey(ed25519.PublicKey(make([]byte, ed25519.PublicKeySize))))
	overJSON := strings.ToValidUTF8(string(block.Bytes), "\ufffd")
	for _, c := range []struct{ name, text, found, todo string }{
		{"OpenSSH", "ssh-rsa AAAAB3Nza eve@laptop\n", "OpenSSH", "ssh-keygen -e -m PKCS8"},
		{"SSH2", "---- BEGIN SSH2 PUBLIC KEY ----\nAAAA\n---- END SSH2 PUBLIC KEY ----", "SSH2", "ssh-keygen -i"},
		{"DER", string(block.Bytes), "DER", "openssl pkey -inform DER"},
		{"DER in JSON", overJSON, "DER", "openssl pkey -inform DER"},
		{"base64 alone", base64.StdEncoding.EncodeToString(block.Bytes), "base64 alone", "-----BEGIN PUBLIC KEY-----"},
		{"PSS", toPEM("PUBLIC KEY", pss), "RSA-PSS", "ledgerhook keygen"},
		{"one line", strings.ReplaceAll(strings.TrimSpace(spki), "\n", " "), "one line", "put line ends"},
		{"escaped", strings.ReplaceAll(spki, "\n", `\n`), `two characters \n`, "put real line ends"},
		{"cut", spki[:len(spki)/2], "no END line", "send the whole file"},
		{"changed", strings.Replace(spki, "M", "!", 1), "cannot be read", "as it was made"},
		{"Ed25519", toPEM("PUBLIC KEY", edwards), "Ed25519", "ledgerhook keygen"},
		{"PKCS#1 under the name of SPKI", toPEM("PUBLIC KEY", x509.MarshalPKCS1PublicKey(key)), "PKCS#1", "write RSA PUBLIC KEY"},
		{"SPKI under the name of PKCS#1", toPEM("RSA PUBLIC KEY", block.Bytes), "SPKI", "write PUBLIC KEY"},
		{"a certificate request", toPEM("CERTIFICATE REQUEST", block.Bytes), "certificate request", "openssl req"},
		{"a short one", string(PublicPEM(&rsa.PublicKey{N: new(big.Int).SetBit(big.NewInt(1), 1023, 1), E: 65537})), "1024 bits", "2048"},
	} {
		_, err := ParsePublicKey([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.found) || !strings.Contains(err.Error(), c.todo) {
			t.Errorf("%s: %v; want it to say %q and %q", c.name, err, c.found, c.todo)
		}
	}
}
