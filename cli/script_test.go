package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"fettle/cli"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "__confined-") && !strings.HasPrefix(filepath.Base(os.Args[0]), "fettle") {
		os.Exit(cli.MainWith(cli.EvilTraps(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) // a child of the tests in package cli
	}
	testscript.Main(m, map[string]func(){
		"fettle": func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs fettle as its users do: each testdata/script/*.txtar is a session.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true})
}
