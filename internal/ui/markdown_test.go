package ui

import (
	"strings"
	"testing"
	"unicode/utf8"

	"fettle/internal/means"
)

const article = "# What happens\n\n" +
	"A bridge takes the **least** MTU of its ports, so a [port](https://example.org/p) with `mtu 1400` lowers it for *everybody* behind " +
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
