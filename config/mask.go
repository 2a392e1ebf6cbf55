package config

import (
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"time"
)

const masked = "***"

// Value is a setting with its effective value, secrets masked.
type Value struct {
	Setting
	Text string
}

// Masked lists the effective configuration, safe to show: of a URL with
// credentials scheme, hosts and path remain, of other secrets only whether
// they are set ("***" or "").
func (c Config) Masked() []Value {
	var list []Value
	for _, s := range settings {
		list = append(list, Value{s, c.show(s)})
	}
	return list
}

// LogValue logs the effective configuration, secrets masked.
func (c Config) LogValue() slog.Value {
	var attrs []slog.Attr
	for _, v := range c.Masked() {
		attrs = append(attrs, slog.String(v.Name, v.Text))
	}
	return slog.GroupValue(attrs...)
}

// String is the effective configuration, secrets masked, so that printing a
// Config by mistake gives nothing away.
func (c Config) String() string { return c.LogValue().String() }

// GoString is String: %#v gives nothing away either.
func (c Config) GoString() string { return c.String() }

// show spells a setting's value as it would be set, masked if secret.
func (c Config) show(s Setting) string {
	v := reflect.ValueOf(c).FieldByName(s.field)
	switch {
	case s.url:
		return maskURL(v.String())
	case s.Secret && v.Len() > 0:
		return masked
	case s.Secret:
		return ""
	}
	switch v := v.Interface().(type) {
	case *url.URL:
		if v == nil {
			return ""
		}
		return v.String()
	case time.Duration:
		return duration(v)
	case []time.Duration:
		return join(v, duration)
	case []string:
		return strings.Join(v, ",")
	case []netip.Prefix:
		return join(v, netip.Prefix.String)
	case []GroupRole:
		return join(v, GroupRole.String)
	default:
		return fmt.Sprint(v)
	}
}

func join[T any](list []T, spell func(T) string) string {
	var parts []string
	for _, v := range list {
		parts = append(parts, spell(v))
	}
	return strings.Join(parts, ",")
}

// duration spells d without the zero units that time.Duration appends: 2m, 720h.
func duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// maskURL keeps scheme, hosts and path of a URL. It does not parse: lists of
// hosts are no URLs to net/url, and a password may hold any character.
func maskURL(u string) string {
	if u == "" {
		return ""
	}
	scheme, rest, ok := strings.Cut(u, "://")
	if !ok {
		return masked
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		if strings.Contains(rest[i:], "@") {
			return scheme + "://" + masked // the mark may stand inside the password
		}
		rest = rest[:i]
	}
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		rest = masked + rest[i:]
	}
	return scheme + "://" + rest
}
