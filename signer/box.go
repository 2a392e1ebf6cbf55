package signer

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
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
// webhook secrets. While one master key takes another's place it knows both:
// it opens what either has sealed, and seals with one of them. It is safe for
// use by many goroutines.
type Box struct {
	keys   atomic.Pointer[[]masterKey] // the first one seals
	change sync.Mutex                  // of keys
}

type masterKey struct {
	name string
	aead cipher.AEAD
	root []byte // what Derive expands
}

// sealedV1 begins every sealed text: AES-256-GCM, 96-bit random nonce, text, tag.
const sealedV1 = 1

// NewBox returns a box that seals with the first of its master keys and opens
// what any of them has sealed. Each is MasterKeySize bytes.
func NewBox(key []byte, others ...[]byte) (*Box, error) {
	var keys []masterKey
	for _, each := range append([][]byte{key}, others...) {
		k, err := newMasterKey(each)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	b := new(Box)
	b.keys.Store(&keys)
	return b, nil
}

func newMasterKey(key []byte) (k masterKey, err error) {
	if len(key) != MasterKeySize {
		return k, fmt.Errorf("the master key must be %d bytes long", MasterKeySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return k, fmt.Errorf("set up AES: %w", err)
	}
	if k.aead, err = cipher.NewGCM(block); err != nil { // the one with random nonces of its own takes no boringcrypto block
		return k, fmt.Errorf("set up GCM: %w", err)
	}
	if k.root, err = hkdf.Extract(sha256.New, key, nil); err != nil {
		return k, fmt.Errorf("set up key derivation: %w", err)
	}
	k.name = "mk_" + hex.EncodeToString(k.derive("the name of a master key")[:nameSize])
	return k, nil
}

const (
	derivedSize = 32 // bytes of a derived key
	nameSize    = 6  // bytes of a master key's name
)

func (k masterKey) derive(label string) []byte {
	key, err := hkdf.Expand(sha256.New, k.root, label, derivedSize)
	if err != nil {
		panic(err) // only for a size beyond the hash's reach
	}
	return key
}

// Derive returns a secret of 32 bytes for one use, named by label: always the
// same under one master key, and telling nothing of it or of other labels
// (HKDF-SHA-256). There is one for each master key, that of the one that seals
// first.
func (b *Box) Derive(label string) [][]byte {
	var derived [][]byte
	for _, k := range *b.keys.Load() {
		derived = append(derived, k.derive(label))
	}
	return derived
}

// Names are what people and processes call the master keys, mk_ and 12
// hexadecimal digits that tell nothing of the key; the one that seals is first.
func (b *Box) Names() (names []string) {
	for _, k := range *b.keys.Load() {
		names = append(names, k.name)
	}
	return names
}

// Is reports whether the box seals with key.
func (b *Box) Is(key []byte) bool {
	k, err := newMasterKey(key)
	return err == nil && k.name == b.Names()[0]
}

// Learn makes one more master key known, which opens until the box follows it.
func (b *Box) Learn(key []byte) error {
	k, err := newMasterKey(key)
	if err != nil {
		return err
	}
	b.change.Lock()
	defer b.change.Unlock()
	keys := append(slices.Clone(*b.keys.Load()), k)
	b.keys.Store(&keys)
	return nil
}

// Follow makes the master key that has sealed a text the one that seals. The one
// that sealed before comes second.
func (b *Box) Follow(purpose string, sealed []byte) error {
	b.change.Lock()
	defer b.change.Unlock()
	keys := *b.keys.Load()
	_, i, err := open(keys, purpose, sealed)
	if err != nil || i == 0 {
		return err
	}
	keys = slices.Concat(keys[i:i+1], keys[:i], keys[i+1:])
	b.keys.Store(&keys)
	return nil
}

// Seal encrypts plain. The purpose names what it is and whose ("webhook
// secret sec_…"): Open succeeds with the same purpose only, so that a sealed
// text moved to another row or column does not open there.
func (b *Box) Seal(purpose string, plain []byte) []byte {
	aead := (*b.keys.Load())[0].aead
	head := make([]byte, 1+aead.NonceSize(), 1+aead.NonceSize()+len(plain)+aead.Overhead())
	head[0] = sealedV1
	nonce := head[1:]
	_, _ = rand.Read(nonce) // it never fails
	return aead.Seal(head, nonce, plain, []byte(purpose))
}

// Open decrypts what Seal made with the same purpose and one of the master keys.
func (b *Box) Open(purpose string, sealed []byte) ([]byte, error) {
	plain, _, err := open(*b.keys.Load(), purpose, sealed)
	return plain, err
}

// Reseal returns a sealed text as the master key that seals now seals it; nil if
// that has sealed it already.
func (b *Box) Reseal(purpose string, sealed []byte) ([]byte, error) {
	plain, by, err := open(*b.keys.Load(), purpose, sealed)
	if err != nil || by == 0 {
		return nil, err
	}
	return b.Seal(purpose, plain), nil
}

// open returns, too, which of the keys has sealed the text.
func open(keys []masterKey, purpose string, sealed []byte) (plain []byte, by int, err error) {
	if len(sealed) == 0 || sealed[0] != sealedV1 {
		return nil, 0, errors.New("the sealed text has an unknown version")
	}
	for i, k := range keys {
		text := 1 + k.aead.NonceSize()
		if len(sealed) < text {
			break
		}
		if plain, err := k.aead.Open(nil, sealed[1:text], sealed[text:], []byte(purpose)); err == nil {
			return plain, i, nil
		}
	}
	return nil, 0, errors.New("the sealed text does not open: another master key or purpose, or it was changed")
}
