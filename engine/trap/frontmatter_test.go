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
		{"messages:\n  - text: a b\n    says: kernel\n    since: Linux 6\n    about: x\n    perhaps: true\n  - text: c\n    harmless: true\n",
			true},
		{"messages:\n  - text: a\ntags: [b]\nhorizon: [now]\ncovers: [boot]\nquestions:\n  - what? a|b\nrefs:\n  - https://x\n", true},
		{"symptoms:\n  - a\nmessages:\n  - text: a\n", true}, {"symptoms:\n  - a\ntags: [b]\n  - c\n", false},
		{"messages:\n  - text: a\n    perhaps: false\n", false}, {"messages:\n    text: a\n", false}, {"messages:\n   - text: a\n", false},
		{"messages:\n  - text: a\n    text: b\n", false}, {"messages:\n  - text: a\n    other: b\n", false},
		{"messages:\n  - text: a\n    perhaps: true\n    perhaps: true\n", false}, {"messages:\n  - text: a\nmessages:\n  - text: b\n", false},
		{"messages:\n  - text: a: b\n", false}, {"tags: [a]\n", true}, {"tags: [ a , b ]\n", true}, {"tags: [a, ]\n", false},
		{"tags: [a]\ntags: [b]\n", false}, {"tags: [a\n", false}, {"tags: a]\n", false}, {"tags: [a, 'b']\n", false}, {"tags: [a, [b]]\n", false},
		{"tags: [a, b: c]\n", false}, {"title: ''\n", false}, {"title: 'a'\n", true}, {"title: 'a\"\n", false}, {"title: '\n", false},
		{"title: 'a\n", false}, {"title: 'a\tb'\n", false}, {"title: a: b\n", false}, {"title: a:\n", false}, {"title: a:b\n", true},
		{"title: a #b\n", false}, {"title: a#b\n", true}, {"title: zz\n", true}, {"title: A\n", true}, {"title: Z\n", true}, {"title: /a\n",
			true},
		{"title: 1a\n", false}, {"title: {a}\n", false}, {"title: `a\n", false}, {"title: @a\n", false}, {"title: \n", false}, {"title:a\n",
			false},
		{"title\n", false}, {"title: True\n", false}, {"title: a\u2028b\n", false}, {"title: a\tb\n", false}, {"title: a\xff\n", false},
		{"title: aé b\n", true}, {"title: a  \n", true},
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
