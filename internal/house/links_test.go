package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What goes on every host boots no kernels, draws no pictures, serves no web
// pages, and compiles no rules with somebody else's compiler.
var notOnHosts = []string{
	"fettle/lab", "fettle/traps/proofs", "fettle/internal/chart/draw", "fettle/engine/rule/cel/oracle", "fettle/tools/bisect",
	"gonum.org", "golang.org/x/image", "github.com/golang/freetype", "codeberg.org/go-fonts", "codeberg.org/go-latex",
	"net/http",
	"cel.dev", "google.golang.org/protobuf", "github.com/antlr4-go",
	"github.com/ProtonMail/go-crypto/openpgp/packet", "github.com/cloudflare/circl",
}

// TestWhatFettleLinks holds cmd/fettle to it, with all that it imports.
func TestWhatFettleLinks(t *testing.T) {
	for _, d := range linked(t) {
		for _, not := range notOnHosts {
			if d == not || strings.HasPrefix(d, not+"/") || strings.Contains(d, "/proof/") || strings.HasSuffix(d, "/proof") {
				t.Errorf("cmd/fettle links %s, which does not belong on hosts", d)
				break
			}
		}
	}
}

// linked are the packages of cmd/fettle, the standard library's among them.
func linked(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "fettle/cmd/fettle").Output()
	if err != nil {
		t.Fatal("go list:", err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, "fettle/cli") {
		t.Fatalf("go list names %d packages, and not fettle/cli", len(deps))
	}
	return deps
}

// TestOneSort: what fettle links sorts by package sorted, not by functions of
// which the compiler makes a copy for each type of element.
func TestOneSort(t *testing.T) {
	eachLinked(t, func(file string, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			if name := selected(n, "slices"); strings.HasPrefix(name, "Sort") && strings.HasSuffix(name, "Func") &&
				!strings.HasPrefix(file, "internal/sorted/") {
				t.Errorf("%s: use sorted.By or sorted.Of for slices.%s, which is compiled anew for each type", file, name)
			}
			return true
		})
	})
}

// TestNoPatternsAtStart: what fettle links compiles no regular expressions
// before main, for verbs and checks that this run may not need.
func TestNoPatternsAtStart(t *testing.T) {
	eachLinked(t, func(file string, f *ast.File) {
		for _, d := range f.Decls {
			vars, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			ast.Inspect(vars, func(n ast.Node) bool {
				if selected(n, "regexp") == "MustCompile" {
					t.Errorf("%s: use lazy.Regexp for a variable of a package", file)
				}
				_, later := n.(*ast.FuncLit)
				return !later
			})
		}
	})
}

// eachLinked calls each with our files that cmd/fettle links.
func eachLinked(t *testing.T, each func(file string, f *ast.File)) {
	t.Helper()
	ours := linked(t)
	eachFile(t, func(file string, _ []string) {
		file = filepath.ToSlash(file)
		if !slices.Contains(ours, path.Join("fettle", path.Dir(file))) {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		each(file, f)
	})
}

// selected is NAME where n is pkg.NAME.
func selected(n ast.Node, pkg string) string {
	if sel, ok := n.(*ast.SelectorExpr); ok {
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == pkg {
			return sel.Sel.Name
		}
	}
	return ""
}

// TestDumpsAreWhole: lists of the kernel's are asked for through package netdump,
// which begins anew where something changed meanwhile.
func TestDumpsAreWhole(t *testing.T) {
	eachFile(t, func(file string, imports []string) {
		if !slices.Contains(imports, "github.com/vishvananda/netlink") || strings.HasPrefix(filepath.ToSlash(file), "internal/netdump/") {
			return
		}
		whole := map[ast.Node]bool{}
		parse(t, filepath.Join("..", "..", file), func(n ast.Node) {
			if call, ok := n.(*ast.CallExpr); ok && selected(call.Fun, "netdump") == "Whole" {
				ast.Inspect(call, func(in ast.Node) bool { whole[in] = true; return true })
			}
			if name := selected(n, "netlink"); listing.MatchString(name) && !whole[n] {
				t.Errorf("%s: netlink.%s: ask for it by netdump.Whole", filepath.ToSlash(file), name)
			}
		})
	})
}

// listing are the library's functions that ask for lists.
var listing = regexp.MustCompile(`List(Filtered)?$`)
