package journalaccess

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/engine/remedy"
	"fettle/engine/remedy/machine"
	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/acl"
	"fettle/internal/means"
)

const journald = "/usr/lib/systemd/systemd-journald"

// TestProof walks into the trap with a real journald and an unprivileged
// user, and out of it with the plan. All of it happens in mount and network
// namespaces of a child: the machine's own journal is not touched.
func TestProof(t *testing.T) {
	means.Tool(t, "journalctl")
	means.Tool(t, "systemd-cat")
	means.Tool(t, "systemd-tmpfiles")
	if _, err := os.Stat(journald); err != nil {
		means.Tool(t, "../lib/systemd/systemd-journald") // skips or fails, and says why
	}
	if means.Inside(t, syscall.CLONE_NEWNS|syscall.CLONE_NEWNET|syscall.CLONE_NEWUTS, 90*time.Second) {
		prove(t)
	}
}

// stage is a machine with a journal of its own.
type stage struct {
	*testing.T
	journald *exec.Cmd
	dir      string // of the machine ID, in /var/log/journal
	count    int
}

func prove(t *testing.T) {
	s := &stage{T: t}
	s.furnish()
	s.start()

	t.Log("mkdir /var/log/journal, as the guides say")
	first := s.say()
	s.expect("alice of adm", false, first, 4)
	s.expect("a member of systemd-journal", false, first, 999)
	s.found("found warning /var/log/journal: members of adm and systemd-journal cannot read the system journal")

	t.Log("the plan")
	s.fix()
	s.found("clear /var/log/journal: members of adm and systemd-journal can read the journal, and future journal files too")
	s.expect("alice of adm", true, first, 4)
	s.expect("a member of systemd-journal", true, first, 999)
	s.expect("somebody in no group", false, first, 65533)
	s.rotate()
	second := s.say()
	s.expect("alice of adm, in a file made since", true, second, 4)
	s.expect("a member of systemd-journal, in a file made since", true, second, 999)
	s.expect("somebody in no group", false, second, 65533)

	t.Log("setfacl -k: the default ACLs are gone, the present files are fine")
	for _, d := range []string{top, s.dir} {
		if err := unix.Removexattr(d, acl.XattrDefault); err != nil {
			t.Fatal(err)
		}
	}
	s.expect("alice of adm", true, second, 4)
	s.found("found warning /var/log/journal: members of adm will not be able to read journal files created from now on")
	s.rotate()
	third := s.say()
	s.expect("alice of adm, in a file made since", false, third, 4)
	s.expect("a member of systemd-journal, through the setgid bit", true, third, 999)
	s.fix()
	s.expect("alice of adm", true, third, 4)
	s.rotate()
	s.expect("alice of adm", true, s.say(), 4)

	t.Log("undo of a plan leads back, byte for byte")
	s.trapAgain()
	s.found("found warning /var/log/journal: members of adm and systemd-journal cannot read the system journal")
	before := s.states()
	undo := s.fix()
	undo()
	if after := s.states(); after != before {
		t.Errorf("after undo:\n%s\nbefore:\n%s", after, before)
	}

	t.Log("the next boot mends what is written then, and leaves archived files")
	s.run("systemd-tmpfiles", "--create", "--boot", "--prefix=/var/log/journal")
	s.found("found notice /var/log/journal: members of adm and systemd-journal cannot read older journal files")
	s.expect("alice of adm", true, s.say(), 4)
	s.expect("alice of adm, in an archived file", false, first, 4)
	s.fix()
	s.expect("alice of adm, in an archived file", true, first, 4)
}

// furnish mounts over what the journal needs.
func (s *stage) furnish() {
	must := func(err error) {
		if err != nil {
			s.Helper()
			s.Fatal(err)
		}
	}
	must(unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"))
	must(os.MkdirAll("/run/systemd/journald.conf.d", 0o755))
	must(os.WriteFile("/run/systemd/journald.conf.d/test.conf", []byte("[Journal]\nReadKMsg=no\nAudit=no\nSystemMaxUse=64M\n"), 0o644))
	const stuff = "/run/stuff"
	must(os.MkdirAll(stuff, 0o755))
	const id = "0123456789abcdef0123456789abcdef"
	for name, text := range map[string]string{
		"machine-id": id + "\n",
		"passwd":     "root:x:0:0:root:/root:/bin/sh\nalice:x:65500:65500::/:/bin/sh\n",
		"group":      "root:x:0:\nadm:x:4:alice\nsystemd-journal:x:999:\nalice:x:65500:\n",
	} {
		must(os.WriteFile(filepath.Join(stuff, name), []byte(text), 0o644))
		must(unix.Mount(filepath.Join(stuff, name), "/etc/"+name, "", unix.MS_BIND, ""))
	}
	must(os.MkdirAll(top, 0o755))
	disk := s.TempDir() // on a disk: journald wants room
	must(os.Chmod(disk, 0o755))
	must(unix.Mount(disk, top, "", unix.MS_BIND, ""))
	// t.TempDir is below folders that others may not enter; the mount is not.
	s.dir = filepath.Join(top, id)
}

func (s *stage) start() {
	s.journald = exec.Command(journald)
	s.journald.Stderr = os.Stderr
	s.journald.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.journald.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { s.journald.Process.Kill(); s.journald.Wait() })
	s.wait("journald's socket", func() bool { _, err := os.Stat("/run/systemd/journal/stdout"); return err == nil })
	s.journald.Process.Signal(syscall.SIGUSR1) // from /run to /var
	s.wait("the journal on disk", func() bool { _, err := os.Stat(s.dir + "/system.journal"); return err == nil })
}

