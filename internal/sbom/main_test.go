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
	if sum := d.Components[1].Properties; len(sum) != 1 || sum[0].Value != "h1:abc=" || d.Components[2].Properties != nil {
		t.Errorf("sums of modules %v and %v", sum, d.Components[2].Properties)
	}
}

// TestRun reads this test's own program, twice, and what has no bill of materials.
func TestRun(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs, again bytes.Buffer
	if run([]string{exe}, &out, &errs) != 0 || run([]string{exe}, &again, &errs) != 0 || !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Errorf("%s: the second time %s", &errs, again.Bytes())
	}
	var d document
	if err := json.Unmarshal(out.Bytes(), &d); err != nil || d.Format != "CycloneDX" || len(d.Components) == 0 {
		t.Errorf("%v: %s", err, out.Bytes())
	}
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{nil, 2, "usage: sbom PROGRAM\n"},
		{[]string{exe, exe}, 2, "usage: sbom PROGRAM\n"},
		{[]string{"main_test.go"}, 1, "sbom: main_test.go: unrecognized file format\n"},
		{[]string{"absent"}, 1, "sbom: open absent: no such file or directory\n"},
	} {
		out.Reset()
		errs.Reset()
		if status := run(c.args, &out, &errs); status != c.status || errs.String() != c.says || out.Len() > 0 {
			t.Errorf("%q: status %d, %q and %q; want %d, %q", c.args, status, &errs, &out, c.status, c.says)
		}
	}
}
