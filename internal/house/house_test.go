// Package house tests the rules of the house that the compiler does not: who may
// import whom, and who may start programs.
package house

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// rooms says what of ours each package may import, by prefix. A room that is
// not listed may import nothing of ours but internal/. The longest name counts.
var rooms = map[string][]string{
	"host":    {},
	"host/":   {"host"},
	"conf/":   {"host", "conf"},
	"fact/":   {"host", "conf", "fact"},
	"remedy":  {"remedy", "host"},
	"remedy/": {"remedy", "host"},
	"trap":    {"host", "remedy"},
	"trap/":   {"trap", "host"},
	"traps":   {"trap", "traps"},
	"traps/":  {"trap", "host", "conf", "fact", "remedy", "measure", "lore", "totp", "netboot", "serialname"},

	// Kinds of steps that one trap brings.
	"traps/*/steps": {"remedy", "host"},

	// What proves traps, and the one list of that.
	"traps/*/proof":  {"traps", "trap", "host", "conf", "remedy", "lab", "measure", "chart"},
	"traps/*/proof/": {},
	"traps/proofs":   {"traps", "trap", "lab"},

	// The generator of what rules come to.
	"traps/rules":  {"traps/rules", "lore", "trap", "host", "remedy"},
	"traps/rules/": {"traps/rules", "lore", "trap"},
	"lore":         {"trap", "host", "remedy"},
	// A language, and what it is compared with.
	"lore/cel":         {},
	"lore/cel/oracle":  {"lore/cel"},
	"lore/":            {"lore", "trap", "host", "conf", "fact", "remedy"},
	"measure/":         {"measure", "host", "conf", "fact", "chart"},
	"bisect":           {"bisect", "chart", "fleet"},
	"bisect/":          {"bisect"},
	"totp":             {},
	"serialname":       {"host", "conf"},
	"cli/serialname":   {"cli/app", "cli/fix", "host", "conf", "report", "serialname"},
	"keypath":          {"conf"},
	"keypath/":         {"keypath", "conf"},
	"cli/keypath":      {"keypath", "conf", "report"},
	"netboot/":         {"netboot", "host", "conf"},
	"chart":            {},
	"chart/":           {"chart"},
	"report":           {"trap", "host", "fact/machine"},
	"report/measured":  {"report", "measure", "chart"},
	"report/measured/": {"report", "measure", "chart"},
	"accept":           {"trap"},
	"history":          {"trap", "report"},
	"config":           {"trap"},
	"notify":           {"trap", "report", "accept", "config"},
	"fleet":            {"host", "trap", "report"},
	"cli":              {"cli", "run", "host", "conf", "fact", "trap", "traps", "remedy", "lore", "report", "accept", "history", "config", "notify", "fleet", "watch", "tune", "measure", "chart", "totp"},
	"cli/":             {"cli/app", "run", "host", "conf", "fact", "trap", "remedy", "lore", "report", "accept", "history", "config", "notify", "fleet", "watch", "tune", "measure", "chart", "totp"},
	"cli/netboot":      {"cli/app", "cli/fix", "host", "conf", "fact", "netboot", "remedy/machine"},
	"cli/proving":      {"cli", "run", "bisect", "fleet", "host", "trap", "traps", "remedy", "report", "lab", "measure", "chart"},
	"cli/totp":         {"cli/app", "cli/fix", "host", "conf", "fact", "totp"},
	"run":              {"host", "fact/machine", "conf/keyservers", "conf/ldapconf", "conf/openpgp", "netboot/tree", "trap", "lore/rule"},
	"cmd/":             {"cli"},
	"internal/":        {},
	"lab":              {"chart"},
	"lab/":             {"lab", "chart"},
	// What is cut off in a laboratory is fettle's own engine at work.
	"lab/sabotage":    {"lab", "remedy"},
	"lab/powercut":    {"lab", "host", "remedy"},
	"lab/remedyproof": {"lab", "remedy"},
	"watch":           {"host"},
	"hub/api":         {"hub/store", "history", "host/archive", "host/capture", "lore", "report", "trap"},
	"hub/web":         {"hub/api", "hub/store", "hub/web/login", "trap"},
	"hub/web/login":   {"hub/store"},
	"hub":             {"hub"},
	"hub/bus":         {"hub/message"},
	"hub/join":        {"hub/message", "hub/store"},
	"hub/emulate":     {"hub/message", "hub/bus", "hub/synthetic"},
	"hub/ingest":      {"hub/message", "hub/store"},
	"agent":           {"agent", "history", "hub/message", "hub/join"},
	"agent/":          {},
	"cli/agent":       {"cli/app", "agent", "hub/join"},
	"cli/hub":         {"cli/app", "hub", "traps"},
	"hub/message":     {"report", "trap"},
	"hub/store":       {"hub/message", "history", "report", "trap"},
	"hub/store/":      {"hub/store", "hub/message", "hub/synthetic", "trap"},
	"hub/synthetic":   {"hub/message", "fact/machine", "host", "report", "trap"},
	"tune":            {"measure"},
}

