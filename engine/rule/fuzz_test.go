package rule

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"fettle/engine/rule/cel"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

func dirFS(dir string) fs.FS { return os.DirFS(dir) }

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// FuzzParse: whatever the file, mistakes stand within it, and a rule that is
// taken runs.
func FuzzParse(f *testing.F) {
	f.Add([]byte(sound))
	f.Add([]byte(startRule))
	shipped, _ := filepath.Glob("../../traps/rules/*/rule.yaml")
	for _, name := range shipped {
		if b, err := os.ReadFile(name); err == nil {
			f.Add(b)
		}
	}
	h := hosttest.New(f, "-- root/etc/a.conf --\nLimit = 1\n-- root/etc/hostname --\nweb1\n")
	f.Fuzz(func(t *testing.T, b []byte) {
		r, ms := Parse("f.yaml", b, false)
		if (r == nil) != (len(ms.Fatal()) > 0) {
			t.Fatalf("rule %v, mistakes %v", r != nil, ms)
		}
		for _, m := range ms {
			if m.Line < 1 || m.Column < 1 {
				t.Errorf("nowhere: %v", m)
			}
		}
		if r == nil {
			return
		}
		if _, err := r.Lore().Article(); err != nil {
			t.Errorf("lore: %v", err)
		}
		if back, err := OpenBook(string(Book([]*Frozen{r.Freeze()})), false); err != nil || len(back) != 1 {
			t.Error(err)
		}
		if len(r.outcomes(t.Context(), h)) == 0 {
			t.Error("says nothing")
		}
	})
}

// FuzzText: a template is literal text and expressions, in order.
func FuzzText(f *testing.F) {
	for _, s := range []string{"a {{b}} c", "{{", "}}", "{{'}}'}}", `{{"\"}}"}}`, "{{{'a': 1}}}", "x{{a}}{{b}}", "{{a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return
		}
		end := closing(s)
		if end < 0 {
			return
		}
		if s[end:end+2] != "}}" {
			t.Errorf("%q ends at %d", s, end)
		}
		cel.Place(s, end)
	})
}
