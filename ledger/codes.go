package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ledgerhook/partners"
)

// AlterCode implements partners.CodeStore. A user that nothing is known of
// gets a row first, so that the steps and their locks are always the same.
func (l *Ledger) AlterCode(ctx context.Context, u partners.User, change func(*partners.CodeState)) error {
	return l.db.inTx(ctx, func(tx querier) error {
		var s partners.CodeState
		err := tx.QueryRowContext(ctx, `INSERT INTO users (partner_code, email, verified_at, code_salt, code_digest, code_expires_at,
				tries, failures, locked_until, sends, updated_at)
			VALUES ($1, $2, 0, '', '', 0, 0, 0, 0, '', $3)
			ON CONFLICT (partner_code, email) DO UPDATE SET updated_at = excluded.updated_at
			RETURNING verified_at, code_salt, code_digest, code_expires_at, tries, failures, locked_until, sends`,
			u.PartnerCode, u.Email, micros(time.Now())).
			Scan(timeColumn{&s.VerifiedAt}, &s.Salt, &s.Digest, timeColumn{&s.ExpiresAt}, &s.Tries, &s.Failures,
				timeColumn{&s.LockedUntil}, timesColumn{&s.Sends})
		if err != nil {
			return fmt.Errorf("lock a user: %w", err)
		}
		change(&s)
		_, err = tx.ExecContext(ctx, `UPDATE users SET verified_at = $3, code_salt = $4, code_digest = $5, code_expires_at = $6,
			tries = $7, failures = $8, locked_until = $9, sends = $10 WHERE partner_code = $1 AND email = $2`,
			u.PartnerCode, u.Email, micros(s.VerifiedAt), bytesOrEmpty(s.Salt), bytesOrEmpty(s.Digest), micros(s.ExpiresAt),
			s.Tries, s.Failures, micros(s.LockedUntil), joinTimes(s.Sends))
		if err != nil {
			return fmt.Errorf("update a user: %w", err)
		}
		return nil
	})
}

// Verified implements partners.CodeStore.
func (l *Ledger) Verified(ctx context.Context, u partners.User) (verified bool, err error) {
	err = l.db.read.QueryRowContext(ctx, "SELECT verified_at > 0 FROM users WHERE partner_code = $1 AND email = $2", u.PartnerCode, u.Email).Scan(&verified)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return verified, err
}

// timesColumn scans a comma-separated list of times.
type timesColumn struct{ times *[]time.Time }

func (c timesColumn) Scan(v any) error {
	var words []string
	if err := (listColumn[string]{&words}).Scan(v); err != nil {
		return err
	}
	*c.times = nil
	for _, word := range words {
		us, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return fmt.Errorf("a list of times cannot be read from %q", v)
		}
		*c.times = append(*c.times, fromMicros(us))
	}
	return nil
}

func joinTimes(times []time.Time) string {
	words := make([]string, len(times))
	for i, t := range times {
		words[i] = strconv.FormatInt(micros(t), 10)
	}
	return strings.Join(words, ",")
}
