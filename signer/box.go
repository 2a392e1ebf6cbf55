package signer

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
)

// MasterKeySize is the size of a master key in bytes.
const MasterKeySize = 32

// ParseMasterKey reads the base64 of a master key of MasterKeySize bytes.
func ParseMasterKey(text string) ([]byte, error) {
	key, err := decodeBase64(text)
	if err != nil || len(key) != MasterKeySize {
		return nil, fmt.Errorf("the master key must be the base64 of %d bytes", MasterKeySize)
	}
	return key, nil
}

// Box encrypts what is secret at rest: private keys, partners' secrets,
// webhook secrets. It is safe for use by many goroutines.
type Box struct {
	aead cipher.AEAD
	root []byte // what Derive expands
}

// sealedV1 begins every sealed text: AES-256-GCM, 96-bit random nonce, text, tag.
const sealedV1 = 1

// NewBox returns a box that seals with masterKey, MasterKeySize bytes.
func NewBox(masterKey []byte) (*Box, error) {
	if len(masterKey) != MasterKeySize {
		return nil, fmt.Errorf("the master key must be %d bytes long", MasterKeySize)
	}
	block, err := aes.NewCipher(masterKey)
	if err != nil {
		return nil, fmt.Errorf("set up AES: %w", err)
	}
	aead, err := cipher.NewGCM(block) // the one with random nonces of its own takes no boringcrypto block
	if err != nil {
		return nil, fmt.Errorf("set up GCM: %w", err)
	}
	root, err := hkdf.Extract(sha256.New, masterKey, nil)
	if err != nil {
		return nil, fmt.Errorf("set up key derivation: %w", err)
	}
	return &Box{aead, root}, nil
}

// derivedSize is the size of a derived key in bytes.
const derivedSize = 32

// Derive returns a secret of 32 bytes for one use, named by label: always the
// same under one master key, and telling nothing of it or of other labels
// (HKDF-SHA-256).
func (b *Box) Derive(label string) []byte {
	key, err := hkdf.Expand(sha256.New, b.root, label, derivedSize)
	if err != nil {
		panic(err) // only for a size beyond the hash's reach
	}
	return key
}

// Seal encrypts plain. The purpose names what it is and whose ("webhook
// secret sec_…"): Open succeeds with the same purpose only, so that a sealed
// text moved to another row or column does not open there.
func (b *Box) Seal(purpose string, plain []byte) []byte {
	head := make([]byte, 1+b.aead.NonceSize(), 1+b.aead.NonceSize()+len(plain)+b.aead.Overhead())
	head[0] = sealedV1
	nonce := head[1:]
	_, _ = rand.Read(nonce) // it never fails
	return b.aead.Seal(head, nonce, plain, []byte(purpose))
}

// Open decrypts what Seal made with the same purpose and master key.
func (b *Box) Open(purpose string, sealed []byte) ([]byte, error) {
	if len(sealed) == 0 || sealed[0] != sealedV1 {
		return nil, errors.New("the sealed text has an unknown version")
	}
	unopened := errors.New("the sealed text does not open: another master key or purpose, or it was changed")
	text := 1 + b.aead.NonceSize()
	if len(sealed) < text {
		return nil, unopened
	}
	plain, err := b.aead.Open(nil, sealed[1:text], sealed[text:], []byte(purpose))
	if err != nil {
		return nil, unopened
	}
	return plain, nil
}
