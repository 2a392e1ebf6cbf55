package app_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const module = "ledgerhook"

// row is a top-level package with all that lies below it: its layer and what
// of ours it may import. "*" stands for every lower layer.
type row struct {
	layer int
	may   []string
}

// packages is the whole architecture: arrows point only downward.
var packages = map[string]row{
	"bench":     {7, []string{"*"}},
	"cmd":       {6, []string{"app", "config", "webhook", "signer"}},
	"app":       {5, []string{"*"}},
	"ingest":    {4, []string{"webhook", "web", "signer", "orders", "partners", "delivery"}},
	"dashboard": {4, []string{"webhook", "web", "signer", "orders", "partners", "delivery", "incidents", "ledger"}},
	"ledger":    {3, []string{"webhook", "orders", "partners", "delivery", "incidents"}},
	"delivery":  {2, []string{"webhook", "signer"}},
	"incidents": {2, []string{"webhook"}},
	"orders":    {2, []string{"webhook"}},
	"partners":  {2, []string{"webhook", "signer"}},
	"web":       {1, []string{"webhook"}},
	"signer":    {1, nil},
	"webhook":   {0, nil},
	"config":    {0, nil},
	"docs":      {0, nil},
	"deploy":    {0, nil},
}

// parts are the packages below one of the table that keep an order among
// themselves: what of ours each may import. "^" stands for what the package of
// the table may.
var parts = map[string][]string{
	"dashboard":                 {"^", "dashboard/ops", "dashboard/portal", "dashboard/shell"},
	"dashboard/ops":             {"^", "dashboard/deliveries", "dashboard/proof", "dashboard/shell", "dashboard/chart", "dashboard/locale"},
	"dashboard/portal":          {"^", "dashboard/deliveries", "dashboard/shell", "dashboard/chart", "dashboard/locale"},
	"dashboard/deliveries":      {"^", "dashboard/proof", "dashboard/shell", "dashboard/chart", "dashboard/locale"},
	"dashboard/proof":           {"^", "dashboard/shell", "dashboard/locale"},
	"dashboard/shell":           {"^", "dashboard/oidc", "dashboard/chart", "dashboard/locale"},
	"dashboard/shell/shelltest": {"^"},
	"dashboard/chart":           {"dashboard/locale"},
	"dashboard/oidc":            {"partners"},
	"dashboard/oidc/oidctest":   nil,
	"dashboard/locale":          nil,

	"delivery":                 {"^", "delivery/sender", "delivery/guard", "delivery/outage"},
	"delivery/maintenance":     {"webhook", "delivery", "delivery/outage"},
	"delivery/queue":           {"webhook", "delivery"},
	"delivery/queue/queuetest": nil,
	"delivery/sender":          {"webhook", "delivery/guard"},
	"delivery/guard":           {"webhook"},
	"delivery/outage":          nil,

	"partners":      {"^"},
	"partners/mail": {"partners"},

	"ledger":            {"^", "ledger/audit", "ledger/rows", "ledger/database"},
	"ledger/accounts":   {"webhook", "partners", "ledger/audit", "ledger/rows", "ledger/database"},
	"ledger/audit":      {"webhook", "partners", "ledger/database"},
	"ledger/incidents":  {"webhook", "partners", "incidents", "ledger/audit", "ledger/rows", "ledger/database"},
	"ledger/prices":     {"orders", "partners", "ledger/audit", "ledger/rows", "ledger/database"},
	"ledger/seals":      {"webhook", "partners", "delivery", "ledger/audit", "ledger/database"},
	"ledger/reports":    {"^", "ledger/audit", "ledger/rows", "ledger/database"},
	"ledger/rows":       {"webhook", "orders", "partners", "delivery", "ledger/database"},
	"ledger/database":   {"webhook", "partners"},
	"ledger/ledgertest": {"^", "ledger", "ledger/accounts", "ledger/audit", "ledger/prices", "ledger/reports", "ledger/rows", "ledger/database"},
}

