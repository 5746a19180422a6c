// Package stories plays the pages that fettle was written for, each as its author would
// with fettle at hand: his words, the check, the plan, the fix, what the kernel or the
// daemon itself says then, the undo. A story is a script in testdata.
package stories

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	_ "fettle/cli" // what the programs are made of: where it changes, go test has no result in its cache
	_ "fettle/cli/proving"
	"fettle/internal/means"
	"fettle/lab"
	"fettle/lab/labtest"
)

// TestStories plays those that take seconds, on hosts of namespaces.
func TestStories(t *testing.T) {
	means.Short(t, "takes seconds")
	play(t, "testdata/quick/*.txtar")
}

// TestLongStories plays those that boot several machines, or measure: all with FETTLE_LONG=1, with
// FETTLE_ROTA=1 those whose turn it is.
func TestLongStories(t *testing.T) {
	if os.Getenv("FETTLE_ROTA") == "" {
		means.Long(t, "plays on machines of their own")
		play(t, "testdata/long/*.txtar")
		return
	}
	all, err := filepath.Glob("testdata/long/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range all {
		if i%means.Turns == means.Turn(t) {
			play(t, file)
		}
	}
}

// testValue is the key of a script's testing.TB.
type testValue struct{}

func play(t *testing.T, pattern string) {
	programs := filepath.Dir(labtest.Programs(t).Init)
	source, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("stories %s: %d, %v", pattern, len(files), err)
	}
	testscript.Run(t, testscript.Params{
		Files: files, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Values[testValue{}] = env.T().(testing.TB)
			cache, err := os.UserCacheDir() // where kernels are kept
			env.Setenv("XDG_CACHE_HOME", cache)
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("PROGRAMS", programs)
			env.Setenv("SOURCE", source)
			env.Setenv("PATH", programs+":/usr/sbin:/usr/bin:/sbin:/bin:"+env.Getenv("PATH"))
			if err == nil {
				err = os.MkdirAll(filepath.Join(env.WorkDir, "home"), 0o700)
			}
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"needs":   needs,
			"host":    host,
			"on":      on,
			"start":   start,
			"until":   until,
			"machine": machine,
			"exits":   exits,
			"outcome": outcome,
			"proved":  proved,
		},
	})
}

// needs WHAT… ends a story that this machine has not the means for: programs, files (with
// a slash; patterns), kernels that make has built (built:NAME).
func needs(ts *testscript.TestScript, neg bool, args []string) {
	tb := ts.Value(testValue{}).(testing.TB)
	for _, what := range args {
		name, built := strings.CutPrefix(what, "built:")
		switch {
		case built:
			if _, err := lab.Built(name); err != nil {
				tb.Skipf("NOTHING PROVED: %v", err)
			}
		case strings.Contains(what, "/"):
			if found, _ := filepath.Glob(what); len(found) == 0 {
				means.Missing(tb, "needs "+what)
			}
		default:
			means.Tool(tb, what)
		}
	}
}

// exits STATUS COMMAND… runs a command on this machine that must end with this very status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND...")
	}
	if got := status(ts.Exec(args[1], args[2:]...)); args[0] != strconv.Itoa(got) {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// machine SCRIPT FLAG… runs a script of the story on a throwaway machine, made by fettle-lab boot with
// these flags; fettle is on it, too.
func machine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: machine SCRIPT FLAG...")
	}
	argv := append(append([]string{"boot"}, args[1:]...), "--", "sh", "-e", "-c", ts.ReadFile(args[0]))
	ts.Check(ts.Exec(filepath.Join(ts.Getenv("PROGRAMS"), "fettle-lab"), argv...))
}

// outcome [PART] TRAP SUBJECT STATUS wants the JSON that check printed to say so of the subject; an
// empty SUBJECT is any. A script that ran on a machine heads the PARTs of its output "== PART".
func outcome(ts *testscript.TestScript, neg bool, args []string) {
	said := ts.ReadFile("stdout")
	if len(args) == 4 {
		var ok bool
		if _, said, ok = strings.Cut(said, "== "+args[0]+"\n"); !ok {
			ts.Fatalf("no part %s", args[0])
		}
		said, _, _ = strings.Cut(said, "\n== ")
		args = args[1:]
	}
	if len(args) != 3 {
		ts.Fatalf("usage: outcome [PART] TRAP SUBJECT STATUS")
	}
	var report struct {
		Results []struct {
			Outcomes []struct{ Trap, Status, Subject string }
		}
	}
	ts.Check(json.Unmarshal([]byte(said), &report))
	there := false
	for _, r := range report.Results {
		for _, o := range r.Outcomes {
			there = there || o.Trap == args[0] && o.Status == args[2] && (args[1] == "" || o.Subject == args[1])
		}
	}
	if there == neg {
		ts.Fatalf("%s of %q is %s: %v, want %v\n%s", args[0], args[1], args[2], there, !neg, said)
	}
}
