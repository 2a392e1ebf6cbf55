package acceptance

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// output collects what processes print, line by line.
type output struct {
	mu    sync.Mutex
	lines []line
	part  []byte // of a line that has not ended
}

type line struct {
	at   time.Time
	text string
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.part = append(o.part, b...)
	for {
		text, rest, ended := bytes.Cut(o.part, []byte("\n"))
		if !ended {
			return len(b), nil
		}
		o.lines = append(o.lines, line{time.Now(), string(text)})
		o.part = slices.Clone(rest)
	}
}

// all returns the lines so far, with the last one even if it has not ended.
func (o *output) all() []line {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := slices.Clone(o.lines)
	if len(o.part) > 0 {
		lines = append(lines, line{time.Now(), string(o.part)})
	}
	return lines
}

func (o *output) String() string {
	var text strings.Builder
	for _, l := range o.all() {
		text.WriteString(l.text + "\n")
	}
	return text.String()
}

// find returns the first line after the first skip ones that contains part.
func (o *output) find(skip int, part string) (line, bool) {
	lines := o.all()
	for _, l := range lines[min(skip, len(lines)):] {
		if strings.Contains(l.text, part) {
			return l, true
		}
	}
	return line{}, false
}

// process is a child that ends with its test at the latest.
type process struct {
	tb    testing.TB
	cmd   *exec.Cmd
	ended chan struct{}
}

// launch starts cmd.
func launch(tb testing.TB, cmd *exec.Cmd) *process {
	tb.Helper()
	p := &process{tb: tb, cmd: cmd, ended: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // the exit code is in ProcessState
		close(p.ended)
	}()
	tb.Cleanup(p.kill)
	return p
}

// kill ends the process at once, as kill -9 does.
func (p *process) kill() { p.end(os.Kill) }

// end sends a signal and waits for the end.
func (p *process) end(signal os.Signal) {
	_ = p.cmd.Process.Signal(signal) // it may have ended already
	<-p.ended
}

// wait returns the exit code of a process that ends by itself within limit.
func (p *process) wait(limit time.Duration) int {
	p.tb.Helper()
	select {
	case <-p.ended:
	case <-time.After(limit):
		p.tb.Fatalf("%s is still running after %s", p.cmd, limit)
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// ledgerhook is a command line of the program with nothing but env around it.
// Data go to stdout, messages to stderr.
func ledgerhook(dir string, env map[string]string, stdout, stderr *output, args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, stdout, stderr
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}
