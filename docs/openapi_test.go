package docs_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

var openAPI = []string{"openapi-internal.yaml", "openapi-partner.yaml"}

func TestLintersTakeBothDocuments(t *testing.T) {
	t.Parallel()
	dir := linters(t)
	bin := filepath.Join(dir, "node_modules", ".bin")
	run(t, ".", filepath.Join(bin, "redocly"), append([]string{"lint", "--extends=recommended-strict"}, openAPI...)...)
	run(t, ".", filepath.Join(bin, "spectral"), append([]string{"lint", "--fail-severity=hint", "--ruleset", filepath.Join(dir, "spectral.yaml")}, openAPI...)...)
}

// linters is where the linters are installed as they are locked. To unpack them
// takes longer than to lint: what was unpacked once stays in the user's cache,
// as what Go compiles does, under the hash of all that says what it is.
func linters(t *testing.T) (dir string) {
	t.Helper()
	source, hash := filepath.Join("testdata", "linters"), sha256.New()
	for _, name := range []string{"package.json", "package-lock.json", "spectral.yaml"} {
		text, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			t.Fatal(err)
		}
		hash.Write(text)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(cache, "ledgerhook", fmt.Sprintf("linters-%x", hash.Sum(nil)[:16]))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "linters-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(fresh) })
	if err := os.CopyFS(fresh, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	run(t, ".", "npm", "ci", "--prefix", fresh, "--ignore-scripts", "--no-audit", "--no-fund")
	if err := os.Rename(fresh, dir); err != nil && !errors.Is(err, fs.ErrExist) { // somebody else's is the same
		t.Fatal(err)
	}
	return dir
}

// Go is the strictest of what clients are generated in: two components whose
// names become one, whatever their kinds, end it.
func TestWhatIsGeneratedFromBothDocumentsCompiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "generator")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "generator"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range openAPI {
		document, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		run(t, dir, "go", "tool", "oapi-codegen", "-generate", "types,client,std-http", "-package", "api",
			"-o", filepath.Join(name, "generated.go"), document)
	}
	run(t, dir, "go", "build", "./...")
}

// run fails the test unless the command, which may fetch what it needs, ends well.
func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	command := exec.CommandContext(ctx, name, args...)
	command.Dir, command.WaitDelay = dir, time.Second
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", filepath.Base(name), err, output)
	}
}
