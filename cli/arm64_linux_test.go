package cli

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/internal/means"
)

// TestARM64: fettle for arm64 checks, fixes, undoes, recognises and captures as the one
// for this machine does, on a small Debian of its own, by qemu's user mode emulation. It
// is not confined there: qemu-user has no system call filters, and cannot start the
// confined child by /proc/self/exe.
func TestARM64(t *testing.T) {
	means.OnTurn(t, 7, "builds fettle for arm64")
	if !means.Inside(t, syscall.CLONE_NEWNS|syscall.CLONE_NEWPID, 5*time.Minute) {
		return
	}
	root := smallDebian(t)
	programs := map[string][]string{}
	for _, arch := range []string{"amd64", "arm64"} {
		bin := filepath.Join(means.ProgramsOf(t, arch, "fettle"), "fettle")
		copied(t, bin, filepath.Join(root, "fettle-"+arch))
		programs[arch] = []string{"chroot", root, "/fettle-" + arch}
	}
	copied(t, means.Tool(t, "qemu-aarch64-static"), filepath.Join(root, "qemu"))
	programs["arm64"] = []string{"chroot", root, "/qemu", "/fettle-arm64"}
	run := func(arch string, status int, args ...string) string {
		t.Helper()
		argv := append(programs[arch][:len(programs[arch]):len(programs[arch])], args...)
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "TMPDIR=/tmp") // within root
		out, err := cmd.CombinedOutput()
		var ended *exec.ExitError
		if err != nil && !errors.As(err, &ended) || ended != nil && ended.ExitCode() != status || ended == nil && status != 0 {
			t.Fatalf("%s: fettle %v: %v, want status %d\n%s", arch, args, err, status, out)
		}
		return string(out)
	}
	const id = "cron-file-ignored"
	all := []string{"check", "--format", "json"}
	if got, want := found(t, run("arm64", 1, all...)), found(t, run("amd64", 1, all...)); got != want {
		t.Errorf("found on arm64:\n%s\nand on amd64:\n%s", got, want)
	} else if !strings.Contains(want, id+" /etc/cron.daily/backup.sh") {
		t.Errorf("found: %s", want)
	}
	run("arm64", 0, "fix", id, "--yes")
	run("amd64", 0, "check", id)
	run("arm64", 0, "undo", "--yes")
	run("amd64", 1, "check", id)
	why := []string{"why", "kernel: EXT4-fs (sda1): error count since last fsck: 3"}
	if got, want := run("arm64", 0, why...), run("amd64", 0, why...); got != want {
		t.Errorf("why on arm64:\n%s\nand on amd64:\n%s", got, want)
	}
	for from, to := range map[string]string{"arm64": "amd64", "amd64": "arm64"} {
		run(from, 0, "capture", "-o", "/tmp/"+from)
		got := found(t, run(to, 1, append(all, "--from", "/tmp/"+from)...))
		if !strings.Contains(got, id+" /etc/cron.daily/backup.sh") {
			t.Errorf("captured on %s, found on %s: %s", from, to, got)
		}
	}
}

// found lists what a report says is found.
func found(t *testing.T, report string) string {
	t.Helper()
	var r struct {
		Results []struct {
			Outcomes []struct{ Trap, Subject, Status string }
		}
	}
	if err := json.Unmarshal([]byte(report), &r); err != nil {
		t.Fatalf("%v: %s", err, report)
	}
	var out []string
	for _, tr := range r.Results {
		for _, o := range tr.Outcomes {
			if o.Status == "found" {
				out = append(out, o.Trap+" "+o.Subject)
			}
		}
	}
	return strings.Join(out, "\n")
}

// smallDebian is a root with a file that cron ignores.
func smallDebian(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"etc/os-release": "ID=debian\nVERSION_ID=\"12\"\n",
		"var/lib/dpkg/status": "Package: cron\nStatus: install ok installed\nPriority: optional\nSection: misc\n" +
			"Maintainer: nobody <n@example.org>\nArchitecture: all\nVersion: 1\nDescription: x\n\n",
		"etc/cron.daily/backup.sh": "#!/bin/sh\n",
	} {
		name = filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"proc", "dev", "sys", "tmp", "run", "usr/lib/systemd", "var/lib/fettle"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(root, 0o755),
		syscall.Mount("proc", root+"/proc", "proc", 0, ""),
		syscall.Mount("/dev", root+"/dev", "", syscall.MS_BIND|syscall.MS_REC, "")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, dir := range []string{"/proc", "/dev"} {
			syscall.Unmount(root+dir, syscall.MNT_DETACH)
		}
	})
	return root
}

func copied(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}