// reserved names the few packages that may import a path or what lies below it.
var reserved = []struct {
	path string
	by   []string
}{
	{"github.com/hibiken/asynq", []string{"delivery/queue"}},
	{"github.com/alicebob/miniredis", []string{"delivery/queue"}},
	{"github.com/sony/gobreaker", []string{"delivery"}},
	{"github.com/redis/go-redis", []string{"delivery/queue", "web", "bench"}},
	{"github.com/jackc/pgx", []string{"ledger/database", "ledger/ledgertest", "bench"}},
	{"modernc.org/sqlite", []string{"ledger/database", "bench"}},
	{"github.com/wneessen/go-mail", []string{"partners/mail"}},
	{"github.com/pressly/goose", []string{"ledger/database"}},
	{"github.com/coreos/go-oidc", []string{"dashboard/oidc"}},
	{"golang.org/x/oauth2", []string{"dashboard/oidc"}},
	{"html/template", []string{"dashboard"}},
	{module + "/config", []string{"app", "cmd", "bench"}},
	// Pages and read routes are handed reports; what delivers never waits for one.
	{module + "/ledger/reports", []string{"app", "dashboard", "bench", "ledger/ledgertest"}},
}

func TestEveryImportFollowsTheArchitecture(t *testing.T) {
	imports, err := readImports(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(imports, func(i imported) bool { return i.file == "webhook/error.go" }) {
		t.Fatal("webhook/error.go was not read: the test looks in the wrong directory")
	}
	for _, fault := range faults(imports) {
		t.Error(fault)
	}
}

func TestTheTableOnlyPointsDownward(t *testing.T) {
	for name, from := range packages {
		for _, to := range from.may {
			if below, known := packages[to]; to != "*" && (!known || below.layer >= from.layer) {
				t.Errorf("%s may import %s, which is not in a lower layer", name, to)
			}
		}
	}
}

// Following the arrows among the parts of a package never leads back.
func TestThePartsPointDownwardToo(t *testing.T) {
	var walk func(from string, way []string)
	walk = func(from string, way []string) {
		if slices.Contains(way, from) {
			t.Fatalf("a circle: %s → %s", strings.Join(way, " → "), from)
		}
		for _, to := range parts[from] {
			_, whole := packages[to]
			if _, known := parts[to]; !known && !whole && to != "^" {
				t.Errorf("%s may import %s, which is none of the parts", from, to)
			}
			walk(to, append(slices.Clone(way), from))
		}
	}
	for from := range parts {
		walk(from, nil)
	}
}

// What lies in one directory is seen at a glance, and a package that was cut into
// parts does not grow together again.
func TestNoDirectoryHoldsMoreThanThirtyFiles(t *testing.T) {
	imports, err := readImports(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]int{}
	for _, i := range imports {
		if i.path == "" {
			files[path.Dir(i.file)]++
		}
	}
	for part := range parts {
		if files[part] == 0 {
			t.Errorf("%s holds no files", part)
		}
	}
	for dir, n := range files {
		if n > 30 {
			t.Errorf("%s holds %d files", dir, n)
		}
	}
}

// A type that everything is asked of is several.
func TestNoTypeOfAPackageHasMoreThanSixtyMethods(t *testing.T) {
	methods, err := readMethods(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	if methods["ledger.Ledger"] == 0 {
		t.Fatal("the methods of ledger.Ledger were not read: the test looks in the wrong directory")
	}
	for name, n := range methods {
		if n > 60 {
			t.Errorf("%s has %d exported methods", name, n)
		}
	}
}

func TestTheMethodsOfATypeAreThoseThatAreExported(t *testing.T) {
	source := "package p\nfunc (T) A() {}\nfunc (t *T) B() {}\nfunc (t *T) c() {}\nfunc D() {}\nfunc (b *Box[K, V]) Put() {}\nfunc (o own) Do() {}"
	got, err := readMethods(fstest.MapFS{"a/p/p.go": {Data: []byte(source)}, "a/p/p_test.go": {Data: []byte("package p\nfunc (T) E() {}")}})
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]int{"a/p.T": 2, "a/p.Box": 1}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAWrongImportIsFound(t *testing.T) {
	tests := []struct {
		name, file, imports string
		want                string // empty: allowed
	}{
		{"an arrow of the table", "ingest/events.go", "ledgerhook/delivery", ""},
		{"a subpackage belongs to its top-level package", "ledger/writer.go", "ledgerhook/delivery/queue", ""},
		{"a package imports what is below itself", "delivery/queue/queue.go", "ledgerhook/delivery", ""},
		{"app knows everything below", "app/app.go", "ledgerhook/dashboard", ""},
		{"bench knows everything", "bench/load/main.go", "ledgerhook/app", ""},
		{"the standard library is free", "webhook/id.go", "crypto/rand", ""},
		{"a module with the same beginning is another", "ingest/events.go", "github.com/jackc/pgxother", ""},
		{"a test file may import what it needs", "orders/order_test.go", "ledgerhook/ledger", ""},
		{"test data are not code of ours", "orders/testdata/x.go", "ledgerhook/ledger", ""},

		{"an arrow upward", "orders/rates.go", "ledgerhook/ledger", "orders/rates.go imports ledgerhook/ledger: orders may import webhook of ours"},
		{"an arrow upward from a subpackage", "delivery/queue/queue.go", "ledgerhook/ledger/sqlite", "delivery/queue may import webhook, delivery of ours"},
		{"an arrow upward from the bottom", "webhook/event.go", "ledgerhook/signer", "webhook may import nothing of ours"},
		{"an arrow to a neighbour", "ingest/events.go", "ledgerhook/dashboard", "ingest may import webhook, web"},
		{"an arrow from app to what builds it", "app/app.go", "ledgerhook/cmd/ledgerhook", "app may import every lower layer of ours"},
		{"the configuration in a package that should be told", "ingest/ingest.go", "ledgerhook/config", "only app, cmd, bench may"},
		{"the configuration below ledger", "ledger/ledger.go", "ledgerhook/config", "only app, cmd, bench may"},
		{"the root package", "ledger/ledger.go", "ledgerhook", "ledger may import webhook, orders"},

		{"asynq outside the queue", "delivery/maintenance/reconciler.go", "github.com/hibiken/asynq", "only delivery/queue may"},
		{"a package of asynq outside the queue", "app/app.go", "github.com/hibiken/asynq/x/metrics", "only delivery/queue may"},
		{"miniredis outside the queue", "app/demo/demo.go", "github.com/alicebob/miniredis/v2", "only delivery/queue may"},
		{"gobreaker outside delivery", "web/limit.go", "github.com/sony/gobreaker/v2", "only delivery may"},
		{"go-redis outside the queue and web", "partners/token.go", "github.com/redis/go-redis/v9", "only delivery/queue, web, bench may"},
		{"pgx outside ledger", "delivery/worker.go", "github.com/jackc/pgx/v5/stdlib", "only ledger/database, ledger/ledgertest, bench may"},
		{"pgx in the rest of ledger", "ledger/writer.go", "github.com/jackc/pgx/v5/pgconn", "only ledger/database, ledger/ledgertest, bench may"},
		{"sqlite outside ledger", "app/app.go", "modernc.org/sqlite", "only ledger/database, bench may"},
		{"goose outside ledger", "cmd/ledgerhook/migrate.go", "github.com/pressly/goose/v3", "only ledger/database may"},
		{"mail outside partners/mail", "app/people.go", "github.com/wneessen/go-mail", "only partners/mail may"},
		{"the accounts know nothing of the mail server", "partners/code.go", "ledgerhook/partners/mail", "partners may import webhook, signer of ours"},
		{"the sign-in provider outside its package", "dashboard/shell/provider.go", "github.com/coreos/go-oidc/v3/oidc", "only dashboard/oidc may"},
		{"html/template outside dashboard", "ingest/docs.go", "html/template", "only dashboard may"},
		{"reports in a page", "dashboard/ops/home.go", "ledgerhook/ledger/reports", ""},
		{"reports in the ledger's delivery path", "ledger/claim.go", "ledgerhook/ledger/reports", "only app, dashboard, bench, ledger/ledgertest may"},
		{"reports in delivery", "delivery/worker.go", "ledgerhook/ledger/reports", "only app, dashboard, bench, ledger/ledgertest may"},
		{"reports in a route, which app hands them to", "ingest/events.go", "ledgerhook/ledger/reports", "only app, dashboard, bench, ledger/ledgertest may"},

		{"an arrow among parts", "dashboard/ops/order.go", "ledgerhook/dashboard/deliveries", ""},
		{"a part imports what its package may", "dashboard/shell/login.go", "ledgerhook/partners", ""},
		{"a part that may import less", "dashboard/chart/chart.go", "ledgerhook/ledger", "dashboard/chart may import dashboard/locale of ours"},
		{"a part that may import nothing", "dashboard/locale/locale.go", "ledgerhook/webhook", "dashboard/locale may import nothing of ours"},
		{"an arrow between the two surfaces", "dashboard/portal/home.go", "ledgerhook/dashboard/ops", "dashboard/portal may import webhook, web, "},
		{"an arrow upward among parts", "dashboard/shell/login.go", "ledgerhook/dashboard", "dashboard/shell may import webhook, web, "},
		{"a part imports what its package may not", "dashboard/ops/find.go", "ledgerhook/ingest", "dashboard/ops may import webhook, web, "},
		{"the database knows nothing of what is done in it", "ledger/database/statement.go", "ledgerhook/ledger", "ledger/database may import webhook, partners of ours"},
		{"an attempt knows nothing of maintenance", "delivery/worker.go", "ledgerhook/delivery/maintenance", "delivery may import webhook, signer, delivery/sender, delivery/guard, delivery/outage of ours"},
		{"the ledger asks nobody for prices", "ledger/append.go", "ledgerhook/ledger/prices", "ledger may import webhook, orders, partners, delivery, incidents, "},
		{"prices move no window", "ledger/prices/rates.go", "ledgerhook/ledger", "ledger/prices may import orders, "},
		{"a new part", "dashboard/mobile/home.go", "ledgerhook/webhook", "dashboard/mobile is not in the architecture: add it to parts"},
		{"a new package", "payments/payments.go", "fmt", "payments/payments.go: payments is not in the architecture: add it to packages in app/arch_test.go"},
		{"code in the root", "embed.go", "embed", "embed.go: the module's root holds no Go code"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			source := fmt.Sprintf("package p\n\nimport _ %q\n", test.imports)
			imports, err := readImports(fstest.MapFS{test.file: {Data: []byte(source)}})
			if err != nil {
				t.Fatal(err)
			}
			got := faults(imports)
			if test.want == "" && len(got) > 0 {
				t.Errorf("refused: %q", got)
			}
			if test.want != "" && (len(got) != 1 || !strings.Contains(got[0], test.want)) {
				t.Errorf("got %q, want one sentence with %q", got, test.want)
			}
		})
	}
}

// imported is one import of a file, or a file without any (an empty path).
type imported struct {
	file, path string
}

// readImports reads what every Go file of the module imports, except tests:
// those may import what they need.
func readImports(root fs.FS) ([]imported, error) {
	var found []imported
	err := parseAll(root, parser.ImportsOnly, func(name string, parsed *ast.File) error {
		found = append(found, imported{file: name})
		for _, spec := range parsed.Imports {
			importPath, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			found = append(found, imported{name, importPath})
		}
		return nil
	})
	return found, err
}

// readMethods counts the exported methods of every exported type, such as
// ledger.Ledger.
func readMethods(root fs.FS) (map[string]int, error) {
	methods := map[string]int{}
	err := parseAll(root, parser.SkipObjectResolution, func(name string, parsed *ast.File) error {
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !f.Name.IsExported() {
				continue
			}
			if of := receiver(f.Recv.List[0].Type); ast.IsExported(of) {
				methods[path.Dir(name)+"."+of]++
			}
		}
		return nil
	})
	return methods, err
}

