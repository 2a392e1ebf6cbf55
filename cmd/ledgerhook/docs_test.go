package main

import (
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTheDocumentationListsEveryCommand(t *testing.T) {
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	commands, _, _ := strings.Cut(string(text), "\n## ") // the tables before the first chapter
	listed := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\| ").FindAllStringSubmatch(commands, -1) {
		for _, code := range regexp.MustCompile("`([a-z-]+)([^`]*)`").FindAllStringSubmatch(row[1], -1) {
			listed[code[1]] = strings.FieldsFunc(code[2], func(r rune) bool { return strings.ContainsRune(` \|`, r) })
			slices.Sort(listed[code[1]])
		}
	}
	root := (&cli{}).root()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		subs, found := listed[cmd.Name()]
		if !found {
			t.Errorf("%s is not documented", cmd.Name())
		}
		delete(listed, cmd.Name())
		var have []string
		for _, sub := range cmd.Commands() {
			have = append(have, sub.Name())
		}
		slices.Sort(have)
		if cmd.Name() != "sign" && len(have) > 0 && !slices.Equal(subs, have) { // what sign takes is told further down
			t.Errorf("%s has %v and is documented with %v", cmd.Name(), have, subs)
		}
	}
	if len(listed) > 0 {
		t.Errorf("there is no %v", slices.Sorted(maps.Keys(listed)))
	}
}

// Whoever follows README.md in their clone commits no secret with it, and builds
// none into an image.
func TestWhatTheCommandsOfTheReadmeMakeStaysOutOfCommitsAndImages(t *testing.T) {
	t.Parallel()
	readme := read(t, "../../README.md")
	made := map[string]bool{}
	for _, file := range regexp.MustCompile(`(?:> |tee |--out |install -D )([a-z.-]+\.(?:pem|txt|bin)|master-key|internal-token)\b`).FindAllStringSubmatch(readme, -1) {
		made[file[1]] = true
	}
	if !made["master-key"] || !made["internal-token"] || !made["onboarding.txt"] || !made["partner.pem"] {
		t.Errorf("found only %v", made)
	}
	for file := range made {
		for _, list := range []string{"../../.gitignore", "../../.dockerignore"} {
			patterns := strings.Fields(read(t, list))
			if !slices.ContainsFunc(patterns, func(p string) bool {
				matched, _ := path.Match(strings.TrimPrefix(p, "/"), file)
				return matched
			}) {
				t.Errorf("%s lacks %s, which README.md makes", list, file)
			}
		}
	}
}

func TestTheReadmeNamesWhatTheTestsInstall(t *testing.T) {
	t.Parallel()
	readme, script := read(t, "../../README.md"), read(t, "../../.ci/with-servers")
	found := regexp.MustCompile(`in (redis-server:[^;]*); do`).FindStringSubmatch(script)
	if found == nil {
		t.Fatal("with-servers lists nothing")
	}
	names := regexp.MustCompile(`(?m)\|\| echo ([a-z-]+)$`).FindAllStringSubmatch(script, -1)
	for _, pair := range strings.Fields(found[1]) {
		_, name, _ := strings.Cut(pair, ":")
		names = append(names, []string{"", name})
	}
	for _, name := range names {
		if !strings.Contains(readme, "`"+name[1]+"`") {
			t.Errorf("README.md does not say that %s is installed", name[1])
		}
	}
	for _, says := range []string{"--stop-timeout 50", "-e LEDGERHOOK_PUBLIC_URL=", "`receiver.mjs`", "node receiver.mjs", "--url http://127.0.0.1:9001/hook"} {
		if !strings.Contains(readme, says) {
			t.Errorf("README.md lacks %s", says)
		}
	}
}

func TestListenTakesThisMachineAloneUnlessTold(t *testing.T) {
	t.Parallel()
	cmd, _, err := (&cli{}).root().Find([]string{"listen"})
	if err != nil {
		t.Fatal(err)
	}
	if addr := cmd.Flags().Lookup("addr").DefValue; addr != "127.0.0.1:9000" {
		t.Errorf("it listens on %s", addr)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
