package ui

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"fettle/internal/means"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"br0":                   "br0",
		"über/straße":           "über/straße",
		"a\x1b[2Jb":             `a\x1b[2Jb`,
		"title\x1b]0;x\a":       `title\x1b]0;x\x07`,
		"c1\u009b31m":           `c1\u009b31m`,
		"one\ntwo\tthree\r":     `one\ntwo\tthree\r`,
		"bad\xff\xfe":           `bad\xff\xfe`,
		"rtl\u202egpj.exe":      `rtl\u202egpj.exe`,
		"zero\u200bwidth":       `zero\u200bwidth`,
		"tag\U000e0041":         `tag\U000e0041`,
		`dev-disk\x2dby.device`: `dev-disk\x2dby.device`,
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\x1b[2Jb\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		v := Visible(s)
		for _, r := range v {
			if !unicode.IsPrint(r) || r == utf8.RuneError && !strings.ContainsRune(s, utf8.RuneError) {
				t.Fatalf("Visible(%q) = %q holds %q", s, v, r)
			}
		}
		if Visible(v) != v {
			t.Fatalf("Visible(%q) is not stable", s)
		}
	})
}

// TestQuoteInShell pastes quoted words into a real shell.
func TestQuoteInShell(t *testing.T) {
	bash := means.Tool(t, "bash")
	for _, s := range []string{"", "br0", "a b", "it's", "$(id)", "`id`", "a\nb", "\x1b[2J", "x\x011", "\xff", `back\slash`, "-n", "*",
		"~root",
		"é", "\u202e'", "a;b", "!x", "#x", "{a,b}"} {
		q := Quote(s)
		out, err := exec.Command(bash, "--norc", "-c", "printf %s "+q).Output()
		if err != nil || !bytes.Equal(out, []byte(s)) {
			t.Errorf("Quote(%q) = %s; the shell made %q of it (%v)", s, q, out, err)
		}
		if Visible(q) != q {
			t.Errorf("Quote(%q) = %q is not safe to print", s, q)
		}
	}
}

func TestWrap(t *testing.T) {
	got := Wrap("one two three four five sixsixsixsixsixsixsix seven", 16, "- ", "    ")
	want := "- one two three\n    four five\n    sixsixsixsixsixsixsix\n    seven\n"
	if got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
	if got := Wrap("", 10, "x ", "  "); got != "x\n" {
		t.Errorf("empty text: %q", got)
	}
}

func TestCut(t *testing.T) {
	for in, want := range map[string]string{"short": "short", "exactly ten": "exactly...", "äöüäöüäöüäöü": "äöüäöüä..."} {
		if got := Cut(in, 10); got != want {
			t.Errorf("Cut(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestColourOnlyOnTerminals(t *testing.T) {
	t.Setenv("TERM", "xterm")
	if Colour(&bytes.Buffer{}) {
		t.Error("a buffer is no terminal")
	}
	if got := Painter(false).Paint(Red, "x"); got != "x" {
		t.Errorf("a painter without colour paints %q", got)
	}
	if got := Painter(true).Paint(Red, "x"); got != "\x1b[1;31mx\x1b[m" {
		t.Errorf("a painter with colour paints %q", got)
	}
}
