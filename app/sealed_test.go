package app_test

import (
	"go/ast"
	"go/parser"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// sealing is every function that seals something with the master key, and what
// becomes of that. What is kept in the ledger must be in the list of
// ledger/seals, or a change of the master key would leave it behind.
var sealing = map[string]string{
	"app.generate":                  "kept: signing_keys.private_key",
	"partners.NewAccount":           "kept: partners.secret_key",
	"partners.NewSecret":            "kept: secrets.sealed",
	"delivery.Seal":                 "kept: endpoints.headers",
	"delivery.Apply":                "hands over to delivery.Seal",
	"dashboard/shell.enrolTOTP":     "kept: people.totp",
	"partners.Carry":                "kept: mailbox.sealed_code",
	"partners.seal":                 "kept: token_families.sealed_pair",
	"ledger/database.KeepMasterKey": "kept: the check value, which is turned by itself",
	"ledger/database.TurnMasterKey": "kept: the check value, which is turned by itself",
	"signer.Reseal":                 "kept: what it was",
	"dashboard/shell.sealForm":      "in a browser for minutes: opens with either key, then has to be asked for again",
	"app.round":                     "in memory",
	"ingest.Register":               "in memory",
}

func TestEverythingThatIsSealedCanBeSealedAgain(t *testing.T) {
	found := map[string]bool{}
	err := parseAll(os.DirFS(".."), parser.SkipObjectResolution, func(name string, parsed *ast.File) error {
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || strings.HasPrefix(name, "bench/") {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 2 {
					if of, ok := call.Fun.(*ast.SelectorExpr); ok && of.Sel.Name == "Seal" {
						found[path.Dir(name)+"."+f.Name.Name] = true
					}
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range slices.Sorted(maps.Keys(found)) {
		if sealing[where] == "" {
			t.Errorf("%s seals something: add it to this list, and to ledger/seals if the ledger keeps it", where)
		}
	}
	for _, where := range slices.Sorted(maps.Keys(sealing)) {
		if !found[where] {
			t.Errorf("%s seals nothing: take it from this list", where)
		}
	}
}
