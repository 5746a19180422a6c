package trap

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/goccy/go-yaml"

	"fettle/internal/means"
)

// same fails where quick understands a text, and the parser reads it otherwise.
func same(t *testing.T, front string) (quick bool) {
	t.Helper()
	var a, b Article
	if !a.quick(front) {
		return false
	}
	if err := yaml.UnmarshalWithOptions([]byte(front), &b, yaml.Strict()); err != nil {
		t.Fatalf("read, but is a mistake: %v\n%s", err, front)
	}
	if !reflect.DeepEqual(a, b) {
		t.Fatalf("read as\n%+v\nis\n%+v", a, b)
	}
	return true
}

func TestQuick(t *testing.T) {
	files, _ := filepath.Glob("../../traps/*/lore.md")
	n := 0
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		front, _ := Lore(b).split()
		if same(t, front) {
			n++
		} else {
			t.Logf("%s needs the parser", f)
		}
	}
	if n*2 < len(files) {
		t.Errorf("quick reads %d of %d articles", n, len(files))
	}
	for _, c := range []struct {
		front string
		quick bool
	}{
		{"id: a\ntitle: A b\nsymptoms:\n  - one: two\n", false},
		{"id: a\ntitle: \"A: b\"\nsymptoms:\n  - \"one: two\"\n  - 'it''s'\n", false},
		{"id: a\ntitle: \"A: b\"\nsymptoms:\n  - \"one: two\"\n  - 'it is'\ntags: [a, b-c, /d]\n", true},
		{"id: a\nid: b\n", false}, {"id: 1\n", false}, {"id: yes\n", false}, {"idd: a\n", false}, {"id: a # b\n", false},
		{"title: a\n  b\n", false},
		{"tags: [a, \"b, c\"]\n", false}, {"tags: []\n", false}, {"since:\n", false}, {"title: \"a\\nb\"\n", false},
		{"symptoms:\n  - a\n    b\n", false},
	} {
		if got := same(t, c.front); got != c.quick {
			t.Errorf("%q: quick %v", c.front, got)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzQuick(f *testing.F) {
	f.Add("id: a\ntitle: A b\nsymptoms:\n  - one\n  - \"two: three\"\ntags: [a, b]\nsince: x\nrefs:\n  - https://x\n")
	f.Add("id: 'a'\ntitle: .5\n")
	f.Add("symptoms:\n  - A\xd90")
	f.Fuzz(func(t *testing.T, front string) { same(t, front) })
}
