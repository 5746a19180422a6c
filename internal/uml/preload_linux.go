package uml

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

//go:embed preload/ptrace.c
var source string

// library stays open as long as the program runs: each kernel is started with the same one.
var library = sync.OnceValues(inMemory)

// Help has a kernel that is not yet started load what it needs on this processor, if anything, first (ld.so(8),
// LD_PRELOAD), by a descriptor behind those of cmd.ExtraFiles. A kernel that is linked statically cannot be helped so.
// cmd.Env is what the kernel shall have, not nil.
func Help(cmd *exec.Cmd) error {
	if !NeedsCompiler() {
		return nil
	}
	return preload(cmd)
}

func preload(cmd *exec.Cmd) error {
	f, err := library()
	if err != nil {
		return err
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	cmd.Env = append(cmd.Env, fmt.Sprintf("LD_PRELOAD=/proc/self/fd/%d", 2+len(cmd.ExtraFiles)))
	return nil
}

// inMemory is the library as a file without a name, which no mount's noexec keeps from being loaded.
func inMemory() (*os.File, error) {
	b, err := compile()
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("fettle-uml", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("a file in memory for what User-Mode Linux needs on this processor: %w", err)
	}
	f := os.NewFile(uintptr(fd), "uml")
	if _, err := f.Write(b); err != nil {
		f.Close()
		return nil, fmt.Errorf("writing what User-Mode Linux needs on this processor: %w", err)
	}
	return f, nil
}

func compile() ([]byte, error) {
	const what = "compiling what User-Mode Linux needs on this processor (AMX; kernels from 6.13 on do not)"
	dir, err := os.MkdirTemp("", "fettle-uml-")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "ptrace.so")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, compiler, "-O2", "-shared", "-fPIC", "-nostdlib", "-x", "c", "-o", name, "-")
	cmd.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + dir}
	cmd.Stdin = strings.NewReader(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w; apt-get install gcc\n%s", what, err, out)
	}
	return os.ReadFile(name)
}
