package main

import (
	"bytes"
	"embed"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
)

// debianFiles are the settings that a package brings and its scripts.
//
//go:embed debian
var debianFiles embed.FS

// debian packs the binary, the unit and the documents for Debian and what comes
// of it.
func (r *release) debian(binary, goarch string) error {
	own, err := os.MkdirTemp("", "ledgerhook-debian-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(own)
	if err := os.CopyFS(own, debianFiles); err != nil {
		return err
	}
	file := func(from, to string, mode os.FileMode) *files.Content {
		return &files.Content{Source: from, Destination: to, FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.at}}
	}
	env := file(filepath.Join(own, "debian", "ledgerhook.env"), "/etc/ledgerhook/ledgerhook.env", 0o600)
	env.Type = files.TypeConfigNoReplace
	unit := filepath.Join(r.root, "deploy/systemd/ledgerhook.service")
	contents := files.Contents{
		{Type: files.TypeDir, Destination: "/etc/ledgerhook", FileInfo: &files.ContentFileInfo{Mode: 0o700, MTime: r.at}},
		env,
		file(binary, "/usr/bin/ledgerhook", 0o755),
		file(unit, "/usr/lib/systemd/system/ledgerhook.service", 0o644),
		file(unit, "/usr/lib/systemd/system/ledgerhook@.service", 0o644),
	}
	documents, err := r.documents()
	if err != nil {
		return err
	}
	for _, d := range documents {
		to := strings.TrimPrefix(d, "docs/")
		if d == "LICENSE" {
			to = "copyright"
		}
		contents = append(contents, file(filepath.Join(r.root, d), path.Join("/usr/share/doc/ledgerhook", to), 0o644))
	}
	script := func(name string) string { return filepath.Join(own, "debian", name) }
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "ledgerhook", Arch: goarch, Platform: "linux", Version: r.version, Section: "net", Priority: "optional",
		Maintainer: "Ledgerhook <ledgerhook@localhost>", MTime: r.at, DisableGlobbing: true,
		Description: "Webhook gateway between a payment company and its partners\n" +
			"Serves signed partner operations, and delivers events as signed webhooks that are retried until they arrive.",
		Overridables: nfpm.Overridables{
			Depends: []string{"ca-certificates"}, Suggests: []string{"postgresql", "redis-server"}, Contents: contents,
			Scripts: nfpm.Scripts{PostInstall: script("postinst"), PreRemove: script("prerm"), PostRemove: script("postrm")},
		},
	})
	if err := nfpm.PrepareForPackager(info, "deb"); err != nil {
		return err
	}
	var packed bytes.Buffer
	if err := deb.Default.Package(info, &packed); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, deb.Default.ConventionalFileName(info)), packed.Bytes(), 0o644)
}