func (s *stage) wait(what string, f func() bool) {
	s.Helper()
	for range 200 {
		if f() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.Fatalf("waited 10 s for %s", what)
}

// say logs a line that occurs nowhere else, and waits until it is in a file.
func (s *stage) say() string {
	s.Helper()
	s.count++
	line := fmt.Sprintf("proof-line-%d-end", s.count)
	cmd := exec.Command("/usr/bin/systemd-cat", "-t", "proof")
	cmd.Stdin = strings.NewReader(line + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.Fatalf("systemd-cat: %v %s", err, out)
	}
	s.wait("root to see "+line, func() bool { return strings.Contains(s.journalctl(0, 0), line) })
	return line
}

func (s *stage) journalctl(uid, gid uint32) string {
	cmd := exec.Command("/usr/bin/journalctl", "--no-pager", "-o", "cat", "-t", "proof")
	cmd.Env = []string{"LC_ALL=C.UTF-8", "PATH=/usr/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid, Groups: []uint32{gid}}}
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// expect asks an unprivileged user's journalctl for a line.
func (s *stage) expect(who string, sees bool, line string, gid uint32) {
	s.Helper()
	out := s.journalctl(65501, gid)
	if strings.Contains(out, line+"\n") != sees {
		s.Errorf("%s sees %s: want %v; journalctl says:\n%s", who, line, sees, out)
	}
}

func (s *stage) host() *host.Host {
	src, err := host.NewLive()
	if err != nil {
		s.Fatal(err)
	}
	return host.New(src)
}

func (s *stage) check() []trap.Outcome { return traptest.Run(s.T, &Trap, s.host()) }

func (s *stage) found(want string) {
	s.Helper()
	if got := traptest.Lines(s.check()); got != want {
		s.Errorf("check says:\n%s\nwant:\n%s", got, want)
	}
}

// fix applies the plan of the one finding, verified by the check.
func (s *stage) fix() (undo func()) {
	s.Helper()
	found := s.check()[0]
	p, err := Trap.Plan(s.Context(), s.host(), found)
	if err != nil {
		s.Fatal(err)
	}
	store, err := remedy.OpenStoreAt(filepath.Join("/run/stuff", fmt.Sprint("store", s.count, time.Now().UnixNano())))
	if err != nil {
		s.Fatal(err)
	}
	e := &remedy.Engine{Store: store, Machine: machine.Linux{}, Who: "test"}
	c, err := e.Apply(s.Context(), remedy.Head{Trap: "journal-access", Plan: p}, func(context.Context) error {
		for _, o := range s.check() {
			if o.Status == trap.Found {
				return &remedy.StillFound{Summary: o.Summary}
			}
		}
		return nil
	})
	if err != nil {
		s.Fatalf("applying: %v", err)
	}
	return func() {
		if _, err := e.Undo(s.Context(), c.ID, remedy.UndoOptions{}); err != nil {
			s.Fatalf("undo: %v", err)
		}
	}
}

func (s *stage) rotate() {
	s.Helper()
	count := func() int { es, _ := os.ReadDir(s.dir); return len(es) }
	n := count()
	s.journald.Process.Signal(syscall.SIGUSR2)
	s.wait("a new file", func() bool { return count() > n })
}

// trapAgain makes everything as mkdir and journald alone had left it.
func (s *stage) trapAgain() {
	filepath.Walk(top, func(p string, i os.FileInfo, err error) error {
		unix.Removexattr(p, acl.XattrAccess)
		unix.Removexattr(p, acl.XattrDefault)
		mode := uint32(0o640)
		if i.IsDir() {
			mode = 0o755
		}
		os.Chown(p, 0, 0)
		return unix.Chmod(p, mode)
	})
}

// states is owner, mode and ACLs of everything below the journal's folder.
func (s *stage) states() string {
	var lines []string
	filepath.Walk(top, func(p string, i os.FileInfo, err error) error {
		n := look(s.Context(), s.host(), p)
		lines = append(lines, fmt.Sprintf("%s %o %d:%d %s | %s", p, n.Mode, n.UID, n.GID, n.Access, n.Default))
		return n.Err
	})
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

func (s *stage) run(name string, args ...string) {
	s.Helper()
	if out, err := exec.Command("/usr/bin/"+name, args...).CombinedOutput(); err != nil {
		s.Fatalf("%s: %v\n%s", name, err, out)
	}
}
