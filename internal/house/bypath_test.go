package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// byPath change what a path leads to at that moment, which may be another file
// than the one that was looked at. Remedies change files in engine/remedy/machine, by
// descriptors of what was opened; the journal's through os.Root.
var byPath = []string{
	"Chmod",
	"Chown",
	"Lchown",
	"Chtimes",
	"Create",
	"CreateTemp",
	"Fchmodat",
	"Fchownat",
	"Lchtimes",
	"Link",
	"Linkat",
	"Lsetxattr",
	"Lremovexattr",
	"Mkdir",
	"MkdirAll",
	"MkdirTemp",
	"Mkdirat",
	"Mkfifo",
	"Mknod",
	"OpenFile",
	"Remove",
	"RemoveAll",
	"Removexattr",
	"Rename",
	"Renameat",
	"Renameat2",
	"Rmdir",
	"Setxattr",
	"Symlink",
	"Truncate",
	"Unlink",
	"Unlinkat",
	"Utimes",
	"UtimesNanoAt",
	"WriteFile",
}

// descriptorRoom is the one that may: what it names by path is /proc/self/fd.
const descriptorRoom = "engine/remedy/machine"

func TestRemediesChangeNothingByPath(t *testing.T) {
	root := filepath.Join("..", "..")
	steps, err := filepath.Glob(filepath.Join(root, "traps/*/steps")) // kinds that traps bring
	if err != nil || len(steps) == 0 {
		t.Fatalf("no kinds of steps of a trap's own: %v", err)
	}
	for _, dir := range append(steps, filepath.Join(root, "engine/remedy")) {
		if err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(root, name)
			rel = filepath.ToSlash(rel)
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
				strings.HasPrefix(rel, descriptorRoom+"/") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err == nil {
				for _, call := range changesByPath(f) {
					t.Errorf("%s: %s: remedies change files by descriptor, in %s", rel, call, descriptorRoom)
				}
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// changesByPath lists what a file takes of byPath, called or not.
func changesByPath(f *ast.File) (found []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := sel.X.(*ast.Ident)
		if ok && pkg.Obj == nil && slices.Contains([]string{"os", "unix", "syscall", "ioutil", "renameio"}, pkg.Name) &&
			slices.Contains(byPath, sel.Sel.Name) {
			found = append(found, pkg.Name+"."+sel.Sel.Name)
		}
		return true
	})
	return found
}

func TestByPathIsSeen(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
import ("os"; "golang.org/x/sys/unix")
func f(root *os.Root) { os.Chmod("a", 0); g := unix.Chown; root.Chmod("a", 0); os.ReadFile("a"); _ = g }`, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := changesByPath(f); !slices.Equal(got, []string{"os.Chmod", "unix.Chown"}) {
		t.Error(got)
	}
}
