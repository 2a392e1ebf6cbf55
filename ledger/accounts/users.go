package accounts

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const personColumns = `p.id, ltrim(p.username, '/'), p.name, p.email, p.partner_code, p.role, p.disabled, length(p.totp) > 0, p.subject <> '', p.created_at, p.last_login_at`

func personFields(p *partners.Person) []any {
	return []any{&p.ID, &p.Username, &p.Name, &p.Email, &p.PartnerCode, &p.Role, &p.Disabled, &p.TOTP, &p.Provided, database.Time(&p.CreatedAt), database.Time(&p.LastLoginAt)}
}

// CreateFirstOperator stores p with the hash of their password unless there is
// an operator already, and reports whether it did.
func (a *Accounts) CreateFirstOperator(ctx context.Context, p partners.Person, passwordHash string) (created bool, err error) {
	err = a.db.InTx(ctx, func(tx database.Querier) error {
		created = false
		var known bool
		if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM people WHERE partner_code = '')").Scan(&known); err != nil || known {
			return err
		}
		err := insertPerson(ctx, tx, p, passwordHash, "")
		if webhook.KindOf(err) == webhook.KindConflict {
			return nil // another process was first
		}
		if err != nil {
			return err
		}
		created = true
		return audit.Append(ctx, tx, []partners.AuditEntry{{Actor: "ledgerhook", Action: "person.create", Target: p.ID, Detail: "the first operator, " + p.Username}}, time.Now())
	})
	return created && err == nil, err
}

// HasOperator reports whether there is anybody who can sign in at /ops.
func (a *Accounts) HasOperator(ctx context.Context) (has bool, err error) {
	err = a.db.Read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM people WHERE partner_code = '')").Scan(&has)
	return has, err
}

// storedName is how a username stands in its unique column: the names of
// partners' people are apart from the operators'.
func storedName(username string, operator bool) string {
	if operator {
		return username
	}
	return "/" + username
}

// insertPerson stores a person; a username or a subject that is taken is a
// Conflict.
func insertPerson(ctx context.Context, tx database.Querier, p partners.Person, passwordHash, subject string) error {
	n, err := new(database.Statement).Add(`INSERT INTO people (id, username, name, email, partner_code, role, disabled, password, totp, totp_step, subject, created_at, last_login_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, 0) ON CONFLICT DO NOTHING`,
		p.ID, storedName(p.Username, p.IsOperator()), p.Name, p.Email, p.PartnerCode, string(p.Role), p.Disabled, passwordHash, []byte{}, subject, database.Micros(p.CreatedAt)).Exec(ctx, tx)
	if err != nil {
		return fmt.Errorf("insert a person: %w", err)
	}
	if n == 0 {
		return webhook.Conflict("the username " + p.Username + " is taken: choose another one")
	}
	return nil
}

// Person returns anybody, or NotFound. Pages of a partner use PersonOf.
func (a *Accounts) Person(ctx context.Context, id string) (partners.Person, error) {
	return a.person(ctx, id, new(database.Statement).Add("SELECT "+personColumns+" FROM people p WHERE p.id = ?", id))
}

// PersonOf returns a person of a partner, of the company itself if the code is
// empty. Anybody else is NotFound.
func (a *Accounts) PersonOf(ctx context.Context, partnerCode, id string) (partners.Person, error) {
	return a.person(ctx, id, new(database.Statement).Add("SELECT "+personColumns+" FROM people p WHERE p.id = ? AND p.partner_code = ?", id, partnerCode))
}

func (a *Accounts) person(ctx context.Context, id string, t *database.Statement) (p partners.Person, err error) {
	err = a.db.Read.QueryRowContext(ctx, t.String(), t.Args...).Scan(personFields(&p)...)
	return p, database.OrNone(err, webhook.NotFound("person", id))
}

// People lists people in the order they were made, and the cursor of the next page.
func (a *Accounts) People(ctx context.Context, f partners.PeopleFilter) (found []partners.Person, next string, err error) {
	t := new(database.Statement).Add("SELECT "+personColumns+" FROM people p WHERE p.id > ?", f.Cursor)
	if f.PartnerCode == "" && f.AnyPartner {
		t.Add(" AND p.partner_code <> ''")
	} else {
		t.Add(" AND p.partner_code = ?", f.PartnerCode)
	}
	found, err = database.Collect(ctx, a.db.Read, t.Add(" ORDER BY p.id LIMIT ?", f.Limit+1), personFields)
	found, next = database.Page(found, f.Limit, func(p partners.Person) string { return p.ID })
	return found, next, err
}

// AlterPerson changes name, e-mail, role and whether somebody of a partner (of
// the company, if the code is empty) is disabled, and writes by, whose target
// is filled in. Disabling a person ends their sessions, their links for a new
// password and the invitations they made. The last admin who can sign in cannot
// be taken away: that is a Conflict.
func (a *Accounts) AlterPerson(ctx context.Context, partnerCode, id string, by partners.AuditEntry, change func(*partners.Person) error) (p partners.Person, err error) {
	by.Target, by.PartnerCode = id, partnerCode
	err = audit.Do(ctx, a.db, []partners.AuditEntry{by}, func(tx database.Querier) error {
		admins, err := lockAdmins(ctx, tx, partnerCode, a.db.ForUpdate)
		if err != nil {
			return err
		}
		err = tx.QueryRowContext(ctx, "SELECT "+personColumns+" FROM people p WHERE p.id = $1 AND p.partner_code = $2"+a.db.ForUpdate, id, partnerCode).Scan(personFields(&p)...)
		if errors.Is(err, sql.ErrNoRows) {
			return webhook.NotFound("person", id)
		}
		if err != nil {
			return fmt.Errorf("lock a person: %w", err)
		}
		if err := change(&p); err != nil {
			return err
		}
		before := len(admins)
		delete(admins, id)
		if p.Role == partners.RoleAdmin && !p.Disabled {
			admins[id] = true
		}
		if before > 0 && len(admins) == 0 {
			return webhook.Conflict("this is the last admin: make somebody else an admin first")
		}
		err = database.Run(ctx, tx, "update a person", "UPDATE people SET name = $2, email = $3, role = $4, disabled = $5 WHERE id = $1", id, p.Name, p.Email, string(p.Role), p.Disabled)
		if err != nil || !p.Disabled {
			return err
		}
		err = database.Run(ctx, tx, "delete invitations of a disabled person", "DELETE FROM invites WHERE invited_by = $1 AND used_at = 0", p.Actor())
		if err != nil {
			return err
		}
		return shutOut(ctx, tx, id, nil)
	})
	return p, err
}

// lockAdmins locks the admins that can sign in, so that two of them cannot
// take each other away.
func lockAdmins(ctx context.Context, tx database.Querier, partnerCode, forUpdate string) (map[string]bool, error) {
	admins := map[string]bool{}
	t := new(database.Statement).Add("SELECT id FROM people WHERE partner_code = ? AND role = ? AND disabled = ? ORDER BY id"+forUpdate, partnerCode, string(partners.RoleAdmin), false)
	err := t.Query(ctx, tx, func(rows database.Row) error {
		var id string
		err := rows.Scan(&id)
		admins[id] = true
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("lock the admins: %w", err)
	}
	return admins, nil
}
