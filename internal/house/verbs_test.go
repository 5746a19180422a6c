package house

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// written are where verbs write that run as root in folders into which others may
// write. They make, replace and remove files by package files and below what it
// opened (os.Root), never by a path.
var written = []string{
	"tools/netboot",
	"tools/totp",
	"cli/netboot",
	"cli/totp",
	"cli/capture",
	"cli/check",
	"traps/installersync",
	"traps/netbootstale",
	"fleet/ssh",
	"report",
	"cli/accept",
	"cli/history",
	"cli/notify",
	"cli/keypath",
	"tools/keypath",
	"internal/files",
}

// exempt write by path where nobody else can: why.
var exempt = map[string]string{
	"tools/netboot/renew/release.go: os.RemoveAll":     "a folder of files.Private",
	"tools/netboot/renew/release.go: os.WriteFile":     "a folder of files.Private",
	"tools/totp/store_linux.go: unix.Renameat":         "by the descriptor of the user's folder, with the user's rights",
	"tools/totp/store_linux.go: unix.Renameat2":        "by the descriptor of the user's folder, with the user's rights",
	"tools/totp/store_linux.go: unix.Linkat":           "by the descriptor of the user's folder, with the user's rights",
	"tools/totp/store_linux.go: unix.Unlinkat":         "by the descriptor of the user's folder, with the user's rights",
	"cli/netboot/console_linux.go: os.OpenFile":        "a pseudo-terminal",
	"cli/history/diff.go: os.RemoveAll":                "a folder of files.Private",
	"cli/history/side.go: os.CreateTemp":               "in a folder of files.Private",
	"internal/files/exchange_linux.go: unix.Renameat2": "by descriptors",
	"internal/files/private_linux.go: os.MkdirTemp":    "in a folder in which nobody else can rename it",
	"internal/files/private_other.go: os.MkdirTemp":    "not Linux: run by its user alone",
	"internal/files/folder_other.go: os.MkdirAll":      "not Linux: run by its user alone",
	"internal/files/held_other.go: os.OpenFile":        "not Linux: run by its user alone",
	"tools/netboot/httpd/httpd.go: os.OpenFile":        "reads",
}

func TestVerbsWriteNothingByPath(t *testing.T) {
	root := filepath.Join("..", "..")
	used := map[string]bool{}
	for _, dir := range written {
		if err := filepath.WalkDir(filepath.Join(root, dir), func(name string, d fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(root, name)
			rel = filepath.ToSlash(rel)
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
				strings.Contains(rel, "/proof/") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				return err
			}
			for _, call := range changesByPath(f) {
				what := rel + ": " + call
				if used[what] = true; exempt[what] == "" {
					t.Errorf("%s: whoever can write there leads it elsewhere: use package files", what)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for what := range exempt {
		if !used[what] {
			t.Errorf("%s is exempt and not used", what)
		}
	}
}
