package nearest

import "testing"

func TestWord(t *testing.T) {
	words := []string{"check", "explain", "history", "bridge-mtu", "Serialname", "fix", "boot-full"}
	for written, want := range map[string]string{
		"check":                 "check",
		"chekc":                 "check", // two neighbours swapped
		"cheek":                 "check", // another letter
		"chck":                  "check", // one left out
		"checks":                "check", // one too many
		"xheck":                 "check", // the first
		"CHECK":                 "check", // in capitals
		"hcekc":                 "check", // two swaps
		"hitsory":               "history",
		"hitsoyr":               "history",
		"serialnmae":            "Serialname",
		"serailnmae":            "Serialname",
		"serailnmaex":           "Serialname", // three wrong of eleven
		"mtu":                   "bridge-mtu", // contained
		"MTU":                   "bridge-mtu",
		"full":                  "boot-full",
		"serial":                "Serialname",
		"fx":                    "fix",
		"mt":                    "", // too short to be looked for
		"bri":                   "bridge-mtu",
		"bridge":                "bridge-mtu",
		"zzzzzz":                "",
		"completely-else":       "",
		"":                      "",
		"cxxck":                 "check", // two wrong are still near
		"cxxxk":                 "",      // three of five are not
		"explainationing-of-it": "",
	} {
		if got := Word(written, words); got != want {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
	if got := Word("abcd", []string{"abxx", "abcx", "abcy"}); got != "abcx" {
		t.Errorf("the nearest, and of equals the first: %q", got)
	}
	if got := Word("word", nil); got != "" {
		t.Errorf("of no words: %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "xabc", 1}, {"abc", "abcx", 1},
		{"abc", "bc", 1},
		{"ab", "ba", 1}, {"abcd", "badc", 2}, {"abcd", "acbd", 1}, {"kitten", "sitting", 3}, {"saturday", "sunday", 3},
		{"abc", "cba", 2}, {"ca", "abc", 3}, {"aab", "aba", 1}, {"abab", "baba", 2},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
