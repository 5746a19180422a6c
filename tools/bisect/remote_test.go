package bisect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fettle/internal/means"
	"fettle/internal/ssh"
)

// sshServer is a real sshd on loopback addresses, each a host with a home and a speed
// of its own: swift, slow, and broken, which runs nothing.
type sshServer struct {
	homes  string
	config string // of the client
}

func startSSH(t *testing.T) *sshServer {
	t.Helper()
	for _, tool := range []string{"ssh", "sshd", "ssh-keygen", "tar", "setsid", "timeout", "xargs"} {
		means.Tool(t, tool)
	}
	dir := t.TempDir()
	for _, key := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
	}
	port := freePort(t)
	s := &sshServer{homes: filepath.Join(dir, "homes"), config: filepath.Join(dir, "ssh_config")}
	server := fmt.Sprintf(
		"HostKey %[1]s/host\nAuthorizedKeysFile %[1]s/user.pub\nStrictModes no\nUsePAM no\nPidFile none\nMaxStartups 100\nPermitRootLogin yes\n",
		dir,
	)
	client := ""
	for i, h := range []struct{ name, set string }{{"swift", "SPEED=1"}, {"slow", "SPEED=3"}, {"broken", "SPEED=0"}} {
		address := fmt.Sprintf("127.0.0.%d", 31+i)
		server = fmt.Sprintf("ListenAddress %s:%d\n", address, port) + server
		home := filepath.Join(s.homes, h.name)
		if err := os.MkdirAll(home, 0o700); err != nil {
			t.Fatal(err)
		}
		server += fmt.Sprintf("Match LocalAddress %s\n  SetEnv HOME=%s %s\n", address, home, h.set)
		client += fmt.Sprintf("Host %s\n  HostName %s\n", h.name, address)
	}
	server += "Match LocalAddress 127.0.0.33\n  ForceCommand exit 1\n"
	client += fmt.Sprintf(
		"Host *\n  Port %d\n  IdentityFile %s/user\n  IdentitiesOnly yes\n  UserKnownHostsFile /dev/null\n  StrictHostKeyChecking no\n  "+
			"LogLevel ERROR\n",
		port,
		dir,
	)
	write(t, filepath.Join(dir, "sshd_config"), server, 0o600)
	write(t, s.config, client, 0o600)
	if os.Geteuid() == 0 {
		_ = os.MkdirAll("/run/sshd", 0o755) // which Debian's unit makes
	}
	path, err := exec.LookPath("sshd")
	if err != nil {
		path = "/usr/sbin/sshd"
	}
	sshd := exec.Command(path, "-D", "-e", "-f", filepath.Join(dir, "sshd_config"))
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	sshd.Stderr = log
	if err := sshd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = sshd.Process.Signal(syscall.SIGTERM)
		_ = sshd.Wait()
	})
	means.Dial(t, "tcp", fmt.Sprintf("127.0.0.31:%d", port)).Close()
	// The sockets of control masters in a folder of this run, which is removed.
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("XDG_CACHE_HOME", os.DevNull) // in which no folder can be made
	return s
}

func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (s *sshServer) hunt(t *testing.T, dir string, hashes []string, c Command, hosts ...string) *Hunt {
	h := hunt(t, dir, hashes, c)
	h.Hosts, h.SSH = hosts, ssh.Options{Config: s.config, Connect: 10 * time.Second}
	return h
}

