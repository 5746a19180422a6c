package deletedopenfiles

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/internal/means"
)

// child is a shell that does one thing, says so, and waits to be told to go on.
type child struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

// run starts bin -c script; the script calls "ready" where it waits.
func run(t *testing.T, bin string, env []string, script string, args ...string) *child {
	t.Helper()
	c := &child{
		t:   t,
		cmd: exec.Command(bin, append([]string{"-c", "ready() { echo ready; read -r _ || exit; }\n" + script, "sh"}, args...)...),
	}
	c.cmd.Env, c.cmd.Stderr = env, os.Stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.end)
	c.wait()
	return c
}

func (c *child) wait() {
	c.t.Helper()
	if line, err := c.out.ReadString('\n'); line != "ready\n" {
		c.t.Fatalf("child said %q, %v", line, err)
	}
}

func (c *child) goOn() { c.t.Helper(); io.WriteString(c.in, "\n"); c.wait() }
func (c *child) end()  { c.in.Close(); c.cmd.Wait() }

// live runs the check on this machine, afresh.
func live(t *testing.T) []trap.Outcome {
	t.Helper()
	src, err := host.NewLive()
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	return traptest.Run(t, &Trap, host.New(src))
}

// finding is the one of this kind whose evidence names path.
func finding(outcomes []trap.Outcome, kind, path string) *trap.Outcome {
	for i, o := range outcomes {
		for _, e := range o.Evidence {
			if told, _ := trap.FactsIn[facts](o); told.Kind == kind && strings.Contains(e.Value, path) {
				return &outcomes[i]
			}
		}
	}
	return nil
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func tmpfs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("fettle-test", dir, "tmpfs", 0, "size=128m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// outsideTmp makes a folder where programs may lie: what is mapped from /tmp
// is taken for code made at run time.
func outsideTmp(t *testing.T) string {
	t.Helper()
	at, err := os.Getwd()
	if strings.HasPrefix(at, "/tmp/") || strings.HasPrefix(at, "/var/tmp/") { // a checkout there
		at, err = os.UserHomeDir()
	}
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(at, "fettle-testdir")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	dir, _ = filepath.Abs(dir)
	return dir
}

func TestRealSpace(t *testing.T) {
	if !means.Inside(t, syscall.CLONE_NEWNS, time.Minute) {
		return
	}
	dir := tmpfs(t)
	big := write(t, dir+"/big", strings.Repeat("x", 40<<20))
	c := run(t, means.Tool(t, "sh"), nil, `exec 8<"$1" 9<"$1"; ready; rm "$1"; ready; exec 8<&- 9<&-; ready`, big)
	at := func() *trap.Outcome {
		for _, o := range live(t) {
			if o.Subject == dir {
				return &o
			}
		}
		return nil
	}
	if o := at(); o != nil {
		t.Errorf("while it has a name: %+v", o)
	}
	c.goOn()
	o := at()
	if o == nil || o.Status != trap.Found || o.Severity != trap.Warning ||
		!strings.Contains(string(o.Detail), "40 MiB in 1 deleted file, 31 %") {
		t.Errorf("deleted: %+v", o)
	}
	c.goOn()
	if o := at(); o != nil {
		t.Errorf("closed: %+v", o)
	}
}

// Two names: deleting one of them frees nothing, and takes nothing either.
func TestRealHardLink(t *testing.T) {
	if !means.Inside(t, syscall.CLONE_NEWNS, time.Minute) {
		return
	}
	dir := tmpfs(t)
	big := write(t, dir+"/big", strings.Repeat("x", 40<<20))
	if err := os.Link(big, dir+"/other"); err != nil {
		t.Fatal(err)
	}
	run(t, means.Tool(t, "sh"), nil, `exec 9<"$1"; rm "$1"; ready`, big)
	for _, o := range live(t) {
		if o.Subject == dir {
			t.Errorf("%+v", o)
		}
	}
}

func TestRealLog(t *testing.T) {
	log := write(t, t.TempDir()+"/log/app.log", "1\n")
	sh := means.Tool(t, "sh")
	c := run(
		t,
		sh,
		nil,
		`exec 9>>"$1"; ready; mv "$1" "$1.1"; ready; exec 8>>"$1"; ready; exec 8>&-; rm "$1.1"; ready; exec 9>>"$1"; ready`,
		log,
	)
	at := func() string {
		for _, o := range live(t) {
			if o.Subject == log {
				return o.Summary
			}
		}
		return ""
	}
	step := func(name, want string) {
		t.Helper()
		got := at()
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	step("open", "")
	c.goOn()
	step("renamed, no new log", "was renamed")
	write(t, log, "")
	step("renamed, new log just made", "")
	old := time.Now().Add(-time.Hour)
	os.Chtimes(log, old, old)
	step("renamed, new log", "was renamed")
	c.goOn()
	step("both open", "")
	c.goOn()
	step("old one deleted", "was deleted")
	c.goOn()
	step("new one open alone", "")
}

func TestRealProgram(t *testing.T) {
	dir := outsideTmp(t)
	sh := means.Tool(t, "sh")
	b, err := os.ReadFile(sh)
	if err != nil {
		t.Fatal(err)
	}
	bin := write(t, dir+"/fettledaemon", "")
	os.WriteFile(bin, b, 0o755)
	os.Chmod(bin, 0o755)
	c := run(t, bin, nil, "ready")
	if o := finding(live(t), kindProgram, bin); o != nil {
		t.Errorf("before: %+v", o)
	}
	os.Rename(write(t, bin+".dpkg-new", "new"), bin)
	o := finding(live(t), kindProgram, bin)
	if o == nil || !strings.Contains(o.Summary, "program") || !strings.Contains(string(o.Detail), "fettledaemon") {
		t.Fatalf("after: %+v", o)
	}
	if told, _ := trap.FactsIn[facts](*o); len(told.Units) == 0 && o.Subject != userSessions && o.Subject != "fettledaemon" {
		t.Errorf("subject %q", o.Subject)
	}
	c.end()
	if o := finding(live(t), kindProgram, bin); o != nil {
		t.Errorf("ended: %+v", o)
	}
}

func TestRealLibrary(t *testing.T) {
	dir := outsideTmp(t)
	libs, _ := filepath.Glob("/lib/*-linux-gnu/libm.so.6")
	if more, _ := filepath.Glob("/lib64/libm.so.6"); len(libs) == 0 {
		libs = more
	}
	if len(libs) == 0 {
		means.Missing(t, "needs a libm.so.6 to copy")
	}
	b, err := os.ReadFile(libs[0])
	if err != nil {
		t.Fatal(err)
	}
	lib := write(t, dir+"/libfettle.so.6", string(b))
	run(t, means.Tool(t, "sh"), []string{"LD_PRELOAD=" + lib, "PATH=/bin:/usr/bin"}, "ready")
	if o := finding(live(t), kindProgram, lib); o != nil {
		t.Errorf("before: %+v", o)
	}
	os.Rename(write(t, lib+".dpkg-new", "new"), lib)
	if o := finding(live(t), kindProgram, lib); o == nil || !strings.Contains(string(o.Detail), lib) {
		t.Errorf("after: %+v", o)
	}
}

// Without root the check says what it could not look at.
func TestRealUnprivileged(t *testing.T) {
	if os.Getenv("FETTLE_TEST_CHILD") != "" {
		for _, o := range live(t) {
			os.Stdout.WriteString("OUTCOME " + traptest.Lines([]trap.Outcome{o}) + "\n")
		}
		return
	}
	means.Root(t)
	dir := t.TempDir()
	os.Chmod(filepath.Dir(dir), 0o755)
	os.Chmod(dir, 0o755)
	b, _ := os.ReadFile(os.Args[0])
	bin := write(t, dir+"/check.test", "")
	os.WriteFile(bin, b, 0o755)
	os.Chmod(bin, 0o755)
	c := exec.Command(means.Tool(t, "setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups",
		bin, "-test.run=^TestRealUnprivileged$", "-test.v")
	c.Env, c.Dir = []string{"FETTLE_TEST_CHILD=1", "TMPDIR=" + dir}, dir
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "OUTCOME unknown: needs root") || strings.Contains(string(out), "OUTCOME clear") {
		t.Errorf("%v\n%s", err, out)
	}
}
