package ledger_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ledgerhook/delivery"
	"ledgerhook/ledger/ledgertest"
	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// theirs are what a person or a card is known by, each found nowhere else.
var theirs = []string{"ann@example.com", "LE THI BI MAT", "0099887766554", "PAYMENT FOR BI MAT", "0x5ec2e7ha54", "note-on-bi-mat", "why-bi-mat", "answer-of-bi-mat", "header-of-bi-mat", "detail-of-bi-mat"}

var annUser = partners.NewUser("acme", "ann@example.com")

var eraser = partners.AuditEntry{Actor: "api", Action: "erase", Detail: "request 4711"}

// annsOrder makes an order of ann's with everything in it.
func annsOrder(t *testing.T, b *ledgertest.Bench, external string) orders.Order {
	t.Helper()
	o, _, err := b.CreateOrder(t.Context(), ledgertest.OrderOf(t, orders.Create{
		PartnerCode: "acme", Email: annUser.Email, ExternalOrderID: external, Crypto: "USDT", FiatCurrency: orders.VND, FiatAmount: orders.Dong(500_000),
		ExtendInfo: orders.ExtendInfo{TransferContent: "PAYMENT FOR BI MAT", RecipientName: "LE THI BI MAT", RecipientNumber: "0099887766554", RecipientBankCode: "VCB"},
	}, time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func moveTo(t *testing.T, b *ledgertest.Bench, o orders.Order, to ...orders.Status) {
	t.Helper()
	for _, status := range to {
		_, _, err := b.TransitionOrder(t.Context(), o.ID, orders.Move{To: status, Actor: "api", KeyID: "key_1",
			Input: orders.TransitionInput{TxHash: "0x5ec2e7ha54", Description: "note-on-bi-mat", Reason: "why-bi-mat"}})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// telling is an attempt that brought back what it was sent.
func telling(a webhook.Attempt) webhook.Attempt {
	a.RequestHeaders = map[string][]string{"X-Sent": {"header-of-bi-mat"}}
	a.ResponseHeaders = map[string][]string{"X-Got": {"header-of-bi-mat"}}
	a.ResponseBody, a.ErrorDetail = []byte("answer-of-bi-mat"), "detail-of-bi-mat"
	return a
}

// holds names every column of the database that holds text, as text or bytes.
func holds(t *testing.T, b *ledgertest.Bench, text string) (found []string) {
	t.Helper()
	b.EachValue(t, func(column string, value []byte) {
		if bytes.Contains(value, []byte(text)) && !slices.Contains(found, column) {
			found = append(found, column)
		}
	})
	return found
}

// eraseAll erases until all is gone, and returns what that was.
func eraseAll(t *testing.T, b *ledgertest.Bench, s partners.DataSubject) (all partners.ErasureCounts) {
	t.Helper()
	c, done, err := b.Erase(t.Context(), s, eraser)
	if err != nil || !done {
		t.Fatalf("%+v, done: %v, %v", c, done, err)
	}
	return c
}

// stocked is a ledger that holds all that can be held of ann, and of others.
func stocked(t *testing.T, b *ledgertest.Bench) (mine, others orders.Order, waiting string) {
	t.Helper()
	b.Partner(t, "acme")
	e := b.Endpoint(t, "acme", 8)
	others = b.Order(t, "acme", "order-2", time.Hour)
	moveOf := orders.Move{To: orders.StatusFail, KeyID: "key_1"}
	if _, _, err := b.TransitionOrder(t.Context(), others.ID, moveOf); err != nil {
		t.Fatal(err)
	}
	drain(t, b)
	mine = annsOrder(t, b, "order-1")
	moveTo(t, b, mine, orders.StatusPaymentCompleted)
	send(t, b, b.Tickets(), telling(ok), delivered)
	moveTo(t, b, mine, orders.StatusProcessingTokenTransfer)
	send(t, b, b.Tickets(), telling(failed), retryAt(time.Now().Add(time.Hour)))
	set(t, b, e.ID, pause)
	moveTo(t, b, mine, orders.StatusSuccess)
	conflicting := annsOrder(t, b, "order-3")
	moveTo(t, b, conflicting, orders.StatusFail)
	if _, _, err := b.TransitionOrder(t.Context(), conflicting.ID, orders.Move{To: orders.StatusPaymentCompleted, Actor: "api", Input: orders.TransitionInput{TxHash: "0x5ec2e7ha54", Reason: "why-bi-mat"}}); err == nil {
		t.Fatal("an order that failed was paid")
	}
	box, err := signer.NewBox(bytes.Repeat([]byte{1}, signer.MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := partners.NewTokens(b, box, slog.New(slog.DiscardHandler)).Issue(t.Context(), annUser); err != nil {
		t.Fatal(err)
	}
	if err := b.AlterCode(t.Context(), annUser, func(s *partners.CodeState) { s.VerifiedAt = time.Now() }); err != nil {
		t.Fatal(err)
	}
	if err := b.KeepLetter(t.Context(), partners.KeptLetter{ID: webhook.NewID("ltr_"), To: partners.Addressee{PartnerCode: "acme", Email: annUser.Email}, SealedCode: []byte("sealed"), CreatedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	rate := orders.Rate{Crypto: "USDT", Network: "TRC20", Price: ledgertest.Amount(t, "25000"), WalletAddress: "T1", UpdatedAt: time.Now()}
	q, err := orders.NewQuote("acme", annUser.Email, 500_000, rate, orders.FeeRules{}, orders.DefaultQuoteValidity)
	if err == nil {
		err = b.AddQuote(t.Context(), q)
	}
	if err != nil {
		t.Fatal(err)
	}
	found, _, err := b.Deliveries(t.Context(), delivery.Filter{Reference: "order-1", Limit: 10})
	if err != nil || len(found) != 3 {
		t.Fatalf("%d deliveries, %v", len(found), err)
	}
	return mine, others, found[0].ID
}

func TestNothingOfAnErasedPersonIsLeftInAnyTable(t *testing.T) {
	ledgertest.EachFresh(t, func(t *testing.T, b *ledgertest.Bench) {
		mine, others, waiting := stocked(t, b)
		for _, text := range theirs {
			if len(holds(t, b, text)) == 0 {
				t.Errorf("%q was never there", text)
			}
		}
		kept := rows(t, b)
		s := partners.DataSubject{PartnerCode: "acme", Email: annUser.Email}
		want := partners.ErasureCounts{Events: 4, Attempts: 2, Deliveries: 3, Orders: 2, Quotes: 1, Letters: 1, Users: 1, Sessions: 1}
		preview, err := b.PreviewErasure(t.Context(), s)
		if err != nil || preview != want {
			t.Errorf("the preview: %+v, want %+v, %v", preview, want, err)
		}
		same(t, "erased", eraseAll(t, b, s), want)
		for _, text := range theirs {
			if found := holds(t, b, text); len(found) > 0 {
				t.Errorf("%q is still in %s", text, strings.Join(found, ", "))
			}
		}

		same(t, "rows", rows(t, b), kept)
		if d := look(t, b, waiting); d.State != webhook.Cancelled || d.Reason != "erased" {
			t.Errorf("what waited: %+v", d)
		}
		o, err := b.Ledger.Order(t.Context(), mine.ID)
		if err != nil || o.Erased.By != "api" || o.Erased.At.IsZero() || o.FiatAmount != mine.FiatAmount || o.Status != orders.StatusSuccess || o.Fingerprint != mine.Fingerprint {
			t.Errorf("the order: %+v, %v", o, err)
		}
		if o, err := b.Ledger.Order(t.Context(), others.ID); err != nil || o.Erased.Done() || o.Email != others.Email || o.BankTransfer != others.BankTransfer {
			t.Errorf("somebody else's order: %+v, %v", o, err)
		}
		if len(holds(t, b, others.BankTransfer.AccountNumber)) == 0 {
			t.Error("somebody else's notifications are gone")
		}
		if _, err := b.RetryDelivery(t.Context(), waiting); webhook.KindOf(err) != webhook.KindConflict || !strings.Contains(err.Error(), "erased") {
			t.Errorf("what was erased is sent again: %v", err)
		}
		again := eraseAll(t, b, s)
		same(t, "erased by a second call", again, partners.ErasureCounts{})
		if state, err := b.VerifyAudit(t.Context()); err != nil || state.BrokenAt != "" {
			t.Errorf("the audit log: %+v, %v", state, err)
		}
		same(t, "entries", b.Count(t, "SELECT COUNT(*) FROM audit WHERE action = 'erase' AND detail LIKE '%; request 4711' AND partner_code = 'acme'") >= 4, true)
		b.CheckCounts(t)
	})
}

// A file keeps what was deleted until something else is written there, unless
// it is overwritten.
func TestNothingOfAnErasedPersonIsLeftInTheFilesOfSQLite(t *testing.T) {
	b := ledgertest.NewFresh(t, "sqlite")
	stocked(t, b)
	eraseAll(t, b, partners.DataSubject{PartnerCode: "acme", Email: annUser.Email})
	if _, err := b.Raw.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(b.At.DataDir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, file := range files {
		bytesOf, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		read += len(bytesOf)
		for _, text := range theirs {
			if bytes.Contains(bytesOf, []byte(text)) {
				t.Errorf("%q is still in %s", text, filepath.Base(file))
			}
		}
	}
	if read < 100_000 {
		t.Errorf("only %d bytes were read of %v", read, files)
	}
}

func TestAnErasedCardTakesItsTopUpsAlong(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Partner(t, "other")
		b.Endpoint(t, "acme", 8)
		of := func(partner string, typ webhook.Type, object, card string) string {
			e := typed(partner, typ, object, "Pending")
			e.Event.OrderingKey, e.Event.Data = card, fmt.Appendf(nil, `{"id":%q,"of":"holder of %s at %s"}`, object, card, partner)
			return store(t, b, e).EventID
		}
		erased := []string{of("acme", webhook.CreateCard, "card_9", "card_9"), of("acme", webhook.TopupCard, "tp_1", "card_9"), of("acme", webhook.CardTransaction, "tx_1", "card_9")}
		stay := []string{of("acme", webhook.CreateCard, "card_8", "card_8"), of("other", webhook.CreateCard, "card_9", "card_9"), of("acme", webhook.ProfileUpdated, "card_9", "card_9")}
		drain(t, b)
		same(t, "erased", eraseAll(t, b, partners.DataSubject{PartnerCode: "acme", CardID: "card_9"}).Events, 3)
		for _, id := range erased {
			if e, err := b.Event(t.Context(), partners.Everything(), id); err != nil || !e.Erased.Done() || len(e.Data) > 0 {
				t.Errorf("%+v, %v", e, err)
			}
		}
		for _, id := range stay {
			if e, err := b.Event(t.Context(), partners.Everything(), id); err != nil || e.Erased.Done() || len(e.Data) == 0 {
				t.Errorf("%+v, %v", e, err)
			}
		}
		same(t, "an account with the same id", eraseAll(t, b, partners.DataSubject{PartnerCode: "acme", AccountID: "card_9"}).Events, 1)
	})
}

// What is on its way cannot be called back, but what it brings back is erased,
// and it is not tried again.
func TestADeliveryThatIsBeingSentIsErasedOnceItHasEnded(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		store(t, b, typed("acme", webhook.CreateCard, "card_1", "Init"))
		job := take(t, b, one(t, b))
		s := partners.DataSubject{PartnerCode: "acme", CardID: "card_1"}
		c, done, err := b.Erase(t.Context(), s, eraser)
		if err != nil || done || c.Sending != 1 || c.Events != 1 {
			t.Fatalf("%+v, done: %v, %v", c, done, err)
		}
		record(t, b, job, telling(failed), retryAt(time.Now().Add(time.Hour)))
		same(t, "erased", eraseAll(t, b, s), partners.ErasureCounts{Attempts: 1, Deliveries: 1})
		same(t, "found", holds(t, b, "answer-of-bi-mat"), []string{})
		same(t, "state", look(t, b, job.Delivery.ID).State, webhook.Cancelled)
		b.CheckCounts(t)
	})
}

// A ticket in the queue outlives the erasure.
func TestAQueuedDeliveryOfAnErasedEventIsNeverClaimed(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		b.Endpoint(t, "acme", 8)
		id := store(t, b, typed("acme", webhook.CreateCard, "card_1", "Init")).DeliveryIDs[0]
		ticket := one(t, b)
		change(t, b, "UPDATE events SET erased_at = 1, erased_by = 'api'") // between the erasure's two steps
		refused(t, b, ticket)
		refused(t, b, ticket) // after the batch that ends what the first one found
		s := partners.DataSubject{PartnerCode: "acme", CardID: "card_1"}
		eraseAll(t, b, s)
		if d := look(t, b, id); d.State != webhook.Cancelled || d.Reason != "erased" || d.Attempts != 0 {
			t.Errorf("%+v", d)
		}
		b.CheckCounts(t)
	})
}

func TestAnOrderIsErasedOnlyOnceItHasEnded(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		b.Partner(t, "acme")
		o := annsOrder(t, b, "order-1")
		for _, s := range []partners.DataSubject{{PartnerCode: "acme", OrderID: o.ID}, {PartnerCode: "acme", OrderID: "order-1"}, {PartnerCode: "acme", Email: annUser.Email}} {
			_, _, err := b.Erase(t.Context(), s, eraser)
			wantKind(t, err, webhook.KindConflict)
		}
		if now, err := b.Ledger.Order(t.Context(), o.ID); err != nil || now.Email != annUser.Email {
			t.Errorf("%+v, %v", now, err)
		}
		_, _, err := b.Erase(t.Context(), partners.DataSubject{PartnerCode: "other", OrderID: o.ID}, eraser)
		wantKind(t, err, webhook.KindNotFound)
		moveTo(t, b, o, orders.StatusFail)
		same(t, "erased", eraseAll(t, b, partners.DataSubject{PartnerCode: "acme", OrderID: "order-1"}).Orders, 1)
	})
}
