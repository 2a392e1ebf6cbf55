package ingest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// parsed is one incoming event, checked and in the form in which it is kept.
type parsed struct {
	Type        webhook.Type
	ObjectID    string
	OrderingKey string
	Status      string
	Data        []byte // RFC 8785 form of everything partners get in data but the signature
	CreatedAt   string // whole seconds since 1970 UTC, as in Data
	DefaultKey  string // the idempotency key of an event that came without one
}

// readEvent reads the data of an event from an internal system by the
// catalogue's entry for its type ("Events in" of the interface decisions).
// Reading Data again gives the same Data. All problems of an event come
// together, in one *webhook.Error that names JSON pointers and repeats no value.
func readEvent(webhookType string, data json.RawMessage) (parsed, error) {
	about, ok := webhook.Describe(webhook.Type(webhookType))
	if !ok || !about.FromInside {
		return parsed{}, webhook.Invalid("/webhookType", "must be one of "+incomingTypes())
	}
	if !utf8.Valid(data) || !json.Valid(data) {
		return parsed{}, webhook.Invalid("/data", "must be valid JSON in UTF-8")
	}
	var r dataReader
	values := r.object("/data", trimSpace(data), about.Fields)
	if err := r.err(); err != nil {
		return parsed{}, err
	}
	plain, err := json.Marshal(values)
	if err != nil {
		return parsed{}, fmt.Errorf("write data of a %s event: %w", about.Type, err)
	}
	canonical, err := signer.Canonical(plain)
	if err != nil {
		return parsed{}, fmt.Errorf("canonicalise data of a %s event: %w", about.Type, err)
	}
	p := parsed{
		Type:        about.Type,
		ObjectID:    values[about.IDField].(string),
		OrderingKey: values[about.OrderingKeyField].(string),
		Status:      values["status"].(string),
		CreatedAt:   values["createdAt"].(json.Number).String(),
		Data:        canonical,
	}
	// Only the id can hold a bar, and it stands between parts that cannot: two
	// different events never share a key.
	p.DefaultKey = strings.Join([]string{webhookType, p.ObjectID, p.Status, p.CreatedAt}, "|")
	return p, nil
}

func incomingTypes() string {
	var types []string
	for _, about := range webhook.Catalog {
		if about.FromInside {
			types = append(types, string(about.Type))
		}
	}
	return strings.Join(types, ", ")
}

// maxProblems bounds an error, so that a hostile event cannot ask for a long answer.
const maxProblems = 50

// dataReader gathers what is wrong while the parts of an event are read.
type dataReader struct {
	problems []webhook.FieldError
	more     int // problems beyond maxProblems
}

func (r *dataReader) problem(at, detail string) {
	if len(r.problems) == maxProblems {
		r.more++
		return
	}
	r.problems = append(r.problems, webhook.FieldError{Field: at, Detail: detail})
}

func (r *dataReader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	if r.more > 0 {
		r.problems = append(r.problems, webhook.FieldError{Field: "/data", Detail: fmt.Sprintf("has %d more problems", r.more)})
	}
	return &webhook.Error{Kind: webhook.KindInvalid, Fields: r.problems}
}

// object reads the object at a JSON pointer. Its values are complete unless
// the reader has problems.
func (r *dataReader) object(at string, raw json.RawMessage, fields []webhook.Field) map[string]any {
	given, ok := r.members(at, raw)
	if !ok {
		r.problem(at, "must be an object")
		return nil
	}
	values := map[string]any{}
	for _, f := range fields {
		value := r.field(at, f, given)
		for _, name := range f.Names() {
			values[name] = value
			delete(given, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if at == "/data" && name == "signature" {
			if !isNull(given[name]) {
				r.problem("/data/signature", "must not be given: the gateway makes the signature")
			}
			continue
		}
		r.problem(at+"/"+pointerName(name), "is not known here")
	}
	return values
}

// members cuts an object into its members; ok is false if raw is not one. Of
// members with the same name, which are a problem, the first is kept.
func (r *dataReader) members(at string, raw json.RawMessage) (given map[string]json.RawMessage, ok bool) {
	if raw[0] != '{' {
		return nil, false
	}
	parts := partsOf(raw)
	given = make(map[string]json.RawMessage, len(parts)/2)
	for i := 0; i < len(parts); i += 2 {
		name := decoded(parts[i])
		if _, twice := given[name]; twice {
			r.problem(at+"/"+pointerName(name), "must not be given twice")
			continue
		}
		given[name] = parts[i+1]
	}
	return given, true
}

// field reads a field under each of its names. An absent one that is not
// required is empty, so that partners always find every member.
func (r *dataReader) field(at string, f webhook.Field, given map[string]json.RawMessage) any {
	var value any
	found := ""
	for _, name := range f.Names() {
		raw, ok := given[name]
		if !ok || isNull(raw) {
			continue
		}
		this := r.value(at+"/"+name, raw, f)
		if found != "" && this != nil && value != nil && !reflect.DeepEqual(this, value) {
			r.problem(at+"/"+name, "must equal "+at+"/"+found+" if both are given")
		}
		found, value = name, this
	}
	switch {
	case found != "":
		return value
	case f.Required && f.Alias != "":
		r.problem(at+"/"+f.Name, "is required, under this name or as "+f.Alias)
	case f.Required:
		r.problem(at+"/"+f.Name, "is required")
	case f.Kind == webhook.FieldList:
		return []any{}
	}
	return ""
}

// value reads one given value. It is nil if there is a problem with it.
func (r *dataReader) value(at string, raw json.RawMessage, f webhook.Field) any {
	var value any
	var detail string
	switch f.Kind {
	case webhook.FieldList:
		return r.list(at, raw, f.Members)
	case webhook.FieldObject:
		return r.object(at, raw, f.Members)
	case webhook.FieldNumber:
		value, detail = readNumber(raw)
	case webhook.FieldSeconds:
		value, detail = readSeconds(raw)
	default:
		value, detail = readText(raw, f)
	}
	if detail != "" {
		r.problem(at, detail)
		return nil
	}
	return value
}

// list reads an array of objects.
func (r *dataReader) list(at string, raw json.RawMessage, fields []webhook.Field) any {
	if raw[0] != '[' {
		r.problem(at, "must be an array of objects")
		return nil
	}
	items := partsOf(raw)
	values := make([]any, len(items))
	for i, item := range items {
		values[i] = r.object(fmt.Sprintf("%s/%d", at, i), item, fields)
	}
	return values
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// pointerName is a member's name as a part of a JSON pointer (RFC 6901): cut
// when it is long and hidden when it may be a card's number.
func pointerName(name string) string {
	const longest = 64
	if holdsCardNumber(name) {
		return "(digits)"
	}
	if runes := []rune(name); len(runes) > longest {
		name = string(runes[:longest]) + "…"
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
