package remedy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/internal/means"
)

// systemdRun remembers what it was told, and ends as it is told.
type systemdRun struct {
	machine.Linux
	out  machine.Output
	err  error
	argv []string
	took time.Duration
}

func (m *systemdRun) Run(_ context.Context, argv []string, limit time.Duration) (machine.Output, error) {
	m.argv, m.took = argv, limit
	return m.out, m.err
}

// TestTimerOfSystemd: what systemd-run is told, and that its failure is said.
func TestTimerOfSystemd(t *testing.T) {
	c := &Change{Head: Head{ID: "0007"}, store: &Store{Dir: "/state"}}
	for within, want := range map[time.Duration]string{90 * time.Second: "90s", time.Second: "1s", time.Millisecond: "1s",
		2500 * time.Millisecond: "2s"} {
		c.ConfirmWithin = within
		m := &systemdRun{}
		got, err := Guard{}.timer(t.Context(), m, c, "/bin/fettle")
		end := " -- /bin/fettle undo --unconfirmed 0007"
		if err != nil || got != "systemd timer fettle-undo-0007.timer" || m.argv[0] != "/usr/bin/systemd-run" || m.took != step.AskLimit ||
			!slices.Contains(m.argv, "--on-active="+want) || !strings.HasSuffix(strings.Join(m.argv, " "), end) {
			t.Errorf("%s: %q, %v, %q", within, got, err, m.argv)
		}
	}
	for _, m := range []*systemdRun{{err: errBroken}, {out: machine.Output{Exit: 1, Stderr: []byte("no bus\n")}}} {
		got, err := Guard{SystemdRun: "/x"}.timer(t.Context(), m, c, "/bin/fettle")
		if got != "" || !says(text(err), map[bool]string{true: "broken", false: "systemd-run ended with status 1: no bus"}[m.err != nil]) ||
			m.argv[0] != "/x" {
			t.Errorf("%q, %v", got, err)
		}
	}
	t.Setenv("FETTLE_BOOT_ID_FILE", "")
	t.Setenv("FETTLE_UNIT_DIR", "/units")
	if got := c.environment(); !slices.Equal(got, []string{"FETTLE_STATE=/state", "FETTLE_UNIT_DIR=/units"}) {
		t.Errorf("%q", got)
	}
	if (Guard{}).units() != "/units" || (Guard{Units: "/x"}).units() != "/x" {
		t.Error("units")
	}
	t.Setenv("FETTLE_UNIT_DIR", "")
	if (Guard{}).units() != "/etc/systemd/system" {
		t.Error("units")
	}
}

// TestGuardStandsBy: without systemd a copy of the program waits in a session of its own; one that does not say that it
// does is ended, and no guard.
func TestGuardStandsBy(t *testing.T) {
	means.Root(t)
	sleep := means.Tool(t, "sleep")
	e, dir, _ := changesAt(t, nil, doing[:1])
	c, err := e.Store.Change("1")
	must(t, "change", err)
	at := time.Date(2030, 1, 2, 3, 4, 5, 6, time.Local)
	tell := "#!/bin/sh\necho \"$@\" >" + dir + "/args; env >" + dir + "/env; pwd >" + dir + "/pwd; echo grumble >&2\n"
	for name, tc := range map[string]struct{ script, want string }{
		"it stands by": {tell + "echo ready\nexec " + sleep + " 600\n", ""},
		"it says otherwise": {"#!/bin/sh\necho no\nexec " + sleep + " 600\n",
			`the guard does not run: it said "no" (see ` + e.Store.folder("0001") + "/guard.log)"},
		"it ends":           {"#!/bin/sh\nexit 1\n", "the guard does not run: EOF"},
		"it does not begin": {"no program", "starting the guard: "},
		"it is cut off":     {"#!/bin/sh\nprintf ready\n", "the guard does not run: EOF"},
	} {
		put(t, dir+"/guard", tc.script, 0o755)
		got, err := detach(c, dir+"/guard", at)
		if !says(text(err), tc.want) || (got == "") != (err != nil) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err != nil {
			continue
		}
		f := strings.Fields(got)
		pid, _ := strconv.Atoi(f[1])
		if want := fmt.Sprintf("process %d until 03:04:05", pid); got != want || pid == 0 {
			t.Errorf("%s: %q", name, got)
		}
		stat := strings.Fields(read(t, fmt.Sprintf("/proc/%d/stat", pid)))
		if len(stat) < 6 || stat[5] != f[1] {
			t.Errorf("%s: its session is that of %q", name, stat)
		}
		syscall.Kill(pid, syscall.SIGKILL)
	}
	if got := read(t, dir+"/args"); got != "undo --unconfirmed 0001 --at "+at.UTC().Format(time.RFC3339Nano)+"\n" {
		t.Errorf("it was told %q", got)
	}
	if env := read(t, dir+"/env"); !strings.Contains(env, "FETTLE_STATE="+e.Store.Dir+"\n") || !strings.Contains(env, "LC_ALL=C.UTF-8\n") ||
		!strings.Contains(env, "PATH=/usr/sbin:/usr/bin:/sbin:/bin\n") || strings.Contains(env, "TMPDIR=") || read(t, dir+"/pwd") != "/\n" {
		t.Errorf("its environment is %q, in %s", env, read(t, dir+"/pwd"))
	}
	if got := read(t, e.Store.folder("0001")+"/guard.log"); !strings.Contains(got, "grumble\n") {
		t.Errorf("its log says %q", got)
	}
}

