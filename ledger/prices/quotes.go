package prices

import (
	"context"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/orders"
)

const quoteColumns = `id, partner_code, email, crypto, network, wallet_address, fiat_amount, price, processing_fee, system_fee,
	total_payment, token_amount, rate_at, created_at, expires_at`

func quoteFields(q *orders.Quote) []any {
	return []any{&q.ID, &q.PartnerCode, &q.Email, &q.Crypto, &q.Network, &q.WalletAddress, &q.FiatAmount, rows.Amount(&q.Price),
		&q.Fees.Processing, &q.Fees.System, &q.TotalPayment, rows.Amount(&q.TokenAmount), database.Time(&q.RateAt), database.Time(&q.CreatedAt), database.Time(&q.ExpiresAt)}
}

// AddQuote stores a quote.
func (p *Prices) AddQuote(ctx context.Context, q orders.Quote) error {
	return database.Run(ctx, p.db.Write, "store quote "+q.ID, "INSERT INTO quotes ("+quoteColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`, q.ID, q.PartnerCode, q.Email, q.Crypto, q.Network,
		q.WalletAddress, q.FiatAmount, q.Price.String(), q.Fees.Processing, q.Fees.System, q.TotalPayment, q.TokenAmount.String(),
		database.Micros(q.RateAt), database.Micros(q.CreatedAt), database.Micros(q.ExpiresAt))
}

// ValidQuote returns the newest quote of a partner, e-mail, cryptocurrency and
// fiat amount in dong that has not expired, and whether there is one ("Fees"
// of the interface decisions). One that has longer to go than validity, the life
// of a quote, was made by a clock that was ahead, or under another setting, and
// is passed over.
func (p *Prices) ValidQuote(ctx context.Context, partnerCode, email, crypto string, fiat int64, validity time.Duration) (q orders.Quote, found bool, err error) {
	now := time.Now()
	err = p.db.Read.QueryRowContext(ctx, "SELECT "+quoteColumns+` FROM quotes WHERE partner_code = $1 AND email = $2 AND crypto = $3
		AND fiat_amount = $4 AND expires_at > $5 AND expires_at <= $6 ORDER BY id DESC LIMIT 1`,
		partnerCode, email, crypto, fiat, database.Micros(now), database.Micros(now.Add(validity+database.MaxClockSkew))).
		Scan(quoteFields(&q)...)
	found, err = database.Found(err)
	return q, found, err
}
