package rule

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestExcerpt(t *testing.T) {
	x, y := strings.Repeat("x", 300), strings.Repeat("y ", 200)
	for _, c := range []struct{ re, line, want string }{
		{"b", " a\t\tb ", "a b"},
		{"MATCH", x + " MATCH", "… " + strings.Repeat("x", 76) + " MATCH"},
		{"MATCH", "MATCH " + x, "MATCH " + strings.Repeat("x", 154) + " …"},
		{"^flags.*last", "flags: " + y + "last " + x, "flags: " + strings.Repeat("y ", 36) + "y …" + strings.Repeat(" y", 38) + " last …"},
		{"é+", x + strings.Repeat("é", 300), "…"},
		{`a\t`, "a\t" + x, "a " + strings.Repeat("x", 78)}, // the match is of the line as it was
	} {
		got := excerpt(regexp.MustCompile(c.re), c.line)
		if !strings.HasPrefix(got, c.want) || len(got) > excerptMax+20 || !utf8.ValidString(got) {
			t.Errorf("%s of %.20q...: %q, want %q", c.re, c.line, got, c.want)
		}
	}
}
