package main

import (
	"encoding/json"
	"ledgerhook/app/receiver"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// clockAhead lets a process whose clock is 40 days ahead end and delete by
// time, while everything that was accepted still waits.
func clockAhead(s *scene, f fault) {
	ahead := buildAhead(s)
	g := newShutGate()
	s.Cleanup(g.release) // before the servers close, which wait for their requests
	for range loaded {
		s.partner(8, g.hold)
	}
	for _, p := range s.partners {
		s.post(p, s.events/loaded)
	}
	s.strike()
	cmd := exec.Command(ahead)
	cmd.Env = append(os.Environ(), "LEDGERHOOK_DATABASE_URL="+f.database.PostgresURL())
	if output, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(output), "960h") {
		s.Errorf("a process 40 days ahead: %v, %s", err, output)
	}
	s.back()
	g.release()
	s.settle(limit)
}

// buildAhead builds the command ahead with a standard library whose clock is 40
// days ahead: the program itself has no such seam.
func buildAhead(s *scene) (program string) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		s.Fatal(err)
	}
	clock := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text, err := os.ReadFile(clock)
	if err != nil {
		s.Fatal(err)
	}
	const now = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	ahead := strings.Replace(string(text), now, now+"\tsec += 40 * 24 * 60 * 60\n", 1)
	if ahead == string(text) {
		s.Fatal("the standard library reads the clock in another way than expected")
	}
	dir := s.TempDir()
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{clock: filepath.Join(dir, "time.go")}})
	if err != nil {
		s.Fatal(err)
	}
	program = filepath.Join(dir, "ahead")
	for name, content := range map[string][]byte{"time.go": []byte(ahead), "overlay.json": overlay} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			s.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "ledgerhook/bench/faults/ahead")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		s.Fatalf("build a process that is ahead: %v\n%s", err, output)
	}
	return program
}

// clockSetBack leaves in the ledger what a clock that was 400 s ahead has left
// there, and is right again when the gateways start: retries that are due, and
// endpoints that are looked at and have a rate, only then.
func clockSetBack(s *scene, f fault) {
	s.load(s.events, receiver.FailEvery(3, receiver.Answer{Status: http.StatusBadRequest}, receiver.OK))
	for _, p := range s.partners {
		s.patch(p, map[string]any{"rateLimit": 500})
	}
	s.reach(s.events * 2 / 3)
	s.strike()
	for _, g := range s.gateways {
		if g != nil {
			g.Kill()
		}
	}
	output, err := f.database.PSQL(`UPDATE windows SET wake_at = wake_at + 400000000, rate_next = rate_next + 400000000;
		UPDATE deliveries SET due_at = due_at + 400000000 WHERE due_at > 0`)
	if err != nil {
		s.Fatalf("write what a wrong clock writes: %v\n%s", err, output)
	}
	for _, g := range s.gateways {
		if g != nil {
			g.Start()
		}
	}
	s.back()
	s.settle(limit)
}
