package stage

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// Output collects what processes print, line by line.
type Output struct {
	mu    sync.Mutex
	lines []Line
	part  []byte // of a line that has not ended
}

// Line is one line that a process printed, with the time it came.
type Line struct {
	At   time.Time
	Text string
}

// Write takes what the process prints. It never fails.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now, rest := time.Now(), append(o.part, b...)
	for {
		text, after, ended := bytes.Cut(rest, []byte("\n"))
		if !ended {
			o.part = slices.Clone(rest)
			return len(b), nil
		}
		o.lines = append(o.lines, Line{now, string(text)})
		rest = after
	}
}

// All returns the lines so far, with the last one even if it has not ended.
func (o *Output) All() []Line {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := slices.Clone(o.lines)
	if len(o.part) > 0 {
		lines = append(lines, Line{time.Now(), string(o.part)})
	}
	return lines
}

// String is everything so far, the last line even if it has not ended.
func (o *Output) String() string {
	var text strings.Builder
	for _, l := range o.All() {
		text.WriteString(l.Text + "\n")
	}
	return text.String()
}

// Find returns the first line after the first skip ones that contains part.
func (o *Output) Find(skip int, part string) (Line, bool) {
	lines := o.All()
	for _, l := range lines[min(skip, len(lines)):] {
		if strings.Contains(l.Text, part) {
			return l, true
		}
	}
	return Line{}, false
}

// Process is a child that ends with its test at the latest.
type Process struct {
	tb    T
	Cmd   *exec.Cmd
	ended chan struct{}
}

// Launch starts cmd.
func Launch(tb T, cmd *exec.Cmd) *Process {
	tb.Helper()
	p := &Process{tb: tb, Cmd: cmd, ended: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // the exit code is in ProcessState
		close(p.ended)
	}()
	tb.Cleanup(p.Kill)
	return p
}

// Kill ends the process at once, as kill -9 does.
func (p *Process) Kill() { p.End(os.Kill) }

// End sends a signal and waits for the end.
func (p *Process) End(signal os.Signal) {
	_ = p.Cmd.Process.Signal(signal) // it may have ended already
	<-p.ended
}

// Wait returns the exit code of a process that ends by itself within limit.
func (p *Process) Wait(limit time.Duration) int {
	p.tb.Helper()
	select {
	case <-p.ended:
	case <-time.After(limit):
		p.tb.Fatalf("%s is still running after %s", p.Cmd, limit)
	case <-p.tb.Context().Done():
		p.tb.Fatalf("interrupted while %s was still running", p.Cmd)
	}
	return p.Cmd.ProcessState.ExitCode()
}

// Running reports whether the process has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// PeakMemory is the most memory that the process has had so far, in bytes; 0
// where the system does not tell.
func (p *Process) PeakMemory() int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes int64
	_, _ = fmt.Sscan(peak, &kilobytes) // 0 if it is not there
	return kilobytes << 10
}

// Ledgerhook is a command line of the program with nothing but env around it.
// Data go to stdout, messages to stderr.
func Ledgerhook(dir string, env map[string]string, stdout, stderr *Output, args ...string) *exec.Cmd {
	return programOf(binary, dir, env, stdout, stderr, args...)
}

// programOf is Ledgerhook of another build.
func programOf(path, dir string, env map[string]string, stdout, stderr *Output, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, stdout, stderr
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}
