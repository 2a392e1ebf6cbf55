package database_test

import (
	"testing"

	"ledgerhook/ledger/ledgertest"
)

func TestMain(m *testing.M) { ledgertest.Main(m) }
