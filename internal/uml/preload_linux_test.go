package uml

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

// TestPreload starts a kernel with the library, whatever the processor, as far as init's
// end. Without it, on one with AMX, init does not get that far.
func TestPreload(t *testing.T) {
	means.Short(t, "boots a kernel")
	kernel := means.Tool(t, "linux.uml")
	library, err := compile()
	if err != nil {
		t.Fatal(err)
	}
	name, init, dir := t.TempDir()+"/ptrace.so", t.TempDir()+"/init", t.TempDir()
	if err := os.WriteFile(name, library, 0o600); err != nil {
		t.Fatal(err)
	}
	// Two processes in turn, and awk reckons in what XSAVE stores; a program in Go does not come
	// far where a signal, such as that of a page fault, leaves other registers behind.
	script := fmt.Sprintf("#!/bin/sh\nawk 'BEGIN { for (i = 1; i < 10; i++) print 1 / i | \"cat\" }'\n%s -test.run NONE\nexit 3\n", os.Args[0])
	if err := os.WriteFile(init, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, kernel, "mem=128M", "rootfstype=hostfs", "rootflags=/", "ro", "init="+init, "con=null", "con0=null,fd:1",
		"uml_dir="+dir, "umid=preload", "panic=-1", "quiet")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "LD_PRELOAD="+name)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	for _, want := range []string{"0.333333", "0.111111", "PASS", "Attempted to kill init! exitcode=0x00000300"} {
		if !strings.Contains(out.String(), want) {
			t.Fatalf("the guest does not say %q (%v):\n%s", want, err, &out)
		}
	}
}

// TestHelp: a kernel gets the library where it needs one, behind the files that it has, and nowhere else.
func TestHelp(t *testing.T) {
	cmd := exec.Command("true")
	cmd.Env, cmd.ExtraFiles = []string{"A=b"}, []*os.File{os.Stdin, os.Stdin}
	if err := Help(cmd); err != nil {
		t.Fatal(err)
	}
	want := []string{"A=b"}
	if NeedsCompiler() {
		want = append(want, "LD_PRELOAD=/proc/self/fd/5")
	}
	if !slices.Equal(cmd.Env, want) || len(cmd.ExtraFiles) != 1+len(want) {
		t.Errorf("%d files, %q; want %q", len(cmd.ExtraFiles), cmd.Env, want)
	}
}
