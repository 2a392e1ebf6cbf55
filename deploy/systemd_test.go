package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const unitFile = "systemd/ledgerhook.service"

// unit is the unit with a program that is there, for systemd to look at.
func unit(t *testing.T) (path string) {
	t.Helper()
	program := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/ledgerhook `)
	text := read(t, unitFile)
	if !program.MatchString(text) {
		t.Fatal("the unit does not start ledgerhook")
	}
	path = filepath.Join(t.TempDir(), filepath.Base(unitFile))
	if err := os.WriteFile(path, []byte(program.ReplaceAllString(text, "ExecStart=/bin/true ")), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// analyze runs systemd-analyze, if this machine has systemd.
func analyze(t *testing.T, args ...string) {
	t.Helper()
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("this machine has no systemd to ask")
		return
	}
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if t.Logf("%s", out); err != nil {
		t.Errorf("%v: %v", args, err)
	}
}

func TestSystemdTakesTheUnit(t *testing.T) {
	t.Parallel()
	analyze(t, "verify", "--man=no", unit(t))
}

// A panic and an end by the watchdog have exit code 2, as a wrong command line
// has: systemd must not be told to leave any code alone.
func TestTheUnitIsStartedAgainWhateverEndedIt(t *testing.T) {
	t.Parallel()
	text := read(t, unitFile)
	if !strings.Contains(text, "\nRestart=on-failure\n") || strings.Contains(text, "RestartPreventExitStatus") || strings.Contains(text, "SuccessExitStatus") {
		t.Error("the unit has exit codes after which the gateway stays down")
	}
}

// 2.0 of 10 is what systemd calls OK, from its list of what a service might do.
func TestTheUnitMayDoLittle(t *testing.T) {
	t.Parallel()
	analyze(t, "security", "--offline=yes", "--threshold=20", unit(t))
}
