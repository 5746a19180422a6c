package fnmatch

import "testing"

func TestMatch(t *testing.T) {
	for _, c := range []struct{ pattern, fits, not string }{ // a byte each, but for "not" with a word
		{"[[:digit:]]", "059", "/:aA"},
		{"[[:lower:]]", "amz", "`{A0@["},
		{"[[:upper:]]", "AMZ", "@[a0`{"},
		{"[[:alpha:]]", "azAZmM", "@[`{0_"},
		{"[[:alnum:]]", "azAZ059", "@[`{/:_"},
		{"[![:digit:]]", "a/:", "059"},
		{"[b-d]", "bcd", "ae-"},
		{"[!b-d]", "ae-", "bcd"},
		{"[^b-d]", "ae-", "bcd"},
		{"[b-]", "b-", "ac"},
		{"[]x]", "]x", "["},
		{`[\]x]`, "]x", `\[`},
		{`[\]`, "", `\]`},                  // never closed, and of two characters
		{"[[:digit]", "[:digt", "0a"},      // no class, but a set of its letters
		{"[[:nonsense:]", "[:nose", "0a]"}, // nor is that
		{"[[:digit:]a-c]", "0abc", "d:"},
		{"[a[:digit:]]", "a09", "b["},
		{"?", "a*?[\xff/.", ""},
		{`\a`, "a", `\b`},
		{`\?`, "?", `a\`},
		{`\`, `\`, "a"}, // before nothing it is itself
		{"[", "[", "a"},
		{"a", "a", "bA"},
		{"*", "a*.", ""},
		{"**", "a", ""},
		{"a*", "a", "b"},
		{"*a", "a", "b"},
		{"a**", "a", "b"},
		{"", "", "a"},
		{"*?*", "a", ""},
		{"[+--]", "+,-", "*."}, // up to the minus
		{"[a-c-e]", "abc-e", "d"},
		{"[z-a]", "", "amz-"},     // an empty range
		{"[a\\-c]", "a-c", "b\\"}, // an escaped minus makes no range
		{"[[:upper:][:digit:]]", "A9", "a:"},
	} {
		for i := range len(c.fits) {
			if s := c.fits[i : i+1]; !Match(c.pattern, s) {
				t.Errorf("%q does not fit %q", s, c.pattern)
			}
		}
		for i := range len(c.not) {
			if s := c.not[i : i+1]; Match(c.pattern, s) {
				t.Errorf("%q fits %q", s, c.pattern)
			}
		}
	}
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true}, {"*", "", true}, {"***", "", true}, {"?", "", false}, {"[a]", "", false}, {"a*b*c", "abc", true},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "acb", false}, {"*.conf", "a.conf", true}, {"*.conf", "a.conf.d", false}, {"*.conf", ".conf", true}, {"a?c", "abc", true},
		{"a?c", "ac", false}, {"?", "ab", false}, {"a", "ab", false}, {"ab", "a", false}, {"*ab", "aab", true}, {"*aab", "aaab", true},
		{"/etc/*", "/etc/a/b", true}, {`a\*`, "a*", true}, {`a\*`, "ab", false}, {`*\\`, `a\`, true}, {"*[0-9]", "a1b2", true},
		{"*[0-9]", "a1b", false},
		{`[\`, `[\`, true}, {"x[[:digit:]]*", "x1y", true}, {"[[:digit:]][[:digit:]]", "12", true}, {"[[:digit:]", "x", false},
	} {
		if got := Match(c.pattern, c.name); got != c.want {
			t.Errorf("pattern %q, name %q: %v", c.pattern, c.name, got)
		}
	}
}
