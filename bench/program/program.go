// Package program builds the program that tests and benches run.
package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
)

// Build builds the program as users have it and returns where it is; remove
// deletes it again. It gets the cryptography that the caller was built with.
func Build() (path string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "ledgerhook-program-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	path = filepath.Join(dir, "ledgerhook")
	// Not "go build", which links anew for each package that is tested: what "go run" has linked it keeps.
	build := exec.Command("go", "run", "-exec", "cp", "ledgerhook/cmd/ledgerhook", path)
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
