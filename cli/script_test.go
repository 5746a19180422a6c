package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"fettle/cli"
	"fettle/cli/agent"
	"fettle/cli/hub"
	"fettle/cli/proving"
	"fettle/internal/schematest"
)

func TestMain(m *testing.M) {
	if code, ok := cli.Synthetic(os.Args); ok {
		os.Exit(code)
	}
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "__confined-") && !strings.HasPrefix(filepath.Base(os.Args[0]), "fettle") {
		os.Exit(cli.MainWith(cli.EvilTraps(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) // a child of the tests in package cli
	}
	testscript.Main(m, map[string]func(){
		"fettle": func() {
			if exe, _ := os.Executable(); isFar(exe) {
				os.Exit(cli.MainWith(cli.FixTraps(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
			}
			os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		},
		"fettle-lab":   func() { os.Exit(proving.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"fettle-evil":  func() { os.Exit(cli.MainWith(cli.EvilTraps(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"fettle-fix":   func() { os.Exit(cli.MainWith(cli.FixTraps(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"fettle-hub":   func() { os.Exit(hub.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"fettle-agent": func() { os.Exit(agent.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"fettle-sham":  func() { os.Exit(cli.MainWith(cli.ShamTraps(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// isFar tells whether a program called fettle is the copy of fettle-fix that tests of fix --host put on hosts.
func isFar(program string) bool {
	_, err := os.Stat(filepath.Join(filepath.Dir(program), "is-fettle-fix"))
	return err == nil
}

// TestScripts runs fettle as its users do: each testdata/script/*.txtar is a session.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"sham":      sham,
			"published": published,
			"exits":     exits,
			"demo":      demo,
			"undemo":    undemo,
			"demosays":  demosays,
		}, Condition: condition})
}

// published wants standard output to be a document as its published schema says.
func published(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: published")
	}
	ts.Check(schematest.Valid([]byte(ts.ReadFile("stdout"))))
}

// sham FILE makes the live host, as fettle-sham sees it, say what FILE says.
// One script alone may use it: the file lies beside the program.
func sham(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sham FILE")
	}
	dir, _, _ := strings.Cut(ts.Getenv("PATH"), string(filepath.ListSeparator))
	ts.Check(os.WriteFile(filepath.Join(dir, "sham.json"), []byte(ts.ReadFile(args[0])), 0o644))
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
