package yamlfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"fettle/internal/means"
)

// TestRead: root reads only what root alone may write.
func TestRead(t *testing.T) {
	means.Root(t)
	for name, c := range map[string]struct {
		mode  os.FileMode
		owner int
		size  int64
		want  string
	}{
		"a":      {0o644, 0, 3, ""},
		"most":   {0o600, 0, Limit, ""},
		"more":   {0o600, 0, Limit + 1, ": larger than 4 MiB"},
		"user's": {0o644, 4242, 3, ": others than root may write it; chown root and chmod go-w it"},
		"group":  {0o664, 0, 3, ": others than root may write it; chown root and chmod go-w it"},
		"all":    {0o646, 0, 3, ": others than root may write it; chown root and chmod go-w it"},
	} {
		file := filepath.Join(t.TempDir(), name)
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, c.size), os.Chown(file, c.owner, 0),
			os.Chmod(file, c.mode)); err != nil {
			t.Fatal(err)
		}
		if b, err := Read(file); c.want == "" && (err != nil || int64(len(b)) != c.size) ||
			c.want != "" && (err == nil || err.Error() != file+c.want) {
			t.Errorf("%s: %d bytes, %v; want %s", name, len(b), err, c.want)
		}
		for _, absent := range []string{file + "/below", file + ".none"} {
			if b, err := Read(absent); b != nil || err != nil {
				t.Errorf("%s: %q, %v", absent, b, err)
			}
		}
	}
	dir := t.TempDir()
	if err := os.Symlink("loop", dir+"/loop"); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{dir: "not a regular file", dir + "/loop": "too many levels of symbolic links"} {
		if _, err := Read(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", file, err, want)
		}
	}
}

// TestLocated: an error of the YAML library names its line and column.
func TestLocated(t *testing.T) {
	var v struct{ A int }
	for want, err := range map[string]error{
		"f:2:4: cannot unmarshal": yaml.Unmarshal([]byte("# x\na: [1]\n"), &v),
		"f: wrong":                errors.New("wrong"),
	} {
		if got := Located("f", err); !strings.HasPrefix(got.Error(), want) {
			t.Errorf("%v, want %s", got, want)
		}
	}
}

func TestGuard(t *testing.T) {
	var v struct{ A []string }
	err := Guard(func() error { return yaml.Unmarshal([]byte("a: !x\nb: 1\n"), &v) })
	if err == nil {
		t.Error("a tag is taken for a list")
	}
	if err := Guard(func() error { panic("odd") }); err == nil || err.Error() != "the YAML parser cannot read this" {
		t.Errorf("%v", err)
	}
	wrong := errors.New("wrong")
	if err := Guard(func() error { return wrong }); err != wrong {
		t.Errorf("%v", err)
	}
	if err := Guard(func() error { return yaml.Unmarshal([]byte("a: [x]\n"), &v) }); err != nil || len(v.A) != 1 {
		t.Errorf("%v: %v", v, err)
	}
}

// TestParse: nothing of a file is left unread and untold.
func TestParse(t *testing.T) {
	for text, docs := range map[string]int{
		"a: 1\n": 1, "# x\n---\na: 1\n": 1, "---\n# x\n\na: 1\n---\n": 2, "a: 1\n---\nb: 1\n": 2, "--- # x\na: 1\n--- b\n--- c\n": 3,
		"a: |\n  ---\n  ---\n": 1, "----\n---\na: 1\n": 2, "---x\n": 1, "---\n": 1,
	} {
		f, err := Parse("f", []byte(text))
		if err != nil || len(f.Docs) != docs {
			t.Errorf("%q: %v, %v; want %d documents", text, f, err, docs)
		}
	}
	for text, want := range map[string]string{
		"---\n---\na: 1\n":                    "f:2: the document before this line is empty; remove the line",
		"a: 1\n---\n# y\n\n---\nb: 1\n":       "f:5: the document before",
		"# x\r\n---\r\n \r\n--- \r\nb: 1\r\n": "f:4: the document before",
		"--- # x\n---\ta\n":                   "f:2: the document before",
		"a: [\n":                              "f:1:",
		"a: 1\na: 2\n---\nb: {\n":             "f:",
	} {
		if _, err := Parse("f", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestDecode: a file says one thing, or nothing; whatever else stands in it is refused with its line.
func TestDecode(t *testing.T) {
	type settings struct{ A, B int }
	for text, want := range map[string]settings{
		"": {7, 0}, "# x\n": {7, 0}, "---\n# x\n": {7, 0}, "b: 2\n": {7, 2}, "---\na: 1\nb: &x 2\n---\n": {1, 2}, "a: &x 3\nb: *x\n": {3, 3},
		"# x\n---\n# y\na: 1\n": {1, 0},
	} {
		got := settings{A: 7}
		if err := Decode("f", []byte(text), &got); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"a: 1\n---\nb: 2\n":     "f:3: a second document; put everything into one",
		"---\n---\na: 1\n":      "f:2: the document before this line is empty; remove the line",
		"a: 1\nc: 2\n":          `f:2:1: unknown field "c"`,
		"a: x\n":                "f:1:4: ",
		"a: [\n":                "f:1:",
		"a: !x\nb: {c: !x [}\n": "f:",
		"- a\n":                 "f:1:1: ",
	} {
		if err := Decode("f", []byte(text), new(settings)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
