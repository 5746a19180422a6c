// Command sbom writes what is linked into a Go program as a bill of materials in
// CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json/), on standard output:
//
//	go run ./internal/sbom dist/fettle-linux-amd64 > dist/fettle-linux-amd64.cdx.json
//
// It lists what the linker took (debug/buildinfo), the standard library among it,
// by package URL (https://github.com/package-url/purl-spec). The same program
// makes the same bytes: there is no time and no serial number in it.
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) (status int) {
	if len(args) != 1 {
		fmt.Fprintln(errs, "usage: sbom PROGRAM")
		return 2
	}
	if err := write(out, args[0]); err != nil {
		fmt.Fprintln(errs, "sbom:", err)
		return 1
	}
	return 0
}

type document struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	PURL       string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// dependency says that the program contains all of them: which module needs which
// is not in the program.
type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

func write(w io.Writer, file string) error {
	program, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	bi, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(of(bi, filepath.Base(file), fmt.Sprintf("%x", sha256.Sum256(program))))
}

// of makes the document of a program with that file name and SHA-256.
func of(bi *debug.BuildInfo, name, sum string) document {
	program := component{
		Type: "application", Ref: name, Name: filepath.Base(bi.Path), Version: bi.Main.Version, Hashes: []hash{{"SHA-256", sum}},
	}
	for _, s := range bi.Settings {
		switch s.Key {
		case "GOOS", "GOARCH", "CGO_ENABLED", "vcs.revision":
			program.Properties = append(program.Properties, property{"fettle:build:" + s.Key, s.Value})
		}
	}
	d := document{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: metadata{program}}
	d.add("stdlib", strings.TrimPrefix(bi.GoVersion, "go"), "")
	for _, m := range bi.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		d.add(m.Path, m.Version, m.Sum)
	}
	on := dependency{Ref: name, DependsOn: []string{}}
	for _, c := range d.Components {
		on.DependsOn = append(on.DependsOn, c.Ref)
	}
	d.Dependencies = []dependency{on}
	return d
}

// add adds a module. Its sum is that of go.sum, which hashes a list of files (as
// golang.org/x/mod/sumdb/dirhash), and so none of CycloneDX's own hashes.
func (d *document) add(path, version, sum string) {
	purl := "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(version, "+", "%2B")
	c := component{Type: "library", Ref: purl, Name: path, Version: version, PURL: purl}
	if sum != "" {
		c.Properties = []property{{"go:sum", sum}}
	}
	d.Components = append(d.Components, c)
}
