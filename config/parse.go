package config

import (
	"encoding/base64"
	"errors"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// Roles says what a process does. It is at least one of them.
type Roles struct{ API, Worker, Dashboard bool }

// All reports whether the process does everything.
func (r Roles) All() bool { return r.API && r.Worker && r.Dashboard }

// String lists the roles as the setting does.
func (r Roles) String() string {
	var names []string
	for _, role := range []struct {
		on   bool
		name string
	}{{r.API, "api"}, {r.Worker, "worker"}, {r.Dashboard, "dashboard"}} {
		if role.on {
			names = append(names, role.name)
		}
	}
	return strings.Join(names, ",")
}

// errBad stands for any value that is not of its setting's kind; the message
// comes from the setting's want tag.
var errBad = errors.New("bad value")

var parsers = map[reflect.Type]env.ParserFunc{
	reflect.TypeFor[Roles]():           untyped(parseRoles),
	reflect.TypeFor[url.URL]():         untyped(parseOrigin),
	reflect.TypeFor[[]byte]():          untyped(parseKey),
	reflect.TypeFor[[]GroupRole]():     untyped(parseList(parseGroupRole)),
	reflect.TypeFor[[]string]():        untyped(parseList(func(text string) (string, error) { return text, nil })),
	reflect.TypeFor[[]netip.Prefix]():  untyped(parseList(parseNetwork)),
	reflect.TypeFor[[]time.Duration](): untyped(parseList(time.ParseDuration)),
}

// untyped makes a parser of one type fit the library's any.
func untyped[T any](parse func(string) (T, error)) env.ParserFunc {
	return func(value string) (any, error) { return parse(value) }
}

// parse converts texts by variable name, and the defaults of what is missing.
// bad holds what is wrong by variable name.
func parse(values map[string]string) (cfg Config, bad map[string]string) {
	bad = map[string]string{}
	err := env.ParseWithOptions(&cfg, env.Options{Environment: values, Prefix: Prefix, FuncMap: parsers})
	if all, ok := errors.AsType[env.AggregateError](err); ok {
		for _, err := range all.Errors {
			var one env.ParseError
			if !errors.As(err, &one) {
				panic("config: " + err.Error()) // a tag of Config is wrong
			}
			for _, s := range settings {
				if s.field == one.Name {
					bad[s.Name] = s.wrong(values[s.Name])
				}
			}
		}
	}
	return cfg, bad
}

func parseList[T any](item func(string) (T, error)) func(string) ([]T, error) {
	return func(value string) ([]T, error) {
		var list []T
		for part := range strings.SplitSeq(value, ",") {
			v, err := item(strings.TrimSpace(part))
			if err != nil {
				return nil, errBad
			}
			list = append(list, v)
		}
		return list, nil
	}
}

func parseRoles(value string) (r Roles, err error) {
	for part := range strings.SplitSeq(value, ",") {
		switch strings.TrimSpace(part) {
		case "api":
			r.API = true
		case "worker":
			r.Worker = true
		case "dashboard":
			r.Dashboard = true
		default:
			return Roles{}, errBad
		}
	}
	return r, nil
}

// GroupRole is a role that the people of a provider's group have here.
type GroupRole struct{ Group, Role string }

// String spells it as the setting does.
func (g GroupRole) String() string { return g.Group + "=" + g.Role }

// parseGroupRole splits at the last =, which a role does not hold.
func parseGroupRole(value string) (g GroupRole, err error) {
	at := strings.LastIndex(value, "=")
	if at < 1 || !slices.Contains([]string{"viewer", "operator", "admin", "auditor"}, value[at+1:]) {
		return g, errBad
	}
	return GroupRole{value[:at], value[at+1:]}, nil
}

// parseNetwork refuses IPv4 networks in their IPv6 spelling: they would never
// match, because dialled addresses are compared unmapped.
func parseNetwork(value string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(value)
	if err != nil || p.Addr().Is4In6() {
		return netip.Prefix{}, errBad
	}
	return p.Masked(), nil
}

func parseOrigin(value string) (url.URL, error) {
	u, err := url.Parse(strings.TrimSuffix(value, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return url.URL{}, errBad
	}
	if *u != (url.URL{Scheme: u.Scheme, Host: u.Host}) {
		return url.URL{}, errBad
	}
	if port := u.Port(); port != "" && !validPort(port, 1) {
		return url.URL{}, errBad
	}
	return *u, nil
}

func parseKey(value string) ([]byte, error) {
	key, err := base64.StdEncoding.Strict().DecodeString(value)
	if err != nil || len(key) != 32 {
		return nil, errBad
	}
	return key, nil
}

func validPort(port string, least int) bool {
	n, err := strconv.Atoi(port)
	return err == nil && n >= least && n <= 65535 && port[0] != '+'
}
