package partners

import (
	"strings"

	"ledgerhook/webhook"
)

// DataSubject is whose content is erased: what a partner's events, orders and
// letters say of one person, card, account or order. Exactly one of the fields
// after PartnerCode is set.
type DataSubject struct {
	PartnerCode string
	Email       string // of a person, as User holds it
	CardID      string
	AccountID   string
	OrderID     string // the gateway's or the partner's id of an order
}

// Check reports whether s names one subject of a partner, as an Invalid error
// of the field that is wrong.
func (s DataSubject) Check() error {
	if err := CheckCode(s.PartnerCode); err != nil {
		return err
	}
	given := 0
	for _, id := range []struct{ field, value string }{{"/email", s.Email}, {"/cardId", s.CardID}, {"/accountId", s.AccountID}, {"/orderId", s.OrderID}} {
		if id.value == "" {
			continue
		}
		given++
		if err := CheckText(id.field, id.value); err != nil {
			return err
		}
	}
	if given != 1 {
		return webhook.Invalid("/email", "exactly one of email, cardId, accountId and orderId must be given")
	}
	return nil
}

// CheckReason reports whether a reason may go into the audit log, which is
// never erased: it has to be given, and must not hold the e-mail address.
func (s DataSubject) CheckReason(reason string) error {
	if err := CheckReason("/reason", reason); err != nil {
		return err
	}
	if s.Email != "" && strings.Contains(strings.ToLower(reason), strings.ToLower(s.Email)) {
		return webhook.Invalid("/reason", "must not hold the e-mail address: the audit log is never erased")
	}
	return nil
}

// Target is what the audit log names: the id of a card, account or order, and
// of a person nothing but the partner.
func (s DataSubject) Target() string {
	for _, id := range []string{s.CardID, s.AccountID, s.OrderID} {
		if id != "" {
			return id
		}
	}
	return s.PartnerCode
}

// ErasureCounts counts what an erasure erases, or would erase.
type ErasureCounts struct {
	Events     int // their data
	Attempts   int // headers, body and error in words
	Deliveries int // that still wait: cancelled instead of sent
	Orders     int // e-mail, bank account, texts and transaction hashes
	Quotes     int // deleted
	Letters    int // in the development mailbox: deleted
	Users      int // a person's verification: deleted
	Sessions   int // a person's: ended and deleted
	// Unfinished are orders that have not ended: they must end first.
	Unfinished int
	// Sending are deliveries that are being sent just now: what their attempts
	// bring back is erased by another call once they have ended.
	Sending int
}
