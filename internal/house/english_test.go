package house

import (
	"go/ast"
	"go/parser"
	"go/token"
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
	{
		regexp.MustCompile(`(?i)\b(twice|two|three|many|several|all|both|hosts|programs|machines|checks|runs|jobs|devices) at once\b`),
		"concurrently, in parallel, together",
	},
	{regexp.MustCompile(`(?i)\bstands? (in|beside|behind|before|below|there|half)\b([^-]|$)`), "is in"},
	{regexp.MustCompile(`(?i)\bto and fro\b`), "back and forth, fight over"},
	{regexp.MustCompile(`(?i)\bfor ever\b`), "forever, for good"},
	{regexp.MustCompile(`(?i)\bnobody is told\b`), "no alert is sent"},
	{regexp.MustCompile(`(?i)\b(is|are) none (of|that)\b`), "unknown, is not a"},
	{regexp.MustCompile(`(?i)\bnone such\b`), "unknown"},
	{regexp.MustCompile(`(?i)\bbehind (a|the|its) (value|setting|number|line|name)s?\b`), "after a value"},
	{regexp.MustCompile(`(?i)\b(does|do|has|have|knows?|shows?) (it|that|this|them) no more\b`), "no longer"},
	{regexp.MustCompile(`(?i)\b(cannot|can|could not) be told from\b`), "cannot be distinguished"},
	{regexp.MustCompile(`(?i)\bheld by samples\b`), "tested with samples only"},
}

// TestEnglish holds what users read to English that does not read translated:
// the texts of the programs, lore and rules, and the pages.
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
	for pattern, least := range map[string]int{
		"docs/*.md": 20, "README.md": 1, "CHANGELOG.md": 1, "traps/*/lore.md": 30, "traps/rules/*/rule.yaml": 90,
	} {
		pages, _ := filepath.Glob("../../" + pattern)
		if len(pages) < least {
			t.Errorf("%s: %d pages", pattern, len(pages))
		}
		for _, page := range pages {
			b, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			plain(t, page, strings.Join(strings.Fields(words.ReplaceAllString(string(b), "")), " "))
		}
	}
}

// words are the symptoms and messages of lore and rules: what people and other
// programs say, in their own way.
var words = regexp.MustCompile(`(?m)^(symptoms|messages):\n([ #].*\n|\n)*`)

func plain(t *testing.T, where, text string) {
	for _, p := range translated {
		if at := p.phrase.FindStringIndex(text); at != nil {
			from, to := max(0, at[0]-30), min(len(text), at[1]+30)
			t.Errorf("%s: %q reads translated (%s)", where, text[from:to], p.say)
		}
	}
}

// TestEnglishIsHeard: each phrase is found, and nothing that is like it.
func TestEnglishIsHeard(t *testing.T) {
	for text, want := range map[string]bool{
		"make the plan anew": true, "renewal": false, "mended: nothing": true, "recommended": false,
		"a kernel of before May": true, "the graver one": true, "an engraver": false, "was taken back:": true,
		"the file nothing-mended.json": false, "packed by zstd": true, "unpacked by zstd": false,
		"two devices at once": true, "delete it at once": false, "it stands in a file": true, "a stand-in": false, "what stands out": false,
		"the comment behind the value": true, "behind the router": false, "it is none of these": true, "none of these is": false,
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

// comments are turns that comments of packages and exported names do not use:
// what programmers read first.
var comments = regexp.MustCompile(`\b((called|twice|several|some|many|two|all|both|hosts|checks|programs) at once|anew|in vain|for ever|` +
	`gravest|graver|stands? (half-way|beside|below|there)|to be had|told apart|gives? back|given back|taken back|all the same|mends?|mending)\b`)

// TestCommentsReadPlainly holds these comments to English that does not read
// translated.
func TestCommentsReadPlainly(t *testing.T) {
	seen := 0
	eachFile(t, func(file string, _ []string) {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", file), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		docs := []*ast.CommentGroup{f.Doc}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() {
					docs = append(docs, d.Doc)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if name := exported(spec); name != "" {
						docs = append(docs, d.Doc)
					}
				}
			}
		}
		for _, doc := range docs {
			text := strings.ReplaceAll(strings.Join(strings.Fields(doc.Text()), " "), "nothing-mended.json the last fix had nothing to mend", "")
			if seen += len(text); comments.MatchString(text) {
				t.Errorf("%s: %q reads translated", file, comments.FindString(text))
			}
		}
	})
	if seen < 100_000 {
		t.Errorf("only %d bytes of comments", seen)
	}
}

// exported is the exported name that a specification declares; "" for none.
func exported(spec ast.Spec) string {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			return s.Name.Name
		}
	case *ast.ValueSpec:
		for _, n := range s.Names {
			if n.IsExported() {
				return n.Name
			}
		}
	}
	return ""
}
