package signer

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ParsePublicKey reads the PEM of one RSA public key, PKCS#1 or SPKI, of
// MinKeyBits to MaxKeyBits ("Keys at onboarding"). Certificates, private keys
// and keys of other algorithms are refused by name.
func ParsePublicKey(text []byte) (*rsa.PublicKey, error) {
	block, err := onlyBlock(text)
	if err != nil {
		return nil, err
	}
	var parsed any
	switch {
	case block.Type == "RSA PUBLIC KEY":
		parsed, err = x509.ParsePKCS1PublicKey(block.Bytes)
	case block.Type == "PUBLIC KEY":
		parsed, err = x509.ParsePKIXPublicKey(block.Bytes)
	case strings.HasSuffix(block.Type, "CERTIFICATE REQUEST"):
		return nil, errors.New("this is a certificate request, not a key: send the public key in it alone (openssl req -in FILE -pubkey -noout)")
	case strings.HasSuffix(block.Type, "CERTIFICATE"), strings.HasPrefix(block.Type, "CERTIFICATE"):
		return nil, errors.New("this is a certificate; send the public key alone (openssl x509 -in FILE -pubkey -noout)")
	case strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return nil, errors.New("this is a private key; keep it to yourself, treat it as disclosed, and send the public key of a new one")
	default:
		return nil, fmt.Errorf("the PEM block is a %q, not a PKCS#1 or SPKI public key", block.Type)
	}
	if err != nil {
		return nil, unreadable(block)
	}
	public, ok := parsed.(*rsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("this is %s key, not an RSA key: %s", algorithm(parsed), makeOne)
	}
	if err := checkPublic(public); err != nil {
		return nil, err
	}
	return public, nil
}

// makeOne is how one gets a key that is taken.
const makeOne = "make one with ledgerhook keygen, or with openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048"

// rsaPSS is the algorithm of an RSA key that makes PSS signatures only (RFC 4055).
var rsaPSS = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 10}

// unreadable says why the block of a public key cannot be read.
func unreadable(block *pem.Block) error {
	if _, err := x509.ParsePKCS1PublicKey(block.Bytes); err == nil {
		return errors.New("the PEM block says PUBLIC KEY and holds a PKCS#1 key: write RSA PUBLIC KEY in its first and last line")
	}
	if _, err := x509.ParsePKIXPublicKey(block.Bytes); err == nil {
		return errors.New("the PEM block says RSA PUBLIC KEY and holds an SPKI key: write PUBLIC KEY in its first and last line")
	}
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	if _, err := asn1.Unmarshal(block.Bytes, &info); err == nil && info.Algorithm.Algorithm.Equal(rsaPSS) {
		return errors.New("this is an RSA-PSS key, and the interface signs with PKCS#1 v1.5: " + makeOne)
	}
	return errors.New("the PEM block does not hold a valid public key: it was cut or changed; send the file as it was made")
}

// algorithm names the algorithm of a key that is not an RSA key.
func algorithm(key any) string {
	switch key.(type) {
	case *ecdsa.PublicKey:
		return "an ECDSA (EC)"
	case ed25519.PublicKey:
		return "an Ed25519"
	}
	return "another"
}

// onlyBlock returns the one PEM block of text.
func onlyBlock(text []byte) (*pem.Block, error) {
	block, rest := pem.Decode(bytes.TrimPrefix(text, []byte("\uFEFF")))
	if block == nil {
		return nil, errors.New(noBlock(string(text)))
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("there is something after the first PEM block; send one key")
	}
	return block, nil
}

