// Package oidctest runs a certified OpenID Connect provider, as a process of
// its own, for tests of signing in there.
//
// Its program is a module of its own, so that what it needs is no part of the
// gateway.
package oidctest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// What the provider calls its one client.
const (
	ClientID     = "ledgerhook"
	ClientSecret = "the-client-secret"
)

// Person is somebody who can sign in at the provider.
type Person struct {
	ID, Username, Password, FirstName, LastName, Email string
	EmailVerified                                      bool
	Groups                                             []string // told at the userinfo endpoint as "groups"
}

// build puts the provider's program into a folder of the test.
func build(t testing.TB) (path string) {
	t.Helper()
	root, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatalf("find the module: %v", err)
	}
	path = filepath.Join(t.TempDir(), "provider")
	run := exec.Command("go", "run", "-exec", "cp", ".", path) // which keeps what it has linked
	run.Dir = filepath.Join(filepath.Dir(strings.TrimSpace(string(root))), "dashboard/oidc/oidctest/testdata/provider")
	run.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("build the provider: %v: %s", err, out)
	}
	return path
}

// Start runs a provider with people that sends them back to redirect, until
// the test ends or stop is called.
func Start(t testing.TB, redirect string, people ...Person) (issuer string, stop func()) {
	t.Helper()
	byID := map[string]Person{}
	for _, p := range people {
		byID[p.ID] = p
	}
	text, err := json.Marshal(byID)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "people.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(build(t), "-redirect", redirect, "-people", file)
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
	})
	t.Cleanup(stop)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the provider does not start: %v", err)
	}
	return strings.TrimSpace(line), stop
}

var hiddenID = regexp.MustCompile(`name="id" value="([^"]*)"`)

// SignIn signs a person in at the provider that address leads to, as a browser
// does, and returns where the provider sends the browser back to.
func SignIn(t testing.TB, address string, p Person) (back string) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ask := func(method, address string, form url.Values) (next, page string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		if to := response.Header.Get("Location"); to != "" {
			whole, err := response.Request.URL.Parse(to)
			if err != nil {
				t.Fatal(err)
			}
			return whole.String(), string(body)
		}
		return "", string(body)
	}
	login, page := ask(http.MethodGet, address, nil)
	if login == "" {
		t.Fatalf("the provider does not ask who it is: %.500s", page)
	}
	_, page = ask(http.MethodGet, login, nil)
	id := hiddenID.FindStringSubmatch(page)
	if id == nil {
		t.Fatalf("the provider's form holds no id: %.1000s", page)
	}
	done, page := ask(http.MethodPost, login, url.Values{"id": {id[1]}, "username": {p.Username}, "password": {p.Password}})
	if done == "" {
		t.Fatalf("the provider refuses %s: %.1000s", p.Username, page)
	}
	back, page = ask(http.MethodGet, done, nil)
	if back == "" {
		t.Fatalf("the provider leads nowhere: %.1000s", page)
	}
	return back
}
