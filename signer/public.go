package signer

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
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
	case strings.HasSuffix(block.Type, "CERTIFICATE"), strings.HasPrefix(block.Type, "CERTIFICATE"):
		return nil, errors.New("this is a certificate; send the public key alone (openssl x509 -pubkey -noout)")
	case strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return nil, errors.New("this is a private key; keep it to yourself, treat it as disclosed, and send the public key of a new one")
	default:
		return nil, fmt.Errorf("the PEM block is a %q, not a PKCS#1 or SPKI public key", block.Type)
	}
	if err != nil {
		return nil, errors.New("the PEM block does not hold a valid public key")
	}
	public, ok := parsed.(*rsa.PublicKey)
	if !ok {
		return nil, errors.New("the public key is not an RSA key")
	}
	if err := checkPublic(public); err != nil {
		return nil, err
	}
	return public, nil
}

// onlyBlock returns the one PEM block of text.
func onlyBlock(text []byte) (*pem.Block, error) {
	block, rest := pem.Decode(text)
	if block == nil {
		return nil, errors.New("there is no PEM block (-----BEGIN …)")
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("there is something after the first PEM block; send one key")
	}
	return block, nil
}

func checkPublic(public *rsa.PublicKey) error {
	if bits := public.N.BitLen(); bits < MinKeyBits || bits > MaxKeyBits {
		return fmt.Errorf("the RSA key has %d bits, not %d to %d", bits, MinKeyBits, MaxKeyBits)
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
