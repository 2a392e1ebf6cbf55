package incidents

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ledgerhook/incidents"
	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const messageColumns = "id, incident_id, about, channel, address, subject, body, created_at, due_at, tries, sent_at, failure"

func messageFields(m *incidents.Message) []any {
	return []any{&m.ID, &m.IncidentID, &m.About, &m.Channel, &m.Address, &m.Subject, &m.Body, database.Time(&m.CreatedAt), database.Time(&m.DueAt),
		&m.Tries, database.Time(&m.SentAt), &m.Failure}
}

// tell writes the messages that say what happened to an incident.
func (s *Store) tell(ctx context.Context, tx database.Querier, c incidents.Change, now time.Time) error {
	ours, err := s.operators(ctx, tx)
	if err != nil {
		return fmt.Errorf("list operators: %w", err)
	}
	link := s.link(s.to.OpsURL, "/ops/incidents/"+c.ID)
	letter := incidents.Write(c.Incident, c.Act, incidents.Reader{Lang: "en", Operator: true, Link: link})
	for _, address := range ours {
		if err := post(ctx, tx, "", incidents.Message{IncidentID: c.ID, About: c.Act, Channel: incidents.Mail, Address: address, Letter: letter}, now); err != nil {
			return err
		}
	}
	if s.to.Webhook != "" && s.to.Webhook != c.PartnerCode { // not to an account that cannot be told: each would be the next incident
		letter.Body = incidents.Notify(c.Incident, c.Act, letter, link, now)
		if err := post(ctx, tx, "", incidents.Message{IncidentID: c.ID, About: c.Act, Channel: incidents.Webhook, Address: s.to.Webhook, Letter: letter}, now); err != nil {
			return err
		}
	}
	if !c.Kind.Theirs() || !s.to.Mail {
		return nil
	}
	theirs, err := contacts(ctx, tx, partners.Everything(), c.Subject)
	if err != nil {
		return fmt.Errorf("list the contacts of %s: %w", c.Subject, err)
	}
	for _, contact := range theirs {
		letter := incidents.Write(c.Incident, c.Act, incidents.Reader{Lang: contact.Lang, Link: s.link(s.to.PortalURL, "/portal/endpoints/"+c.Subject)})
		if err := post(ctx, tx, contact.PartnerCode, incidents.Message{IncidentID: c.ID, About: c.Act, Channel: incidents.Mail, Address: contact.Email, Letter: letter}, now); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) link(base, path string) string {
	if base == "" {
		return ""
	}
	return base + path
}

// Operators are the addresses that are told of everything.
func (s *Store) Operators(ctx context.Context) ([]string, error) {
	return s.operators(ctx, s.db.Read.ByPrimary())
}

func (s *Store) operators(ctx context.Context, q database.Querier) ([]string, error) {
	if !s.to.Mail {
		return nil, nil
	}
	if len(s.to.Operators) > 0 {
		return s.to.Operators, nil
	}
	t := new(database.Statement).Add("SELECT DISTINCT email FROM people WHERE partner_code = '' AND NOT disabled AND email <> '' AND role IN ('operator', 'admin') ORDER BY email")
	return database.Collect(ctx, q, t, database.One[string])
}

func post(ctx context.Context, tx database.Querier, partnerCode string, m incidents.Message, now time.Time) error {
	at := database.Micros(now)
	_, err := tx.ExecContext(ctx, `INSERT INTO incident_messages (id, incident_id, about, channel, address, partner_code, subject, body, created_at, due_at, tries, sent_at, failure)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, 0, 0, '')`,
		webhook.NewID(incidents.MessagePrefix), m.IncidentID, string(m.About), string(m.Channel), m.Address, partnerCode, m.Subject, m.Body, at)
	return err
}

// Test writes a test message to every operator and to the webhook, and returns
// how many. Nobody to tell is a Conflict that says what to set.
func (s *Store) Test(ctx context.Context, by partners.AuditEntry) (n int, err error) {
	entries := audit.About([]partners.AuditEntry{by}, "incidents", "")
	err = audit.Do(ctx, s.db, entries, func(tx database.Querier) error {
		ours, err := s.operators(ctx, tx)
		if err != nil {
			return fmt.Errorf("list operators: %w", err)
		}
		var all []incidents.Message
		link := s.link(s.to.OpsURL, "/ops/incidents")
		letter := incidents.Test(incidents.Reader{Lang: "en", Operator: true, Link: link})
		for _, address := range ours {
			all = append(all, incidents.Message{Channel: incidents.Mail, Address: address, Letter: letter})
		}
		if s.to.Webhook != "" {
			letter.Body = incidents.Notify(incidents.Incident{ID: webhook.NewID(incidents.MessagePrefix)}, "", letter, link, by.At)
			all = append(all, incidents.Message{Channel: incidents.Webhook, Address: s.to.Webhook, Letter: letter})
		}
		if len(all) == 0 {
			return webhook.Conflict("nobody can be told: set LEDGERHOOK_SMTP_URL, and LEDGERHOOK_INCIDENTS_MAIL or give an operator an e-mail address, or set LEDGERHOOK_INCIDENTS_PARTNER")
		}
		var told []string
		for _, m := range all {
			if err := post(ctx, tx, "", m, by.At); err != nil {
				return fmt.Errorf("write a test message: %w", err)
			}
			told = append(told, m.Address)
		}
		n, entries[0].Detail = len(all), strings.Join(told, ", ")
		return nil
	})
	return n, err
}

// Due implements incidents.Store.
func (s *Store) Due(ctx context.Context, by incidents.Channel, now time.Time, limit int) ([]incidents.Message, error) {
	t := new(database.Statement).Add("SELECT "+messageColumns+" FROM incident_messages WHERE due_at > 0 AND due_at <= ? AND channel = ? ORDER BY due_at, id LIMIT ?",
		database.Micros(now), string(by), limit)
	found, err := database.Collect(ctx, s.db.Read.ByPrimary(), t, messageFields)
	if err != nil {
		return nil, fmt.Errorf("list messages to send: %w", err)
	}
	return found, nil
}

// Claim implements incidents.Store.
func (s *Store) Claim(ctx context.Context, m incidents.Message, was time.Time) (bool, error) {
	n, err := new(database.Statement).Add("UPDATE incident_messages SET due_at = ?, tries = ? WHERE id = ? AND due_at = ?",
		database.Micros(m.DueAt), m.Tries, m.ID, database.Micros(was)).Exec(ctx, s.db.Write)
	if err != nil {
		return false, fmt.Errorf("claim message %s: %w", m.ID, err)
	}
	return n > 0, nil
}

// Settle implements incidents.Store.
func (s *Store) Settle(ctx context.Context, m incidents.Message, claimed time.Time) error {
	_, err := new(database.Statement).Add("UPDATE incident_messages SET due_at = ?, sent_at = ?, failure = ? WHERE id = ? AND due_at = ?",
		database.Micros(m.DueAt), database.Micros(m.SentAt), database.Text(m.Failure), m.ID, database.Micros(claimed)).Exec(ctx, s.db.Write)
	if err != nil {
		return fmt.Errorf("store what became of message %s: %w", m.ID, err)
	}
	return nil
}

// Messages lists what was told of an incident, oldest first; of an empty id the
// tests, newest first.
func (s *Store) Messages(ctx context.Context, incidentID string) ([]incidents.Message, error) {
	order := " ORDER BY id LIMIT ?"
	if incidentID == "" {
		order = " ORDER BY id DESC LIMIT ?"
	}
	t := new(database.Statement).Add("SELECT "+messageColumns+" FROM incident_messages WHERE incident_id = ?"+order, incidentID, incidents.MaxListed)
	return database.Collect(ctx, s.db.Read.ByPrimary(), t, messageFields)
}
