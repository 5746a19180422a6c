package main

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Every patch applies: one that does not, because its file changed or moved,
// would be noticed only when somebody runs all of them.
func TestPatchesApply(t *testing.T) {
	all, err := find("../..", regexp.MustCompile(""))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 40 {
		t.Errorf("only %d patches were found", len(all))
	}
	for _, m := range all {
		cmd := exec.Command("git", "-C", "../..", "apply", "--recount", "--check", "-")
		cmd.Stdin = strings.NewReader(string(m.patch))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %s", m.name, out)
		}
	}
}
