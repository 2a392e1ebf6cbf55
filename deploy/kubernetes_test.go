package deploy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

// object is what Kubernetes is asked for.
type object = map[string]any

// kustomize builds a kustomization with the tool that testdata/kustomize locks.
func kustomize(t *testing.T, dir string) map[string]object {
	t.Helper()
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute) // it is compiled once
	defer stop()
	command := exec.CommandContext(ctx, "go", "tool", "kustomize", "build", dir)
	command.Dir, command.Env = "testdata/kustomize", append(os.Environ(), "CGO_ENABLED=0")
	out, err := command.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("%s: %v\n%s", dir, err, exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, string(out))
}

// objects are those of documents in YAML, by kind and name.
func objects(t *testing.T, documents string) map[string]object {
	t.Helper()
	found := map[string]object{}
	for document := range strings.SplitSeq(documents, "\n---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatal(err)
		}
		if o == nil {
			continue
		}
		o = plain(t, o)
		name := fmt.Sprint(o["kind"], "/", at(o, "metadata", "name"))
		if found[name] != nil {
			t.Errorf("%s is there twice", name)
		}
		found[name] = o
	}
	return found
}

// plain is o with numbers of one kind, so that it can be compared.
func plain(t *testing.T, o object) (same object) {
	t.Helper()
	text, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(text, &same)
	}
	if err != nil {
		t.Fatal(err)
	}
	return same
}

// at is what lies in o under keys; nil: nothing.
func at(o any, keys ...string) any {
	for _, key := range keys {
		fields, _ := o.(map[string]any)
		o = fields[key]
	}
	return o
}

// files are the objects of every file of a folder that has no kustomization.
func files(t *testing.T, pattern string) map[string]object {
	t.Helper()
	found := map[string]object{}
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatal(pattern, err)
	}
	for _, name := range names {
		if filepath.Base(name) != "kustomization.yaml" {
			maps.Copy(found, objects(t, read(t, name)))
		}
	}
	return found
}

// base is what deploy/kubernetes/base asks for.
func base(t *testing.T) map[string]object {
	t.Helper()
	return files(t, "kubernetes/base/*.yaml")
}

// chartFiles are what a chart's templates read besides values.
type chartFiles struct{ t *testing.T }

// Get returns a file of the chart.
func (f chartFiles) Get(name string) string { return read(f.t, filepath.Join("helm/ledgerhook", name)) }