// noBlock says what a text without a PEM block is instead and what to do.
func noBlock(text string) string {
	const begin = "-----BEGIN "
	text = strings.TrimSpace(text)
	der := strings.HasPrefix(text, "0") && strings.ContainsFunc(text, func(r rune) bool { return r == utf8.RuneError || r < ' ' && !unicode.IsSpace(r) })
	switch {
	case strings.HasPrefix(text, "ssh-"), strings.HasPrefix(text, "ecdsa-sha2-"):
		return "there is no PEM block: this is an OpenSSH key; write it as PEM with ssh-keygen -e -m PKCS8 -f FILE"
	case strings.HasPrefix(text, "---- BEGIN SSH2"):
		return "there is no PEM block: this is an SSH2 key; write it as PEM with ssh-keygen -i -m RFC4716 -f FILE | ssh-keygen -e -m PKCS8 -f /dev/stdin"
	case der:
		return "there is no PEM block: this is DER, which is binary; write it as PEM with openssl pkey -inform DER -in FILE, with -pubin if it is a public key"
	case strings.Contains(text, begin) && strings.Contains(text, `\n`):
		return `the PEM holds the two characters \n where lines end: put real line ends in their place (in JSON one \n, not \\n)`
	case strings.Contains(text, begin) && !strings.Contains(text, "-----END "):
		return "the PEM has no END line: it was cut; send the whole file"
	case strings.Contains(text, begin) && !strings.Contains(text, "\n"):
		return "the PEM stands on one line: put line ends after its BEGIN line and before its END line"
	case strings.Contains(text, begin):
		return "the PEM block between BEGIN and END cannot be read: it was changed; send the file as it was made"
	case strings.HasPrefix(text, "MI"):
		return "there is no PEM block: this is its base64 alone; put a line -----BEGIN PUBLIC KEY----- before it and a line -----END PUBLIC KEY----- after it"
	}
	return "there is no PEM block (-----BEGIN …): " + makeOne
}

func checkPublic(public *rsa.PublicKey) error {
	if bits := public.N.BitLen(); bits < MinKeyBits || bits > MaxKeyBits {
		return fmt.Errorf("the RSA key has %d bits, not %d to %d: %s", bits, MinKeyBits, MaxKeyBits, makeOne)
	}
	if public.E < 3 || public.E%2 == 0 || public.N.Bit(0) == 0 {
		return errors.New("the RSA key has an unusable exponent or modulus")
	}
	return nil
}

// PublicPEM is public as SPKI PEM.
func PublicPEM(public *rsa.PublicKey) []byte {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		panic("signer: an RSA key has an SPKI form: " + err.Error())
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// KeyID is the stable name of a key: "key_" and the first 16 characters of
// its RFC 7638 thumbprint. It depends on the key alone.
func KeyID(public *rsa.PublicKey) string {
	n, e := jwkNumbers(public)
	thumbprint := sha256.Sum256([]byte(`{"e":"` + e + `","kty":"RSA","n":"` + n + `"}`))
	return "key_" + base64.RawURLEncoding.EncodeToString(thumbprint[:])[:16]
}

func jwkNumbers(public *rsa.PublicKey) (n, e string) {
	return base64.RawURLEncoding.EncodeToString(public.N.Bytes()),
		base64.RawURLEncoding.EncodeToString(big.NewInt(int64(public.E)).Bytes())
}

// JWKS is the JSON Web Key Set (RFC 7517) of keys, the body of
// /.well-known/jwks.json; kid is KeyID.
func JWKS(keys ...*rsa.PublicKey) []byte {
	type jwk struct {
		KeyType   string `json:"kty"`
		Use       string `json:"use"`
		Algorithm string `json:"alg"`
		ID        string `json:"kid"`
		N         string `json:"n"`
		E         string `json:"e"`
	}
	set := struct {
		Keys []jwk `json:"keys"`
	}{Keys: []jwk{}}
	for _, key := range keys {
		n, e := jwkNumbers(key)
		set.Keys = append(set.Keys, jwk{"RSA", "sig", "RS256", KeyID(key), n, e})
	}
	body, err := json.Marshal(set)
	if err != nil {
		panic("signer: a key set is plain JSON: " + err.Error())
	}
	return body
}

// Verify checks an RSA PKCS#1 v1.5 signature over the SHA-256 of text. Its
// base64 may hold white space, lack padding or use the URL-safe alphabet. The
// error is ErrSignature whatever is wrong.
func Verify(public *rsa.PublicKey, text []byte, signatureBase64 string) error {
	signature, err := decodeBase64(signatureBase64)
	if err != nil {
		return ErrSignature
	}
	digest := sha256.Sum256(text)
	if rsa.VerifyPKCS1v15(public, crypto.SHA256, digest[:], signature) != nil {
		return ErrSignature
	}
	return nil
}
