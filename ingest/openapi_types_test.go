package ingest_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ledgerhook/signer"
	"ledgerhook/webhook"
)

var update = flag.Bool("update", false, "write what the OpenAPI documents say of the event types")

// What the documents say of the types that come from inside is made of the
// catalogue, and stands between these two lines.
const (
	made     = "# Made of the catalogue by go test ./ingest -run TestTheDocumentsFollowTheCatalogue -update\n"
	madeUpTo = "# Made up to here.\n"
)

// documents are the parts that are made, by the document they stand in.
var documents = map[string]func() string{
	"../docs/openapi-internal.yaml": incomingSchemas,
	"../docs/openapi-partner.yaml":  notificationSchemas,
}

func TestTheDocumentsFollowTheCatalogue(t *testing.T) {
	for file := range documents {
		have, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := withTypes(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(have, want) {
			continue
		}
		if !*update {
			t.Errorf("%s does not say what the catalogue does: go test ./ingest -run %s -update", file, t.Name())
		} else if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// withTypes is a document as the catalogue has it now.
func withTypes(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	before, rest, begins := strings.Cut(string(text), made)
	_, after, ends := strings.Cut(rest, madeUpTo)
	if !begins || !ends {
		return nil, fmt.Errorf("%s lacks one of the lines\n%s%s", file, made, madeUpTo)
	}
	indent := before[strings.LastIndexByte(before, '\n')+1:]
	return []byte(before + made + documents[file]() + indent + madeUpTo + after), nil
}

// fromInside are the types that are made from.
func fromInside() []webhook.EventType {
	return slices.DeleteFunc(slices.Clone(webhook.Catalog), func(e webhook.EventType) bool { return !e.FromInside })
}

// component is what a type is called where no dot may stand.
func component(e webhook.EventType) string { return strings.ReplaceAll(string(e.Type), ".", "") }

// lines are written with the indentation of where they stand.
type lines struct{ strings.Builder }

func (l *lines) add(depth int, format string, args ...any) {
	fmt.Fprintf(l, strings.Repeat("  ", depth)+format+"\n", args...)
}

// incomingSchemas are the types, the requests and their data for the internal API.
func incomingSchemas() string {
	var l lines
	all := make([]string, len(webhook.Types))
	for i, typ := range webhook.Types {
		all[i] = string(typ)
	}
	types := strings.Join(all, ", ")
	l.add(2, "WebhookType: {type: string, enum: [%s]}", types)
	l.add(2, "WebhookTypeOrNull: {type: string, nullable: true, enum: [%s, null]}", types)
	l.add(2, "EventRequest:")
	l.add(3, "oneOf:")
	for _, e := range fromInside() {
		l.add(4, "- type: object")
		l.add(5, "required: [partnerCode, webhookType, data]")
		l.add(5, "additionalProperties: false")
		l.add(5, "properties:")
		l.add(6, `partnerCode: {$ref: "#/components/schemas/PartnerCode"}`)
		l.add(6, "webhookType: {type: string, enum: [%s]}", e.Type)
		l.add(6, `data: {$ref: "#/components/schemas/%sData"}`, component(e))
		l.add(6, `idempotencyKey: {$ref: "#/components/schemas/IdempotencyKey"}`)
	}
	for _, e := range fromInside() {
		l.add(2, "%sData:", component(e))
		l.incoming(3, e.Fields)
	}
	return l.String()
}

// incoming is the schema of an object that comes from inside.
func (l *lines) incoming(depth int, fields []webhook.Field) {
	var required, aliased []string
	var either [][]string
	for _, f := range fields {
		switch {
		case f.Alias != "" && f.Required:
			either = append(either, f.Names())
		case f.Required:
			required = append(required, f.Name)
		}
		if f.Alias != "" {
			aliased = append(aliased, "`"+strings.Join(f.Names(), "` and `")+"`")
		}
	}
	l.add(depth, "type: object")
	if len(aliased) > 0 {
		l.add(depth, "description: %q", "Each pair names one field: one name is enough, both must agree if given, and both are sent: "+strings.Join(aliased, ", ")+".")
	}
	l.add(depth, "required: [%s]", strings.Join(required, ", "))
	if len(either) > 0 {
		l.add(depth, "allOf:")
	}
	for _, names := range either {
		l.add(depth+1, "- anyOf: [{required: [%s]}]", strings.Join(names, "]}, {required: ["))
	}
	l.add(depth, "additionalProperties: false")
	l.add(depth, "properties:")
	for _, f := range fields {
		for _, name := range f.Names() {
			if len(f.Members) == 0 {
				l.add(depth+1, "%s: {%s}", name, incomingKind(f))
				continue
			}
			l.add(depth+1, "%s:", name)
			if f.Kind == webhook.FieldObject {
				l.incoming(depth+2, f.Members)
				continue
			}
			l.add(depth+2, "type: array")
			l.add(depth+2, "nullable: true")
			l.add(depth+2, "items:")
			l.incoming(depth+3, f.Members)
		}
	}
}

func incomingKind(f webhook.Field) string {
	switch f.Kind {
	case webhook.FieldID:
		return `$ref: "#/components/schemas/ObjectId"`
	case webhook.FieldChoice:
		return "type: string, enum: [" + strings.Join(f.Values, ", ") + "]"
	case webhook.FieldCardNumber:
		return fmt.Sprintf(`type: string, maxLength: %d, description: "Masked: never 12 digits in a row, with or without blanks or dashes between them."`, webhook.MaxFieldText)
	case webhook.FieldTime:
		return "type: string, format: date-time"
	case webhook.FieldNumber:
		return `$ref: "#/components/schemas/Number"`
	case webhook.FieldSeconds:
		return `$ref: "#/components/schemas/Seconds"`
	}
	return `$ref: "#/components/schemas/DataText"`
}

// notificationSchemas are the notifications for the partner API.
func notificationSchemas() string {
	var l lines
	for _, e := range fromInside() {
		l.add(1, "%s:", e.Type)
		l.add(2, "post:")
		l.add(3, "tags: [notifications]")
		l.add(3, "operationId: on%s", component(e))
		l.add(3, "summary: %q", strings.TrimSuffix(e.Title, "."))
		about := fmt.Sprintf("An ordered endpoint gets the events of one `%s` in order.", e.OrderingKeyField)
		if e.SignatureBeside {
			about = "The signature stands beside `data`. " + about
		}
		l.add(3, "description: %q", about)
		l.add(3, "parameters: *notificationHeaders")
		l.add(3, "requestBody:")
		l.add(4, "required: true")
		l.add(4, "content:")
		l.add(5, "application/json:")
		l.add(6, "schema:")
		l.add(7, "type: object")
		l.add(7, "required: [data, success, webhookType]")
		l.add(7, "properties:")
		l.add(8, "webhookType: {type: string, enum: [%s]}", e.Type)
		l.add(8, "success: *success")
		if e.SignatureBeside {
			l.add(8, "signature: *notificationSignature")
		}
		l.add(8, "data:")
		l.sent(9, e.Fields)
		if !e.SignatureBeside {
			l.add(10, "signature: *notificationSignature")
		}
		l.add(6, "examples:")
		l.add(7, "%s:", e.Type)
		l.add(8, "value: %s", exampleBody(e))
		l.add(3, "responses: *notificationAnswers")
	}
	return l.String()
}

// sent is the schema of an object as partners get it.
func (l *lines) sent(depth int, fields []webhook.Field) {
	var names []string
	for _, f := range fields {
		names = append(names, f.Names()...)
	}
	l.add(depth, "type: object")
	l.add(depth, "required: [%s]", strings.Join(names, ", "))
	l.add(depth, "properties:")
	for _, f := range fields {
		says := strings.ToUpper(f.Doc[:1]) + f.Doc[1:]
		if !f.Required && f.Kind == webhook.FieldText && !strings.Contains(says, "empty") {
			says += "; may be empty"
		}
		for _, name := range f.Names() {
			if len(f.Members) == 0 {
				l.add(depth+1, "%s: {%s, description: %q}", name, sentKind(f), says+".")
				says = "The same as `" + f.Name + "`"
				continue
			}
			l.add(depth+1, "%s:", name)
			if f.Kind == webhook.FieldObject {
				l.sent(depth+2, f.Members)
				l.add(depth+2, "description: %q", says+".")
				continue
			}
			l.add(depth+2, "type: array")
			l.add(depth+2, "description: %q", says+".")
			l.add(depth+2, "items:")
			l.sent(depth+3, f.Members)
		}
	}
}

func sentKind(f webhook.Field) string {
	switch f.Kind {
	case webhook.FieldID:
		return fmt.Sprintf("type: string, minLength: 1, maxLength: %d", webhook.MaxFieldID)
	case webhook.FieldChoice:
		return "type: string, enum: [" + strings.Join(f.Values, ", ") + "]"
	case webhook.FieldTime:
		return "type: string, format: date-time"
	case webhook.FieldNumber:
		return "type: number"
	case webhook.FieldSeconds:
		return "type: integer, minimum: 1"
	}
	return "type: string"
}

// exampleBody is the whole body of a type's example, with a stand-in for the
// signature.
func exampleBody(e webhook.EventType) string {
	var data struct{ Status string }
	if err := json.Unmarshal([]byte(e.Example), &data); err != nil {
		return err.Error()
	}
	body, err := signer.Notification{
		WebhookType: string(e.Type), Success: e.Type.Success(data.Status), Data: []byte(e.Example), TopLevelSignature: e.SignatureBeside,
	}.Body("bGVkZ2VyaG9vayBzaWducyBkYXRh")
	if err != nil {
		return err.Error()
	}
	return string(body)
}