// chart is what the Helm chart asks for, with some of its values set. Helm's
// templates are those of text/template with functions of its own, of which ours
// use five.
func chart(t *testing.T, set map[string]any) map[string]object {
	t.Helper()
	var values object
	if err := yaml.Unmarshal([]byte(read(t, "helm/ledgerhook/values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	for path, value := range set {
		keys := strings.Split(path, ".")
		within, ok := at(values, keys[:len(keys)-1]...).(object)
		if !ok {
			t.Fatalf("there is no value %s", path)
		}
		within[keys[len(keys)-1]] = value
	}
	indent := func(n int, text string) string {
		margin := strings.Repeat(" ", n)
		return margin + strings.ReplaceAll(text, "\n", "\n"+margin)
	}
	functions := template.FuncMap{
		"indent": indent, "nindent": func(n int, text string) string { return "\n" + indent(n, text) },
		"quote":   func(v any) string { return strconv.Quote(fmt.Sprint(v)) },
		"replace": func(old, put, text string) string { return strings.ReplaceAll(text, old, put) },
		"toYaml": func(v any) (string, error) {
			text, err := yaml.Marshal(v)
			return strings.TrimSuffix(string(text), "\n"), err
		},
	}
	found := map[string]object{}
	names, err := filepath.Glob("helm/ledgerhook/templates/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := template.New(filepath.Base(name)).Option("missingkey=error").Funcs(functions).Parse(read(t, name))
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := text.Execute(&out, map[string]any{"Values": values, "Files": chartFiles{t}}); err != nil {
			t.Fatal(err)
		}
		maps.Copy(found, objects(t, out.String()))
	}
	if job := found["Job/ledgerhook-migrate"]; job != nil { // what only Helm needs to know
		delete(job["metadata"].(object), "annotations")
	}
	return found
}

// A misspelt field is ignored by Kubernetes, or refuses the whole object. What
// KEDA and the operator of Prometheus bring is not Kubernetes' own.
func TestKubernetesKnowsEveryFieldOfEveryObject(t *testing.T) {
	t.Parallel()
	all := slices.Collect(maps.Values(base(t)))
	for _, pattern := range []string{"kubernetes/overlays/try/*.yaml", "kubernetes/components/sign-in/*.yaml"} {
		all = slices.AppendSeq(all, maps.Values(files(t, pattern)))
	}
	misspelt := object{"apiVersion": "v1", "kind": "Service", "metadata": object{"name": "misspelt"}, "spec": object{"portz": nil}}
	text, err := json.Marshal(append(all, misspelt))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute) // it is compiled once
	defer stop()
	command := exec.CommandContext(ctx, "go", "run", ".")
	command.Dir, command.Env, command.Stdin = "testdata/manifests", append(os.Environ(), "CGO_ENABLED=0"), bytes.NewReader(text)
	var asides strings.Builder // of the go tool, such as what it downloads
	command.Stderr = &asides
	out, err := command.Output()
	want := fmt.Sprintf("Service misspelt: unknown field \"spec.portz\"\n%d objects\n", len(all)+1)
	if err != nil || string(out) != want {
		t.Errorf("%v: %s, want %s\n%s", err, out, want, &asides)
	}
}

func TestTheChartMakesWhatTheBaseMakes(t *testing.T) {
	t.Parallel()
	want := base(t)
	if diff := cmp.Diff(want, chart(t, nil)); diff != "" {
		t.Errorf("(-base +chart):\n%s", diff)
	}
	got := chart(t, map[string]any{"keda.enabled": true, "podMonitor.enabled": true, "prometheusRule.enabled": true,
		"settings.LEDGERHOOK_OIDC_ISSUER": "https://id.example.com"})
	for _, component := range []string{"keda/worker.yaml", "prometheus-operator/podmonitor.yaml"} {
		maps.Copy(want, files(t, "kubernetes/components/"+component))
	}
	delete(at(want["Deployment/ledgerhook-worker"], "spec").(object), "replicas") // KEDA's
	var rules object
	if err := yaml.Unmarshal([]byte(read(t, rulesFile)), &rules); err != nil {
		t.Fatal(err)
	}
	maps.Copy(want, files(t, "kubernetes/components/sign-in/dashboard.yaml"))
	at(want["ConfigMap/ledgerhook"], "data").(object)["LEDGERHOOK_OIDC_ISSUER"] = "https://id.example.com"
	alerts := got["PrometheusRule/ledgerhook"]
	delete(got, "PrometheusRule/ledgerhook")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("with components (-base +chart):\n%s", diff)
	}
	if diff := cmp.Diff(plain(t, rules), at(alerts, "spec")); diff != "" {
		t.Errorf("alerts (-want +got):\n%s", diff)
	}
	if read(t, "helm/ledgerhook/rules.yml") != read(t, rulesFile) {
		t.Errorf("the rules of the chart are not those of %s: copy them", rulesFile)
	}
}

func TestTheChartTakesItsValues(t *testing.T) {
	t.Parallel()
	found := chart(t, map[string]any{"image.repository": "registry.example.com/ledgerhook", "image.tag": "v1.2.3", "worker.replicas": 7,
		"secretName": "mine", "settings.LEDGERHOOK_PUBLIC_URL": "https://pay.example.com", "networkPolicy.enabled": false,
		"prometheusRule.enabled": true, "prometheusRule.runbookUrl": "https://wiki.example.com/ledgerhook"})
	worker := found["Deployment/ledgerhook-worker"]
	pod := at(worker, "spec", "template", "spec").(object)
	if got := at(worker, "spec", "replicas"); got != 7. {
		t.Errorf("%v workers", got)
	}
	if got := pod["containers"].([]any)[0].(object)["image"]; got != "registry.example.com/ledgerhook:v1.2.3" {
		t.Errorf("image %v", got)
	}
	if got := at(pod["volumes"].([]any)[0], "secret", "secretName"); got != "mine" {
		t.Errorf("secret %v", got)
	}
	if got := at(found["ConfigMap/ledgerhook"], "data", "LEDGERHOOK_PUBLIC_URL"); got != "https://pay.example.com" {
		t.Errorf("public URL %v", got)
	}
	if found["NetworkPolicy/ledgerhook"] != nil {
		t.Error("the network policy is there although it is switched off")
	}
	if text := fmt.Sprint(found["PrometheusRule/ledgerhook"]); !strings.Contains(text, "https://wiki.example.com/ledgerhook/runbooks/") || strings.Contains(text, "docs.example.com") {
		t.Error("the alerts lead to other runbooks than they should")
	}
	var schema struct{ Properties object }
	var values object
	if err := errors.Join(json.Unmarshal([]byte(read(t, "helm/ledgerhook/values.schema.json")), &schema),
		yaml.Unmarshal([]byte(read(t, "helm/ledgerhook/values.yaml")), &values)); err != nil {
		t.Fatal(err)
	}
	delete(schema.Properties, "global") // which Helm itself knows
	if diff := cmp.Diff(slices.Sorted(maps.Keys(values)), slices.Sorted(maps.Keys(schema.Properties))); diff != "" {
		t.Errorf("values and their schema (-values +schema):\n%s", diff)
	}
}

