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
		" ~":                    " ~",
		"\x1f":                  `\x1f`,
		"a\x7f":                 `a\x7f`,
		"\x80":                  `\x80`,
		"\u0080":                `\u0080`,
		"\uffff\U00010ffff":     `\uffff\U00010fff` + "f",
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

// TestQuote: what is safe stays bare, so that commands remain readable; what a terminal hides is written in octal.
func TestQuote(t *testing.T) {
	for in, want := range map[string]string{"": "''", "br0": "br0", "a=/b:c,d@e%f+g.h_i-j": "a=/b:c,d@e%f+g.h_i-j", "a b": "'a b'",
		"it's": `'it'\''s'`,
		"é":    "'é'", "5": "5", "a\nb": `$'a\012b'`, "a'\t\\": `$'a\'\011\\'`, "\xff": `$'\377'`, "x\ufffd": "'x\ufffd'",
		"\ufffd\n": `$'\357\277\275\012'`,
		"\u202e":   `$'\342\200\256'`, "é\n": `$'é\012'`, "a;": "'a;'"} {
		if got := Quote(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// TestJSON: escapes of JSON mean what they replace.
func TestJSON(t *testing.T) {
	for in, want := range map[string]string{"{\"a\":1}\n": "{\"a\":1}\n", "x\u202ey": `x\u202ey`, "\x7f": `\u007f`, "\uffff": `\uffff`,
		"\U000e0041é": `\udb40\udc41é`, "\U00010ffd": `\ud803\udffd`} {
		if got := string(JSON([]byte(in))); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// TestCutBounds: no room for an ellipsis, no cut.
func TestCutBounds(t *testing.T) {
	for width, want := range map[int]string{2: "abcde", 3: "abcde", 4: "a...", 5: "abcde", 6: "abcde"} {
		if got := Cut("abcde", width); got != want {
			t.Errorf("%d: %q, want %q", width, got, want)
		}
	}
}

// TestColumns: colours take no room; what is none does.
func TestColumns(t *testing.T) {
	for in, want := range map[string]int{"": 0, "é": 1, "\x1b[1;31mab\x1b[m": 2, "\x1b[9": 3, "a\x1b[1mb\x1b[mc": 3} {
		if got := columns(in); got != want {
			t.Errorf("%q: %d, want %d", in, got, want)
		}
	}
}

// TestFew: one more is named rather than counted.
func TestFew(t *testing.T) {
	for n, want := range map[int]string{1: "a and 3 more", 2: "a, b and 2 more", 3: "a, b, c, d", 4: "a, b, c, d"} {
		if got := Few([]string{"a", "b", "c", "d"}, n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// TestUTF8: the first variable that is set counts.
func TestUTF8(t *testing.T) {
	for _, c := range []struct {
		all, ctype, lang string
		want             bool
	}{{"", "", "", false}, {"", "", "de_DE.UTF-8", true}, {"", "C.utf8", "C", true}, {"C", "C.utf8", "C.utf8", false}, {"POSIX", "", "",
		false}} {
		t.Setenv("LC_ALL", c.all)
		t.Setenv("LC_CTYPE", c.ctype)
		t.Setenv("LANG", c.lang)
		if got := UTF8(); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// TestWidthOfPipes: COLUMNS says it, within what is readable.
func TestWidthOfPipes(t *testing.T) {
	for columns, want := range map[string]int{"": 80, "60": 60, "1": 40, "0": 80, "-1": 80, "x": 80, "500": 100} {
		t.Setenv("COLUMNS", columns)
		if got := Width(&bytes.Buffer{}); got != want {
			t.Errorf("COLUMNS=%s: %d, want %d", columns, got, want)
		}
	}
}
