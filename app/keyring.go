package app

import (
	"context"
	"crypto/rsa"
	"fmt"
	"sync"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/accounts"
	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/signer"
)

const (
	// signingKeyBits is the size of the keys that the gateway makes for itself.
	signingKeyBits = 2048
	// keysEvery is how often a process reads which signing keys there are.
	keysEvery = 10 * time.Second
	// keyOverlap is how long a key is published after the last event that it
	// signs may have been deleted: as long as retention takes at most.
	keyOverlap = 48 * time.Hour
)

// keyring holds the gateway's signing keys, opened once. It is safe for
// concurrent use.
type keyring struct {
	db  *database.DB
	box *signer.Box
	// overlap is how long a key is published after another has followed it:
	// longer than any event that it signs is kept and sent again.
	overlap time.Duration

	mu     sync.Mutex
	opened map[string]*signer.Key
	stored []partners.SigningKey
}

func newKeyring(db *database.DB, box *signer.Box, retention time.Duration) *keyring {
	return &keyring{db: db, box: box, overlap: retention + keyOverlap, opened: map[string]*signer.Key{}}
}

// openKeys reads the signing keys, again and again. A ledger without one gets
// its first.
func (a *App) openKeys(ctx context.Context) error {
	a.keys = newKeyring(a.db, a.box, a.config.Retention)
	if err := a.keys.load(ctx); err != nil {
		return err
	}
	if len(a.keys.stored) == 0 {
		first, err := a.keys.generate(time.Now(), 0)
		if err != nil {
			return err
		}
		if err := a.db.AddSigningKey(ctx, first); err != nil {
			return fmt.Errorf("store the signing key: %w", err)
		}
		if err := a.keys.load(ctx); err != nil { // another process may have been first
			return err
		}
	}
	a.composer = delivery.NewComposer(a.keys, a.box, a.deliveryMetrics)
	a.background("stop reading the signing keys", func(ctx context.Context) {
		a.every(ctx, keysEvery, "read the signing keys", a.keys.load)
	})
	return nil
}

// generate makes a key that signs from now and after on, and stores it nowhere.
func (k *keyring) generate(now time.Time, after time.Duration) (made partners.SigningKey, err error) {
	key, err := signer.GenerateKey(signingKeyBits)
	if err != nil {
		return made, fmt.Errorf("make the signing key: %w", err)
	}
	made = partners.SigningKey{ID: key.ID(), PublicPEM: key.PublicPEM(), CreatedAt: now, ActivatesAt: now.Add(after)}
	made.Sealed = k.box.Seal(made.SealPurpose(), key.PrivatePEM())
	return made, nil
}

func (k *keyring) load(ctx context.Context) error {
	stored, err := k.db.SigningKeys(ctx)
	if err != nil {
		return fmt.Errorf("read the signing keys: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range stored {
		if k.opened[s.ID] != nil {
			continue
		}
		pem, err := k.box.Open(s.SealPurpose(), s.Sealed)
		if err != nil {
			return fmt.Errorf("open signing key %s: %w", s.ID, err)
		}
		if k.opened[s.ID], err = signer.ParsePrivateKey(pem); err != nil {
			return fmt.Errorf("read signing key %s: %w", s.ID, err)
		}
	}
	k.stored = stored
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
	return k.opened[id]
}

// current is the key that signs what is accepted now; nil without any.
func (k *keyring) current() *signer.Key {
	k.mu.Lock()
	defer k.mu.Unlock()
	active, _ := partners.ActiveKey(k.stored, time.Now())
	return k.opened[active.ID]
}

func (k *keyring) currentPublic() *rsa.PublicKey { return k.current().Public() }

// published lists the public halves, the active one first.
func (k *keyring) published() []*rsa.PublicKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	var first, others []*rsa.PublicKey
	for _, s := range k.stored {
		switch s.State(k.stored, now) {
		case partners.KeyActive:
			first = append(first, k.opened[s.ID].Public())
		case partners.KeyPending, partners.KeyRetiring:
			others = append(others, k.opened[s.ID].Public())
		}
	}
	return append(first, others...)
}

// signingKeys lists and rotates the keys for the internal API.
type signingKeys struct {
	*keyring
	accounts *accounts.Accounts
}

// SigningKeys implements ingest.SigningKeys.
func (s signingKeys) SigningKeys(ctx context.Context) ([]partners.SigningKey, error) {
	return s.db.SigningKeys(ctx)
}

// RotateSigningKey implements ingest.SigningKeys.
func (s signingKeys) RotateSigningKey(ctx context.Context, after time.Duration, by ...partners.AuditEntry) (partners.SigningKey, error) {
	now := time.Now()
	next, err := s.generate(now, after)
	if err != nil {
		return next, err
	}
	if err := s.accounts.RotateSigningKey(ctx, next, now, next.ActivatesAt.Add(s.overlap), by...); err != nil {
		return next, err
	}
	return next, s.load(ctx)
}
