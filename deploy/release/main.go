// Command release builds what is handed to users: for each platform the binary
// in an archive and what it is made of (CycloneDX), for Linux a Debian package,
// and the checksums of all. The same commit, version and Go release give the
// same bytes. It is a module of its own so that its tools are none of the
// product's. "make release" runs it.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var r release
	flag.StringVar(&r.version, "version", "", "the release, such as 1.2.3; empty: 0.0.0 of the commit")
	flag.StringVar(&r.root, "root", "../..", "the checkout")
	flag.StringVar(&r.out, "out", "dist", "where to, relative to the checkout; what is there is replaced")
	platforms := flag.String("platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "for which machines")
	flag.Parse()
	if err := r.make(ctx, strings.Split(*platforms, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is what is made of one commit.
type release struct {
	version string // without v
	root    string
	out     string
	at      time.Time // of the commit, and of every file in what is made
	commit  string
}

var semantic = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

func (r *release) make(ctx context.Context, platforms []string) error {
	if err := r.look(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	for _, p := range platforms {
		goos, goarch, ok := strings.Cut(p, "/")
		if !ok {
			return fmt.Errorf("-platforms: %q is no platform: linux/amd64 is one", p)
		}
		if err := r.build(ctx, goos, goarch); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return r.sums()
}

// look finds out what is released. A changed checkout is refused: nobody could
// make the same bytes of it again.
func (r *release) look(ctx context.Context) (err error) {
	if r.root, err = filepath.Abs(r.root); err != nil {
		return err
	}
	if !filepath.IsAbs(r.out) {
		r.out = filepath.Join(r.root, r.out)
	}
	if changed, err := r.git(ctx, "status", "--porcelain"); err != nil || changed != "" {
		return errors.Join(err, errors.New("the checkout has changes that are not committed: commit or stash them first"))
	}
	if r.commit, err = r.git(ctx, "rev-parse", "HEAD"); err != nil {
		return err
	}
	seconds, err := r.git(ctx, "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	r.at = time.Unix(unix, 0).UTC()
	if r.version = strings.TrimPrefix(r.version, "v"); r.version == "" {
		r.version = "0.0.0+git." + r.commit[:12]
	}
	if err == nil && !semantic.MatchString(r.version) {
		err = fmt.Errorf("-version: %q is no semantic version: 1.2.3 or 1.2.3-rc.1 would be one", r.version)
	}
	return err
}

func (r *release) git(ctx context.Context, args ...string) (string, error) {
	out, err := r.command(ctx, nil, "git", args...)
	return strings.TrimSpace(out), err
}

func (r *release) command(ctx context.Context, env []string, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir, command.Env = r.root, append(os.Environ(), env...)
	var told strings.Builder
	command.Stderr = &told
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", command, err, told.String())
	}
	return string(out), nil
}

// build makes all that is for one platform.
func (r *release) build(ctx context.Context, goos, goarch string) error {
	work, err := os.MkdirTemp("", "ledgerhook-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	binary := filepath.Join(work, "ledgerhook")
	_, err = r.command(ctx, []string{"CGO_ENABLED=0", "GOOS=" + goos, "GOARCH=" + goarch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS="},
		"go", "build", "-trimpath", "-buildvcs=true", "-ldflags", "-s -w -X main.version="+r.version, "-o", binary, "./cmd/ledgerhook")
	if err != nil {
		return err
	}
	name := fmt.Sprintf("ledgerhook_%s_%s_%s", r.version, goos, goarch)
	if err := r.bill(binary, filepath.Join(r.out, name+".cdx.json")); err != nil {
		return fmt.Errorf("list what the binary is made of: %w", err)
	}
	if err := r.archive(binary, filepath.Join(r.out, name+".tar.gz"), name); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	if goos != "linux" {
		return nil
	}
	if err := r.debian(binary, goarch); err != nil {
		return fmt.Errorf("make the Debian package: %w", err)
	}
	return nil
}

// documents are the files of the checkout that go with the binary, by their
// path in it.
func (r *release) documents() (paths []string, err error) {
	listed, err := r.git(context.Background(), "ls-files", "README.md", "CHANGELOG.md", "LICENSE", "docs", "deploy/compose.yml",
		"deploy/grafana", "deploy/helm", "deploy/kubernetes", "deploy/prometheus", "deploy/systemd")
	paths = strings.Split(listed, "\n")
	return slices.DeleteFunc(paths, func(path string) bool { return strings.HasSuffix(path, ".go") }), err
}

// sums writes what sha256sum --check reads.
func (r *release) sums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(content), e.Name())
	}
	fmt.Print(list.String())
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(list.String()), 0o644)
}
