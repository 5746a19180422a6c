package cli_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/internal/means"
)

// fixHost is a folder with the program fettle-fix, its traps, and the places
// where fettle keeps things.
type fixHost struct {
	t   *testing.T
	dir string
}

func newFixHost(t *testing.T, demo ...string) *fixHost {
	t.Helper()
	means.Root(t)
	h := &fixHost{t, t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copyTo(t, self, h.dir+"/fettle-fix", 0o755)
	for _, d := range []string{"/demo", "/units"} {
		if err := os.Mkdir(h.dir+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h.put("boot_id", "boot-1\n")
	h.put("demo/a.conf", "bad\n")
	for _, d := range demo {
		h.put("demo/"+d, "")
	}
	return h
}

func (h *fixHost) put(name, content string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(content), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h *fixHost) read(name string) string {
	b, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(b)
}

func (h *fixHost) env() []string {
	return []string{"FETTLE_STATE=" + h.dir + "/state", "FETTLE_UNIT_DIR=" + h.dir + "/units", "FETTLE_BOOT_ID_FILE=" + h.dir + "/boot_id",
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
}

func (h *fixHost) command(args ...string) *exec.Cmd {
	cmd := exec.Command(h.dir+"/fettle-fix", args...)
	cmd.Env = h.env()
	return cmd
}

// run runs a command line and wants this exit status.
func (h *fixHost) run(status int, args ...string) string {
	h.t.Helper()
	out, err := h.command(args...).CombinedOutput()
	got := 0
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		got = ee.ExitCode()
	} else if err != nil {
		h.t.Fatal(err)
	}
	if got != status {
		h.t.Fatalf("fettle %s: exit status %d, want %d\n%s", strings.Join(args, " "), got, status, out)
	}
	return string(out)
}

// within waits until ok, or fails.
func (h *fixHost) within(limit time.Duration, what string, ok func() bool) {
	h.t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf(
				"%s: not within %s\nguard: %s\njournal: %s",
				what,
				limit,
				h.read("state/changes/0001/guard.log"),
				h.read("state/changes/0001/journal.jsonl"),
			)
		}
	}
}

func wants(t *testing.T, out string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(out, p) {
			t.Errorf("the output lacks %q:\n%s", p, out)
		}
	}
}

