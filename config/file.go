package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// readFile reads a YAML file into a layer. It walks the syntax tree instead
// of decoding, so that every text arrives as it was written: an unquoted
// token of digits stays a token.
func readFile(path string) (layer, []error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, []error{fmt.Errorf("config file: %w", err)}
	}
	content = bytes.TrimPrefix(content, []byte("\uFEFF"))
	content = append(content, '\n') // without it the parser drops a tag at the end of the file
	tree, err := parser.ParseBytes(content, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, []error{fmt.Errorf("%s%s: is not valid YAML", path, position(err))}
	}
	w := walker{path: path, layer: layer{}, names: fileKeys(), seen: map[string]bool{}}
	for i, doc := range tree.Docs {
		if i > 0 {
			w.problem(doc.Start.Position.Line, "holds a second document; put everything into one")
			break
		}
		if doc.Body != nil {
			w.section("", doc.Body)
		}
	}
	return w.layer, w.problems
}

// position is ":line:column" of a syntax error. The error's own text is left
// out because it may quote a secret.
func position(err error) string {
	if syntax, ok := errors.AsType[yaml.Error](err); ok && syntax.GetToken() != nil && syntax.GetToken().Position != nil {
		p := syntax.GetToken().Position
		return fmt.Sprintf(":%d:%d", p.Line, p.Column)
	}
	return ""
}

// fileKeys maps every key of the file to its variable, and every section to "".
func fileKeys() map[string]string {
	names := map[string]string{}
	for _, s := range settings {
		names[s.Key] = s.Name
		if s.Secret {
			names[s.Key+"File"] = s.Name + fileSuffix
		}
		if section, _, nested := strings.Cut(s.Key, "."); nested {
			names[section] = ""
		}
	}
	return names
}

type walker struct {
	path     string
	layer    layer
	names    map[string]string
	seen     map[string]bool
	problems []error
}

func (w *walker) problem(line int, format string, args ...any) {
	w.problems = append(w.problems, fmt.Errorf("%s:%d: %s", w.path, line, fmt.Sprintf(format, args...)))
}

// section reads the keys of the mapping at prefix ("" or "delivery.").
func (w *walker) section(prefix string, node ast.Node) {
	var entries []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		entries = n.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{n}
	case *ast.NullNode, *ast.CommentGroupNode:
		return
	default:
		what := cmp.Or(strings.TrimSuffix(prefix, "."), "the file")
		w.problem(line(node), "%s must hold keys and values", what)
		return
	}
	for _, entry := range entries {
		w.entry(prefix, entry)
	}
}

func (w *walker) entry(prefix string, entry *ast.MappingValueNode) {
	key := prefix + entry.Key.GetToken().Value
	name, known := w.names[key]
	if !known {
		all := map[string]bool{}
		for k := range w.names {
			all[k] = true
		}
		w.problem(line(entry.Key), "there is no key %s; the nearest is %s", strconv.Quote(key), nearest(key, all))
		return
	}
	if w.seen[key] {
		w.problem(line(entry.Key), "%s is there twice", key)
		return
	}
	w.seen[key] = true
	if name == "" {
		w.section(key+".", entry.Value)
		return
	}
	value, ok := text(entry.Value)
	switch {
	case !ok:
		w.problem(line(entry.Key), "%s must be a plain value or a list of plain values", key)
	case value == "" && entry.Value.Type() != ast.NullType && hasDefault(name):
		w.problem(line(entry.Key), "%s is empty; leave it out to get its default", key)
	default:
		w.layer[name] = value
	}
}

func hasDefault(name string) bool {
	for _, s := range settings {
		if s.Name == name {
			return s.Default != ""
		}
	}
	return false
}

// text is the value of a scalar as written, or of a list of scalars with
// commas between them.
func text(node ast.Node) (value string, ok bool) {
	switch n := node.(type) {
	case *ast.NullNode:
		return "", true
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return strings.TrimSuffix(n.Value.Value, "\n"), true
	case *ast.SequenceNode:
		var parts []string
		for _, item := range n.Values {
			part, ok := text(item)
			if !ok || item.Type() == ast.SequenceType {
				return "", false
			}
			parts = append(parts, part)
		}
		return strings.Join(parts, ","), true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func line(node ast.Node) int {
	if t := node.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 1
}
