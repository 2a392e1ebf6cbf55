package app

import (
	"context"
	"crypto/rsa"
	"fmt"
	"sync"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/database"
	"ledgerhook/signer"
)

// signingKeyBits is the size of the keys that the gateway makes for itself.
const signingKeyBits = 2048

// keyring holds the gateway's signing keys, opened once.
type keyring struct {
	db     *database.DB
	box    *signer.Box
	active *signer.Key

	mu   sync.Mutex
	keys map[string]*signer.Key
}

func sealPurpose(keyID string) string { return "signing-key/" + keyID }

// openKeys reads the signing keys. A ledger without one gets its first.
func (a *App) openKeys(ctx context.Context) error {
	a.keys = &keyring{db: a.db, box: a.box, keys: map[string]*signer.Key{}}
	if err := a.keys.load(ctx); err != nil {
		return err
	}
	if a.keys.active == nil {
		key, err := signer.GenerateKey(signingKeyBits)
		if err != nil {
			return fmt.Errorf("make the signing key: %w", err)
		}
		err = a.db.AddSigningKey(ctx, database.SigningKey{ID: key.ID(), PublicPEM: key.PublicPEM(),
			Sealed: a.box.Seal(sealPurpose(key.ID()), key.PrivatePEM()), CreatedAt: time.Now()})
		if err != nil {
			return fmt.Errorf("store the signing key: %w", err)
		}
		if err := a.keys.load(ctx); err != nil { // another process may have been first
			return err
		}
	}
	a.composer = delivery.NewComposer(a.keys, a.box, a.deliveryMetrics)
	return nil
}

func (k *keyring) load(ctx context.Context) error {
	stored, err := k.db.SigningKeys(ctx)
	if err != nil {
		return fmt.Errorf("read the signing keys: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range stored {
		if k.keys[s.ID] == nil {
			pem, err := k.box.Open(sealPurpose(s.ID), s.Sealed)
			if err != nil {
				return fmt.Errorf("open signing key %s: %w", s.ID, err)
			}
			if k.keys[s.ID], err = signer.ParsePrivateKey(pem); err != nil {
				return fmt.Errorf("read signing key %s: %w", s.ID, err)
			}
		}
		if s.Active {
			k.active = k.keys[s.ID]
		}
	}
	return nil
}

// Key implements delivery.Keys.
func (k *keyring) Key(ctx context.Context, id string) (*signer.Key, error) {
	if key := k.find(id); key != nil {
		return key, nil
	}
	if err := k.load(ctx); err != nil {
		return nil, err
	}
	if key := k.find(id); key != nil {
		return key, nil
	}
	return nil, fmt.Errorf("there is no signing key %s", id)
}

func (k *keyring) find(id string) *signer.Key {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.keys[id]
}

// activeID names the key that signs what is appended now.
func (k *keyring) activeID() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.active.ID()
}

// public lists the public halves, the active one first.
func (k *keyring) public() []*rsa.PublicKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	keys := []*rsa.PublicKey{k.active.Public()}
	for id, key := range k.keys {
		if id != k.active.ID() {
			keys = append(keys, key.Public())
		}
	}
	return keys
}
