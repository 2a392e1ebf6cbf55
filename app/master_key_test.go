package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledgerhook/config"
	"ledgerhook/webhook"
)

// A master key in the data directory gets a successor. Whatever was written when
// the process died, its next start knows every key that may have sealed something.
func TestAMasterKeyOfTheDataDirectoryGetsASuccessor(t *testing.T) {
	t.Parallel()
	dir, first := t.TempDir(), newMasterKey()
	has := func(name string) string {
		t.Helper()
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	put := func(name, text string) {
		t.Helper()
		if err := keepSecret(dir, name, text); err != nil {
			t.Fatal(err)
		}
	}
	find := func() masterKey {
		t.Helper()
		key, err := findMasterKey(config.Config{DataDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	put(masterKeyFile, first)
	old := find()

	put(previousKeyFile, newMasterKey())
	if _, err := old.succeed(); webhook.KindOf(err) != webhook.KindConflict || !strings.Contains(err.Error(), "take it away first") {
		t.Errorf("over a key that it does not know: %v", err)
	}
	put(previousKeyFile, first) // a successor was just to be written
	put(masterKeyFile, newMasterKey())
	if _, err := old.succeed(); webhook.KindOf(err) != webhook.KindConflict || !strings.Contains(err.Error(), "restart it") {
		t.Errorf("beside a file that somebody has changed: %v", err)
	}
	put(masterKeyFile, first)
	if key := find(); key.previous != "" || len(key.box.Names()) != 1 {
		t.Errorf("the key that stands in both files is taken for two: %v", key.box.Names())
	}

	next, err := old.succeed()
	if err != nil {
		t.Fatal(err)
	}
	if has(previousKeyFile) != first || has(masterKeyFile) == first {
		t.Error("the files do not have the keys")
	}
	names, now := next.box.Names(), find()
	if len(names) != 2 || names[0] != old.own.Names()[0] || names[1] != next.own.Names()[0] {
		t.Errorf("the process knows %v", names)
	}
	if found := now.box.Names(); len(found) != 2 || found[0] != names[1] || found[1] != names[0] || now.own.Names()[0] != names[1] {
		t.Errorf("the next start knows %v", found)
	}
	for _, key := range []masterKey{next, now} {
		if key.previous != filepath.Join(dir, previousKeyFile) || key.takenAway() {
			t.Errorf("the previous key is in %q", key.previous)
		}
	}
	if err := os.Remove(filepath.Join(dir, previousKeyFile)); err != nil {
		t.Fatal(err)
	}
	if !next.takenAway() {
		t.Error("it does not see that the previous key was taken away")
	}
	if third, err := next.succeed(); err != nil || has(previousKeyFile) == first || len(third.box.Names()) != 3 {
		t.Errorf("once more: %v", err)
	}
}
