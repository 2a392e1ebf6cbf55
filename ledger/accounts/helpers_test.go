package accounts_test

import (
	"fmt"
	"testing"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/webhook"
)

func TestMain(m *testing.M) { ledgertest.Main(m) }

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// change runs a statement beside the ledger.
func change(t *testing.T, b *ledgertest.Bench, statement string, args ...any) {
	t.Helper()
	if _, err := b.Raw.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

func wantKind(t *testing.T, err error, kind webhook.Kind) {
	t.Helper()
	if err == nil || webhook.KindOf(err) != kind {
		t.Errorf("error %v, want one of kind %d", err, kind)
	}
}
