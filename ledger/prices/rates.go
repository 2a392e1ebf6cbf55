package prices

import (
	"context"
	"fmt"
	"time"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/orders"
	"ledgerhook/partners"
)

const rateColumns = "crypto, network, price, wallet_address, updated_at"

func rateFields(r *orders.Rate) []any {
	return []any{&r.Crypto, &r.Network, rows.Amount(&r.Price), &r.WalletAddress, database.Time(&r.UpdatedAt)}
}

// SetRate makes r, which is valid, the rate of its cryptocurrency from now on,
// and returns it with that time.
func (p *Prices) SetRate(ctx context.Context, r orders.Rate, by ...partners.AuditEntry) (orders.Rate, error) {
	r.UpdatedAt = time.Now().UTC().Truncate(time.Microsecond)
	err := audit.Do(ctx, p.db, audit.About(by, r.Crypto, r.Price.String()), func(tx database.Querier) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO rates ("+rateColumns+`) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (crypto) DO UPDATE SET network = excluded.network, price = excluded.price,
		wallet_address = excluded.wallet_address, updated_at = excluded.updated_at`,
			r.Crypto, r.Network, r.Price.String(), r.WalletAddress, database.Micros(r.UpdatedAt))
		return err
	})
	if err != nil {
		return r, fmt.Errorf("store the rate of %s: %w", r.Crypto, err)
	}
	return r, nil
}

// Rate returns the rate of a cryptocurrency, however old it is, or an error
// with the key CRYPTO_NOT_SUPPORTED.
func (p *Prices) Rate(ctx context.Context, crypto string) (r orders.Rate, err error) {
	err = p.db.Read.QueryRowContext(ctx, "SELECT "+rateColumns+" FROM rates WHERE crypto = $1", crypto).Scan(rateFields(&r)...)
	return r, database.OrNone(err, orders.UnknownCrypto(crypto))
}

// Rates lists every rate by its cryptocurrency.
func (p *Prices) Rates(ctx context.Context) (found []orders.Rate, err error) {
	t := new(database.Statement).Add("SELECT " + rateColumns + " FROM rates ORDER BY crypto")
	return database.Collect(ctx, p.db.Read, t, rateFields)
}
