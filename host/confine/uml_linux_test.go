//go:build amd64

package confine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
	"fettle/internal/uml"
)

// TestEveryRuleWithoutLandlock runs the table on a kernel that has no Landlock
// (User-Mode Linux), over this machine's own files. Whether a filter that is
// installed there holds is said by that kernel.
func TestEveryRuleWithoutLandlock(t *testing.T) {
	means.Short(t, "takes seconds")
	kernel := means.Tool(t, "linux.uml")
	t.Parallel()
	dir := t.TempDir()
	program, script := filepath.Join(dir, "confine.test"), filepath.Join(dir, "init")
	build := exec.Command("go", "test", "-c", "-o", program, ".") // User-Mode Linux has no room for the race detector
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	init := fmt.Sprintf(`#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
cd /
TMPDIR=/run %s -test.v -test.run 'TestEveryRule$|TestSignalByDescriptor|TestUnknownCalls' 2>&1
echo THE END
exec halt -f
`, program)
	if err := os.WriteFile(script, []byte(init), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, kernel, "mem=256M", "rootfstype=hostfs", "rootflags=/", "ro", "init="+script, "con=null", "con0=null,fd:1",
		"uml_dir="+dir, "umid=confine", "panic=-1", "quiet")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	if err := uml.Help(cmd); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	for _, want := range []string{"THE END", "--- PASS: TestEveryRule", "--- PASS: TestSignalByDescriptor", "this kernel has none"} {
		if !strings.Contains(out.String(), want) {
			t.Fatalf("the guest does not say %q (%v):\n%s", want, err, out.String())
		}
	}
}
