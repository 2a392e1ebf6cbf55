package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// bill writes what a binary is made of: the modules and the Go release that it
// says it was built from.
func (r *release) bill(binary, to string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	if !slices.Contains(info.Settings, debug.BuildSetting{Key: "vcs.revision", Value: r.commit}) {
		return errors.New("the binary does not say its commit, as one from a linked work tree: release from a clone")
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	product := cyclonedx.Component{
		BOMRef: "ledgerhook", Type: cyclonedx.ComponentTypeApplication, Name: "ledgerhook", Version: r.version,
		Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
	}
	parts := []cyclonedx.Component{library("std", info.GoVersion, "")}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		parts = append(parts, library(module.Path, module.Version, module.Sum))
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: r.at.Format(time.RFC3339), Component: &product, Properties: settings(info)}
	bom.Components = &parts
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: product.BOMRef, Dependencies: refs(parts)}}
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := cyclonedx.NewBOMEncoder(file, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return file.Close()
}

// library is a module. Its sum is that of go.sum, which is over all of its
// files and so not one of CycloneDX's hashes.
func library(path, version, sum string) cyclonedx.Component {
	url := "pkg:golang/" + path + "@" + version
	c := cyclonedx.Component{BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: url}
	if sum != "" {
		c.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: sum}}
	}
	return c
}

// settings are those that the binary was built with.
func settings(info *debug.BuildInfo) *[]cyclonedx.Property {
	var all []cyclonedx.Property
	for _, s := range info.Settings {
		all = append(all, cyclonedx.Property{Name: "go:build:" + s.Key, Value: s.Value})
	}
	return &all
}

func refs(parts []cyclonedx.Component) *[]string {
	var all []string
	for _, p := range parts {
		all = append(all, p.BOMRef)
	}
	return &all
}
