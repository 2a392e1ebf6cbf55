package config

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// fileSuffix ends the names of the variables that hold a secret's path.
const fileSuffix = "_FILE"

// layer is what one source says: texts by variable name, secrets possibly by
// NAME_FILE.
type layer map[string]string

// mergeLayer writes l over values, with the secrets' files read.
func mergeLayer(values map[string]string, l layer) (problems []error) {
	for _, s := range settings {
		value, path := l[s.Name], l[s.Name+fileSuffix]
		if value != "" && path != "" {
			problems = append(problems, fmt.Errorf("%s (%s): is set together with %s; set one of them", s.Name, s.Key, s.Name+fileSuffix))
			continue
		}
		if path != "" {
			var err error
			if value, err = readSecret(path); err != nil {
				problems = append(problems, fmt.Errorf("%s (%sFile): %w", s.Name+fileSuffix, s.Key, err))
				continue
			}
		}
		if value != "" {
			values[s.Name] = value
		}
	}
	return problems
}

// readSecret returns the content of a file without its trailing newline.
func readSecret(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("must be a readable file: %w", err)
	}
	value := strings.TrimPrefix(string(content), "\uFEFF")
	value = strings.TrimSuffix(strings.TrimSuffix(value, "\n"), "\r")
	if value == "" {
		return "", errors.New("must be a file with the secret in it: " + path + " is empty")
	}
	return value, nil
}

// serviceLink is a variable that Kubernetes sets in each container for a
// Service whose name begins as ours do, such as "ledgerhook" or
// "ledgerhook-api", with the value that it has there.
var serviceLink = regexp.MustCompile(`^LEDGERHOOK_(?:[A-Z0-9_]+_)?(?:SERVICE_HOST=[0-9a-f.:]+|SERVICE_PORT(?:_[A-Z0-9_]+)?=\d+|` +
	`PORT(?:_\d+_(?:TCP|UDP|SCTP))?=(?:tcp|udp|sctp)://\S+|PORT_\d+_(?:TCP|UDP|SCTP)_(?:PROTO=(?:tcp|udp|sctp)|PORT=\d+|ADDR=[0-9a-f.:]+))$`)

// readEnviron picks our variables out of environ. Those that begin with
// LEDGERHOOK_TEST_ belong to tests and are passed over, as are service links.
func readEnviron(environ []string) (l layer, problems []error) {
	l = layer{}
	known := variables()
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(name, Prefix) || strings.HasPrefix(name, Prefix+"TEST_") {
			continue
		}
		if !known[name] && serviceLink.MatchString(line) {
			continue
		}
		if !known[name] {
			problems = append(problems, fmt.Errorf("%s: there is no such variable; the nearest is %s", name, nearest(name, known)))
			continue
		}
		l[name] = value
	}
	return l, problems
}

func variables() map[string]bool {
	known := map[string]bool{}
	for _, s := range settings {
		known[s.Name] = true
		if s.Secret {
			known[s.Name+fileSuffix] = true
		}
	}
	return known
}
