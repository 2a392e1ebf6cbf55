package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of settings into the documentation")

const (
	documentation = "../docs/configuration.md"
	tableBegin    = "<!-- settings: written by go test ./config -update -->\n"
	tableEnd      = "<!-- end of settings -->\n"
)

// settingsTable is the table of the documentation.
func settingsTable() string {
	var b strings.Builder
	b.WriteString("| variable, key in the file | default | what it is |\n|---|---|---|\n")
	for _, s := range Settings() {
		initial := "none"
		if s.Default != "" {
			initial = "`" + strings.ReplaceAll(s.Default, ",", ", ") + "`"
		}
		secret := ""
		if s.Secret {
			secret = " Secret."
		}
		fmt.Fprintf(&b, "| `%s`<br>`%s` | %s | %s. Takes %s.%s |\n", s.Name, s.Key, initial, s.Meaning, s.Want, secret)
	}
	return b.String()
}

func TestTheDocumentationListsEverySetting(t *testing.T) {
	before, shown, after := documented(t)
	want := settingsTable()
	if *update {
		if err := os.WriteFile(documentation, []byte(before+tableBegin+want+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if shown != want {
		t.Error("the table in docs/configuration.md is not that of the settings: run go test ./config -update")
	}
}

// documented cuts the documentation into its table and what is around it.
func documented(t *testing.T) (before, table, after string) {
	t.Helper()
	text, err := os.ReadFile(documentation)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(text), tableBegin)
	table, after, ended := strings.Cut(rest, tableEnd)
	if !begun || !ended {
		t.Fatalf("%s lacks the lines that begin and end the table", documentation)
	}
	return before, table, after
}

func TestTheExampleOfTheDocumentationIsValid(t *testing.T) {
	text, err := os.ReadFile(documentation)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	example, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatalf("%s holds no example of a file", documentation)
	}
	// The example names files that are not here.
	for _, name := range []string{"database-url", "master-key", "internal-token"} {
		content := map[string]string{"database-url": "postgres://u:p@h/d", "master-key": key32, "internal-token": "01234567890123456789012345678901"}[name]
		path := "/etc/ledgerhook/" + name
		if !strings.Contains(example, path) {
			t.Fatalf("the example does not name %s", path)
		}
		example = strings.ReplaceAll(example, path, write(t, name, content))
	}
	cfg := load(t, example)
	if cfg.Embedded() {
		t.Error("the example does not show PostgreSQL and Redis")
	}
}
