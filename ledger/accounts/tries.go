package accounts

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/partners"
)

// LockedLogin is the subject that is locked for the longest time, and for how
// long from now on; 0: none is. It only reads.
func (a *Accounts) LockedLogin(ctx context.Context, subjects []string, now time.Time) (locked string, wait time.Duration, err error) {
	door := a.atDoor()
	t := new(database.Statement).Add("SELECT subject, n, last_at FROM login_failures WHERE subject IN ")
	err = database.InList(t, subjects).Query(ctx, door.db.Read, func(rows database.Row) error {
		var t partners.LoginTries
		err := rows.Scan(&t.Subject, &t.Failed, database.Time(&t.Last))
		if left := t.Wait(now); left > wait {
			locked, wait = t.Subject, left
		}
		return err
	})
	return locked, wait, err
}

// TryLogin counts a try to sign in for each of subjects before it is known to
// have failed, so that tries at the same time cannot pass the limit. While one
// of them is locked nothing is counted; it answers how long that lasts.
func (a *Accounts) TryLogin(ctx context.Context, subjects []string, now time.Time) (wait time.Duration, err error) {
	err = a.alterTries(ctx, subjects, func(all []partners.LoginTries) {
		for _, t := range all {
			wait = max(wait, t.Wait(now))
		}
		for i := range all {
			if wait == 0 {
				all[i].Add(now)
			}
		}
	}, now)
	return wait, err
}

// LoggedIn takes the try back that TryLogin counted for each of subjects, and
// forgets all that those in forget have failed.
func (a *Accounts) LoggedIn(ctx context.Context, subjects, forget []string, now time.Time) error {
	return a.alterTries(ctx, subjects, func(all []partners.LoginTries) {
		for i := range all {
			all[i].TakeBack(slices.Contains(forget, all[i].Subject))
		}
	}, now)
}

// alterTries runs change on the tries of subjects, locked in their order.
func (a *Accounts) alterTries(ctx context.Context, subjects []string, change func([]partners.LoginTries), now time.Time) error {
	subjects = slices.Compact(slices.Sorted(slices.Values(subjects)))
	return a.db.AtDoor().InTx(ctx, func(tx database.Querier) error {
		all := make([]partners.LoginTries, len(subjects))
		for i, subject := range subjects {
			all[i].Subject = subject
			err := tx.QueryRowContext(ctx, `INSERT INTO login_failures (subject, n, last_at) VALUES ($1, 0, $2)
				ON CONFLICT (subject) DO UPDATE SET n = login_failures.n RETURNING n, last_at`, subject, database.Micros(now)).
				Scan(&all[i].Failed, database.Time(&all[i].Last))
			if err != nil {
				return fmt.Errorf("lock failed sign-ins: %w", err)
			}
		}
		change(all)
		for _, t := range all {
			err := database.Run(ctx, tx, "count failed sign-ins", "UPDATE login_failures SET n = $2, last_at = $3 WHERE subject = $1", t.Subject, t.Failed, database.Micros(t.Last))
			if err != nil {
				return err
			}
		}
		return nil
	})
}
