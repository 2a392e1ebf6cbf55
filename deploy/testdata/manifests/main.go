// Command manifests reads objects of Kubernetes, a JSON array, from standard
// input and prints each field of theirs that Kubernetes does not know: it would
// be ignored there, or refused.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	strict "sigs.k8s.io/json"
)

// kinds are what an object may be, by its apiVersion and kind.
var kinds = map[string]func() any{
	"apps/v1 Deployment":                 func() any { return new(apps.Deployment) },
	"batch/v1 Job":                       func() any { return new(batch.Job) },
	"networking.k8s.io/v1 NetworkPolicy": func() any { return new(networking.NetworkPolicy) },
	"policy/v1 PodDisruptionBudget":      func() any { return new(policy.PodDisruptionBudget) },
	"v1 ConfigMap":                       func() any { return new(core.ConfigMap) },
	"v1 Namespace":                       func() any { return new(core.Namespace) },
	"v1 Secret":                          func() any { return new(core.Secret) },
	"v1 Service":                         func() any { return new(core.Service) },
}

func main() {
	var objects []json.RawMessage
	if err := json.NewDecoder(os.Stdin).Decode(&objects); err != nil {
		fmt.Println(err)
	}
	for _, object := range objects {
		for _, err := range check(object) {
			fmt.Println(err)
		}
	}
	fmt.Println(len(objects), "objects")
}

func check(object json.RawMessage) []error {
	var head struct {
		APIVersion string
		Kind       string
		Metadata   struct{ Name string }
	}
	if err := json.Unmarshal(object, &head); err != nil {
		return []error{err}
	}
	kind := kinds[head.APIVersion+" "+head.Kind]
	if kind == nil {
		return []error{fmt.Errorf("%s: there is no %s in %s", head.Metadata.Name, head.Kind, head.APIVersion)}
	}
	unknown, err := strict.UnmarshalStrict(object, kind())
	if err != nil {
		unknown = append(unknown, err)
	}
	for i, err := range unknown {
		unknown[i] = fmt.Errorf("%s %s: %w", head.Kind, head.Metadata.Name, err)
	}
	return unknown
}
