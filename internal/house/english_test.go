package house

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// translated are turns of phrase that read as if translated, and what to write.
var translated = []struct {
	phrase *regexp.Regexp
	say    string
}{
	{regexp.MustCompile(`(?i)(^|[^-\w])mend(s|ed|ing)?\b`), "fix"},
	{regexp.MustCompile(`(?i)\banew\b`), "again; make anew: create again"},
	{regexp.MustCompile(`(?i)\bin vain\b`), "say what fails"},
	{regexp.MustCompile(`(?i)\b(gives?|given|giving) back\b`), "restore"},
	{regexp.MustCompile(`(?i)\b(was|is|be|being) taken back\b`), "rolled back"},
	{regexp.MustCompile(`(?i)\btold apart\b`), "distinguish"},
	{regexp.MustCompile(`(?i)\b(to|not to) be had\b`), "available"},
	{regexp.MustCompile(`(?i)\bso often\b`), "a number"},
	{regexp.MustCompile(`(?i)\bgrave(st|r)\b`), "most severe"},
	{regexp.MustCompile(`(?i)\bof before\b`), "from before"},
	{regexp.MustCompile(`(?i)\bstands? half-way\b`), "was interrupted"},
	{regexp.MustCompile(`(?i)\bfor want of\b`), "because of a missing"},
	{regexp.MustCompile(`(?i)\bpacked by\b`), "compressed with"},
	{regexp.MustCompile(`(?i)\ball the same\b`), "nevertheless"},
	{regexp.MustCompile(`(?i)\bcries? wolf\b`), "false positive"},
	{regexp.MustCompile(`(?i)\bwrong use\b`), "usage error"},
	{regexp.MustCompile(`(?i)\bgoes with none of\b`), "cannot be used with"},
	{regexp.MustCompile(`(?i)\b(belongs?|belonging) to somebody else\b`), "belongs to another user"},
}

// TestEnglish holds what users read to English that does not read translated:
// the texts of the programs and the pages in docs. Lore has its own voice.
func TestEnglish(t *testing.T) {
	eachFile(t, func(file string, _ []string) {
		file = filepath.ToSlash(file)
		if within(
			file,
			[]string{"lab/", "why/", "internal/", "fleet/hub/emulate/", "fleet/hub/synthetic/", "traps/rules/", "cli/explain/short.go"},
		) ||
			strings.Contains(file, "/proof/") {
			return
		}
		parse(t, filepath.Join("..", "..", file), func(n ast.Node) {
			if l, ok := n.(*ast.BasicLit); ok && strings.Count(l.Value, " ") > 1 {
				s, _ := strconv.Unquote(l.Value)
				plain(t, file, s)
			}
		})
	})
	pages, _ := filepath.Glob("../../docs/*.md")
	for _, page := range pages {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		plain(t, page, strings.ReplaceAll(string(b), "\n", " "))
	}
	if len(pages) < 20 {
		t.Errorf("%d pages in docs", len(pages))
	}
}

func plain(t *testing.T, where, text string) {
	for _, p := range translated {
		if at := p.phrase.FindStringIndex(text); at != nil {
			from, to := max(0, at[0]-30), min(len(text), at[1]+30)
			t.Errorf("%s: %q reads translated (%s)", where, text[from:to], p.say)
		}
	}
}

// TestEnglishIsHeard: each phrase is found where it stands.
func TestEnglishIsHeard(t *testing.T) {
	for text, want := range map[string]bool{
		"make the plan anew": true, "renewal": false, "mended: nothing": true, "recommended": false,
		"a kernel of before May": true, "the graver one": true, "an engraver": false, "was taken back:": true,
		"the file nothing-mended.json": false, "packed by zstd": true, "unpacked by zstd": false,
	} {
		found := false
		for _, p := range translated {
			found = found || p.phrase.MatchString(text)
		}
		if found != want {
			t.Errorf("%q: %v", text, found)
		}
	}
}