// TestConfirmInTime: a confirmed change stays, and leaves no guard behind.
func TestConfirmInTime(t *testing.T) {
	means.Short(t, "takes seconds")
	t.Parallel()
	h := newFixHost(t, "cuts")
	out := h.run(0, "fix", "demo", "--yes", "--confirm-within", "6s")
	wants(t, out, "fettle confirm 0001", "boot unit fettle-undo-0001-boot.service", "process ")
	wants(
		t,
		h.read("units/fettle-undo-0001-boot.service"),
		"undo --unconfirmed 0001 --boot",
		"DefaultDependencies=no",
		"FETTLE_STATE="+h.dir+"/state",
	)
	wants(t, h.run(0, "changes"), "undone at", "unless confirmed")
	wants(t, h.run(0, "confirm"), "Change 0001 is confirmed and stays")
	if left, _ := filepath.Glob(h.dir + "/units/*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	time.Sleep(7 * time.Second)
	if got := h.read("demo/a.conf"); got != "good\n" {
		t.Errorf("a says %q although the change was confirmed", got)
	}
	wants(t, h.run(0, "confirm"), "No change is waiting")
	h.run(3, "confirm", "1")
	h.run(0, "undo", "--yes", "1")
	if got := h.read("demo/a.conf"); got != "bad\n" {
		t.Errorf("a says %q after undo", got)
	}
}

// TestNobodyConfirms: the change is undone after the time, without any fettle
// of the admin's.
func TestNobodyConfirms(t *testing.T) {
	t.Parallel()
	h := newFixHost(t, "cuts")
	h.run(0, "fix", "demo", "--yes", "--confirm-within", "3s")
	if got := h.read("demo/a.conf"); got != "good\n" {
		t.Fatalf("a says %q", got)
	}
	h.within(means.Patience, "the rollback", func() bool { return h.read("demo/a.conf") == "bad\n" })
	h.within(
		means.Patience,
		"its journal",
		func() bool { return strings.Contains(h.read("state/changes/0001/journal.jsonl"), "taken-back") },
	)
	wants(t, strings.Join(strings.Fields(h.run(0, "changes")), " "), "rolled back: it was not confirmed")
	wants(t, h.run(3, "confirm"), "too late: change 0001 was rolled back: it was not confirmed by")
	wants(t, h.run(3, "confirm", "1"), "too late: change 0001 was rolled back")
	if left, _ := filepath.Glob(h.dir + "/units/*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestFettleDiesArmed: fettle is killed with its whole process group while a
// step runs, after its terminal hung up. The guard takes the change back.
func TestFettleDiesArmed(t *testing.T) {
	means.Short(t, "takes seconds")
	t.Parallel()
	h := newFixHost(t, "slow")
	cmd := h.command("fix", "demo", "--yes", "--confirm-within", "4s")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.within(means.Patience, "the first step", func() bool { return h.read("demo/a.conf") == "good\n" })
	out := h.run(9, "undo", "--yes")
	wants(t, out, "another fettle is at work", "fettle fix demo on a")
	syscall.Kill(-cmd.Process.Pid, syscall.SIGHUP)
	time.Sleep(200 * time.Millisecond)
	if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Error("the hang-up ended fettle in the middle of a change")
	}
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	cmd.Wait()
	h.within(means.Patience, "the rollback", func() bool { return h.read("demo/a.conf") == "bad\n" })
	h.within(
		means.Patience,
		"its journal",
		func() bool { return strings.Contains(h.read("state/changes/0001/journal.jsonl"), "taken-back") },
	)
}

// TestFettleHangsArmed: fettle does not die, but stands still with the lock in
// its hand, as it does when its terminal no longer takes its output.
func TestFettleHangsArmed(t *testing.T) {
	means.Short(t, "takes seconds")
	t.Parallel()
	h := newFixHost(t, "slow")
	cmd := h.command("fix", "demo", "--yes", "--confirm-within", "2s")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.within(means.Patience, "the first step", func() bool { return h.read("demo/a.conf") == "good\n" })
	cmd.Process.Signal(syscall.SIGSTOP)
	h.within(means.Patience, "the rollback", func() bool { return h.read("demo/a.conf") == "bad\n" })
	cmd.Wait()
	h.within(
		means.Patience,
		"its journal",
		func() bool { return strings.Contains(h.read("state/changes/0001/journal.jsonl"), "taken-back") },
	)
}

// TestConfirmTooLate: a command that takes longer than the time to confirm is
// ended, and fettle takes the change back itself.
func TestConfirmTooLate(t *testing.T) {
	t.Parallel()
	h := newFixHost(t, "slow")
	began := time.Now()
	wants(t, h.run(6, "fix", "demo", "--yes", "--confirm-within", "2s"), "was rolled back")
	if took := time.Since(began); took > means.Patience {
		t.Errorf("it took %s", took)
	}
	if got := h.read("demo/a.conf"); got != "bad\n" {
		t.Errorf("a says %q", got)
	}
}

// TestHostDiesArmed: the host is restarted with the change unconfirmed and no
// process left. What the boot unit starts takes it back, though the time to
// confirm is not over.
func TestHostDiesArmed(t *testing.T) {
	t.Parallel()
	h := newFixHost(t, "cuts")
	h.run(0, "fix", "demo", "--yes", "--confirm-within", "10m")
	guard := guardOf(h)
	if err := syscall.Kill(guard, syscall.SIGKILL); err != nil {
		t.Fatalf("the guard, process %d: %v", guard, err)
	}
	boot := func() {
		t.Helper()
		var argv, env []string
		for line := range strings.Lines(h.read("units/fettle-undo-0001-boot.service")) {
			line = strings.TrimSpace(line)
			if v, ok := strings.CutPrefix(line, "ExecStart="); ok {
				for _, w := range strings.Fields(v) {
					argv = append(argv, strings.Trim(w, `"`))
				}
			}
			if v, ok := strings.CutPrefix(line, "Environment="); ok {
				env = append(env, strings.Trim(v, `"`))
			}
		}
		if len(argv) == 0 {
			t.Fatal("the boot unit has no ExecStart")
		}
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
	}
	boot() // in the same boot it must not fire
	if got := h.read("demo/a.conf"); got != "good\n" {
		t.Fatalf("without a restart: a says %q", got)
	}
	h.put("boot_id", "boot-2\n")
	boot()
	if got := h.read("demo/a.conf"); got != "bad\n" {
		t.Errorf("after the restart: a says %q", got)
	}
	wants(t, strings.Join(strings.Fields(h.run(0, "changes")), " "), "the host was restarted before anybody confirmed it")
	if left, _ := filepath.Glob(h.dir + "/units/*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// guardOf finds the guard's process id in the journal.
func guardOf(h *fixHost) int {
	h.t.Helper()
	_, rest, ok := strings.Cut(h.read("state/changes/0001/journal.jsonl"), `"guards":["process `)
	pid := 0
	for _, c := range rest {
		if c < '0' || c > '9' {
			break
		}
		pid = pid*10 + int(c-'0')
	}
	if !ok || pid == 0 {
		h.t.Fatalf("the journal names no guard:\n%s", h.read("state/changes/0001/journal.jsonl"))
	}
	return pid
}

// TestKilledFix: fettle dies unguarded. The next one says so; undo and resume
// each lead out.
func TestKilledFix(t *testing.T) {
	t.Parallel()
	h := newFixHost(t, "slow")
	cmd := h.command("fix", "demo", "--yes")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.within(means.Patience, "the first step", func() bool { return h.read("demo/a.conf") == "good\n" })
	h.within(means.Patience, "the second step", func() bool {
		return strings.Contains(h.read("state/changes/0001/journal.jsonl"), `"event":"intent","step":1`)
	})
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	cmd.Wait()
	h.put("demo/b.conf", "bad\n")
	wants(t, h.run(8, "fix", "demo", "--yes"), "change 0001 was cut off", "fettle resume 0001", "fettle undo 0001")
	wants(t, h.run(0, "changes"), "0001", "interrupted")
	// The command has no probe: nothing tells whether it ran.
	wants(t, h.run(6, "resume"), "nothing tells whether it had its effect", "was rolled back")
	if got := h.read("demo/a.conf"); got != "bad\n" {
		t.Errorf("a says %q", got)
	}
	wants(t, h.run(0, "resume"), "nothing to resume")
}

// TestLinkSwappedWhileTheQuestionIsOpen: the owner of the folder makes his file
// another one of the same content, while the admin reads the question.
func TestLinkSwappedWhileTheQuestionIsOpen(t *testing.T) {
	t.Parallel()
	for name, swap := range map[string]func(victim, file string) error{"link": os.Symlink, "hard link": os.Link} {
		h := newFixHost(t)
		h.put("victim", "bad\n")
		if err := os.Chmod(filepath.Dir(h.dir), 0o755); err != nil { // the user gets to his file
			t.Fatal(err)
		}
		for _, n := range []string{"demo", "demo/a.conf"} {
			if err := os.Chown(filepath.Join(h.dir, n), 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}
		for _, format := range []string{"sh", "ansible"} {
			wants(t, h.run(5, "fix", "demo", "--plan", "--format", format), "others than root may write")
		}
		master, tty := means.OpenTerminal(t)
		cmd := h.command("fix", "demo", "--on", "a")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		means.Shown(t, master, "Apply this? [y/N] ")
		file := filepath.Join(h.dir, "demo/a.conf")
		if err := errors.Join(os.Remove(file), swap(filepath.Join(h.dir, "victim"), file)); err != nil {
			t.Fatal(err)
		}
		master.WriteString("y\n")
		go io.Copy(io.Discard, master)
		if err := cmd.Wait(); err == nil || h.read("victim") != "bad\n" {
			t.Errorf("%s: fettle ended with %v, and the victim says %q", name, err, h.read("victim"))
		}
		if left, _ := filepath.Glob(h.dir + "/state/changes/0*"); len(left) > 0 &&
			!strings.Contains(h.read("state/changes/0001/journal.jsonl"), "taken-back") {
			t.Errorf("%s: begun and not taken back", name)
		}
	}
}
