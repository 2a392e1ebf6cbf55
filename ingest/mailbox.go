package ingest

import (
	"context"
	"fmt"
	"net/http"

	"ledgerhook/partners"
	"ledgerhook/web"
)

// Mailbox is where one-time codes go without a mail server.
type Mailbox interface {
	List(ctx context.Context, cursor string, limit int) (letters []partners.OpenLetter, next string, err error)
}

type letterItem struct {
	LetterID    string   `json:"letterId"`
	PartnerCode string   `json:"partnerCode"`
	Email       string   `json:"email"`
	Code        string   `json:"code"`
	Subject     string   `json:"subject"`
	CreatedAt   web.Time `json:"createdAt"`
}

// listLetters shows the development mailbox, once its reading is noted: a code
// lets its reader in.
func (a *Internal) listLetters(w http.ResponseWriter, r *http.Request) error {
	return list(w, r, isID(partners.LetterPrefix), func(ctx context.Context, after string, limit int) ([]partners.OpenLetter, string, error) {
		note := by(r, "mailbox.read", "")
		note.Target = "mailbox"
		if err := a.Audit.Audit(ctx, note); err != nil {
			a.Metrics.AuditFailed()
			return nil, "", fmt.Errorf("note that the mailbox is read: %w", err)
		}
		return a.Mailbox.List(ctx, after, limit)
	}, func(l partners.OpenLetter) letterItem {
		return letterItem{l.ID, l.To.PartnerCode, l.To.Email, l.Code, l.Subject, web.Time(l.CreatedAt)}
	})
}
