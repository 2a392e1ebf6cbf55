package accounts

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/partners"
)

// AlterCode implements partners.CodeStore. A user that nothing is known of
// gets a row first, so that the steps and their locks are always the same.
func (a *Accounts) AlterCode(ctx context.Context, u partners.User, change func(*partners.CodeState)) error {
	return a.db.InTx(ctx, func(tx database.Querier) error {
		var s partners.CodeState
		err := tx.QueryRowContext(ctx, `INSERT INTO users (partner_code, email, verified_at, code_salt, code_digest, code_expires_at,
				tries, failures, locked_until, sends, updated_at)
			VALUES ($1, $2, 0, '', '', 0, 0, 0, 0, '', $3)
			ON CONFLICT (partner_code, email) DO UPDATE SET updated_at = excluded.updated_at
			RETURNING verified_at, code_salt, code_digest, code_expires_at, tries, failures, locked_until, sends`,
			u.PartnerCode, u.Email, database.Micros(time.Now())).
			Scan(database.Time(&s.VerifiedAt), &s.Salt, &s.Digest, database.Time(&s.ExpiresAt), &s.Tries, &s.Failures,
				database.Time(&s.LockedUntil), timesColumn{&s.Sends})
		if err != nil {
			return fmt.Errorf("lock a user: %w", err)
		}
		change(&s)
		return database.Run(ctx, tx, "update a user", `UPDATE users SET verified_at = $3, code_salt = $4, code_digest = $5, code_expires_at = $6,
			tries = $7, failures = $8, locked_until = $9, sends = $10 WHERE partner_code = $1 AND email = $2`,
			u.PartnerCode, u.Email, database.Micros(s.VerifiedAt), database.Bytes(s.Salt), database.Bytes(s.Digest), database.Micros(s.ExpiresAt),
			s.Tries, s.Failures, database.Micros(s.LockedUntil), joinTimes(s.Sends))
	})
}

// Verified implements partners.CodeStore.
func (a *Accounts) Verified(ctx context.Context, u partners.User) (verified bool, err error) {
	err = a.db.Read.QueryRowContext(ctx, "SELECT verified_at > 0 FROM users WHERE partner_code = $1 AND email = $2", u.PartnerCode, u.Email).Scan(&verified)
	return verified, database.OrNone(err, nil)
}

// timesColumn scans a comma-separated list of times.
type timesColumn struct{ times *[]time.Time }

func (c timesColumn) Scan(v any) error {
	var words []string
	if err := (database.List(&words)).Scan(v); err != nil {
		return err
	}
	*c.times = nil
	for _, word := range words {
		us, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return fmt.Errorf("a list of times cannot be read from %q", v)
		}
		*c.times = append(*c.times, database.FromMicros(us))
	}
	return nil
}

func joinTimes(times []time.Time) string {
	words := make([]string, len(times))
	for i, t := range times {
		words[i] = strconv.FormatInt(database.Micros(t), 10)
	}
	return strings.Join(words, ",")
}