// pods are the templates of Deployments and Jobs by name.
func pods(found map[string]object) map[string]object {
	all := map[string]object{}
	for name, o := range found {
		if template, ok := at(o, "spec", "template").(object); ok {
			all[name] = template
		}
	}
	return all
}

func TestEveryPodOfOursMayDoLittleAndIsFound(t *testing.T) {
	t.Parallel()
	found := base(t)
	for name, pod := range pods(found) {
		spec := pod["spec"].(object)
		container := spec["containers"].([]any)[0].(object)
		for _, must := range []struct {
			what      string
			got, want any
		}{
			{"service links", spec["enableServiceLinks"], false},
			{"a token of Kubernetes", spec["automountServiceAccountToken"], false},
			{"a user other than root", at(spec, "securityContext", "runAsNonRoot"), true},
			{"the profile of its runtime", at(spec, "securityContext", "seccompProfile", "type"), "RuntimeDefault"},
			{"a root that can be read alone", at(container, "securityContext", "readOnlyRootFilesystem"), true},
			{"more rights later", at(container, "securityContext", "allowPrivilegeEscalation"), false},
		} {
			if must.got != must.want {
				t.Errorf("%s: %s: %v, want %v", name, must.what, must.got, must.want)
			}
		}
		if drop := at(container, "securityContext", "capabilities", "drop"); !cmp.Equal(drop, []any{"ALL"}) {
			t.Errorf("%s drops %v", name, drop)
		}
		if selector := at(found[name], "spec", "selector", "matchLabels"); selector != nil && !selects(selector, pod) {
			t.Errorf("%s does not select its own pods", name)
		}
	}
	for name, o := range found {
		selector := at(o, "spec", "selector")
		switch o["kind"] {
		case "PodDisruptionBudget":
			selector = at(selector, "matchLabels")
		case "NetworkPolicy":
			selector = at(o, "spec", "podSelector", "matchLabels")
		case "Service":
		default:
			continue
		}
		var chosen []string
		for pod, template := range pods(found) {
			if selects(selector, template) {
				chosen = append(chosen, pod)
				for _, p := range ports(o) {
					if !strings.Contains(fmt.Sprint(at(template, "spec")), "name:"+p) {
						t.Errorf("%s leads to the port %s, which %s has not", name, p, pod)
					}
				}
			}
		}
		if len(chosen) == 0 {
			t.Errorf("%s is about no pod", name)
		}
	}
}

// ports are what a Service leads to.
func ports(o object) (names []string) {
	if o["kind"] != "Service" {
		return nil
	}
	for _, p := range at(o, "spec", "ports").([]any) {
		names = append(names, fmt.Sprint(p.(object)["targetPort"]))
	}
	return names
}

// selects reports whether labels that must match do.
func selects(selector any, template object) bool {
	labels, _ := at(template, "metadata", "labels").(object)
	must, _ := selector.(object)
	return len(must) > 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(must)), func(key string) bool { return labels[key] != must[key] })
}

func TestKustomizeBuildsEveryOverlay(t *testing.T) {
	t.Parallel()
	found := kustomize(t, "kubernetes/overlays/production")
	for name := range base(t) {
		if namespace := at(found[name], "metadata", "namespace"); namespace != "ledgerhook" {
			t.Errorf("%s is in the namespace %v", name, namespace)
		}
	}
	if worker := found["Deployment/ledgerhook-worker"]; worker == nil || at(worker, "spec", "replicas") != nil || found["ScaledObject/ledgerhook-worker"] == nil {
		t.Error("both KEDA and the Deployment say how many workers there are")
	}
	if got := at(found["Deployment/ledgerhook-api"], "spec", "replicas"); got != 3. {
		t.Errorf("%v api", got)
	}
	for name, pod := range pods(found) {
		if !strings.Contains(fmt.Sprint(pod), "image:registry.example.com/ledgerhook:v1.0.0") {
			t.Errorf("%s runs another image", name)
		}
	}
	if found = kustomize(t, "kubernetes/overlays/try"); found["Secret/ledgerhook"] == nil || found["Deployment/postgres"] == nil || found["Deployment/redis"] == nil {
		t.Error("the overlay to try lacks a secret or a store")
	}
}
