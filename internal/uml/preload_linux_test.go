package uml

import (
	"bytes"
	"context"
	"os"
	"os/exec"
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
	// Two processes in turn, and awk reckons in what XSAVE stores.
	script := "#!/bin/sh\nawk 'BEGIN { for (i = 1; i < 10; i++) print 1 / i | \"cat\" }'\nexit 3\n"
	if err := os.WriteFile(init, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, kernel, "mem=64M", "rootfstype=hostfs", "rootflags=/", "ro", "init="+init, "con=null", "con0=null,fd:1",
		"uml_dir="+dir, "umid=preload", "panic=-1", "quiet")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "LD_PRELOAD="+name)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	for _, want := range []string{"0.333333", "0.111111", "Attempted to kill init! exitcode=0x00000300"} {
		if !strings.Contains(out.String(), want) {
			t.Fatalf("the guest does not say %q (%v):\n%s", want, err, &out)
		}
	}
}

// TestNeeded: there is a library where one is needed, and nowhere else.
func TestNeeded(t *testing.T) {
	library, err := Preload()
	if err != nil {
		t.Fatal(err)
	}
	defer library.Close()
	if (library != nil) != NeedsCompiler() {
		t.Errorf("a library: %v; a compiler is needed: %v", library != nil, NeedsCompiler())
	}
}
