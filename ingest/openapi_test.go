package ingest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/google/go-cmp/cmp"

	"ledgerhook/ingest"
	"ledgerhook/webhook"
)

// document is one of docs/openapi-*.yaml, with its routes.
type document struct {
	spec   *openapi3.T
	mux    *http.ServeMux
	routes map[string]*routers.Route // by pattern, as net/http writes them
}

var loadDocument = sync.OnceValues(func() (*document, error) { return readDocument("../docs/openapi-internal.yaml") })

// readDocument reads a document, with what the catalogue has now.
func readDocument(file string) (*document, error) {
	text, err := withTypes(file)
	if err != nil {
		return nil, err
	}
	loader := openapi3.NewLoader()
	spec, err := loader.LoadFromData(text)
	if err != nil {
		return nil, err
	}
	if err := spec.Validate(loader.Context); err != nil {
		return nil, err
	}
	d := &document{spec, http.NewServeMux(), map[string]*routers.Route{}}
	for path, item := range spec.Paths.Map() {
		for method, operation := range item.Operations() {
			pattern := method + " " + path
			d.routes[pattern] = &routers.Route{Spec: spec, Server: spec.Servers[0], Path: path, PathItem: item, Method: method, Operation: operation}
			d.mux.Handle(pattern, http.NotFoundHandler())
		}
	}
	return d, nil
}

func openDocument(t testing.TB) *document {
	t.Helper()
	d, err := loadDocument()
	if err != nil {
		t.Fatalf("docs/openapi-internal.yaml: %v", err)
	}
	return d
}

func TestTheDocumentHasExactlyTheRoutesOfTheAPI(t *testing.T) {
	var documented []string
	for pattern := range openDocument(t).routes {
		documented = append(documented, pattern)
	}
	slices.Sort(documented)
	if diff := cmp.Diff(ingest.Routes(), documented); diff != "" {
		t.Errorf("routes (-served +documented):\n%s", diff)
	}
}

// The data of an event is documented twice, for programs and for people: both
// must say what the catalogue says.
func TestTheDocumentHasExactlyTheFieldsOfTheCatalogue(t *testing.T) {
	var documented []string
	for _, ref := range openDocument(t).spec.Components.Schemas["EventRequest"].Value.OneOf {
		request := ref.Value
		name := request.Properties["webhookType"].Value.Enum[0].(string)
		documented = append(documented, name)
		about, _ := webhook.Describe(webhook.Type(name))
		checkFields(t, name, about.Fields, request.Properties["data"].Value)
	}
	var offered []string
	for _, about := range webhook.Catalog {
		if about.FromInside {
			offered = append(offered, string(about.Type))
		}
	}
	if diff := cmp.Diff(offered, documented); diff != "" {
		t.Errorf("types (-catalogue +documented):\n%s", diff)
	}
}

func checkFields(t *testing.T, at string, fields []webhook.Field, documented *openapi3.Schema) {
	t.Helper()
	var names, required []string
	for _, f := range fields {
		names = append(names, f.Names()...)
		if f.Required && f.Alias == "" {
			required = append(required, f.Name)
		}
		schema := documented.Properties[f.Name]
		if schema == nil {
			continue // named below
		}
		if f.Kind == webhook.FieldList {
			checkFields(t, at+"/"+f.Name, f.Members, schema.Value.Items.Value)
		}
		if f.Kind == webhook.FieldChoice && fmt.Sprint(f.Values) != fmt.Sprint(schema.Value.Enum) {
			t.Errorf("%s/%s may be %v, documented is %v", at, f.Name, f.Values, schema.Value.Enum)
		}
	}
	var have []string
	for name := range documented.Properties {
		have = append(have, name)
	}
	for _, pair := range []struct {
		what             string
		want, documented []string
	}{{"fields", names, have}, {"required fields", required, slices.Clone(documented.Required)}} {
		slices.Sort(pair.want)
		slices.Sort(pair.documented)
		if diff := cmp.Diff(pair.want, pair.documented); diff != "" {
			t.Errorf("%s of %s (-catalogue +documented):\n%s", pair.what, at, diff)
		}
	}
}

// check holds one exchange against the document: the answer always, the
// request if all of it was granted. Requests that no route takes are not
// documented.
func (d *document) check(t testing.TB, request *http.Request, sent []byte, a answer) {
	t.Helper()
	_, pattern := d.mux.Handler(request)
	route := d.routes[pattern]
	if route == nil {
		if a.status != http.StatusNotFound && a.status != http.StatusMethodNotAllowed && a.status != http.StatusUnauthorized {
			t.Errorf("%s %s is not documented and was answered %d", request.Method, request.URL.Path, a.status)
		}
		return
	}
	request.Body = io.NopCloser(bytes.NewReader(sent))
	input := &openapi3filter.RequestValidationInput{
		Request: request, Route: route, PathParams: pathParams(route.Path, request.URL.Path),
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}
	if a.status < 300 && !bytes.Contains(a.body, []byte(`"error":{`)) {
		if err := openapi3filter.ValidateRequest(request.Context(), input); err != nil {
			t.Errorf("%s was granted and is not what is documented: %v", pattern, err)
		}
	}
	err := openapi3filter.ValidateResponse(request.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: a.status, Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	})
	if err != nil {
		t.Errorf("%s was answered %d with what is not documented: %v\n%.2000s", pattern, a.status, err, a.body)
	}
	for _, content := range route.Operation.Responses.Status(a.status).Value.Content {
		var value any
		if err := json.Unmarshal(a.body, &value); err != nil {
			t.Errorf("%s: %v: %s", pattern, err, a.body)
		}
		for _, name := range undocumented("", value, content.Schema) {
			t.Errorf("%s was answered %d with %s, which is not documented", pattern, a.status, name)
		}
	}
}

func pathParams(pattern, path string) map[string]string {
	params := map[string]string{}
	given := strings.Split(path, "/")
	for i, part := range strings.Split(pattern, "/") {
		if name, found := strings.CutPrefix(part, "{"); found {
			params[strings.TrimSuffix(name, "}")] = given[i]
		}
	}
	return params
}

// undocumented lists the members of value that its schema does not know.
func undocumented(at string, value any, schemas ...*openapi3.SchemaRef) (names []string) {
	var all []*openapi3.Schema // schemas and what they are made of
	for len(schemas) > 0 {
		s := schemas[0].Value
		all, schemas = append(all, s), append(schemas[1:], s.AllOf...)
	}
	switch value := value.(type) {
	case map[string]any:
		open := false
		members := map[string][]*openapi3.SchemaRef{}
		for _, s := range all {
			open = open || s.AdditionalProperties.Schema != nil || len(s.Properties) == 0 && len(s.AllOf) == 0
			for name, member := range s.Properties {
				members[name] = append(members[name], member)
			}
		}
		for name, member := range value {
			if members[name] == nil && !open {
				names = append(names, at+"/"+name)
			} else if members[name] != nil {
				names = append(names, undocumented(at+"/"+name, member, members[name]...)...)
			}
		}
	case []any:
		var items []*openapi3.SchemaRef
		for _, s := range all {
			if s.Items != nil && len(s.Items.Value.Properties)+len(s.Items.Value.AllOf) > 0 {
				items = append(items, s.Items)
			}
		}
		if len(items) > 0 {
			for i, item := range value {
				names = append(names, undocumented(fmt.Sprintf("%s/%d", at, i), item, items...)...)
			}
		}
	}
	return names
}
