package main

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

// TestOf: a module that was replaced is named as what replaced it, and what is
// special in a URL is escaped.
func TestOf(t *testing.T) {
	bi := &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Path:      "fettle/cmd/fettle",
		Main:      debug.Module{Path: "fettle", Version: "v1.0.0"},
		Settings:  []debug.BuildSetting{{Key: "GOARCH", Value: "arm64"}, {Key: "-ldflags", Value: "-X a=/home/me"}},
		Deps: []*debug.Module{
			{Path: "github.com/BurntSushi/toml", Version: "v1.2.0+incompatible", Sum: "h1:abc="},
			{Path: "example.org/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/new", Version: "v1.1.0"}},
		},
	}
	d := of(bi, "fettle-linux-arm64", "00ff")
	var got []string
	for _, c := range d.Components {
		got = append(got, c.PURL)
	}
	want := "pkg:golang/stdlib@1.26.8 pkg:golang/github.com/burntsushi/toml@v1.2.0%2Bincompatible pkg:golang/example.org/new@v1.1.0"
	if strings.Join(got, " ") != want {
		t.Errorf("components %q", got)
	}
	if strings.Join(d.Dependencies[0].DependsOn, " ") != want || d.Dependencies[0].Ref != d.Metadata.Component.Ref {
		t.Errorf("dependencies %+v", d.Dependencies)
	}
	if p := d.Metadata.Component; p.Name != "fettle" || p.Version != "v1.0.0" || len(p.Properties) != 1 || p.Hashes[0].Content != "00ff" {
		t.Errorf("program %+v", p)
	}
}

// TestWrite reads this test's own program, twice.
func TestWrite(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var a, b bytes.Buffer
	if err := write(&a, exe); err != nil {
		t.Fatal(err)
	}
	if err := write(&b, exe); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Errorf("the second time: %v, %s", err, b.Bytes())
	}
	var d document
	if err := json.Unmarshal(a.Bytes(), &d); err != nil || d.Format != "CycloneDX" || len(d.Components) == 0 {
		t.Errorf("%v: %s", err, a.Bytes())
	}
	if err := write(&a, "main_test.go"); err == nil {
		t.Error("a file that is no program has a bill of materials")
	}
}
