package main

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/engine/rule"
)

// rules makes a folder of rules: copies of one of fettle's, by their names, each changed as is said.
func rules(t *testing.T, changes map[string]func(dir string) error) string {
	t.Helper()
	dir := t.TempDir()
	for name, change := range changes {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(shipped, able))); err != nil {
			t.Fatal(err)
		}
		if err := rename(filepath.Join(dir, name), able, name); err != nil {
			t.Fatal(err)
		}
		if err := change(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// shipped is the folder of fettle's rules. Tests that write work elsewhere, whatever goes wrong in them.
var shipped, _ = filepath.Abs("..")

// able is a rule of which an admin could have written a copy, with a plan that makes a file of its name.
const able = "rp-filter-asymmetric"

func good(string) error     { return nil }
func broken(d string) error { return os.WriteFile(d+"/rule.yaml", []byte("id: [\n"), 0o600) }
func folder(d string) error {
	return cmp.Or(os.Remove(d+"/rule.yaml"), os.Mkdir(d+"/rule.yaml", 0o700))
}

// failing is one whose sample says something else.
func failing(d string) error {
	return os.WriteFile(d+"/trapped.txtar", []byte("-- want --\nclear\n"), 0o600)
}

type changes = map[string]func(string) error

// TestRun: a rule that is not right is named, and does not keep the others back.
func TestRun(t *testing.T) {
	t.Chdir(t.TempDir())
	one, err := generate(rules(t, changes{"good": good}))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		changes changes
		book    []byte // nil: not written
		says    string
	}{
		"right":      {changes{"good": good}, one, ""},
		"broken":     {changes{"a": broken, "good": good, "z": broken}, one, "a/rule.yaml:"},
		"unreadable": {changes{"good": good, "z": folder}, nil, "z/rule.yaml: is a directory"},
	} {
		dir := rules(t, c.changes)
		var errs bytes.Buffer
		if status := run(nil, dir, &errs); (status == 1) != (c.says != "") || !strings.Contains(errs.String(), c.says) || c.says == "" &&
			errs.Len() > 0 {
			t.Errorf("%s: status %d, %s; want %q", name, status, &errs, c.says)
		}
		if book, _ := os.ReadFile(dir + "/rules.book"); !bytes.Equal(book, c.book) {
			t.Errorf("%s: the book has %d bytes, want %d", name, len(book), len(c.book))
		}
	}
	dir := rules(t, changes{"good": good})
	var errs bytes.Buffer
	if os.Mkdir(dir+"/rules.book", 0o700); run(nil, dir, &errs) != 1 || !strings.Contains(errs.String(), "rules.book: is a directory") {
		t.Errorf("a folder in the place of the book: %s", &errs)
	}
}

// TestSynthetic: copies have names of their own and do on their samples; only rules that do are copied.
func TestSynthetic(t *testing.T) {
	t.Chdir(t.TempDir())
	from := rules(t, changes{"a-broken": broken, "b-failing": failing, "first": good, "last": good})
	to := filepath.Join(t.TempDir(), "new[")
	var errs bytes.Buffer
	if run([]string{"synthetic", to, "3"}, from, &errs) != 0 || errs.Len() > 0 {
		t.Fatal(&errs)
	}
	made, _ := os.ReadDir(to)
	var got []string
	for _, d := range made {
		got = append(got, d.Name())
		b, err := os.ReadFile(filepath.Join(to, d.Name(), "rule.yaml"))
		if err != nil || !strings.Contains(string(b), "id: "+d.Name()+"\n") {
			t.Errorf("%s: %v\n%.200s", d.Name(), err, b)
		}
		if r, mistakes := rule.Parse(d.Name()+"/rule.yaml", b, false); len(mistakes) > 0 || !passes(r, filepath.Join(to, d.Name())) {
			t.Errorf("%s does not do on its samples: %v", d.Name(), mistakes)
		}
	}
	if want := []string{"synthetic-0-first", "synthetic-1-last", "synthetic-2-first"}; !slices.Equal(got, want) {
		t.Errorf("%q are made, want %q", got, want)
	}
	for _, c := range []struct {
		args []string
		from string
		says string
	}{
		{[]string{"synthetic", to, "x"}, from, `strconv.Atoi: parsing "x": invalid syntax`},
		{[]string{"synthetic", to, "1"}, from, "file exists"},
		{[]string{"synthetic", t.TempDir(), "1"}, rules(t, changes{"a": failing, "b": broken}), "no rules in "},
		{[]string{"synthetic", t.TempDir(), "1"}, rules(t, changes{"a": folder, "b": good}), "a/rule.yaml: is a directory"},
		{[]string{"synthetic", t.TempDir(), "1"}, rules(t, changes{"a": func(d string) error { return os.Mkdir(d+"/more", 0o700) }}),
			"more: is a directory"},
	} {
		errs.Reset()
		if status := run(c.args, c.from, &errs); status != 1 || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%q: status %d, %q; want %q", c.args, status, &errs, c.says)
		}
	}
	if err := rename(filepath.Join(to, "absent"), "a", "b"); err == nil {
		t.Error("what is not there is renamed")
	}
	// Other arguments are none of it: the book is made.
	dir := rules(t, changes{"good": good})
	for _, args := range [][]string{{"synthetic", to}, {"artificial", to, "1"}} {
		os.Remove(dir + "/rules.book")
		if status := run(args, dir, &errs); status != 0 {
			t.Errorf("%q: %d", args, status)
		}
		if _, err := fs.Stat(os.DirFS(dir), "rules.book"); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
}
