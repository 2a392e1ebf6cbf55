package partners

import (
	"time"

	"ledgerhook/webhook"
)

// SecretState is where a webhook secret stands in its life.
type SecretState string

const (
	SecretPending  SecretState = "pending"  // made, signs nothing yet
	SecretActive   SecretState = "active"   // signs every notification
	SecretRetiring SecretState = "retiring" // still signs beside the active one
	SecretRevoked  SecretState = "revoked"  // signs nothing more
)

// SecretOverlap is how long a retiring secret still signs.
const SecretOverlap = 24 * time.Hour

// Secret is a webhook secret of a partner. Its value is sealed and shown only
// when it is made.
type Secret struct {
	ID          string // sec_…
	PartnerCode string
	State       SecretState
	Sealed      []byte
	CreatedAt   time.Time
	ActivatedAt time.Time
	RetiresAt   time.Time // when a retiring secret ends by itself
	RevokedAt   time.Time
}

// StateAt is the state at now: a retiring secret whose time is up is revoked.
func (s Secret) StateAt(now time.Time) SecretState {
	if s.State == SecretRetiring && !now.Before(s.RetiresAt) {
		return SecretRevoked
	}
	return s.State
}

// Signs reports whether the secret signs notifications at now.
func (s Secret) Signs(now time.Time) bool {
	state := s.StateAt(now)
	return state == SecretActive || state == SecretRetiring
}

// Activate moves a pending secret to active at now and the active one, if
// any, to retiring. It returns a Conflict error from any other state.
func Activate(secret *Secret, active *Secret, now time.Time) error {
	if secret.State != SecretPending {
		return webhook.Conflict("only a pending secret can be activated; " + secret.ID + " is " + string(secret.StateAt(now)))
	}
	secret.State, secret.ActivatedAt = SecretActive, now
	if active != nil {
		active.State, active.RetiresAt = SecretRetiring, now.Add(SecretOverlap)
	}
	return nil
}

// Revoke ends a secret at now. The active one cannot be revoked while it is
// the only one that signs: notifications would go out unsigned.
func Revoke(secret *Secret, now time.Time) error {
	switch secret.StateAt(now) {
	case SecretRevoked:
		return nil
	case SecretActive:
		return webhook.Conflict("the active secret cannot be revoked: create and activate another one first")
	}
	secret.State, secret.RevokedAt = SecretRevoked, now
	return nil
}

// SealPurpose binds a sealed webhook secret to its row.
func (s Secret) SealPurpose() string { return "webhook-secret/" + s.ID }

// SealPurpose binds a sealed secretKey to its partner.
func (p Partner) SealPurpose() string { return "secret-key/" + p.Code }
