package acceptance

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ledgerhook/bench/stage"
)

// newcomer follows README.md in a folder of their own. Only ports and waits
// differ: others may use the machine at the same time.
type newcomer struct {
	t      *testing.T
	dir    string
	env    []string
	readme string
	blocks map[string][]string // of commands, by heading
}

func newNewcomer(t *testing.T) *newcomer {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	n := &newcomer{t: t, dir: t.TempDir(), readme: string(text), blocks: map[string][]string{}}
	for _, port := range []string{"8080", "8081", "9000", "9001"} {
		free := strconv.Itoa(stage.FreePort(t))
		n.readme = strings.ReplaceAll(n.readme, "127.0.0.1:"+port, "127.0.0.1:"+free)
		n.readme = strings.ReplaceAll(n.readme, "listen("+port+",", "listen("+free+",")
		switch port {
		case "8080":
			n.env = append(n.env, "LEDGERHOOK_LISTEN=127.0.0.1:"+free)
		case "8081":
			n.env = append(n.env, "LEDGERHOOK_INTERNAL_LISTEN=127.0.0.1:"+free, "LEDGERHOOK_URL=http://127.0.0.1:"+free)
		}
	}
	n.readme = strings.Replace(n.readme, "sleep 8 ", "true ", 1)
	heading := ""
	for _, found := range regexp.MustCompile("(?ms)^#+ ([^\n]+)$|^```sh\n(.*?)^```$").FindAllStringSubmatch(n.readme, -1) {
		if found[1] != "" {
			heading = found[1]
			continue
		}
		n.blocks[heading] = append(n.blocks[heading], found[2])
	}
	program := stage.Ledgerhook(n.dir, nil, nil, nil).Path
	n.env = append(n.env, "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"), "HOME="+n.dir, "LEDGERHOOK_LOG=json",
		"LEDGERHOOK_DELIVERY_RETRY=0s,1s,1s,1s")
	return n
}

// types runs commands in a terminal of its own, which ends with the test.
func (n *newcomer) types(commands string) (*stage.Process, *stage.Output) {
	n.t.Helper()
	out := &stage.Output{}
	shell := exec.Command("bash", "-e", "-o", "pipefail", "-c", "umask 022\n"+commands)
	shell.Dir, shell.Env, shell.Stdout, shell.Stderr = n.dir, n.env, out, out
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := stage.Launch(n.t, shell)
	n.t.Cleanup(func() { _ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }) // what it started, too
	return p, out
}

// sees types commands that do not end, until they print what.
func (n *newcomer) sees(what, commands string) *stage.Output {
	n.t.Helper()
	p, out := n.types(commands)
	stage.Eventually(n.t, time.Minute, "it says "+what, func() bool {
		if !p.Running() {
			n.t.Fatalf("it ended:\n%s\n%s", commands, out)
		}
		_, found := out.Find(0, what)
		return found
	})
	return out
}

// gets types commands that end, and returns what they print.
func (n *newcomer) gets(commands string) string {
	n.t.Helper()
	p, out := n.types(commands)
	if code := p.Wait(time.Minute); code != 0 {
		n.t.Fatalf("exit code %d:\n%s\n%s", code, commands, out)
	}
	return out.String()
}

// TestTheReadmeWorksAsItIsWritten follows it by itself, without PostgreSQL and
// Redis, to a verified delivery at both receivers.
func TestTheReadmeWorksAsItIsWritten(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	serve, first, verify := n.blocks["By itself"], n.blocks["A first delivery"], n.blocks["How a partner verifies a notification"]
	if len(serve) != 1 || len(first) != 3 || len(verify) != 3 {
		t.Fatalf("README.md has other chapters: %d, %d and %d blocks", len(serve), len(first), len(verify))
	}
	n.sees("ledgerhook is running", serve[0])
	if status := n.gets("ledgerhook migrate --status"); !strings.Contains(status, "1        00001_ledger.sql") {
		t.Errorf("migrate --status beside a running server: %s", status)
	}

	heard := n.sees("listening on", first[0])
	n.gets(first[1])
	commands := strings.Split(strings.TrimSpace(first[1]), "\n")
	show := commands[len(commands)-1]
	stage.Asking(t, time.Minute, "the delivery arrives at the second attempt", func() bool {
		shown := n.gets(show)
		return strings.Contains(shown, "state     delivered") && regexp.MustCompile(`(?m)^2 .* retry +200 `).MatchString(shown)
	})
	for _, answer := range []string{"503  TopupCard", "200  TopupCard"} {
		if line, found := heard.Find(0, answer); !found || !strings.Contains(line.Text, "✓ rsa  ✓ standard") {
			t.Errorf("the receiver did not say %s:\n%s", answer, heard)
		}
	}
	if answer := n.gets(first[2]); !strings.Contains(answer, `"duplicate":false`) {
		t.Errorf("an event from a program: %s", answer)
	}

	n.installs("standardwebhooks")
	n.write("receiver.mjs", regexp.MustCompile("(?ms)^```js\n(.*?)^```$").FindStringSubmatch(n.readme)[1])
	install, run, _ := strings.Cut(verify[0], "\n")
	if install != "npm install standardwebhooks" {
		t.Errorf("it installs with %q", install)
	}
	_, out := n.types(run)
	n.gets(verify[1])
	stage.Asking(t, time.Minute, "the receiver in JavaScript verifies an event", func() bool {
		n.gets(strings.Replace(strings.Join(commands[1:3], "\n"), "topup_01", fmt.Sprintf("topup_%d", time.Now().UnixNano()), 1))
		_, found := out.Find(0, " TopupCard Completed")
		return found
	})
	n.keepsSecrets()
}

// installs installs a package as it is locked for other tests.
func (n *newcomer) installs(name string) {
	n.t.Helper()
	locked := filepath.Join("..", "..", "signer", "testdata", "js")
	for _, file := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(locked, file))
		if err != nil {
			n.t.Fatal(err)
		}
		n.write(file, string(text))
	}
	npm := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = n.dir
	if out, err := npm.CombinedOutput(); err != nil {
		n.t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(n.dir, "node_modules", name)); err != nil {
		n.t.Fatal(err)
	}
}

func (n *newcomer) write(file, text string) {
	n.t.Helper()
	if err := os.WriteFile(filepath.Join(n.dir, file), []byte(text), 0o644); err != nil {
		n.t.Fatal(err)
	}
}

// keepsSecrets looks for secrets that others on the machine may read.
func (n *newcomer) keepsSecrets() {
	n.t.Helper()
	secret := regexp.MustCompile(`whsec_[A-Za-z0-9+/]{40}|PRIVATE KEY-----`)
	found := 0
	err := filepath.WalkDir(n.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && entry.Name() == "node_modules" {
			return cmp.Or(err, fs.SkipDir)
		}
		info, err := entry.Info()
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && secret.Match(text) {
			if found++; info.Mode().Perm() != 0o600 {
				n.t.Errorf("%s holds a secret and has the mode %o", entry.Name(), info.Mode().Perm())
			}
		}
		return err
	})
	if err != nil || found < 2 {
		n.t.Errorf("%d files with secrets, want two at least: %v", found, err)
	}
}
