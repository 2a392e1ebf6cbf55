package app

import (
	"os"
	"path/filepath"
	"testing"
)

func TestASecretIsMadeOnceAndForItsOwnerAlone(t *testing.T) {
	dir, made := t.TempDir(), 0
	generate := func() string { made++; return "s3cret" }
	for range 2 {
		if got, err := keptSecret(dir, "kept", generate); got != "s3cret" || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "kept"))
	if err != nil || info.Mode() != 0o600 || made != 1 {
		t.Errorf("made %d times, %v, %v", made, info, err)
	}
	if entries, err := os.ReadDir(dir); len(entries) != 1 || err != nil {
		t.Errorf("the directory holds %v, %v", entries, err)
	}
}

// Some editors put a byte order mark before what somebody pastes into a file.
func TestAByteOrderMarkBeforeASecretIsPassedOver(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kept"), []byte("\uFEFFs3cret\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := keptSecret(dir, "kept", func() string { return "another" }); got != "s3cret" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
