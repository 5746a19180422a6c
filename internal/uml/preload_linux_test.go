package uml

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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
	means.Tool(t, "cc")
	for _, c := range []struct {
		help func(*exec.Cmd) error
		need bool
	}{{Help, NeedsCompiler()}, {preload, true}} {
		cmd := exec.Command("true")
		cmd.Env, cmd.ExtraFiles = []string{"A=b"}, []*os.File{os.Stdin, os.Stdin}
		if err := c.help(cmd); err != nil {
			t.Fatal(err)
		}
		want := []string{"A=b"}
		if c.need {
			want = append(want, "LD_PRELOAD=/proc/self/fd/5")
		}
		if !slices.Equal(cmd.Env, want) || len(cmd.ExtraFiles) != 1+len(want) {
			t.Errorf("%d files, %q; want %q", len(cmd.ExtraFiles), cmd.Env, want)
		}
	}
}

// TestLibrary: what is loaded is a whole library in memory, which programs that are started do not get unless they are given it.
func TestLibrary(t *testing.T) {
	means.Tool(t, "cc")
	f, err := inMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := os.ReadFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if lib, err := elf.NewFile(bytes.NewReader(got)); err != nil || lib.Type != elf.ET_DYN {
		t.Errorf("%d bytes are no library: %v", len(got), err)
	}
	if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("flags %#x, %v", flags, err)
	}
	was := source
	source = "no C"
	_, err = inMemory()
	source = was
	said := regexp.MustCompile(`^compiling what .* needs .*: exit status 1; apt-get install gcc\n.*unknown type`)
	if err == nil || !said.MatchString(err.Error()) {
		t.Errorf("what is no C: %v", err)
	}
	t.Setenv("TMPDIR", "/dev/null")
	if _, err := inMemory(); err == nil || !strings.HasPrefix(err.Error(), "compiling what User-Mode Linux needs on this processor") {
		t.Errorf("without a folder for what is temporary: %v", err)
	}
}