// TestProgramIsCopied: the guard's program is a copy that an upgrade does not touch, whole and for root alone.
func TestProgramIsCopied(t *testing.T) {
	e, dir, _ := changesAt(t, nil, doing[:1])
	c, err := e.Store.Change("1")
	must(t, "change", err)
	put(t, dir+"/program", "#!/bin/sh\n", 0o755)
	for range 2 {
		got, err := copyProgram(c, dir+"/program")
		st, serr := os.Stat(got)
		if must(t, "stat", serr); err != nil || got != e.Store.folder("0001")+"/fettle" || read(t, got) != "#!/bin/sh\n" ||
			st.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", got, st, err)
		}
	}
	if got, err := copyProgram(c, dir+"/nosuch"); err == nil || got != "" {
		t.Errorf("%q", got)
	}
	for name, s := range map[string]struct{ self, running, want string }{
		"the same":                    {dir + "/program", dir + "/program", ""},
		"another":                     {dir + "/program", dir + "/a", "was replaced while it ran"},
		"gone":                        {dir + "/nosuch", dir + "/a", "finding fettle's own program"},
		"where others may replace it": {dir + "/open/program", dir + "/open/program", "mounted noexec, so the guard would have to start"},
	} {
		put(t, dir+"/open/program", "", 0o755)
		must(t, "chmod", os.Chmod(dir+"/open", 0o777))
		f, err := os.Open(s.running)
		must(t, "open", err)
		if err := stays(s.self, f); !says(text(err), s.want) {
			t.Errorf("%s: %v", name, err)
		}
		f.Close()
	}
}

// TestEveryFaultOfArming: a guard that is not set up whole, or not journaled, is none.
func TestEveryFaultOfArming(t *testing.T) {
	for i := 1; ; i++ {
		e, dir, _ := changesAt(t, nil, doing[:1])
		put(t, dir+"/guard", "#!/bin/sh\necho ready\n", 0o755)
		f := &faults{at: i}
		e.Store.disk, e.Machine = faultyDisk{e.Store.disk, f}, faultyMachine{e.Machine, f}
		e.Guard.Program = dir + "/guard"
		c, err := e.Store.Change("1")
		if f.failed != "" {
			continue // it was not even read
		}
		must(t, "change", err)
		c.ConfirmWithin = time.Minute
		err = e.arm(t.Context(), c)
		if f.failed == "" {
			if err != nil || len(c.Guards()) == 0 || i < 8 {
				t.Errorf("after %d calls: %v, guards %v", i, err, c.Guards())
			}
			return
		}
		if err == nil {
			t.Errorf("armed although %q failed", f.failed)
		}
	}
}

// TestPreviewOfSteps: what a preview says of steps that are undone by an act, of those that are not, and of many alike.
func TestPreviewOfSteps(t *testing.T) {
	e, dir, _ := changesAt(t, nil)
	var steps []step.Step
	for i := range 5 {
		put(t, fmt.Sprintf("%s/many/%d", dir, i), "x", 0o644)
		steps = append(steps, step.Perm{Path: fmt.Sprintf("%s/many/%d", dir, i), Mode: 0o600, UID: -1, GID: -1})
	}
	steps = append(steps, step.Command{Do: []string{"/bin/true"}},
		step.Command{Do: []string{"/bin/true", "a"}, Undo: []string{"/bin/true", "b"}},
		step.Command{Do: []string{"/bin/true", "c"}, Again: true}, step.Check{Run: []string{"/bin/true"}})
	c := applied(t, e, steps...)
	p, err := e.PreviewUndo(t.Context(), c.ID, UndoOptions{})
	must(t, "preview", err)
	want := `
  7. run /bin/true a
     undo: runs /bin/true b

  6. run /bin/true
     stays: it cannot be undone: the command has no inverse

  -  5 files and folders below ` + dir + `/many: mode 0600 → 0644 (steps 5 to 1)

  8. run /bin/true c
     undo: once more, after all else is put back
`
	if got := p.Text(200, false); !strings.HasSuffix(got, want) || strings.Contains(got, "go on only") {
		t.Errorf("%s\nnot\n%s", got, want)
	}
	put(t, dir+"/many/3", "x", 0o644)
	p, err = e.PreviewUndo(t.Context(), c.ID, UndoOptions{})
	if must(t, "preview", err); !strings.Contains(p.Text(200, true), "it already has its original state") {
		t.Error(p.Text(200, true))
	}
}

