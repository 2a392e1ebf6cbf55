package database_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"ledgerhook/ledger/ledgertest"
)

// A process that is started shares all that is open until it has become another
// program, as a second descriptor of the lock does here.
func TestADataDirectoryThatIsClosedIsFreeThoughAProcessIsBeingStarted(t *testing.T) {
	t.Parallel()
	b := ledgertest.New(t, "sqlite")
	lock := filepath.Join(b.At.DataDir, "lock")
	shared := -1
	descriptors, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range descriptors {
		if target, _ := os.Readlink("/proc/self/fd/" + d.Name()); target == lock {
			n, _ := strconv.Atoi(d.Name())
			if shared, err = syscall.Dup(n); err != nil {
				t.Fatal(err)
			}
		}
	}
	if shared < 0 {
		t.Fatal("nothing holds the data directory")
	}
	t.Cleanup(func() { _ = syscall.Close(shared) })
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b.Reopen(t)
}
