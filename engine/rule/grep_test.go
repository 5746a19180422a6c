package rule

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEachMatch(t *testing.T) {
	text := "Status: install ok installed\r\nPackage: a\n\nStatus: install ok half-installed\nxStatus: \nlast status"
	for pattern, want := range map[string]string{
		`^Status: \S+ \S+ half`: "4", `Status:`: "1 4 5", `(?i)status`: "1 4 5 6", `^$`: "3", `^Package`: "2", `status$`: "6",
		`\Alast`: "6", `installed$`: "1 4", `nothing`: "", `(half|ok)`: "1 4", `(?:half-)+`: "4", `(half-)?installed`: "1 4",
		`[^x]us: $`: "5", `l{2}`: "1 4",
	} {
		var got []string
		eachMatch(t.Context(), regexp.MustCompile(pattern), []byte(text), func(n int, _ string) { got = append(got, fmt.Sprint(n)) })
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: lines %q, want %q", pattern, s, want)
		}
	}
}

// TestDemanded: lines are searched for the longest text that every match holds, wherever it stands.
func TestDemanded(t *testing.T) {
	for pattern, want := range map[string]string{"ab.*cde": "cde", "cde.*ab": "cde", "ab.*cd": "ab", "(abc)+x?": "abc", "(abc)?x": "x",
		"(abc){0,2}x": "x",
		"(abc){1,2}x": "abc", "a|b": "", "(?i)abc": "", ".": ""} {
		if got := demanded(regexp.MustCompile(pattern)); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}

// FuzzEachMatch compares the search with trying each line.
func FuzzEachMatch(f *testing.F) {
	f.Add("a+b", "aab\nb\nxaab\n")
	f.Add(`^x.*[^y]$`, "x\nxy\nxz\r\n")
	f.Add(`(?i)AB|cd`, "ab\ncd\n")
	f.Add("$", "\n")
	f.Add("x\uFFFD", "x\xff\ny")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		re, err := regexp.Compile(pattern)
		if err != nil || len(pattern) > 50 {
			return
		}
		var got, want []int
		eachMatch(t.Context(), re, []byte(text), func(n int, _ string) { got = append(got, n) })
		for i, l := range lines(text) {
			if re.MatchString(strings.TrimSuffix(l, "\r")) {
				want = append(want, i+1)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q over %q: %v, want %v", pattern, text, got, want)
		}
	})
}