// TestPreviewAfterABoot: what ended with its boot stays, and is not put back.
func TestPreviewAfterABoot(t *testing.T) {
	e, _, boot := changesAt(t, nil)
	c := applied(t, e, step.SolicitRouter{Link: "nosuch"})
	for b, want := range map[string]string{"now": "it only asks; addresses", "next": "it was running state of an earlier boot"} {
		*boot = b
		p, err := e.PreviewUndo(t.Context(), c.ID, UndoOptions{})
		if must(t, "preview", err); len(p.Steps) != 1 || !strings.HasPrefix(p.Steps[0].Stays, want) || p.Steps[0].Number != 1 {
			t.Errorf("in the boot %s: %+v", b, p.Steps)
		}
	}
}

// TestNoRoomForAGuard: what a guard needs and cannot have is said.
func TestNoRoomForAGuard(t *testing.T) {
	e, dir, _ := changesAt(t, nil, doing[:1])
	c, err := e.Store.Change("1")
	must(t, "change", err)
	put(t, dir+"/guard", "#!/bin/sh\necho ready\n", 0o755)
	var was unix.Rlimit
	must(t, "limit", unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	free, err := unix.Dup(0)
	must(t, "dup", err)
	unix.Close(free)
	for _, more := range []int{0, 1, 2} { // its log, a pipe
		must(t, "limit", unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(free + more), Max: was.Max}))
		got, err := detach(c, dir+"/guard", time.Now())
		must(t, "limit", unix.Setrlimit(unix.RLIMIT_NOFILE, &was))
		if got != "" || !errors.Is(err, unix.EMFILE) {
			t.Errorf("with %d descriptors: %q, %v", more, got, err)
		}
	}
	must(t, "remove", os.RemoveAll(e.Store.folder("0001")))
	if got, err := detach(c, dir+"/guard", time.Now()); got != "" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a guard without a log: %q, %v", got, err)
	}
	if got, err := copyProgram(c, dir+"/guard"); got != "" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a copy into nothing: %q, %v", got, err)
	}
	put(t, dir+"/units", "", 0o644)
	if got, err := e.Guard.bootUnit(c, dir+"/guard"); got != "" || err == nil {
		t.Errorf("units are in a file: %q", got)
	}
	if got, err := (Guard{Units: dir + "/none"}).bootUnit(c, dir+"/guard"); got != "" || err != nil {
		t.Errorf("without systemd: %q, %v", got, err)
	}
	must(t, "open", errors.Join(os.Remove(dir+"/units"), os.Mkdir(dir+"/units", 0o755), os.Chmod(dir+"/units", 0o777)))
	if got, err := e.Guard.bootUnit(c, dir+"/guard"); got != "" || !says(text(err), "where users other than root can rename") {
		t.Errorf("%q, %v", got, err)
	}
	must(t, "blocked", errors.Join(os.Chmod(dir+"/units", 0o755), os.WriteFile(dir+"/units/sysinit.target.wants", nil, 0o600)))
	if got, err := e.Guard.bootUnit(c, dir+"/guard"); got != "" || err == nil {
		t.Errorf("what wants units is a file: %q", got)
	}
	must(t, "again", errors.Join(os.RemoveAll(dir+"/units"), os.Mkdir(dir+"/units", 0o755),
		os.Mkdir(dir+"/units/"+bootUnitName("0001"), 0o755)))
	if got, err := e.Guard.bootUnit(c, dir+"/guard"); got != "" || err == nil {
		t.Errorf("the unit is a folder: %q", got)
	}
}

// TestNoRoomForABootUnit: a unit that nothing wants is no guard.
func TestNoRoomForABootUnit(t *testing.T) {
	privately(t)
	c := &Change{Head: Head{ID: "0001"}, store: &Store{Dir: "/state"}}
	for inodes, ok := range map[int]bool{1: false, 2: false, 3: false, 4: true} { // the folder, the unit, what wants it, the link
		units := tmpfs(t, fmt.Sprintf("mode=0755,nr_inodes=%d", inodes))
		got, err := Guard{Units: units}.bootUnit(c, "/bin/fettle")
		if (err == nil) != ok || (got == "") == ok || !ok && !errors.Is(err, unix.ENOSPC) {
			t.Errorf("room for %d: %q, %v", inodes, got, err)
		}
	}
}
