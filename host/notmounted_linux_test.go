package host_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"fettle/host"
	"fettle/internal/means"
)

// TestNotMounted: in a chroot without /proc and /sys what stands below them is
// unknown, and not absent; nor are extended attributes, which are read by way
// of /proc.
func TestNotMounted(t *testing.T) {
	if dir := os.Getenv("FETTLE_TEST_CHROOT"); dir != "" {
		notMounted(t, dir)
		return
	}
	means.Root(t)
	dir := t.TempDir()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestNotMounted$", "-test.v")
	cmd.Env = append(os.Environ(), "FETTLE_TEST_CHROOT="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "looked at all") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func notMounted(t *testing.T, dir string) {
	if err := os.MkdirAll(dir+"/sys", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Chroot(dir); err != nil {
		t.Fatal(err)
	}
	src, err := host.NewLive()
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for what, look := range map[string]func() error{
		"file in /proc":  func() error { _, err := src.ReadFile(ctx, "/proc/sys/a", 10); return err },
		"file in /sys":   func() error { _, err := src.ReadFile(ctx, "/sys/kernel/a", 10); return err },
		"folder in /sys": func() error { _, err := src.ReadDir(ctx, "/sys/block"); return err },
		"stat in /sys":   func() error { _, err := src.Stat(ctx, "/sys/kernel/mm/ksm", true); return err },
		"link in /proc":  func() error { _, err := src.Readlink(ctx, "/proc/1/exe"); return err },
		"attribute":      func() error { _, err := src.Xattr(ctx, "/file", "system.posix_acl_access"); return err },
	} {
		if err := look(); host.IsAbsent(err) || !errors.Is(err, host.ErrNotMounted) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := src.ReadFile(ctx, "/etc/none", 10); !host.IsAbsent(err) {
		t.Errorf("elsewhere: %v", err)
	}
	t.Log("looked at all")
}
