package deploy_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ledgerhook/config"
)

// Whatever a file here sets must be a setting: a misspelt one ends the program.
func TestEverySettingThatTheFilesNameIsThere(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, s := range config.Settings() {
		known[s.Name] = true
		if s.Secret {
			known[s.Name+"_FILE"] = true
		}
	}
	variable := regexp.MustCompile(`\bLEDGERHOOK_[A-Z_]+[A-Z]\b`)
	named := 0
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, name := range variable.FindAllString(string(text), -1) {
			if named++; !known[name] {
				t.Errorf("%s names %s, which is no setting", path, name)
			}
		}
		return err
	})
	if err != nil || named == 0 {
		t.Fatalf("%d settings are named: %v", named, err)
	}
}
