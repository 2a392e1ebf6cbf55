package main

import (
	"maps"
	"os"
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
		for _, code := range regexp.MustCompile("`([a-z]+)([^`]*)`").FindAllStringSubmatch(row[1], -1) {
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
