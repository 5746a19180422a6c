package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// past are the ways to a host's files that do not go through package host: a
// check that took one would say of a capture what is so of this machine.
var past = []string{"os", "os/exec", "os/user", "io/ioutil", "net/http", "syscall", "golang.org/x/sys/unix"}

// may use one of them, for what is no file of the host.
var may = map[string]string{
	"traps/rules/generate/main.go":      "a program that writes the book of rules",
	"traps/rules/generate/synthetic.go": "a part of it that writes rules to measure with",
	"traps/rules/refresh/main.go":       "a program that confirms tables",
	"traps/rules/refresh/ends.go":       "a part of it that reads distro-info-data",
	"traps/rules/refresh/cycles.go":     "a part of it that reads a clone of endoflife.date",
	"traps/rules/refresh/changelogs.go": "a part of it that reads packages' changelogs",
	"traps/rules/refresh/apt.go":        "a part of it that runs apt",
}

// TestChecksAskTheHost holds what reads a host's configuration and facts, and
// what judges them, to package host.
func TestChecksAskTheHost(t *testing.T) {
	eachFile(t, func(file string, imports []string) {
		file = filepath.ToSlash(file)
		if !strings.HasPrefix(file, "traps/") && !strings.HasPrefix(file, "host/fact/") && !strings.HasPrefix(file, "host/format/") ||
			strings.Contains(file, "/proof/") ||
			may[file] != "" {
			return
		}
		for _, imp := range imports {
			for _, p := range past {
				if imp == p && !constantsOnly(t, file, imp) {
					t.Errorf("%s uses %s: ask the *host.Host, so that captures and other roots are read alike", file, imp)
				}
			}
		}
	})
}

// constantsOnly tells whether a file takes nothing but constants and types of
// a package: it calls none of its functions.
func constantsOnly(t *testing.T, file, imp string) bool {
	name := imp[strings.LastIndex(imp, "/")+1:]
	only := true
	parse(t, filepath.Join("..", "..", file), func(n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == name && !pure[name+"."+sel.Sel.Name] {
				only = false
			}
		}
	})
	return only
}

// pure are functions that look at their arguments alone.
var pure = map[string]bool{
	"os.FileMode":   true,
	"unix.Major":    true,
	"unix.Minor":    true,
	"unix.Mkdev":    true,
	"unix.Errno":    true,
	"syscall.Errno": true,
}

// figure is a verb of fmt that prints a number.
var figure = regexp.MustCompile(`%[-+# 0]*[0-9]*(\.[0-9]+)?[dfgeGxX]`)

// TestSummariesAreStable: a finding that was accepted comes back when its
// summary changes. Figures go into the detail and the evidence.
func TestSummariesAreStable(t *testing.T) {
	eachFile(t, func(file string, _ []string) {
		if !strings.HasPrefix(filepath.ToSlash(file), "traps/") {
			return
		}
		parse(t, filepath.Join("..", "..", file), func(n ast.Node) {
			kv, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return
			}
			if key, ok := kv.Key.(*ast.Ident); !ok || key.Name != "Summary" {
				return
			}
			ast.Inspect(kv.Value, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if s, _ := strconv.Unquote(lit.Value); figure.MatchString(s) {
						t.Errorf("%s: the summary %q holds a figure: put it into the detail or the evidence", file, s)
					}
				}
				return true
			})
		})
	})
}

// TestSkipsAreLoud: a test that lacks its means must fail under CI=true, which
// package means sees to. Nobody else skips.
func TestSkipsAreLoud(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.Contains(filepath.ToSlash(p), "internal/means/") {
			return err
		}
		parse(t, p, func(n ast.Node) {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
				switch sel.Sel.Name {
				case "Skip", "Skipf", "SkipNow":
					if x, ok := sel.X.(*ast.Ident); ok && (x.Name == "t" || x.Name == "b" || x.Name == "f") {
						t.Errorf("%s skips by itself: use internal/means (Missing, Long, Short, Left)", p)
					}
				}
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// parse walks over the whole of a Go file.
func parse(t *testing.T, file string, each func(ast.Node)) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if n != nil {
			each(n)
		}
		return true
	})
}
