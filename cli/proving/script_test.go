package proving_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"fettle/cli"
	"fettle/cli/proving"
	"fettle/internal/means"
	"fettle/lab"
	"fettle/lab/labtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"fettle":     func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"fettle-lab": func() { os.Exit(proving.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs both programs as their users do: fettle hands its verbs of
// the lab to fettle-lab.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits}})
}

// TestLongScripts runs those that take a minute.
func TestLongScripts(t *testing.T) {
	means.Long(t, "hunts that measure")
	testscript.Run(
		t,
		testscript.Params{Dir: "testdata/long", RequireExplicitExec: true, RequireUniqueNames: true, Setup: machines, Condition: built,
			Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits}},
	)
}

// machines has scripts start those that boot kernels by the programs as they
// are built, and find the kernels that make has built.
func machines(env *testscript.Env) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	env.Setenv("XDG_CACHE_HOME", cache)
	env.Setenv("PROGRAMS", filepath.Dir(labtest.Programs(env.T().(testing.TB)).Init))
	return nil
}

// built is the condition [built:NAME]: make has built that kernel here.
func built(cond string) (bool, error) {
	name, ok := strings.CutPrefix(cond, "built:")
	if !ok {
		return false, fmt.Errorf("unknown condition %q", cond)
	}
	_, err := lab.Built(name)
	return err == nil, nil
}

// exits STATUS COMMAND… runs a command that must end with this very status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND...")
	}
	got := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit status %s, want %s", got, args[0])
	}
}