// receiver is the name of a receiver's type.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}

// parseAll parses every Go file of the module whatever its build tags, except
// tests.
func parseAll(root fs.FS, mode parser.Mode, do func(name string, parsed *ast.File) error) error {
	return fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != "." && notOurs(entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, source, mode)
		if err != nil {
			return err
		}
		return do(name, parsed)
	})
}

// notOurs tells the directories that the go command passes over, too.
func notOurs(dir string) bool {
	return dir == "testdata" || dir == "vendor" || dir == "node_modules" || strings.HasPrefix(dir, ".") || strings.HasPrefix(dir, "_")
}

// faults is a sentence for each import that breaks a rule: what and why.
func faults(imports []imported) []string {
	var all []string
	for _, i := range imports {
		fault := i.fault()
		if fault != "" && !slices.Contains(all, fault) {
			all = append(all, fault)
		}
	}
	return all
}

func (i imported) fault() string {
	from, _, _ := strings.Cut(path.Dir(i.file), "/")
	importer, known := packages[from]
	switch {
	case from == ".":
		return i.file + ": the module's root holds no Go code: move it to the package whose job it is"
	case !known:
		return fmt.Sprintf("%s: %s is not in the architecture: add it to packages in app/arch_test.go with its layer and what it may import, or move it below a package that is there", i.file, from)
	}
	for _, r := range reserved {
		may := func(by string) bool { return within(path.Dir(i.file), by) }
		if within(i.path, r.path) && !slices.ContainsFunc(r.by, may) {
			return fmt.Sprintf("%s imports %s: only %s may: reach it through what they export", i.file, i.path, strings.Join(r.by, ", "))
		}
	}
	if !within(i.path, module) {
		return ""
	}
	whole := strings.TrimPrefix(strings.TrimPrefix(i.path, module), "/")
	to, _, _ := strings.Cut(whole, "/")
	if _, ordered := parts[from]; ordered {
		return i.faultOfPart(from, to, whole)
	}
	if to == from || importer.allows(to) {
		return ""
	}
	return fmt.Sprintf("%s imports %s: %s may import %s of ours", i.file, i.path, from, importer.allowed())
}

// faultOfPart is fault where the packages below the importer's keep an order.
func (i imported) faultOfPart(from, to, whole string) string {
	importer := path.Dir(i.file)
	may, known := parts[importer]
	if !known {
		return fmt.Sprintf("%s: %s is not in the architecture: add it to parts in app/arch_test.go with what it may import", i.file, importer)
	}
	if slices.Contains(may, whole) || to != from && slices.Contains(may, "^") && packages[from].allows(to) {
		return ""
	}
	allowed := row{may: may}.allowed()
	return fmt.Sprintf("%s imports %s: %s may import %s of ours", i.file, i.path, importer, strings.ReplaceAll(allowed, "^", packages[from].allowed()))
}

func (r row) allows(to string) bool {
	below, known := packages[to]
	return slices.Contains(r.may, to) || slices.Contains(r.may, "*") && known && below.layer < r.layer
}

func (r row) allowed() string {
	if len(r.may) == 0 {
		return "nothing"
	}
	return strings.ReplaceAll(strings.Join(r.may, ", "), "*", "every lower layer")
}

// within tells whether an import path is root or lies below it.
func within(importPath, root string) bool {
	return importPath == root || strings.HasPrefix(importPath, root+"/")
}
