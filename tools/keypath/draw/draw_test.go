package draw

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"fettle/internal/means"
)

const nasty = "<script>\"quoted\" \\ &"

// paths are three from Alice to Bob: a direct one, one by way of Carol, and one by way of two.
func paths() Picture {
	alice, bob := Node{"AAAA1111", "Alice Example <alice@example.org>"}, Node{"BBBB2222", "Bob"}
	carol := Node{"CCCC3333", "<carol@example.org>"}
	return Picture{Title: "From Alice to Bob", Rows: []Row{
		{Keys: []Node{alice, bob}, Hops: []string{"2024-01-02"}},
		{Keys: []Node{alice, carol, bob}, Hops: []string{"2023", "level 3"}},
		{Keys: []Node{alice, {"DDDD4444", "Somebody With a Name of Many Letters"}, {"EEEE5555", nasty}, bob},
			Hops: []string{"2023", "a & b", nasty}},
	}}
}

// pictures are what is drawn, by name.
func pictures() map[string]Picture {
	all := paths()
	return map[string]Picture{
		"three": all,
		"two":   {Title: "Two", Rows: all.Rows[1:]},
		"one":   {Title: strings.Repeat("Title ", 20), Rows: all.Rows[:1]},
		"self":  {Title: "Alice", Rows: []Row{{Keys: all.Rows[0].Keys[:1]}}},
		"none":  {Title: "No path"},
	}
}

// TestPictures holds the drawings against those that were looked at.
func TestPictures(t *testing.T) {
	var all strings.Builder
	for _, name := range []string{"three", "two", "one", "self", "none"} {
		fmt.Fprintf(&all, "<!-- %s -->\n", name)
		if err := errors.Join(SVG(&all, pictures()[name]), DOT(&all, pictures()[name])); err != nil {
			t.Fatal(err)
		}
	}
	means.Written(t, "testdata/pictures.txt", all.String())
}

type shapes struct {
	Width   int      `xml:"width,attr"`
	Height  int      `xml:"height,attr"`
	ViewBox string   `xml:"viewBox,attr"`
	Label   string   `xml:"aria-label,attr"`
	Paths   []arrow  `xml:"path"`
	Texts   []words  `xml:"text"`
	Boxes   []keyBox `xml:"g"`
}

type arrow struct {
	D string `xml:"d,attr"`
}

type words struct {
	X    int    `xml:"x,attr"`
	Y    int    `xml:"y,attr"`
	Text string `xml:",chardata"`
}

type keyBox struct {
	Title string  `xml:"title"`
	Texts []words `xml:"text"`
	Rect  struct {
		X      int    `xml:"x,attr"`
		Y      int    `xml:"y,attr"`
		Width  int    `xml:"width,attr"`
		Height int    `xml:"height,attr"`
		Fill   string `xml:"fill,attr"`
	} `xml:"rect"`
}

func drawn(t *testing.T, p Picture) (s shapes) {
	t.Helper()
	var b strings.Builder
	if err := SVG(&b, p); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal([]byte(b.String()), &s); err != nil {
		t.Fatalf("%v:\n%s", err, b.String())
	}
	return s
}

// TestLayout: boxes lie within the picture and apart from each other, and arrows lead from a box to a box.
func TestLayout(t *testing.T) {
	for name, p := range pictures() {
		s := drawn(t, p)
		if want := fmt.Sprintf("0 0 %d %d", s.Width, s.Height); s.ViewBox != want || s.Label != p.Title {
			t.Errorf("%s: %q of %q", name, s.ViewBox, s.Label)
		}
		starts, ends := map[string]bool{}, map[string]bool{}
		for i, b := range s.Boxes {
			r := b.Rect
			if r.X < 10 || r.Y < 40 || r.X+r.Width > s.Width-10 || r.Y+r.Height > s.Height-10 {
				t.Errorf("%s: box %q is not in the picture: %+v", name, b.Title, r)
			}
			for _, other := range s.Boxes[:i] {
				if o := other.Rect; r.X < o.X+o.Width+10 && o.X < r.X+r.Width+10 && r.Y < o.Y+o.Height+10 && o.Y < r.Y+r.Height+10 {
					t.Errorf("%s: boxes %q and %q touch", name, b.Title, other.Title)
				}
			}
			for _, w := range b.Texts {
				if w.X != r.X+r.Width/2 || w.Y < r.Y+10 || w.Y > r.Y+r.Height-5 {
					t.Errorf("%s: %q is not in its box: %+v", name, w.Text, r)
				}
			}
			starts[fmt.Sprintf("M%d %d", r.X+r.Width, r.Y+r.Height/2)] = true
			ends[fmt.Sprintf("%d %d", r.X, r.Y+r.Height/2)] = true
			ends[fmt.Sprintf("H%d", r.X)] = true
		}
		hops := 0
		for _, r := range p.Rows {
			hops += len(r.Hops)
		}
		if len(s.Paths) != hops || len(s.Texts) != hops+1 {
			t.Errorf("%s: %d arrows and %d texts, for %d hops", name, len(s.Paths), len(s.Texts), hops)
		}
		for _, a := range s.Paths {
			begins, ended := false, false
			for at := range starts {
				begins = begins || strings.HasPrefix(a.D, at)
			}
			for at := range ends {
				ended = ended || strings.HasSuffix(a.D, at)
			}
			if !begins || !ended {
				t.Errorf("%s: the arrow %q leads from no box, or to none", name, a.D)
			}
		}
	}
}

