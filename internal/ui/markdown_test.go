package ui

import (
	"strings"
	"testing"
	"unicode/utf8"

	"fettle/internal/means"
)

const article = "# What happens\n\n" +
	"A bridge takes the **least** MTU of its ports, so a [port](https://example.org/p) with `mtu 1400` lowers it for *everybody* " +
	"behind " +
	"the bridge at once.\n\n" +
	"- first item, which is long enough that it has to go on in a second " +
	"line\n- second\n  continued\n\n  a paragraph of it\n\n1. one\n2. two\n\n" +
	"## How to see it\n```sh\nip link show br0\tmaster\n\n  indented \x1b[2J\n```\nAfter it.\n\n" +
	"| name | what it does |\n|------|:---|\n| a | short |\n| longer | something that needs more than what is left of the line |\n"

const rendered = `What happens

  A bridge takes the least MTU of its ports, so a port
  (https://example.org/p) with ` + "`mtu 1400`" + ` lowers it for
  everybody behind the bridge at once.

  - first item, which is long enough that it has to go on in
    a second line
  - second continued

    a paragraph of it

  1. one
  2. two

How to see it

    ip link show br0        master

      indented \x1b[2J

  After it.

  name    what it does
  a       short
  longer  something that needs more than what is left of the
          line
`

func TestMarkdown(t *testing.T) {
	if got := Markdown(article, 60, false); got != rendered {
		t.Errorf("got:\n%s\nwant:\n%s", got, rendered)
	}
}

func TestMarkdownColour(t *testing.T) {
	got := Markdown(article, 60, true)
	for _, want := range []string{"\x1b[1mWhat happens\x1b[m", "\x1b[36mmtu 1400\x1b[m", `\x1b[2J`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzMarkdown(f *testing.F) {
	f.Add(article)
	f.Add("```\nopen")
	f.Add("|\n|-")
	f.Fuzz(func(t *testing.T, s string) {
		out := Markdown(s, 60, false)
		for line := range strings.Lines(out) {
			if l := strings.TrimSuffix(line, "\n"); Visible(l) != l {
				t.Fatalf("%q made %q", s, l)
			}
		}
		if !utf8.ValidString(out) {
			t.Fatal("not UTF-8")
		}
	})
}

// TestMarkdownBlocks: one block each, for a terminal and as HTML.
func TestMarkdownBlocks(t *testing.T) {
	for src, want := range map[string][2]string{
		"text\nof two":              {"  text of two\n", "<p>text of two</p>\n"},
		"a\r\nb":                    {"  a b\n", "<p>a b</p>\n"},
		"> said":                    {"  said\n", "<p>said</p>\n"},
		"#hash":                     {"  #hash\n", "<p>#hash</p>\n"},
		"a # b":                     {"  a # b\n", "<p>a # b</p>\n"},
		"# A\n## B":                 {"A\n\nB\n", "<h3>A</h3>\n<h4>B</h4>\n"},
		"##### E":                   {"E\n", "<h6>E</h6>\n"},
		"- a\n- b":                  {"  - a\n  - b\n", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"},
		"- a\nb":                    {"  - a b\n", "<ul>\n<li>a b</li>\n</ul>\n"},
		"0. a\n9. b":                {"  0. a\n  9. b\n", "<ol>\n<li>a</li>\n<li>b</li>\n</ol>\n"},
		"- a\n\n1. b":               {"  - a\n\n  1. b\n", "<ul>\n<li>a</li>\n</ul>\n<ol>\n<li>b</li>\n</ol>\n"},
		"- a\n\nb":                  {"  - a\n\n  b\n", "<ul>\n<li>a</li>\n</ul>\n<p>b</p>\n"},
		"- a\n\n  b\n\nc":           {"  - a\n\n    b\n\n  c\n", "<ul>\n<li>a</li>\n<p>b</p>\n</ul>\n<p>c</p>\n"},
		"    code\n\n    <more>\nx": {"    code\n\n    <more>\n\n  x\n", "<pre>code\n\n&lt;more&gt;</pre>\n<p>x</p>\n"},
		"x\n    y":                  {"  x y\n", "<p>x y</p>\n"},
		"```\na\tb\n```\nc":         {"    a        b\n\n  c\n", "<pre>a        b</pre>\n<p>c</p>\n"},
		"~~~\n```\n~~~\nc":          {"    ```\n\n  c\n", "<pre>```</pre>\n<p>c</p>\n"},
		"```\nopen":                 {"    open\n", "<pre>open</pre>\n"},
		"|a|b|\n|-|-|\n|1|2|\nx": {"  a  b\n  1  2\n\n  x\n",
			"<table>\n<tr><th>a</th><th>b</th></tr>\n<tr><td>1</td><td>2</td></tr>\n</table>\n<p>x</p>\n"},
		"|a|\n|-|":                    {"  a\n", "<table>\n<tr><th>a</th></tr>\n</table>\n"},
		"|a|\nb":                      {"  |a| b\n", "<p>|a| b</p>\n"},
		"|a|":                         {"  |a|\n", "<p>|a|</p>\n"},
		"a\n--":                       {"  a --\n", "<p>a --</p>\n"},
		"`<x>` **b**":                 {"  `<x>` b\n", "<p><code>&lt;x&gt;</code> <strong>b</strong></p>\n"},
		"*e* <https://a> [t](u) \x1b": {"  e https://a t (u) \\x1b\n", "<p><em>e</em> https://a t (u) \\x1b</p>\n"},
		"`*a*` *b*":                   {"  `*a*` b\n", "<p><code>*a*</code> <em>b</em></p>\n"},
		"# A\n- b\n# C":               {"A\n\n  - b\n\nC\n", "<h3>A</h3>\n<ul>\n<li>b</li>\n</ul>\n<h3>C</h3>\n"},
	} {
		if got := Markdown(src, 60, false); got != want[0] {
			t.Errorf("%q: %q, want %q", src, got, want[0])
		}
		if got := MarkdownHTML(src, 3); got != want[1] {
			t.Errorf("%q: %q, want %q", src, got, want[1])
		}
	}
}

// TestMarkdownCode: a short command is not broken, a long one is.
func TestMarkdownCode(t *testing.T) {
	fill := strings.Repeat("x", 30) + " "
	if got := Markdown(fill+"`ip link` z", 40, false); got != "  "+strings.TrimSpace(fill)+"\n  `ip link` z\n" {
		t.Errorf("%q", got)
	}
	if got := Markdown(fill+"`a long one` z", 36, false); got != "  "+strings.TrimSpace(fill)+" `a\n  long one` z\n" {
		t.Errorf("%q", got)
	}
}
