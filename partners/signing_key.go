package partners

import (
	"cmp"
	"slices"
	"time"
)

// SigningKey is a key with which the gateway signs notifications and answers,
// as it is stored.
type SigningKey struct {
	ID          string
	Sealed      []byte // the private half
	PublicPEM   []byte
	CreatedAt   time.Time
	ActivatesAt time.Time // from when it signs
	RetiresAt   time.Time // until when it is published; zero: no other is to follow it
}

// SealPurpose binds a sealed signing key to its row.
func (k SigningKey) SealPurpose() string { return "signing-key/" + k.ID }

// The states of a signing key.
const (
	KeyPending  = "pending"  // published, to sign later
	KeyActive   = "active"   // signs
	KeyRetiring = "retiring" // published, signs what was accepted while it was active
	KeyRetired  = "retired"  // no longer published
)

// ActiveKey returns the key of keys that signs what is accepted at now: the
// newest that has begun to, or else the first that will. ok is false without any.
func ActiveKey(keys []SigningKey, now time.Time) (active SigningKey, ok bool) {
	if len(keys) == 0 {
		return active, false
	}
	ordered := slices.SortedFunc(slices.Values(keys), func(a, b SigningKey) int {
		return cmp.Or(a.ActivatesAt.Compare(b.ActivatesAt), cmp.Compare(a.ID, b.ID))
	})
	active = ordered[0]
	for _, k := range ordered[1:] {
		if !k.ActivatesAt.After(now) {
			active = k
		}
	}
	return active, true
}

// State is what k is among keys at now.
func (k SigningKey) State(keys []SigningKey, now time.Time) string {
	active, _ := ActiveKey(keys, now)
	switch {
	case k.ID == active.ID:
		return KeyActive
	case k.ActivatesAt.After(now):
		return KeyPending
	case k.RetiresAt.IsZero() || k.RetiresAt.After(now):
		return KeyRetiring
	}
	return KeyRetired
}
