package incidents

import (
	"context"
	"fmt"
	"slices"

	"ledgerhook/incidents"
	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// Contacts lists the people who are told of an endpoint's incidents, by address, as far as
// the scope holds it.
func (s *Store) Contacts(ctx context.Context, scope partners.Scope, endpointID string) ([]incidents.Contact, error) {
	return contacts(ctx, s.db.Read.ByPrimary(), scope, endpointID)
}

func contacts(ctx context.Context, q database.Querier, scope partners.Scope, endpointID string) ([]incidents.Contact, error) {
	t := new(database.Statement).Add("SELECT endpoint_id, partner_code, email, lang, created_at FROM endpoint_contacts WHERE endpoint_id = ?", endpointID).Within(scope, "partner_code")
	return database.Collect(ctx, q, t.Add(" ORDER BY email"), func(c *incidents.Contact) []any {
		return []any{&c.EndpointID, &c.PartnerCode, &c.Email, &c.Lang, database.Time(&c.CreatedAt)}
	})
}

// AddContact has an address told of an endpoint's incidents, in one of
// incidents.Languages; one that is told already gets the language. A malformed
// address is Invalid, one beyond incidents.MaxContacts a Conflict, and an endpoint
// that the scope does not hold NotFound.
func (s *Store) AddContact(ctx context.Context, scope partners.Scope, endpointID, email, lang string, by partners.AuditEntry) error {
	email, err := partners.ReadEmail(email)
	if err != nil {
		return err
	}
	if !slices.Contains(incidents.Languages, lang) {
		return webhook.Invalid("lang", fmt.Sprintf("must be one of %v", incidents.Languages))
	}
	return audit.Do(ctx, s.db, audit.About([]partners.AuditEntry{by}, endpointID, email), func(tx database.Querier) error {
		code, err := owner(ctx, tx, scope, endpointID)
		if err != nil {
			return err
		}
		known, err := contacts(ctx, tx, scope, endpointID)
		if err != nil {
			return fmt.Errorf("list the contacts of %s: %w", endpointID, err)
		}
		if len(known) >= incidents.MaxContacts && !slices.ContainsFunc(known, func(c incidents.Contact) bool { return c.Email == email }) {
			return webhook.Conflict(fmt.Sprintf("an endpoint has at most %d contacts: remove one first", incidents.MaxContacts))
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO endpoint_contacts (endpoint_id, email, partner_code, lang, created_at) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (endpoint_id, email) DO UPDATE SET lang = excluded.lang`, endpointID, email, code, lang, database.Micros(by.At))
		if err != nil {
			return fmt.Errorf("store a contact of %s: %w", endpointID, err)
		}
		return nil
	})
}

// RemoveContact tells an address no more. One that is no contact of an endpoint
// that the scope holds is a Conflict.
func (s *Store) RemoveContact(ctx context.Context, scope partners.Scope, endpointID, email string, by partners.AuditEntry) error {
	return audit.Do(ctx, s.db, audit.About([]partners.AuditEntry{by}, endpointID, email), func(tx database.Querier) error {
		n, err := new(database.Statement).Add("DELETE FROM endpoint_contacts WHERE endpoint_id = ? AND email = ?", endpointID, email).Within(scope, "partner_code").Exec(ctx, tx)
		if err != nil {
			return fmt.Errorf("remove a contact of %s: %w", endpointID, err)
		}
		if n == 0 {
			return webhook.Conflict("this address is no contact of the endpoint")
		}
		_, err = new(database.Statement).Add(`UPDATE incident_messages SET due_at = 0, failure = 'the contact was removed' WHERE due_at > 0 AND address = ?
			AND partner_code <> '' AND incident_id IN (SELECT id FROM incidents WHERE subject = ?)`, email, endpointID).Exec(ctx, tx)
		if err != nil {
			return fmt.Errorf("take back what a contact of %s was to be told: %w", endpointID, err)
		}
		return nil
	})
}

// owner is the partner whose endpoint it is. It locks the endpoint, so that two
// contacts at once do not become one too many.
func owner(ctx context.Context, tx database.Querier, scope partners.Scope, endpointID string) (code string, err error) {
	t := new(database.Statement).Add("UPDATE endpoints SET updated_at = updated_at WHERE id = ? AND removed_at = 0", endpointID).Within(scope, "partner_code").Add(" RETURNING partner_code")
	found, err := database.Collect(ctx, tx, t, database.One[string])
	if err != nil {
		return "", fmt.Errorf("find endpoint %s: %w", endpointID, err)
	}
	if len(found) == 0 {
		return "", webhook.NotFound("endpoint", endpointID)
	}
	return found[0], nil
}
