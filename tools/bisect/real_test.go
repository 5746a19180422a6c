package bisect

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fettle/internal/means"
	"fettle/tools/bisect/belief"
)

// A shallow clone is hunted in as far as it goes; beyond, it is said what to do.
func TestShallowClone(t *testing.T) {
	dir, hashes := repository(t, speeds(20, map[int]string{0: "10", 14: "20"}))
	clone := filepath.Join(t.TempDir(), "clone")
	if out, err := exec.Command("git", "clone", "-q", "--depth", "10", "file://"+dir, clone).CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, out)
	}
	h := hunt(t, clone, hashes[10:], Command{Run: "cat speed"})
	r, err := h.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	wantChanges(t, r, 4)
	_, err = ReadHistory(context.Background(), clone, hashes[5], hashes[19])
	if err == nil || !strings.Contains(err.Error(), "git fetch --unshallow") {
		t.Errorf("error: %v", err)
	}
}

// What moved the figure lies in a submodule.
func TestSubmodule(t *testing.T) {
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "protocol.file.allow")
	t.Setenv("GIT_CONFIG_VALUE_0", "always")
	sub, g := newGraph(t), newGraph(t)
	sub.commit("quick", 5)
	g.git("submodule", "--quiet", "add", sub.dir, "sub")
	g.commit("start", 1)
	g.several("before", 4)
	sub.commit("slow", 50)
	g.git("-C", "sub", "pull", "-q")
	g.commit("update", 0)
	g.several("after", 4)
	h := hunt(t, g.dir, []string{"start", "main"}, Command{Run: `cat sub/part-* | awk '{ n += $1 } END { print n }'`})
	r, err := h.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got := found(h.History, r); got != "update" {
		t.Errorf("found %s, want update", got)
	}
}

// The build script was renamed, and one commit forgot it: that one is skipped.
func TestRenamedBuildScript(t *testing.T) {
	g := newGraph(t)
	script := "#!/bin/sh\ncat part-* | sort -n | tail -n 1 >built\n"
	write(t, filepath.Join(g.dir, "build.sh"), script, 0o755)
	g.commit("start", 10)
	g.several("before", 3)
	g.git("rm", "-q", "build.sh")
	g.commit("forgot", 0)
	write(t, filepath.Join(g.dir, "tools/make"), script, 0o755)
	g.commit("renamed", 0)
	g.several("middle", 3)
	g.commit("slow", 20)
	g.several("after", 3)
	h := hunt(
		t,
		g.dir,
		[]string{"start", "main"},
		Command{Build: "if test -e build.sh; then ./build.sh; else tools/make; fi", Run: "cat built"},
	)
	r, err := h.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got := found(h.History, r); got != "slow" {
		t.Errorf("found %s, want slow", got)
	}
	for at := range r.Skipped {
		if s := h.History.Commits[at].Subject; s != "forgot" {
			t.Errorf("%s was skipped", s)
		}
	}
}

// A C program that two commits made slower, by its own processor time on
// whatever else the machine does.
func TestSlowProgram(t *testing.T) {
	means.Long(t, "runs a program for its time")
	means.Tool(t, "gcc")
	g := newGraph(t)
	program := func(name string, rounds int) {
		write(t, filepath.Join(g.dir, "work.c"), fmt.Sprintf(`#include <stdio.h>
#include <time.h>
int main(void)
{
	volatile unsigned sum = 0;
	for (unsigned i = 0; i < %d * 1000000u; i++)
		sum += i ^ (sum >> 3);
	printf("%%.6f\n", (double)clock() / CLOCKS_PER_SEC);
	return 0;
}
`, rounds), 0o644)
		g.commit(name, 0)
	}
	program("start", 40)
	g.several("a", 9)
	program("slower", 52)
	g.several("b", 9)
	program("slower-still", 68)
	g.several("c", 9)
	h := hunt(t, g.dir, []string{"start", "main"}, Command{Build: "gcc -O1 -o work work.c", Run: "./work"})
	h.Prior = belief.Several
	r, err := h.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got := found(h.History, r); got != "slower slower-still" || !r.Sure {
		t.Errorf("found %s (sure: %v), want slower slower-still", got, r.Sure)
	}
	t.Logf("%d runs, noise %.3g s", r.Total, r.Scale)
}
