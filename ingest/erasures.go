package ingest

import (
	"context"
	"net/http"

	"ledgerhook/partners"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// Erasures is the ledger as the API of erasures uses it.
type Erasures interface {
	PreviewErasure(ctx context.Context, s partners.DataSubject) (partners.ErasureCounts, error)
	Erase(ctx context.Context, s partners.DataSubject, by partners.AuditEntry) (counts partners.ErasureCounts, done bool, err error)
}

// erasureCounts is what was erased, or would be.
type erasureCounts struct {
	Events     int  `json:"events"`
	Attempts   int  `json:"attempts"`
	Deliveries int  `json:"cancelledDeliveries"`
	Orders     int  `json:"orders"`
	Quotes     int  `json:"quotes"`
	Letters    int  `json:"letters"`
	Users      int  `json:"users"`
	Sessions   int  `json:"sessions"`
	Unfinished int  `json:"unfinishedOrders"`
	Sending    int  `json:"beingSent"`
	Done       bool `json:"done"`
}

func showErasure(c partners.ErasureCounts, done bool) erasureCounts {
	return erasureCounts{c.Events, c.Attempts, c.Deliveries, c.Orders, c.Quotes, c.Letters, c.Users, c.Sessions, c.Unfinished, c.Sending, done}
}

// erasedItem says that content was erased; null: it was not.
type erasedItem struct {
	At web.Time `json:"at"`
	By string   `json:"by"`
}

func showErased(e webhook.Erasure) *erasedItem {
	if !e.Done() {
		return nil
	}
	return &erasedItem{web.Time(e.At), e.By}
}

// erase erases what is held of one person, card, account or order, or tells
// what that would be.
func (a *Internal) erase(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		PartnerCode string `json:"partnerCode"`
		Email       string `json:"email"`
		CardID      string `json:"cardId"`
		AccountID   string `json:"accountId"`
		OrderID     string `json:"orderId"`
		Reason      string `json:"reason"`
		DryRun      bool   `json:"dryRun"`
	}
	if err := web.DecodeJSON(r, maxBody, &request); err != nil {
		return err
	}
	person := partners.NewUser(request.PartnerCode, request.Email)
	subject := partners.DataSubject{PartnerCode: person.PartnerCode, Email: person.Email, CardID: request.CardID, AccountID: request.AccountID, OrderID: request.OrderID}
	if err := subject.Check(); err != nil {
		return err
	}
	if !request.DryRun {
		if err := subject.CheckReason(request.Reason); err != nil {
			return err
		}
	}
	if _, err := a.Partners.Partner(r.Context(), subject.PartnerCode); err != nil {
		return err
	}
	if request.DryRun {
		counts, err := a.Erasures.PreviewErasure(r.Context(), subject)
		if err != nil {
			return err
		}
		return web.WriteJSON(w, http.StatusOK, showErasure(counts, false))
	}
	counts, done, err := a.Erasures.Erase(r.Context(), subject, by(r, "erase", request.Reason))
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, showErasure(counts, done))
}
