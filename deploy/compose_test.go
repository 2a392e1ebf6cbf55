package deploy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"ledgerhook/config"
)

type service struct {
	Image       string
	Profiles    []string
	Entrypoint  []string
	Command     []string
	Environment map[string]string
	Volumes     []string
	Ports       []string
	DependsOn   map[string]any `yaml:"depends_on"`
	ReadOnly    bool           `yaml:"read_only"`
	CapDrop     []string       `yaml:"cap_drop"`
}

type composition struct {
	Services map[string]service
	Volumes  map[string]any
}

func compose(t *testing.T) (c composition) {
	t.Helper()
	// What a service says itself stands behind what it shares with others.
	if err := yaml.NewDecoder(strings.NewReader(read(t, "compose.yml")), yaml.AllowDuplicateMapKey()).Decode(&c); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"secrets", "migrate", "api", "worker", "dashboard", "postgres", "redis", "prometheus", "grafana", "mail"} {
		if _, there := c.Services[name]; !there {
			t.Fatalf("there is no service %s", name)
		}
	}
	return c
}

func TestTheServicesOfComposeFitTogether(t *testing.T) {
	t.Parallel()
	c := compose(t)
	for name, s := range c.Services {
		if s.Image != "ledgerhook" && !strings.Contains(s.Image, ":") {
			t.Errorf("%s takes any version of %s", name, s.Image)
		}
		if s.Image == "ledgerhook" && (!s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"})) {
			t.Errorf("%s may do more than it needs", name)
		}
		for other := range s.DependsOn {
			if _, there := c.Services[other]; !there {
				t.Errorf("%s waits for %s, which is not there", name, other)
			}
		}
		for _, volume := range s.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			_, named := c.Volumes[source]
			if _, err := os.Stat(source); !named && (err != nil || !strings.HasPrefix(source, "./")) {
				t.Errorf("%s mounts %s, which is not there", name, source)
			}
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s can be reached from other machines at %s", name, port)
			}
		}
	}
	promtool(t, "check", "config", "prometheus/prometheus.yml")
}

// The secrets that compose makes are such as the program takes, and are kept
// when it starts again.
func TestTheProgramTakesWhatComposeSets(t *testing.T) {
	t.Parallel()
	c := compose(t)
	secrets, database := t.TempDir(), t.TempDir()
	put := strings.NewReplacer("/run/ledgerhook", secrets, "/run/postgres", database, "$$", "$",
		"65532:65532", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), "-o postgres ", "")
	script := append(slices.Clone(c.Services["secrets"].Entrypoint), put.Replace(c.Services["secrets"].Command[0]))
	made := map[string]string{}
	for range 2 {
		if out, err := exec.CommandContext(t.Context(), script[0], script[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, name := range []string{"master-key", "internal-token", "admin-password", "database-password", "database-url"} {
			text := read(t, filepath.Join(secrets, name))
			if made[name] == "" {
				made[name] = text
			}
			if text != made[name] || text == "" {
				t.Errorf("%s is made anew", name)
			}
			if info, err := os.Stat(filepath.Join(secrets, name)); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", name, info.Mode(), err)
			}
		}
	}
	if password := read(t, filepath.Join(database, "database-password")); !strings.Contains(made["database-url"], ":"+password+"@") {
		t.Error("PostgreSQL has another password than its address")
	}
	for _, name := range []string{"migrate", "api", "worker", "dashboard"} {
		var environ []string
		for variable, value := range c.Services[name].Environment {
			if rest, set := strings.CutPrefix(value, "${"+variable+":-"); set {
				value = strings.TrimSuffix(rest, "}")
			}
			environ = append(environ, variable+"="+put.Replace(value))
		}
		cfg, err := config.Load("", environ)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name != "migrate" && cfg.Roles.String() != name {
			t.Errorf("%s has the roles %s", name, cfg.Roles)
		}
	}
}
