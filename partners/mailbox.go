package partners

import (
	"context"
	"fmt"
	"time"

	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// MailboxLife is how long the development mailbox keeps a letter.
const MailboxLife = 24 * time.Hour

// LetterPrefix begins the id of a letter in the mailbox.
const LetterPrefix = "ltr_"

// LetterBound returns the smallest id of a letter that was made at t or later.
func LetterBound(t time.Time) string { return webhook.TimeBound(LetterPrefix, t) }

// KeptLetter is a letter in the development mailbox.
type KeptLetter struct {
	ID         string // ltr_…
	To         Addressee
	SealedCode []byte
	CreatedAt  time.Time
}

// SealPurpose binds a sealed code to its letter.
func (k KeptLetter) SealPurpose() string { return "letter/" + k.ID }

// MailboxStore remembers letters.
type MailboxStore interface {
	KeepLetter(ctx context.Context, l KeptLetter) error
	// Letters lists letters, newest first, and the cursor of the next page.
	Letters(ctx context.Context, cursor string, limit int) (found []KeptLetter, next string, err error)
}

// Mailbox is the mail.Carrier of a gateway without a mail server: letters stay with
// it, their codes sealed, for the operators to read.
type Mailbox struct {
	store MailboxStore
	box   *signer.Box
}

// NewMailbox returns the mailbox in store.
func NewMailbox(store MailboxStore, box *signer.Box) *Mailbox { return &Mailbox{store, box} }

// Carry implements mail.Carrier.
func (m *Mailbox) Carry(ctx context.Context, l Letter) error {
	k := KeptLetter{ID: webhook.NewID(LetterPrefix), To: l.To, CreatedAt: time.Now()}
	k.SealedCode = m.box.Seal(k.SealPurpose(), []byte(l.Code))
	return m.store.KeepLetter(ctx, k)
}

// OpenLetter is a letter of the mailbox that can be read.
type OpenLetter struct {
	Letter
	ID            string // ltr_…
	Subject, Body string // as they would be sent
	CreatedAt     time.Time
}

// List opens letters, newest first, after the one in cursor, and returns the
// cursor of the next page.
func (m *Mailbox) List(ctx context.Context, cursor string, limit int) (letters []OpenLetter, next string, err error) {
	kept, next, err := m.store.Letters(ctx, cursor, limit)
	if err != nil {
		return nil, "", fmt.Errorf("list the mailbox: %w", err)
	}
	for _, k := range kept {
		code, err := m.box.Open(k.SealPurpose(), k.SealedCode)
		if err != nil {
			return nil, "", fmt.Errorf("open letter %s: %w", k.ID, err)
		}
		o := OpenLetter{Letter: Letter{k.To, string(code)}, ID: k.ID, CreatedAt: k.CreatedAt}
		o.Subject, o.Body = o.Text()
		letters = append(letters, o)
	}
	return letters, next, nil
}
