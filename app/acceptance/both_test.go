package acceptance

import (
	"testing"

	"ledgerhook/bench/stage"
	"ledgerhook/ledger/ledgertest"
)

// both runs test on an embedded gateway and on one with a migrated PostgreSQL
// and a Redis of its own.
func both(t *testing.T, test func(t *testing.T, g *stage.Gateway)) {
	t.Helper()
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		test(t, stage.Embedded(t))
	})
	t.Run("postgres and redis", func(t *testing.T) {
		t.Parallel()
		test(t, stage.Served(t, ledgertest.Borrowed(t), stage.StartRedis(t)))
	})
}
