package capture

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"fettle/host"
	"fettle/host/hosttest"
	"fettle/host/redact"
)

// plant is what a redacted capture may not contain, where it was put, and what it is.
type plant struct{ kind, text, place string }

var mark = regexp.MustCompile(`⟦([a-z]+):([^⟧]*)⟧`)

// planted reads a host of testdata/plants: the host without the marks, and what was marked.
func planted(t testing.TB, file string) (plain *txtar.Archive, all []plant) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	plain = txtar.Parse(b)
	for i := range plain.Files {
		f := &plain.Files[i]
		for _, m := range mark.FindAllSubmatch(f.Data, -1) {
			all = append(all, plant{string(m[1]), string(m[2]), f.Name})
		}
		f.Data = mark.ReplaceAll(f.Data, []byte("$2"))
	}
	plain.Comment = nil
	return plain, all
}

// askAll asks a host everything that an archive holds of it.
func askAll(t testing.TB, h *host.Host, a *txtar.Archive) {
	for _, f := range a.Files {
		switch kind, what, _ := strings.Cut(f.Name, "/"); kind {
		case "root":
			h.ReadFile(t.Context(), "/"+what)
			h.Stat(t.Context(), "/"+what)
		case "command":
			name, args, _ := strings.Cut(what, " ")
			h.Run(t.Context(), name, strings.Fields(args)...)
		}
	}
	h.Journal(t.Context())
	h.Processes(t.Context())
	h.OpenFiles(t.Context())
	h.Filesystems(t.Context())
}

// everyday tells of plants that may stand elsewhere by right: they are looked for only
// where they were put.
func everyday(t testing.TB) func(string) bool {
	b, err := os.ReadFile("../redact/words.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for w := range strings.FieldsSeq(string(b)) {
		known[w] = true
	}
	return func(s string) bool { return len(s) < 6 || known[strings.ToLower(s)] }
}

// TestPlants: of what a host has that identifies or opens it, as real hosts have it, a
// redacted capture contains nothing: not as it is, reversed, in base64, in hexadecimal, or as
// URLs write it.
func TestPlants(t *testing.T) {
	files, err := filepath.Glob("testdata/plants/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	plants, places := 0, 0
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) {
			n, in := noneLeft(t, f)
			plants, places = plants+n, places+in
		})
	}
	if plants < 1400 || places < 170 {
		t.Errorf("%d plants in %d places", plants, places)
	}
}

// noneLeft looks for the plants of one host, and counts them and their places.
func noneLeft(t *testing.T, file string) (int, int) {
	plain, all := planted(t, file)
	src, _, err := hosttest.Parse(txtar.Format(plain))
	if err != nil {
		t.Fatal(err)
	}
	rec := NewRecorder(src)
	askAll(t, host.New(rec), plain)
	c := rec.Capture()
	r, err := redact.New([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	places := make([]string, len(c.Answers))
	for i, a := range c.Answers {
		places[i] = placeOf(a)
	}
	if _, err := c.Redact(r); err != nil {
		t.Fatal(err)
	}
	own := map[string]string{} // by place, what is left there
	var whole bytes.Buffer
	for i, a := range c.Answers {
		own[places[i]] += string(a.content) + "\n"
		fmt.Fprintf(&whole, "%s %s %s %+v\n%s\n%s\n", a.Op, a.Path, a.Args, a.Failure, a.content, a.Stderr)
	}
	own["journal"] = own["table/"+string(host.TableJournal)]
	left, planted := map[string]int{}, map[string]int{}
	common := everyday(t)
	low := strings.ToLower(whole.String())
	for _, p := range all {
		planted[p.kind]++
		if _, asked := own[p.place]; !asked {
			t.Errorf("%s was not asked for", p.place)
		}
		if form := survives(p.text, low, strings.ToLower(own[p.place]), common(p.text)); form != "" {
			left[p.kind]++
			t.Errorf("%s: %s %q survives %s: %s", p.place, p.kind, p.text, form, around(own[p.place], p.text))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(planted)) {
		t.Logf("%-8s %4d planted %4d left", k, planted[k], left[k])
	}
	if os.Getenv("SHOW") != "" {
		t.Log(whole.String())
	}
	return len(all), len(plain.Files)
}

func placeOf(a Answer) string {
	switch a.Op {
	case OpRead:
		return "root" + string(a.Path)
	case OpTable:
		return "table/" + string(a.Path)
	case OpCommand:
		s := "command/" + string(a.Path)
		for _, arg := range a.Args {
			s = strings.TrimSuffix(s, "/") + " " + string(arg)
		}
		return strings.Replace(s, "/ ", "/", 1)
	}
	return ""
}

// survives says in which form a text is left.
func survives(text, everywhere, there string, common bool) string {
	low := strings.ToLower(text)
	if common {
		if regexp.MustCompile(`(^|[^\pL\pN])` + regexp.QuoteMeta(low) + `($|[^\pL\pN])`).MatchString(there) {
			return "as it is"
		}
		return ""
	}
	back := []byte(low)
	slices.Reverse(back)
	for _, f := range []struct{ form, text string }{
		{"as it is", low},
		{"reversed", string(back)},
		{"in base64", strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(text)), "=")},
		{"in hexadecimal", hex.EncodeToString([]byte(text))},
		{"as in URLs", url.QueryEscape(text)},
	} {
		if strings.Contains(everywhere, strings.ToLower(f.text)) {
			return f.form
		}
	}
	return ""
}

func around(s, text string) string {
	for line := range strings.Lines(s) {
		if i := strings.Index(strings.ToLower(line), strings.ToLower(text)); i >= 0 {
			return "…" + line[max(0, i-80):min(len(line), i+60)]
		}
	}
	return ""
}
