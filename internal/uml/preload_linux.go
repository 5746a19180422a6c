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

var compiled = sync.OnceValues(compile)

// Preload returns an open library that a kernel is to be started with (ld.so(8), LD_PRELOAD);
// nil where it needs none. The caller closes it. A kernel that is linked statically
// cannot be helped so.
func Preload() (*os.File, error) {
	if !NeedsCompiler() {
		return nil, nil
	}
	library, err := compiled()
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("fettle-uml", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("a file in memory for what User-Mode Linux needs on this processor: %w", err)
	}
	f := os.NewFile(uintptr(fd), "uml")
	if _, err := f.Write(library); err != nil {
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
	cmd := exec.CommandContext(ctx, Compiler, "-O2", "-shared", "-fPIC", "-nostdlib", "-x", "c", "-o", name, "-")
	cmd.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + dir}
	cmd.Stdin = strings.NewReader(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w; apt-get install gcc\n%s", what, err, out)
	}
	return os.ReadFile(name)
}
