package docs_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of errors into the documentation")

const (
	tableBegin = "<!-- errors: written by go test ./docs -update -->\n"
	tableEnd   = "<!-- end of errors -->\n"
)

func TestTheDocumentationListsEveryError(t *testing.T) {
	raw, err := os.ReadFile("../orders/error_messages.json")
	if err != nil {
		t.Fatal(err)
	}
	var catalogue struct {
		Errors []struct {
			Key    string
			Status int `json:"http_status"`
			Code   int `json:"errorCode"`
			EN     string
		}
	}
	if err := json.Unmarshal(raw, &catalogue); err != nil {
		t.Fatal(err)
	}
	want := "| `X-Error-Code` | status | `errorCode` | in English |\n|---|---|---|---|\n"
	for _, e := range catalogue.Errors {
		want += fmt.Sprintf("| `%s` | %d | %d | %s |\n", e.Key, e.Status, e.Code, e.EN)
	}
	text, err := os.ReadFile("interface.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(text), tableBegin)
	have, after, ended := strings.Cut(rest, tableEnd)
	if !begun || !ended {
		t.Fatal("interface.md has no place for the table of errors")
	}
	if *update {
		if err := os.WriteFile("interface.md", []byte(before+tableBegin+want+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have != want {
		t.Error("the table of errors in interface.md is not that of the catalogue: run go test ./docs -update")
	}
}

// A strict lint wants every operation to say what lets its caller in.
func TestBothDocumentsSayWhatLetsACallerIn(t *testing.T) {
	for _, file := range openAPI {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\nsecurity:") {
			t.Errorf("%s has no security of its own", file)
		}
	}
}
