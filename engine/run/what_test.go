package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle/host/archive"
	"fettle/host/capture"
)

// folder makes files in a new folder: "etc/passwd", "etc/hostname=content", "empty/".
func folder(t *testing.T, files ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a/b/c/d") // no folder of this host's is near
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	grow(t, dir, files...)
	return dir
}

func grow(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, f := range files {
		name, content, _ := strings.Cut(f, "=")
		full := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(full), 0o755)
		if strings.HasSuffix(name, "/") {
			err = errors.Join(err, os.MkdirAll(full, 0o755))
		} else {
			err = errors.Join(err, os.WriteFile(full, []byte(content), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

const (
	aSos     = "sos_commands/"
	aSupport = "basic-environment.txt"
	aCapture = `manifest.json={"format":"` + capture.Format + `"}`
)

// TestLook: a folder that is no host is refused before anything is started, with what to give fettle instead.
func TestLook(t *testing.T) {
	below := func(dir string, files ...string) (out []string) {
		for _, f := range files {
			out = append(out, dir+"/"+f)
		}
		return out
	}
	for _, c := range []struct {
		files []string
		sub   string // of the folder, is named
		root  string // what is said where it is given with --root; empty: it is taken
		from  string
	}{
		{files: []string{"etc/passwd"}},
		{files: []string{"usr/lib/os-release"}},
		{files: []string{"etc/sysctl.d/"}},
		{files: []string{"usr/share/", "share/", "etc/ssh/"}},
		{files: []string{"share/", "etc/ssh/"}, root: "no root folder", from: "contains no capture"}, // /usr of SUSE
		{files: []string{"etc/mine"}, root: "no root folder", from: "contains no capture"},
		{files: []string{aSos, "etc/passwd"}, root: "; it is a sosreport: fettle check --from DIR"},
		{files: []string{aSupport}, root: "; it is a supportconfig: fettle check --from DIR"},
		{files: []string{"basic-environment.txt/"}, root: "no root folder", from: "contains no capture"},
		{files: []string{aCapture}, root: "; it is a capture: fettle check --from DIR", from: "; it is a capture: fettle check --from DIR"},
		{files: below("x", "etc/passwd"), root: "; inside it x is a root folder: fettle check --root DIR/x",
			from: "; inside it x is a root folder: fettle check --root DIR/x"},
		{files: append(below("y", "etc/passwd"), below("x", "etc/passwd")...),
			root: "; inside it x, y are root folders: fettle check --root DIR/x", from: "; inside it x, y are root folders"},
		{files: below("x", aSos), root: "; inside it x is a report: fettle check --from DIR/x"},
		{files: append(below("y", aSos), below("x", aSupport)...), root: "; inside it x, y are reports: fettle check --from DIR/x",
			from: "contains 2 reports: x, y; name one: --from DIR/x"},
		{files: []string{"b.tar.xz", "a.tgz", "c.zip"}, root: "; inside it a.tgz, b.tar.xz are archives: fettle check --from DIR/a.tgz",
			from: "; inside it a.tgz, b.tar.xz are archives: fettle check --from DIR/a.tgz"},
		{files: []string{"b.tar"}, root: "; inside it b.tar is an archive: fettle check --from DIR/b.tar",
			from: "; inside it b.tar is an archive"},
		{files: []string{"cluster-scoped-resources/"}, root: "; it is a must-gather of OpenShift", from: "; it is a must-gather of OpenShift"},
		{files: []string{"x/cluster-scoped-resources/"}, root: "; it is a must-gather of OpenShift", from: "; it is a must-gather of OpenShift"},
		{files: []string{"etc/passwd"}, sub: "etc", root: "; it is a part of the root folder DIR: fettle check --root DIR",
			from: "; it is a part of the root folder DIR: fettle check --root DIR"},
		{files: []string{"etc/passwd", "etc/a/b/"}, sub: "etc/a/b", root: "; it is a part of the root folder DIR: fettle check --root DIR",
			from: "; it is a part of the root folder DIR"},
		{files: []string{"etc/passwd", "etc/a/b/c/"}, sub: "etc/a/b/c", root: "no root folder", from: "contains no capture"},
		{files: []string{"sos_commands/x/"}, sub: "sos_commands/x", root: "; it is a part of the sosreport DIR: fettle check --from DIR",
			from: "; it is a part of the sosreport DIR: fettle check --from DIR"},
	} {
		dir := folder(t, c.files...)
		for flag, want := range map[string]string{"--root": c.root, "--from": c.from} {
			tg := Target{Root: filepath.Join(dir, c.sub)}
			if flag == "--from" {
				tg = Target{From: filepath.Join(dir, c.sub)}
			}
			err := tg.look(t.Context())
			want = strings.ReplaceAll(want, "DIR", dir)
			var u *Unreadable
			switch {
			case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(),
				flag)):
				t.Errorf("%s %q: %v, want %s", flag, c.files, err, want)
			case err != nil && !errors.As(err, &u):
				t.Errorf("%s %q: %v is no error of what was named", flag, c.files, err)
			case err != nil && !strings.Contains(want, "; ") && strings.Contains(err.Error(), ";"):
				t.Errorf("%s %q: advice that was not wanted: %v", flag, c.files, err)
			}
		}
	}
	for _, tg := range []Target{{}, {Root: "/nonexistent"}, {From: filepath.Join(folder(t, "log"), "log")}} {
		if err := tg.look(t.Context()); err != nil {
			t.Errorf("%+v: %v", tg, err)
		}
	}
	if s := above("/etc"); s != "; to check this host itself: fettle check" {
		t.Errorf("a folder of this host: %q", s)
	}
}

// TestOpenFrom: the host that --from names, as a folder with one in it, or inside of it.
func TestOpenFrom(t *testing.T) {
	for _, c := range []struct {
		files      []string
		inside     string
		name, fail string
	}{
		{files: []string{"etc/passwd", "etc/hostname=web1"}, name: "web1"},
		{files: []string{"x/etc/passwd", "x/etc/hostname=web1"}, inside: "x", name: "web1"},
		{files: []string{"x/etc/passwd"}, inside: "y", fail: "contains no folder y"},
		{files: []string{aSos, "etc/hostname=web2", "hostname=web2"}, name: "web2"},
		{files: []string{"x/" + aSos, "x/hostname=web2"}, name: "web2"},
		{files: []string{"x/" + aSos, "y/" + aSos}, fail: "contains 2 reports: x, y"},
		{files: []string{`x/manifest.json={"format":"fettle-capture","version":1,"identity":{"hostname":"web3"}}`}, name: "web3"},
		{files: []string{`manifest.json={"format":"fettle-capture","version":1,"identity":{"hostname":"web3"}}`}, name: "web3"},
		{files: []string{`manifest.json={"format":"fettle-capture","version":99}`}, fail: "reading --from: "},
		{files: []string{"nothing"}, fail: "contains no capture (manifest.json)"},
	} {
		src, err := openFrom(folder(t, c.files...), c.inside, nil)
		if c.fail != "" {
			var u *Unreadable
			if err == nil || !strings.Contains(err.Error(), c.fail) || !errors.As(err, &u) {
				t.Errorf("%q: %v, want %s", c.files, err, c.fail)
			}
			continue
		}
		if err != nil || src.Identity().Hostname != c.name {
			t.Errorf("%q: %v, %v", c.files, src, err)
			continue
		}
		src.Close()
	}
	dir := folder(t, "etc/passwd", "etc/hostname=web1")
	for _, tg := range []Target{{Root: dir}, {From: dir}, {}} {
		src, err := tg.open()
		if err != nil || (src.Identity().Hostname == "web1") == tg.live() {
			t.Errorf("%+v: %v, %v", tg, src, err)
			continue
		}
		src.Close()
	}
	for content, want := range map[string]string{"a log\n": "is a text file", "": "neither a capture", "a log": "neither a capture",
		"a\x00log\n": "neither a capture", "\n" + strings.Repeat("x", 64<<10-2) + "é": "is a text file",
		"\n" + strings.Repeat("x", 100) + "\xff\xff\xff\xff\xff": "neither a capture", "caf\xe9 au lait\n": "neither a capture"} {
		name := filepath.Join(folder(t, "log="+content), "log")
		if src, err := openFrom(name, "", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, %v, want %s", content, src, err, want)
		}
	}
	if isText("/nonexistent") || isText("/") {
		t.Error("what cannot be read is called text")
	}
}

// TestManyFolders: of very many folders the first are looked at.
func TestManyFolders(t *testing.T) {
	dir := folder(t)
	for i := range maxFolders + 1 {
		if err := os.Mkdir(filepath.Join(dir, strings.Repeat("x", i/100)+string(rune('0'+i/10%10))+string(rune('0'+i%10))), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tr, err := archive.Open(t.Context(), dir, archive.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	n, last := 0, ""
	subtrees(tr, func(name string, _ *archive.Tree) {
		if n++; name <= last {
			t.Errorf("%s after %s", name, last)
		}
		last = name
	})
	if n != maxFolders {
		t.Errorf("%d folders", n)
	}
}

// TestFromPath: a path is made real, and may go on behind an archive with a folder in it.
func TestFromPath(t *testing.T) {
	dir := folder(t, "a.tar=x", "d/e/f=x")
	if err := errors.Join(os.Symlink("a.tar", filepath.Join(dir, "link")), os.Symlink("nowhere", filepath.Join(dir, "broken"))); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	for arg, want := range map[string]string{
		"a.tar": "a.tar|", "link": "a.tar|", "d/e": "d/e|", "d/../d/e": "d/e|", "a.tar/host1": "a.tar|host1", "a.tar/x/y/": "a.tar|x/y",
		"link/x/y": "a.tar|x/y", "d/e/f/g": "d/e/f|g", "nothing": "", "d/nothing/x": "", "broken": "", "broken/x": "",
	} {
		file, inside, err := FromPath(filepath.Join(dir, arg))
		if want == "" {
			if err == nil || file != "" || inside != "" || !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: %q, %q, %v", arg, file, inside, err)
			}
			continue
		}
		if rel, _ := filepath.Rel(dir, file); err != nil || rel+"|"+inside != want {
			t.Errorf("%s: %q, %q, %v, want %s", arg, file, inside, err, want)
		}
	}
	if file, inside, err := FromPath("what_test.go"); err != nil || !filepath.IsAbs(file) || inside != "" {
		t.Errorf("%q, %q, %v", file, inside, err)
	}
}
