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

// ours are absolute paths of fettle's own.
var ours = regexp.MustCompile(`/(?:var/lib|var/cache|run|etc|etc/default|etc/systemd/system|var/lib/private)/fettle[-\w./]*`)

// TestRemains: docs/remains.md names every path of fettle's own that sources and
// packages name, and every folder and file below the state folder.
func TestRemains(t *testing.T) {
	page := text(t, "docs/remains.md")
	seen := map[string]bool{}
	want := func(where, path string) {
		path = strings.TrimRight(path, "./-")
		if path == "/var/lib/fettle" || path == "/etc/fettle" || path == "/var/cache/fettle" || seen[path] {
			return
		}
		if seen[path] = true; !strings.Contains(page, "`"+path+"`") && !strings.Contains(page, "`"+filepath.Dir(path)+"`") {
			t.Errorf("%s: docs/remains.md has no line for %s", where, path)
		}
	}
	eachFile(t, func(file string, _ []string) {
		file = filepath.ToSlash(file)
		if within(file, []string{"lab/", "cli/proving/", "internal/house/", "fleet/hub/"}) || strings.Contains(file, "/proof/") ||
			strings.Contains(file, "_test") {
			return // the hub's folder goes as a whole
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				s, _ := strconv.Unquote(n.Value)
				if path := ours.FindString(s); path == s && s != "" {
					want(file, path)
				}
			case *ast.CallExpr:
				if name := belowState(n); name != "" {
					want(file, "/var/lib/fettle/"+name)
				}
			}
			return true
		})
	})
	scripts, _ := filepath.Glob("../../packaging/*postrm")
	for _, script := range scripts {
		b, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range ours.FindAllString(string(b), -1) {
			want(script, path)
		}
	}
	for _, known := range []string{"/var/lib/fettle/told", "/var/lib/fettle/rescued", "/run/fettle", "/var/lib/fettle-agent"} {
		if !seen[known] {
			t.Errorf("%s was not found in the sources: the test looks at the wrong places", known)
		}
	}
}

// belowState is what a call of Join puts below the state folder; "" for others.
func belowState(call *ast.CallExpr) string {
	if selected(call.Fun, "filepath") != "Join" && selected(call.Fun, "path") != "Join" || len(call.Args) < 2 {
		return ""
	}
	state := false
	ast.Inspect(call.Args[0], func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && (id.Name == "state" || id.Name == "remedy") {
			state = true
		}
		return true
	})
	lit, ok := call.Args[1].(*ast.BasicLit)
	if !state || !ok {
		return ""
	}
	s, _ := strconv.Unquote(lit.Value)
	return s
}
