package main

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
)

// A release of the checkout that this stands in, as it was committed, for this
// machine's kind alone.
func made(t *testing.T) release {
	t.Helper()
	clone := t.TempDir()
	r := release{root: clone}
	if _, err := (&release{root: "."}).git(t.Context(), "clone", "--quiet", "--no-hardlinks", "../..", clone); err != nil {
		t.Fatal(err)
	}
	r.version, r.out = "1.2.3", "dist"
	if err := r.make(t.Context(), []string{runtime.GOOS + "/" + runtime.GOARCH}); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTwoReleasesOfACommitAreTheSameBytes(t *testing.T) {
	first, second := made(t), made(t)
	sums := func(r release) string {
		content, err := os.ReadFile(filepath.Join(r.out, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	if sums(first) != sums(second) {
		t.Errorf("the first are\n%s\nand the second\n%s", sums(first), sums(second))
	}
	if runtime.GOOS == "linux" && !strings.Contains(sums(first), "ledgerhook_1.2.3_"+runtime.GOARCH+".deb") {
		t.Errorf("there is no Debian package among\n%s", sums(first))
	}
	name := "ledgerhook_1.2.3_" + runtime.GOOS + "_" + runtime.GOARCH
	packed := unpack(t, filepath.Join(first.out, name+".tar.gz"))
	for _, want := range []string{"ledgerhook", "LICENSE", "CHANGELOG.md", "docs/install.md", "deploy/systemd/ledgerhook.service"} {
		if !packed[name+"/"+want] {
			t.Errorf("%s is not in the archive", want)
		}
	}
	parts := bom(t, filepath.Join(first.out, name+".cdx.json"))
	for _, want := range []string{"std", "github.com/hibiken/asynq", "modernc.org/sqlite"} {
		if !parts[want] {
			t.Errorf("%s is not among the parts", want)
		}
	}
}

func unpack(t *testing.T, path string) map[string]bool {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	zipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for packed := tar.NewReader(zipped); ; {
		header, err := packed.Next()
		if err == io.EOF {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names[header.Name] = true
	}
}

func bom(t *testing.T, path string) map[string]bool {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var read cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(file, cyclonedx.BOMFileFormatJSON).Decode(&read); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, c := range *read.Components {
		names[c.Name] = true
	}
	return names
}

func TestAReleaseThatCannotBeMadeAgainIsRefused(t *testing.T) {
	clone := t.TempDir()
	if _, err := (&release{root: "."}).git(t.Context(), "clone", "--quiet", "--no-hardlinks", "../..", clone); err != nil {
		t.Fatal(err)
	}
	r := release{root: clone, out: "dist", version: "1.2"}
	if err := r.make(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "semantic version") {
		t.Errorf("version 1.2: %v", err)
	}
	if err := os.WriteFile(filepath.Join(clone, "README.md"), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	r = release{root: clone, out: "dist", version: "1.2.3"}
	if err := r.make(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "not committed") {
		t.Errorf("a changed checkout: %v", err)
	}
}
