package rows

import (
	"database/sql"
	"fmt"

	"ledgerhook/ledger/database"
	"ledgerhook/orders"
)

// OrderColumns are what OrderFields reads.
const OrderColumns = `id, partner_code, external_order_id, email, type, fiat_amount, paid_amount, token_currency, token_network,
	token_price, token_amount, wallet_address, tx_hash, bank_bin, bank_name, account_name, account_number, card, content,
	total_payment, qr_token, processing_fee, system_fee, status, sequence, description, fingerprint, payout_at, created_at,
	updated_at, expires_at, erased_at, erased_by, rate_at, quoted_at`

// OrderFields are the columns of an order.
func OrderFields(o *orders.Order) []any {
	token, bank := &o.TokenTransfer, &o.BankTransfer
	return []any{&o.ID, &o.PartnerCode, &o.ExternalOrderID, &o.Email, &o.Type, &o.FiatAmount, &o.PaidAmount, &token.Currency,
		&token.Network, Amount(&token.Price), Amount(&token.Amount), &token.WalletAddress, &token.TxHash, &bank.BankBIN,
		&bank.BankName, &bank.AccountName, &bank.AccountNumber, &bank.Card, &bank.Content, &bank.TotalPayment, &bank.QRToken,
		&o.Fees.Processing, &o.Fees.System, &o.Status, &o.Sequence, &o.Description, &o.Fingerprint, database.Time(&o.PayoutAt),
		database.Time(&o.CreatedAt), database.Time(&o.UpdatedAt), database.Time(&o.ExpiresAt),
		database.Time(&o.Erased.At), &o.Erased.By, database.Time(&o.RateAt), database.Time(&o.QuotedAt)}
}

// Amount scans an exact decimal number, which the ledger keeps as its canonical
// text.
func Amount(a *orders.Amount) sql.Scanner { return amountColumn{a} }

type amountColumn struct{ a *orders.Amount }

func (c amountColumn) Scan(v any) (err error) {
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("an amount cannot be read from %T", v)
	}
	*c.a, err = orders.ParseAmount(s)
	return err
}
