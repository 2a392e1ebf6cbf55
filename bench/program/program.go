// Package program builds the program that tests and benches run.
package program

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// Build builds the program as users have it and returns where it is; remove
// deletes it again. It gets the cryptography that the caller was built with.
func Build() (path string, remove func(), err error) { return build() }

// BuildNext builds the program as its next release could be: with steps of the
// schema more than this one knows, the SQL of each by the path of its file in
// the module.
func BuildNext(steps map[string]string) (path string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "ledgerhook-next-")
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is built does not need it
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", nil, fmt.Errorf("find the module: %w", err)
	}
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for name, text := range steps {
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", nil, err
		}
		overlay.Replace[filepath.Join(strings.TrimSpace(string(root)), name)] = file
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		return "", nil, err
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		return "", nil, err
	}
	return build("-overlay", file)
}

func build(flags ...string) (path string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "ledgerhook-program-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	path = filepath.Join(dir, "ledgerhook")
	// Not "go build", which links anew for each package that is tested: what "go run" has linked it keeps.
	build := exec.Command("go", slices.Concat([]string{"run"}, flags, []string{"-exec", "cp", "ledgerhook/cmd/ledgerhook", path})...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if e := Experiment(); e == boringCrypto {
		build.Env = append(build.Env, "CGO_ENABLED=1", "GOEXPERIMENT="+e)
	}
	if output, err := build.CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("build the program: %w\n%s", err, output)
	}
	return path, remove, nil
}

// boringCrypto signs faster and needs cgo.
const boringCrypto = "boringcrypto"

// Experiment is the GOEXPERIMENT that the caller was built with.
func Experiment() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	i := slices.IndexFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "GOEXPERIMENT" })
	if i < 0 {
		return ""
	}
	return info.Settings[i].Value
}
