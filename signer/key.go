package signer

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
)

// The sizes of RSA keys, in bits. The upper bound keeps a partner's key from
// making every check of its signatures dear.
const (
	MinKeyBits = 2048
	MaxKeyBits = 8192
)

// Key is an RSA private key with what is needed to use it often. It is safe
// for use by many goroutines.
type Key struct {
	private *rsa.PrivateKey
	id      string
}

// GenerateKey makes a key of 2048, 3072 or 4096 bits, the sizes the gateway
// signs with ("Keys" of the interface decisions).
func GenerateKey(bits int) (*Key, error) {
	if bits != 2048 && bits != 3072 && bits != 4096 {
		return nil, fmt.Errorf("a key has 2048, 3072 or 4096 bits, not %d", bits)
	}
	private, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return nil, fmt.Errorf("generate an RSA key: %w", err)
	}
	return newKey(private), nil
}

// ParsePrivateKey reads the PEM of an unencrypted RSA private key, PKCS#1 or
// PKCS#8, of MinKeyBits to MaxKeyBits. Its errors hold nothing of the key.
func ParsePrivateKey(text []byte) (*Key, error) {
	block, err := onlyBlock(text)
	if err != nil {
		return nil, err
	}
	var parsed any
	switch block.Type {
	case "RSA PRIVATE KEY":
		if block.Headers["DEK-Info"] != "" {
			return nil, errors.New("the private key is encrypted; give it without a passphrase")
		}
		parsed, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "PRIVATE KEY":
		parsed, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "ENCRYPTED PRIVATE KEY":
		return nil, errors.New("the private key is encrypted; give it without a passphrase")
	default:
		return nil, fmt.Errorf("the PEM block is a %q, not a PKCS#1 or PKCS#8 private key", block.Type)
	}
	if err != nil {
		return nil, errors.New("the PEM block does not hold a valid private key")
	}
	private, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, errors.New("the private key is not an RSA key")
	}
	if err := checkPublic(&private.PublicKey); err != nil {
		return nil, err
	}
	return newKey(private), nil
}

func newKey(private *rsa.PrivateKey) *Key {
	return &Key{private: private, id: KeyID(&private.PublicKey)}
}

// ID is the key's stable name, see KeyID.
func (k *Key) ID() string { return k.id }

// Public is the public half.
func (k *Key) Public() *rsa.PublicKey { return &k.private.PublicKey }

// PrivatePEM is the key as PKCS#8 PEM. It is a secret: seal it before storing.
func (k *Key) PrivatePEM() []byte {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		panic("signer: an RSA key has a PKCS#8 form: " + err.Error())
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// PublicPEM is the public half as SPKI PEM.
func (k *Key) PublicPEM() []byte { return PublicPEM(k.Public()) }

// String is the id of the key: the private half stays out of logs.
func (k *Key) String() string { return k.id }

// GoString is the id of the key too, for %#v.
func (k *Key) GoString() string { return k.id }

// Sign returns the RSA PKCS#1 v1.5 signature of the SHA-256 of text in
// standard, padded base64. It costs about 1.5 ms of CPU with 2048 bits; the
// same text always gives the same signature.
func (k *Key) Sign(text []byte) (string, error) {
	digest := sha256.Sum256(text)
	signature, err := rsa.SignPKCS1v15(nil, k.private, crypto.SHA256, digest[:])
	if err != nil {
		return "", fmt.Errorf("sign with key %s: %w", k.id, err)
	}
	return base64.StdEncoding.EncodeToString(signature), nil
}
