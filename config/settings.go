package config

import (
	"reflect"
	"slices"
	"strconv"
)

// Setting describes one setting, for help texts and documentation.
type Setting struct {
	Name    string // variable of the environment; a secret may be NAME_FILE instead, the path of a file
	Key     string // key in the YAML file, sections before a dot; a secret's file is KEYFile
	Default string // empty: none
	Want    string // which values are right
	Meaning string
	Secret  bool // never shown

	url   bool // a secret of which all but the credentials may be shown
	field string
}

// Settings lists every setting in the order of Config.
func Settings() []Setting { return slices.Clone(settings) }

var settings = readTags()

func readTags() []Setting {
	var list []Setting
	for f := range reflect.TypeFor[Config]().Fields() {
		list = append(list, Setting{
			Name:    Prefix + f.Tag.Get("env"),
			Key:     f.Tag.Get("key"),
			Default: f.Tag.Get("envDefault"),
			Want:    f.Tag.Get("want"),
			Meaning: f.Tag.Get("about"),
			Secret:  f.Tag.Get("secret") != "",
			url:     f.Tag.Get("secret") == "url",
			field:   f.Name,
		})
	}
	return list
}

// wrong is what the message about a bad value says, with the value unless it
// is secret.
func (s Setting) wrong(value string) string {
	if s.Secret || value == "" {
		return "must be " + s.Want
	}
	if len(value) > 100 {
		value = value[:100] + "…"
	}
	return "must be " + s.Want + ", not " + strconv.Quote(value)
}