// left is what hunts have left on the hosts.
func (s *sshServer) left(t *testing.T) []string {
	list, err := filepath.Glob(filepath.Join(s.homes, "*/.cache/fettle/bisect/*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Two hosts, one three times as slow: a change of a tenth is found among both
// at once, and nothing stays there.
func TestHosts(t *testing.T) {
	means.Short(t, "takes seconds")
	s := startSSH(t)
	commits := speeds(40, map[int]string{0: "10", 23: "11"})
	commits[0][".gitignore"] = "*.o\n"
	commits[0]["name with 'quote"] = "x"
	dir, hashes := repository(t, commits)
	const noisySpeed = `noise=$(od -An -N1 -tu1 /dev/urandom); echo $SPEED >&2; awk "BEGIN { print ($(cat speed) + ($noise - 128) / 1000) ` +
		`* $SPEED }"`
	h := s.hunt(t, dir, hashes, Command{Build: `test -e "name with 'quote" && echo >>built.o`, Run: noisySpeed}, "swift", "slow")
	h.Jobs = 2
	used := map[string]int{}
	h.Tell = func(p Progress) { used[p.Last.Host]++ }
	r, err := h.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	wantChanges(t, r, 23)
	if used["swift"] < 3 || used["slow"] < 3 {
		t.Errorf("runs on the hosts: %v", used)
	}
	if by, _ := Effect(r.Verdict.Changes[0]); by < 0.8 || by > 1.2 {
		// on the footing of whichever host's reading came first
		if by < 2.4 || by > 3.6 {
			t.Errorf("the change is put at %+.2f, want about +1 or +3", by)
		}
	}
	if left := s.left(t); len(left) > 0 {
		t.Errorf("left on the hosts: %v", left)
	}
}

// What is carried: modes, links, submodules; what a commit does not have any
// more goes, and so does what a build left and git does not ignore.
func TestCarried(t *testing.T) {
	s := startSSH(t)
	g := newGraph(t)
	sub := newGraph(t)
	sub.commit("inner", 5)
	g.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub.dir, "sub")
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "protocol.file.allow")
	t.Setenv("GIT_CONFIG_VALUE_0", "always")
	write(t, filepath.Join(g.dir, "run.sh"), "#!/bin/sh\necho 1\n", 0o755)
	write(t, filepath.Join(g.dir, ".gitignore"), "*.o\n", 0o644)
	if err := os.Symlink("run.sh", filepath.Join(g.dir, "link")); err != nil {
		t.Fatal(err)
	}
	g.commit("one", 1)
	g.git("rm", "-q", "link")
	write(t, filepath.Join(g.dir, "run.sh"), "#!/bin/sh\necho 20\n", 0o755)
	g.commit("two", 2)
	const run = `test "$(cat sub/part-inner)" = 5 || exit 9
		case $(cat part-* | sort -n | tail -1) in 1) test -L link || exit 7;; 2) test -e link && exit 8;; esac
		test -e mess && exit 6
		echo >mess; echo >>kept.o; wc -l <kept.o >&2; ./run.sh`
	h := s.hunt(t, g.dir, []string{"one", "two"}, Command{Run: run}, "swift")
	r, err := h.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	wantChanges(t, r, 1)
}

// A run that hangs on a host is ended there, all that it started too.
func TestAHangOnAHostIsEndedThere(t *testing.T) {
	means.Short(t, "takes seconds")
	s := startSSH(t)
	commits := speeds(5, map[int]string{0: "1", 4: "9"})
	commits[2]["how"], commits[3]["how"] = "hang", ""
	dir, hashes := repository(t, commits)
	h := s.hunt(t, dir, hashes, Command{Limit: 5 * time.Second,
		Run: `if test "$(cat how 2>/dev/null)" = hang; then sleep 600 & echo $! >>$HOME/pids; wait; fi; cat speed`}, "swift")
	r, err := h.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Skipped[2], "longer than 5s") {
		t.Errorf("skipped: %v", r.Skipped)
	}
	s.wantGone(t, 1)
}

// wantGone waits for the processes on the host swift to end.
func (s *sshServer) wantGone(t *testing.T, atLeast int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.homes, "swift/pids"))
	pids := strings.Fields(string(b))
	if err != nil || len(pids) < atLeast {
		t.Fatalf("processes that were started on the host: %q, %v", pids, err)
	}
	for _, p := range pids {
		pid, err := strconv.Atoi(p)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; syscall.Kill(pid, 0) == nil; i++ {
			if i > 200 {
				t.Fatalf("process %d still runs on the host", pid)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// A hunt that is killed ends what it runs on hosts.
func TestKilledHuntEndsItsRunsOnHosts(t *testing.T) {
	const hangs = `sleep 600 & echo $! >>$HOME/pids; wait; echo 1`
	if dir := os.Getenv("BISECT_TEST_DIR"); dir != "" {
		h := hunt(t, dir, strings.Fields(os.Getenv("BISECT_TEST_ENDS")), Command{Run: hangs})
		h.Hosts, h.SSH = []string{"swift"}, ssh.Options{Config: os.Getenv("BISECT_TEST_CONFIG")}
		_, _ = h.Run(context.Background())
		return
	}
	s := startSSH(t)
	dir, hashes := repository(t, speeds(3, map[int]string{0: "1"}))
	child := exec.Command("/proc/self/exe", "-test.run=^TestKilledHuntEndsItsRunsOnHosts$")
	child.Env = append(os.Environ(), "BISECT_TEST_DIR="+dir, "BISECT_TEST_CONFIG="+s.config, "BISECT_TEST_ENDS="+hashes[0]+" "+hashes[2])
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		if b, _ := os.ReadFile(filepath.Join(s.homes, "swift/pids")); len(b) > 0 {
			break
		}
		if i > 600 {
			t.Fatal("the run was not begun on the host")
		}
		time.Sleep(100 * time.Millisecond)
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	s.wantGone(t, 1)
}

// A host that runs nothing is left out, and the hunt says so; without any it fails.
func TestLostHosts(t *testing.T) {
	s := startSSH(t)
	dir, hashes := repository(t, speeds(12, map[int]string{0: "10", 7: "20"}))
	h := s.hunt(t, dir, hashes, Command{Run: "cat speed"}, "swift", "broken")
	var mu sync.Mutex
	var lost []string
	h.Lost = func(host string, why error) {
		mu.Lock()
		defer mu.Unlock()
		lost = append(lost, host)
	}
	r, err := h.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	wantChanges(t, r, 7)
	if len(lost) != 1 || lost[0] != "broken" || len(r.Skipped) > 0 {
		t.Errorf("lost: %v; skipped: %v", lost, r.Skipped)
	}
	h = s.hunt(t, dir, hashes, Command{Run: "cat speed"}, "broken")
	h.Fresh = true
	var gone *ssh.Error
	if _, err = h.Run(context.Background()); err == nil || errors.As(err, &gone) && gone.Host != "broken" ||
		!strings.Contains(err.Error(), "no host is left") {
		t.Errorf("error: %v", err)
	}
}
