package signer_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ledgerhook/signer"
)

// The commands of README.md that verify the RSA signature do so for every body
// that the gateway sends, with openssl and the tools of a machine.
func TestTheRecipeOfTheReadmeVerifiesEveryBody(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	recipe := regexp.MustCompile("(?s)\\*\\*With RSA\\.\\*\\*.*?```sh\n(.*?)```").FindSubmatch(readme)
	if recipe == nil {
		t.Fatal("README.md has no recipe")
	}
	key, err := signer.GenerateKey(2048)
	if err != nil {
		t.Fatal(err)
	}
	for i, data := range []string{
		`{"amount":0.000001}`, `{"amount":0.00005,"status":"Completed"}`, "{\"name\":\"a\x7fb\"}",
		`{"amount":100.5,"id":"topup_01","status":"Completed","zone":"x"}`, `{"note":"Nguyễn <&> \u2028 😀 \\ \",\"signature\":\"x\",\""}`,
		`{"a":{"b":[1,2,{"c":null}]},"success":true,"webhookType":"x"}`, `{"amount":1e+21,"z":0.000123}`,
	} {
		for _, beside := range []bool{false, true} {
			t.Run(fmt.Sprint(i, beside), func(t *testing.T) {
				canonical, err := signer.Canonical([]byte(data))
				if err != nil {
					t.Fatal(err)
				}
				signature, err := key.Sign(canonical)
				if err != nil {
					t.Fatal(err)
				}
				body, err := signer.Notification{WebhookType: "TopupCard", Success: true, Data: canonical, TopLevelSignature: beside}.Body(signature)
				if err != nil {
					t.Fatal(err)
				}
				dir := t.TempDir()
				for name, text := range map[string][]byte{"body.json": body, "gateway.pub.pem": key.PublicPEM()} {
					if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", string(recipe[1]))
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "Verified OK") {
					t.Errorf("%s: %v: %s", body, err, out)
				}
			})
		}
	}
}