// starters may start programs: the read-only commands of checks, the steps of
// remedies, and the transports.
var starters = []string{"host/exec_linux.go", "host/confine/", "host/archive/", "internal/means/", "internal/mutate/", "internal/sks/", "internal/ui/pager.go", "hub/store/storetest/", "agent/", "remedy/", "fleet/", "notify/", "cli/", "lab/", "measure/", "bisect/"}

func TestWhoImportsWhom(t *testing.T) {
	eachFile(t, func(file string, imports []string) {
		pkg := filepath.ToSlash(filepath.Dir(file))
		for _, imp := range imports {
			ours, ok := strings.CutPrefix(imp, "fettle/")
			if ok && !strings.HasPrefix(ours, "internal/") && ours != pkg && !allowed(pkg, ours) {
				t.Errorf("%s imports %s, which the house does not allow", file, imp)
			}
			if imp == "os/exec" && !within(file, starters) {
				t.Errorf("%s imports os/exec: only %v start programs", file, starters)
			}
		}
	})
}

func allowed(pkg, imp string) bool {
	best, list := -1, []string(nil)
	for room, may := range rooms {
		if inRoom(pkg, room) && len(room) > best {
			best, list = len(room), may
		}
	}
	if imp == pkg+"/steps" { // a trap's own kinds of steps
		return true
	}
	for _, m := range list {
		if imp == m || strings.HasPrefix(imp, m+"/") {
			return true
		}
	}
	return false
}

// inRoom tells whether a package is the room, or below one that ends in a
// slash; a star stands for one name.
func inRoom(pkg, room string) bool {
	have, want := strings.Split(pkg, "/"), strings.Split(strings.TrimSuffix(room, "/"), "/")
	if len(have) < len(want) || len(have) > len(want) != strings.HasSuffix(room, "/") {
		return false
	}
	for i, w := range want {
		if w != "*" && w != have[i] {
			return false
		}
	}
	return true
}

func within(file string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(filepath.ToSlash(file), p) {
			return true
		}
	}
	return false
}

// eachFile parses the imports of every Go file that is not a test.
func eachFile(t *testing.T, each func(file string, imports []string)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		var imports []string
		for _, i := range f.Imports {
			s, _ := strconv.Unquote(i.Path.Value)
			imports = append(imports, s)
		}
		rel, _ := filepath.Rel(root, p)
		each(rel, imports)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFuzzed wants each package that has fuzz targets to run them for a while
// in every run of the tests.
func TestFuzzed(t *testing.T) {
	has, runs := map[string]bool{}, map[string]bool{}
	eachTest(t, func(dir, text string) {
		has[dir] = has[dir] || strings.Contains(text, "\nfunc Fuzz")
		runs[dir] = runs[dir] || strings.Contains(text, "{ means.Fuzz(t) }")
	})
	for dir := range has {
		if has[dir] && !runs[dir] {
			t.Errorf("%s has fuzz targets; add: func TestFuzz(t *testing.T) { means.Fuzz(t) }", dir)
		}
	}
}

// eachTest reads every file of tests.
func eachTest(t *testing.T, each func(dir, text string)) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join("..", ".."), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, "_test.go") {
			return err
		}
		b, err := os.ReadFile(p)
		if err == nil {
			each(filepath.Dir(p), string(b))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