// TestEachKeyIsDrawnOnce at the ends, and in each row between them.
func TestEachKeyIsDrawnOnce(t *testing.T) {
	var got []string
	for _, b := range drawn(t, paths()).Boxes {
		got = append(got, b.Title+" "+b.Texts[0].Text+" "+b.Texts[1].Text+" "+b.Rect.Fill)
	}
	want := []string{
		"AAAA1111 Alice Example <alice@example.org> Alice Example AAAA1111 #ddf4ff",
		"BBBB2222 Bob Bob BBBB2222 #ddf4ff",
		"CCCC3333 <carol@example.org> <carol@example.org> CCCC3333 #f6f8fa",
		"DDDD4444 Somebody With a Name of Many Letters Somebody With a Name of… DDDD4444 #f6f8fa",
		"EEEE5555 <script>\"quoted\" \\ & <script>\"quoted\" \\ & EEEE5555 #f6f8fa",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestXMLHoldsItAll: what XML has no way to write is replaced.
func TestXMLHoldsItAll(t *testing.T) {
	s := drawn(t, Picture{Title: "a\x1b\x00\xff", Rows: []Row{{Keys: []Node{{"1\x01", "b\x02"}, {"2", "c"}}, Hops: []string{"d\x03"}}}})
	got := []string{s.Label, s.Texts[0].Text, s.Boxes[0].Title, s.Boxes[0].Texts[0].Text, s.Boxes[0].Texts[1].Text, s.Texts[1].Text}
	want := []string{"a\ufffd\ufffd\ufffd", "a\ufffd\ufffd\ufffd", "1\ufffd b\ufffd", "b\ufffd", "1\ufffd", "d\ufffd"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNames(t *testing.T) {
	for in, want := range map[string]string{"Alice <a@b>": "Alice", "<a@b>": "<a@b>", "Alice": "Alice", "": "", "A<": "A"} {
		if got := person(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"abc": "abc", "abcd": "abcd", "abcde": "abc…", "äöüßé": "äöü…",
		"äöüß": "äöüß"} {
		if got := cut(in, 4); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestDOTRepeatsNothing: a key and a hop that several paths share are written once, and names are no markup.
func TestDOTRepeatsNothing(t *testing.T) {
	a, b, c := Node{"A", "a"}, Node{"B", "b"}, Node{`C"\`, "<x>&\n"}
	var out strings.Builder
	err := DOT(&out, Picture{Title: "a \"t\"\n", Rows: []Row{
		{Keys: []Node{a, b, c}, Hops: []string{"1", "2"}}, {Keys: []Node{a, b, c}, Hops: []string{"1", "3"}},
	}})
	want := `digraph keypath {
  rankdir=LR; label="a \"t\" "; labelloc=t;
  node [shape=box, style=rounded, fontname="sans-serif"]; edge [fontname="sans-serif", fontsize=10];
  "A" [label=<a<br/>A>];
  "B" [label=<b<br/>B>];
  "C\"\\" [label=<&lt;x&gt;&amp;
<br/>C&#34;\>];
  "A" -> "B" [label="1"];
  "B" -> "C\"\\" [label="2"];
  "B" -> "C\"\\" [label="3"];
}
`
	if err != nil || out.String() != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, out.String(), want)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestFullDiskIsTold(t *testing.T) {
	for name, err := range map[string]error{"SVG": SVG(full{}, paths()), "DOT": DOT(full{}, paths())} {
		if !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
