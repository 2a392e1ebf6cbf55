package seals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const (
	// budget is how long one call of Rotate goes on sealing.
	budget = 5 * time.Second
	// settleTime is how long nothing must have been found that the previous key
	// has sealed before the change ends. Whoever had read or sealed a text before
	// that has written it by then, or never will.
	settleTime = database.CommitTimeout + 2*time.Second
)

// Rotate takes the change of the master key to that of to a step further. box
// knows that key and the previous one, and seals with the new one from now on.
//
// The first step says in the ledger that the new key seals, which every process
// follows; it is a Conflict while a process does not know the new key. Further
// ones seal again what the previous key has sealed. The last one forgets the
// previous key, once every process has turned and nothing has been found for a
// while. Each may be interrupted, and be taken by any process. by goes into the
// audit log at the beginning and at the end.
func (s *Seals) Rotate(ctx context.Context, box, to Box, by partners.AuditEntry) (r partners.MasterKeyRotation, err error) {
	r.Key = to.Names()[0]
	if i := slices.IndexFunc(box.Names(), func(name string) bool { return name != r.Key }); i >= 0 {
		r.Previous = box.Names()[i]
	}
	unaware, unturned, err := s.holders(ctx, r.Key)
	if err != nil {
		return r, err
	}
	if len(unaware) > 0 {
		return r, webhook.Conflict(fmt.Sprintf("these processes do not know the new master key: %s; start them with both keys. One that was killed is forgotten after %s", strings.Join(unaware, ", "), holdTime))
	}
	if err := s.begin(ctx, to, r, by); err != nil {
		return r, err
	}
	if _, err := s.db.CheckMasterKey(ctx, box); err != nil {
		return r, err
	}
	if len(unturned) > 0 {
		r.WaitingFor = unturned
		return r, s.db.TouchMasterKeyChange(ctx)
	}
	whole, err := s.reseal(ctx, box, time.Now().Add(budget), &r)
	if r.Resealed > 0 || !whole {
		return r, errors.Join(err, s.db.TouchMasterKeyChange(ctx))
	}
	if err != nil {
		return r, err
	}
	r.Done, err = s.end(ctx, r, by)
	return r, err
}

var errNothing = errors.New("there is nothing to do")

// begin says in the ledger that the key of to seals, unless it says so already.
func (s *Seals) begin(ctx context.Context, to Box, r partners.MasterKeyRotation, by partners.AuditEntry) error {
	err := audit.Do(ctx, s.db, audit.About([]partners.AuditEntry{by}, r.Key, "begun: it takes the place of "+r.Previous), func(tx database.Querier) error {
		turned, err := s.db.TurnMasterKey(ctx, tx, to)
		if err == nil && !turned {
			err = errNothing
		}
		return err
	})
	if errors.Is(err, errNothing) {
		return nil
	}
	return err
}

// end forgets the previous key if nothing has been found for a while.
func (s *Seals) end(ctx context.Context, r partners.MasterKeyRotation, by partners.AuditEntry) (done bool, err error) {
	quiet, changing, err := s.db.MasterKeyChange(ctx)
	if err != nil || !changing {
		return err == nil, err
	}
	if quiet < s.settle {
		return false, nil
	}
	err = audit.Do(ctx, s.db, audit.About([]partners.AuditEntry{by}, r.Key, "ended: nothing is sealed with "+r.Previous+" any more"), func(tx database.Querier) error {
		ended, err := s.db.EndMasterKeyChange(ctx, tx)
		if err == nil && !ended {
			err = errNothing
		}
		return err
	})
	if errors.Is(err, errNothing) {
		err = nil
	}
	return err == nil, err
}
