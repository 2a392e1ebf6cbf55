package dashboard

import (
	"context"
	"fmt"

	"ledgerhook/partners"
)

// acted notes in the audit log what who asks did to target. It is done, so a
// failure to note it is no failure of the request; it is counted and logged.
func (s *surface) acted(ctx context.Context, q *request, action, target, detail string) {
	by := q.audit(action)
	by.Target, by.Detail = target, detail
	s.actedAs(ctx, by)
}

// actedAs is acted with an entry of its own.
func (s *surface) actedAs(ctx context.Context, by partners.AuditEntry) {
	if err := s.record(context.WithoutCancel(ctx), by); err != nil {
		s.Log.ErrorContext(ctx, "an act is missing in the audit log", "action", by.Action, "target", by.Target, "error", err)
	}
}

// record writes an entry about what is done only if it can be noted.
func (s *surface) record(ctx context.Context, by partners.AuditEntry) error {
	err := s.Ledger.Audit(ctx, by)
	if err == nil {
		return nil
	}
	if s.AuditFailed != nil {
		s.AuditFailed()
	}
	return fmt.Errorf("note %s in the audit log: %w", by.Action, err)
}
