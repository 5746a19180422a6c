// Package house tests the rules of the house that the compiler does not: who may
// import whom, and who may start programs.
package house

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// floors are the rooms at the top, the highest floor first. What is below may not
// know what is above it; rooms of one floor do not know each other, unless rooms
// says so.
var floors = [][]string{
	{"cmd"},
	{"cli"},
	{"packaging", "traps"},
	{"lab", "fleet", "why", "before", "assistant"},
	{"report"},
	{"engine"},
	{"tools"},
	{"host"},
	{"internal"},
}

// sideways are the arrows within one floor.
var sideways = map[string]string{"fleet/hub/api": "why"} // a host's own text, given to why

// rooms says what of ours a package may import besides internal/ and what lies
// below it in its own room, where that is narrower than its floor; by prefix, and
// the longest counts. A star stands for one name.
var rooms = map[string][]string{
	"host":                   {},
	"host/":                  {"host"},
	"host/format/":           {"host", "host/format"},
	"host/fact/":             {"host", "host/format", "host/fact"},
	"engine/message":         {},
	"engine/trap":            {"host", "engine/message", "engine/remedy"},
	"engine/trap/":           {"engine/trap", "engine/remedy", "host"},
	"engine/remedy":          {"host", "engine/remedy"},
	"engine/remedy/":         {"host", "engine/remedy"},
	"engine/rule":            {"host", "engine/message", "engine/trap", "engine/remedy", "engine/rule/cel"},
	"engine/rule/cel":        {},
	"engine/rule/cel/oracle": {"engine/rule/cel"},
	"engine/run":             {"host", "engine/trap", "engine/rule", "tools/netboot/tree"},
	"before":                 {"host", "engine/trap", "report"},
	"before/":                {"host", "engine/trap"},
	"assistant":              {"host/redact"},
	"why":                    {"host", "engine/message", "engine/trap", "engine/remedy"},
	"why/firstlook":          {"host", "why/meaning"},
	"why/meaning":            {},
	"why/paste":              {"host", "engine/message", "engine/trap"},
	"report":                 {"engine/trap", "host"},
	"report/accept":          {"engine/trap"},
	"report/history":         {"engine/trap", "report"},
	"report/notify":          {"engine/trap", "report", "report/accept"},
	"tools/totp":             {},
	"tools/watch":            {"host"},
	"tools/tune":             {"tools/measure"},
	"tools/bisect":           {"tools/bisect"},
	"tools/keypath/":         {"tools/keypath", "host/format"},
	"tools/netboot/":         {"tools/netboot", "host"},
	"tools/measure/":         {"tools/measure", "host"},
	"fleet/ssh":              {"host", "engine/trap", "report"},
	"fleet/agent":            {"fleet/agent", "report/history", "report/onhub", "fleet/hub/message", "fleet/hub/join"},
	"fleet/agent/":           {},
	"fleet/hub":              {"fleet/hub", "report/notify"},
	"fleet/hub/message":      {"report", "engine/trap"},
	"fleet/hub/store":        {"fleet/hub/message", "report", "engine/trap"},
	"fleet/hub/store/":       {"fleet/hub/store", "fleet/hub/message", "fleet/hub/synthetic", "engine/trap"},
	"fleet/hub/bus":          {"fleet/hub/message"},
	"fleet/hub/join":         {"fleet/hub/message", "fleet/hub/store"},
	"fleet/hub/ingest":       {"fleet/hub/message", "fleet/hub/store"},
	"fleet/hub/emulate":      {"fleet/hub/message", "fleet/hub/bus", "fleet/hub/synthetic"},
	"fleet/hub/synthetic":    {"fleet/hub/message", "host", "report", "engine/trap"},
	"fleet/hub/api":          {"fleet/hub/store", "host", "why", "report", "engine/trap"},
	"fleet/hub/notify":       {"fleet/hub/store", "report/notify", "report", "engine/trap"},
	"fleet/hub/web":          {"fleet/hub/api", "fleet/hub/store", "fleet/hub/web/login", "engine/trap"},
	"fleet/hub/web/login":    {"fleet/hub/store"},
	"lab":                    {},
	"lab/":                   {"lab"},
	"lab/sabotage":           {"lab", "engine/remedy"}, // fettle's own engine at work
	"lab/powercut":           {"lab", "host", "engine/remedy"},
	"lab/remedyproof":        {"lab", "engine/remedy"},
	"traps/":                 {"host", "engine", "tools"},
	"traps/*/steps":          {"host", "engine/remedy"}, // kinds of steps that one trap brings
	"traps/*/proof":          {"traps", "host", "engine", "lab", "tools/measure"},
	"traps/*/proof/":         {},
	"traps/proofs":           {"traps", "engine/trap", "lab"},
	"traps/rules":            {"traps/rules", "engine", "host"},
	"traps/rules/":           {"traps/rules", "engine", "lab"},
	"traps/rules/generate":   {"engine/rule"},
	"traps/rules/refresh":    {"engine/rule"},
	"cli/keypath":            {"cli/app", "tools/keypath", "host/format"},
	"cli/mcp":                {"cli/app", "assistant"},
	"cli/agent":              {"cli/app", "fleet/agent", "fleet/hub/join"},
	"cli/hub":                {"cli/app", "fleet/hub", "traps", "report", "engine/pack"},
	"cli/proving":            {"cli", "engine", "fleet/ssh", "host", "lab", "report", "tools", "traps"},
	"cmd/":                   {"cli"},
}

// starters may start programs: the read-only commands of checks, the steps of
// remedies, and the transports.
var starters = []string{
	"host/exec_linux.go",
	"host/confine/",
	"host/archive/",
	"internal/means/",
	"internal/figures/",
	"internal/mutate/",
	"internal/sks/",
	"internal/ui/pager.go",
	"internal/uml/",
	"internal/ssh/",
	"fleet/hub/store/storetest/",
	"fleet/agent/",
	"assistant/run.go",
	"engine/remedy/",
	"fleet/ssh/",
	"report/notify/",
	"cli/",
	"lab/",
	"tools/measure/",
	"tools/bisect/",
	"traps/rules/refresh/",
}

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
	here, there := top(pkg), top(imp)
	down := floor(there) > floor(here)
	if !down && here != there && sideways[pkg] != there {
		return false
	}
	best, list := -1, []string(nil)
	for room, may := range rooms {
		if inRoom(pkg, room) && len(room) > best {
			best, list = len(room), may
		}
	}
	if best < 0 || imp == pkg+"/steps" { // no narrower rule; a trap's own kinds of steps
		return true
	}
	for _, m := range list {
		if imp == m || strings.HasPrefix(imp, m+"/") {
			return true
		}
	}
	return false
}

// top is the room at the top that a package is in.
func top(pkg string) string {
	name, _, _ := strings.Cut(pkg, "/")
	return name
}

// floor is which floor a room is on, from above; -1 for none.
func floor(room string) int {
	return slices.IndexFunc(floors, func(f []string) bool { return slices.Contains(f, room) })
}

// TestFloors wants every folder at the top to be a room on a floor.
func TestFloors(t *testing.T) {
	for _, dir := range folders(t) {
		if floor(top(dir)) < 0 {
			t.Errorf("%s is on no floor: add it to floors, or move it into a room", dir)
		}
	}
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
