package accounts_test

import (
	"context"
	"testing"
	"time"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
)

// A flood of tries that are refused anyway waits for nobody who writes.
func TestALockedTryOnlyReads(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, b *ledgertest.Bench) {
		now := time.Now().Truncate(time.Microsecond)
		for range partners.LoginFailures {
			if wait, err := b.TryLogin(t.Context(), []string{"username ann"}, now); wait != 0 || err != nil {
				t.Fatal(wait, err)
			}
		}
		writes, err := b.Raw.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer writes.Close()
		lock := map[bool][]string{true: {"BEGIN IMMEDIATE"}, false: {"BEGIN", "LOCK TABLE login_failures IN EXCLUSIVE MODE"}}[b.DB.Embedded()]
		for _, statement := range append(lock, "UPDATE login_failures SET n = n") {
			if _, err := writes.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		subject, wait, err := b.LockedLogin(ctx, []string{"address 127.0.0.1", "username ann"}, now)
		same(t, "locked", []any{subject, wait, err}, []any{"username ann", partners.LoginLock, error(nil)})
		subject, wait, err = b.LockedLogin(ctx, []string{"address 127.0.0.1", "username bob"}, now)
		same(t, "not locked", []any{subject, wait, err}, []any{"", time.Duration(0), error(nil)})
		if _, err := writes.ExecContext(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	})
}
