package shell

import (
	"context"
	"fmt"

	"ledgerhook/partners"
)

// Record writes an entry about what is done only if it can be noted.
func (s *Surface) Record(ctx context.Context, by partners.AuditEntry) error {
	err := s.Trail.Audit(ctx, by)
	if err == nil {
		return nil
	}
	if s.AuditFailed != nil {
		s.AuditFailed()
	}
	return fmt.Errorf("note %s in the audit log: %w", by.Action, err)
}
