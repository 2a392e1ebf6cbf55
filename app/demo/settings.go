package demo

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// settings are the gateway's settings in a demo.
type settings struct {
	environ   []string
	dir       string
	temporary bool
	// adminPassword says that the caller chose the first operator's password.
	adminPassword bool
}

// newSettings makes the environment of the gateway. Of the caller's only what
// concerns this machine counts: a demo never touches a configured database.
func newSettings(environ []string) (settings, error) {
	given := map[string]string{}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			given[name] = value
		}
	}
	s := settings{dir: given["LEDGERHOOK_DATA_DIR"]}
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "ledgerhook-demo-")
		if err != nil {
			return s, fmt.Errorf("make a directory for the demo's data: %w", err)
		}
		s.dir, s.temporary = dir, true
	}
	s.adminPassword = given["LEDGERHOOK_ADMIN_PASSWORD"] != ""
	s.environ = []string{
		"LEDGERHOOK_DATA_DIR=" + s.dir,
		"LEDGERHOOK_LISTEN=" + given["LEDGERHOOK_LISTEN"],
		"LEDGERHOOK_INTERNAL_LISTEN=" + given["LEDGERHOOK_INTERNAL_LISTEN"],
		"LEDGERHOOK_ADMIN_PASSWORD=" + given["LEDGERHOOK_ADMIN_PASSWORD"],
		"LEDGERHOOK_ENVIRONMENT=sandbox",
		"LEDGERHOOK_DELIVERY_ALLOW_CIDRS=127.0.0.0/8",
		"LEDGERHOOK_DELIVERY_RETRY=0s,1s,2s,5s,10s,15s,30s,1m,2m,5m",
		"LEDGERHOOK_LOG=text",
	}
	return s, nil
}

// anyPorts leaves the choice of ports to the system, except for a listener that
// the caller placed.
func (s settings) anyPorts() settings {
	s.environ = slices.Clone(s.environ)
	for i, entry := range s.environ {
		if strings.HasSuffix(entry, "LISTEN=") {
			s.environ[i] = entry + "127.0.0.1:0"
		}
	}
	return s
}

func (s settings) remove() error {
	if !s.temporary {
		return nil
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("remove the demo's data: %w", err)
	}
	return nil
}
