package accounts

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// formLife is how long a form that was sent is known again.
const formLife = 7 * 24 * time.Hour

// OnceForm runs do for the first submission of the form with a token (see
// partners.NewPageToken) and remembers what it answered: an id, a place. A
// later submission gets that answer, with again set, and do does not run. When
// do fails the form may be sent again. Without a token it is Invalid.
func (a *Accounts) OnceForm(ctx context.Context, token string, do func() (result string, err error)) (result string, again bool, err error) {
	if token == "" {
		return "", false, webhook.Invalid("form", "is missing: load the page again and send it from there")
	}
	hash := partners.HashPageToken(token)
	first, err := a.happened(ctx, "INSERT INTO form_tokens (hash, result, used_at) VALUES ($1, '', $2) ON CONFLICT (hash) DO NOTHING", hash, database.Micros(time.Now()))
	if err != nil {
		return "", false, fmt.Errorf("note that a form was sent: %w", err)
	}
	if !first {
		result, err = a.formResult(ctx, hash)
		return result, true, err
	}
	result, err = do()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), database.CommitTimeout)
	defer cancel()
	if err != nil {
		_, forget := a.happened(ctx, "DELETE FROM form_tokens WHERE hash = $1", hash)
		return "", false, errors.Join(err, forget)
	}
	if _, err := a.happened(ctx, "UPDATE form_tokens SET result = $2 WHERE hash = $1", hash, result); err != nil {
		a.db.Log.WarnContext(ctx, "a form's outcome was not recorded", "error", err)
	}
	return result, false, nil
}

func (a *Accounts) formResult(ctx context.Context, hash []byte) (result string, err error) {
	err = a.db.Write.QueryRowContext(ctx, "SELECT result FROM form_tokens WHERE hash = $1", hash).Scan(&result)
	if errors.Is(err, sql.ErrNoRows) || err == nil && result == "" {
		return "", webhook.Conflict("this form was sent a moment ago and is being worked on: look at what came of it before you send it again")
	}
	return result, err
}
