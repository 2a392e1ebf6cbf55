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
	after, limit, err := readPage(r, isID(partners.LetterPrefix))
	if err != nil {
		return err
	}
	note := by(r, "mailbox.read", "")
	note.Target = "mailbox"
	if err := a.Audit.Audit(r.Context(), note); err != nil {
		a.Metrics.AuditFailed()
		return fmt.Errorf("note that the mailbox is read: %w", err)
	}
	found, next, err := a.Mailbox.List(r.Context(), after, limit)
	if err != nil {
		return err
	}
	return writePage(w, found, next, func(l partners.OpenLetter) letterItem {
		return letterItem{l.ID, l.To.PartnerCode, l.To.Email, l.Code, l.Subject, web.Time(l.CreatedAt)}
	})
}
