package accounts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// suffixed is the username of somebody whose own is another person's: one of a
// provider never becomes somebody who was here before.
func suffixed(username, subject string) string {
	sum := sha256.Sum256([]byte(subject))
	return username[:min(len(username), 50)] + "-" + hex.EncodeToString(sum[:3])
}

// ProvidedOperator returns the operator with a subject of the provider, after
// giving them the name, the e-mail and the role of p. Whoever comes for the
// first time is made as p, under another username if theirs is taken. Nobody is
// made or changed without a role; then the sessions of whoever was there end,
// and known says whether there was anybody.
func (a *Accounts) ProvidedOperator(ctx context.Context, subject string, p partners.Person, now time.Time) (who partners.Person, known bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, database.CommitTimeout)
	defer cancel()
	err = a.db.AtDoor().InTx(ctx, func(tx database.Querier) error {
		who, known, err = a.lockProvided(ctx, tx, subject)
		switch {
		case err != nil:
			return err
		case !known && p.Role == "":
			return nil
		case !known:
			if who, err = a.makeProvided(ctx, tx, subject, p, now); err != nil {
				return err
			}
			known = true
			return nil
		case p.Role == "":
			return endSessions(ctx, tx, who.ID, nil)
		}
		return updateProvided(ctx, tx, &who, p, now)
	})
	return who, known, err
}

func (a *Accounts) lockProvided(ctx context.Context, tx database.Querier, subject string) (p partners.Person, known bool, err error) {
	err = tx.QueryRowContext(ctx, "SELECT "+personColumns+" FROM people p WHERE p.subject = $1"+a.db.ForUpdate, subject).Scan(personFields(&p)...)
	if known, err = database.Found(err); err != nil {
		err = fmt.Errorf("lock an operator of the provider: %w", err)
	}
	return p, known, err
}

func (a *Accounts) makeProvided(ctx context.Context, tx database.Querier, subject string, p partners.Person, now time.Time) (partners.Person, error) {
	p.Provided = true
	err := insertPerson(ctx, tx, p, "", subject)
	if webhook.KindOf(err) == webhook.KindConflict {
		if same, known, err := a.lockProvided(ctx, tx, subject); err != nil || known {
			return same, err // another request made them meanwhile
		}
		p.Username = suffixed(p.Username, subject)
		err = insertPerson(ctx, tx, p, "", subject)
	}
	if err != nil {
		return p, err
	}
	return p, audit.Append(ctx, tx, []partners.AuditEntry{{Actor: "ledgerhook", Action: "person.create", Target: p.ID,
		Detail: p.Username + ", who signs in at the provider, as " + string(p.Role)}}, now)
}

func updateProvided(ctx context.Context, tx database.Querier, who *partners.Person, p partners.Person, now time.Time) error {
	before := *who
	who.Name, who.Email, who.Role = p.Name, p.Email, p.Role
	if *who == before {
		return nil
	}
	err := database.Run(ctx, tx, "update an operator of the provider", "UPDATE people SET name = $2, email = $3, role = $4 WHERE id = $1",
		who.ID, who.Name, who.Email, string(who.Role))
	if err != nil || who.Role == before.Role {
		return err
	}
	return audit.Append(ctx, tx, []partners.AuditEntry{{Actor: "ledgerhook", Action: "person.role", Target: who.ID,
		Detail: who.Username + ": " + string(before.Role) + " → " + string(who.Role) + ", by the provider's groups"}}, now)
}
