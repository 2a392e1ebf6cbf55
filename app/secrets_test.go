package app

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledgerhook/config"
	"ledgerhook/signer"
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

func TestThePreviousMasterKeyIsBesideThePresentOne(t *testing.T) {
	t.Parallel()
	first, second := newMasterKey(), newMasterKey()
	name := func(text string) string {
		key, err := signer.ParseMasterKey(text)
		if err != nil {
			t.Fatal(err)
		}
		box, err := signer.NewBox(key)
		if err != nil {
			t.Fatal(err)
		}
		return box.Names()[0]
	}
	key := bytes.Repeat([]byte{1}, signer.MasterKeySize)
	set, err := signer.NewBox(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		is              string
		files           map[string]string
		setting, before []byte
		want            []string
		previous        string // its end
	}{
		{"one file", map[string]string{masterKeyFile: first}, nil, nil, []string{name(first)}, ""},
		{"two files", map[string]string{masterKeyFile: second, previousKeyFile: first}, nil, nil, []string{name(second), name(first)}, previousKeyFile},
		{"the same twice", map[string]string{masterKeyFile: first, previousKeyFile: first}, nil, nil, []string{name(first)}, ""},
		{"a file and a setting", map[string]string{masterKeyFile: first, previousKeyFile: second}, nil, key, []string{name(first), set.Names()[0]}, "LEDGERHOOK_PREVIOUS_MASTER_KEY"},
		{"a setting beside files", map[string]string{masterKeyFile: first, previousKeyFile: second}, key, nil, set.Names(), ""},
	} {
		dir := t.TempDir()
		for file, text := range test.files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		found, err := findMasterKey(config.Config{DataDir: dir, MasterKey: test.setting, PreviousMasterKey: test.before})
		if err != nil {
			t.Errorf("%s: %v", test.is, err)
			continue
		}
		if got := found.box.Names(); strings.Join(got, " ") != strings.Join(test.want, " ") || !strings.HasSuffix(found.previous, test.previous) || (found.previous == "") != (test.previous == "") {
			t.Errorf("%s: %v from %q, want %v from %q", test.is, got, found.previous, test.want, test.previous)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, previousKeyFile), []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := findMasterKey(config.Config{DataDir: dir}); err == nil || !strings.Contains(err.Error(), previousKeyFile) || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a file that holds no key: %v", err)
	}
}
