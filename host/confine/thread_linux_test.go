package confine

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/host"
	"fettle/internal/means"
)

// confined runs a shell script as commands are run.
func confined(t testing.TB, r Rules, script string) host.Output {
	t.Helper()
	r.Program = true
	out, err := host.ExecIn(
		t.Context(),
		host.CommandSpec{Limit: time.Minute, MaxOutput: 1 << 16},
		[]string{"/bin/sh", "-c", script},
		func(run func()) (err error) {
			inThread(func() {
				if err = confineThread(r, ABI()); err == nil {
					run()
				}
			})
			return err
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What a thread gives up its command does not have; the other threads keep it.
func TestThreadConfinesItsCommand(t *testing.T) {
	dir := t.TempDir()
	file, open := filepath.Join(dir, "file"), filepath.Join(dir, "open")
	os.WriteFile(file, []byte("kept"), 0o600)
	os.Mkdir(open, 0o700)
	tries := []string{
		"echo x >" + file,
		"mkdir " + dir + "/new",
		"rm " + file,
		"mv " + file + " " + dir + "/other",
		"chmod 644 " + file,
		"touch " + file,
		"kill -0 " + fmt.Sprint(os.Getpid()),
	}
	if ABI() < 6 { // Landlock's first version that knows signals
		tries = tries[:len(tries)-1]
	}
	for _, try := range tries {
		if out := confined(t, Rules{}, try); out.Exit == 0 {
			t.Errorf("%s: worked", try)
		}
	}
	out := confined(
		t,
		Rules{Write: []string{open, dir + "/absent"}},
		"cat "+file+" && echo x >/dev/null && echo y >"+open+"/new && grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status",
	)
	if want := "keptNoNewPrivs:\t1\nSeccomp:\t2\n"; out.Exit != 0 || string(out.Stdout) != want {
		t.Errorf("exit %d, %q, %s; want %q", out.Exit, out.Stdout, out.Stderr, want)
	}
	if err := os.WriteFile(file, []byte("changed"), 0o600); err != nil {
		t.Error("this process: ", err)
	}
	for deadline := time.Now().Add(means.Patience); ; time.Sleep(10 * time.Millisecond) { // threads take a moment to end
		held := ""
		all, _ := filepath.Glob("/proc/self/task/*/status")
		for _, name := range all {
			if b, _ := os.ReadFile(name); strings.Contains(string(b), "NoNewPrivs:\t1") {
				held += name + " "
			}
		}
		if held == "" && len(all) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("still confined: ", held)
		}
	}
}

// apt parts signed lists from their signatures in /tmp before it can say what it would install.
func TestAptReadsSignedLists(t *testing.T) {
	means.Root(t)
	if lists, _ := filepath.Glob("/var/lib/apt/lists/*InRelease"); len(lists) == 0 {
		means.Left(t, "it needs signed lists of apt (apt-get update)")
	}
	spec := host.Commands["apt-get"]
	ask := "exec " + spec.Paths[0] + " -s -q -o Debug::NoLocking=true -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= dist-upgrade"
	if out := confined(t, Rules{Write: spec.Write}, ask); out.Exit != 0 {
		t.Errorf("exit %d: %s", out.Exit, out.Stderr)
	}
	if out := confined(t, Rules{Write: spec.Write}, "echo x > /var/tmp/fettle-test"); out.Exit == 0 {
		t.Error("it may write elsewhere, too")
	}
}

// A command does not outlive the fettle that runs it.
func TestCommandEndsWithItsParent(t *testing.T) {
	if os.Getenv("PARENT_OF_SLEEP") != "" {
		fifo := os.Getenv("PARENT_OF_SLEEP")
		confined(t, Rules{Write: []string{fifo}}, "echo $$ >"+fifo+"; exec sleep 600")
		return
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "PARENT_OF_SLEEP="+fifo)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.SetReadDeadline(time.Now().Add(time.Minute))
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(line))
	cmd.Process.Kill()
	cmd.Wait()
	for deadline := time.Now().Add(means.Patience); ; time.Sleep(10 * time.Millisecond) {
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err != nil || len(b) == 0 {
			return
		}
		if time.Now().After(deadline) {
			unix.Kill(pid, unix.SIGKILL)
			t.Fatal("the command lives on")
		}
	}
}

func BenchmarkCommand(b *testing.B) {
	for b.Loop() {
		confined(b, Rules{}, "exit")
	}
}
