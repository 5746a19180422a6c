package cli_test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/internal/means"
)

// verb is one command line that does not end by itself here. Words FIFO, LISTENER,
// ADDRESS, SOCKET and EMPTY stand for a pipe that nobody writes to, a server that takes
// connections and says nothing (HOST:PORT, and its host), such a Unix socket, and a
// new folder.
type verb struct {
	line  string
	input bool // it waits for standard input, which never ends
	// It refuses a pipe as a usage error, and does not wait.
	refused bool
	// It asks on a terminal; another fettle holds the lock.
	terminal, locked bool
}

var lasting = []verb{
	{line: "fettle check --from FIFO"},
	{line: "fettle check --root FIFO", refused: true},
	{line: "fettle check --hosts-file FIFO"},
	{line: "fettle check --accepted FIFO", refused: true},
	{line: "fettle check -o FIFO"},
	{line: "fettle-evil check hangs"},
	{line: "fettle-evil check spins"},
	{line: "fettle-evil capture hangs -o EMPTY/c"},
	{line: "fettle capture -o FIFO", refused: true},
	{line: "fettle capture --redact --redact-key FIFO -o EMPTY/c", refused: true},
	{line: "fettle why -", input: true},
	{line: "fettle diff FIFO FIFO"},
	{line: "fettle lore check FIFO", refused: true},
	{line: "fettle watch"},
	{line: "fettle measure counters lo --for 0"},
	{line: "fettle measure counters --read FIFO"},
	{line: "fettle measure counters --snmp DATAGRAMS --for 0"},
	{line: "fettle measure disks FIFO"},
	{line: "fettle measure disks -", input: true},
	{line: "fettle measure ksm --for 10m"},
	{line: "fettle measure installer FIFO", refused: true},
	{line: "fettle measure login ssh://LISTENER"},
	{line: "fettle netboot check --mirror FIFO TREE", refused: true},
	{line: "fettle netboot fetch EMPTY/new --suite bookworm --keyring /etc/hosts --mirror http://LISTENER/debian"},
	{line: "fettle netboot fetch EMPTY/new --deb FIFO", refused: true},
	{line: "fettle netboot serve --tree TREE --hosts FIFO", refused: true},
	{line: "fettle netboot hooks --append FIFO", refused: true},
	{line: "fettle netboot console SOCKET"},
	{line: "fettle netboot console --password-file FIFO ADDRESS"},
	{line: "fettle-fix fix demo", terminal: true},
	{line: "fettle-fix fix demo --yes --wait", locked: true},
	{line: "fettle-lab bisect --repo REPO --good HEAD~1 --bad HEAD --run SLEEP"},
	{line: "fettle-lab keypath --keyring FIFO a b", refused: true},
	{line: "fettle-hub serve --state EMPTY/hub"},
	{line: "fettle-agent join - --state EMPTY/agent", input: true},
}

// TestEveryVerbEnds: whatever a verb waits for, it ends within 2 s of SIGTERM.
func TestEveryVerbEnds(t *testing.T) {
	means.Root(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	demo := filepath.Join(filepath.Dir(exe), "demo") // what fettle-fix mends
	os.MkdirAll(demo, 0o755)
	t.Cleanup(func() { os.RemoveAll(demo) })
	if err := os.WriteFile(filepath.Join(demo, "a.conf"), []byte("bad\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, v := range lasting {
		t.Run(v.line, func(t *testing.T) {
			t.Parallel()
			words, state := filled(t, v.line), t.TempDir()
			cmd := &exec.Cmd{Path: exe, Args: words, Dir: t.TempDir(), Env: append(os.Environ(), "HOME="+t.TempDir(), "TERM=dumb",
				"FETTLE_SNMP_COMMUNITY=public", "FETTLE_STATE="+state)}
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &said
			cmd.WaitDelay = 5 * time.Second
			if v.input {
				r, w, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				defer r.Close()
				cmd.Stdin = r
			}
			if v.terminal {
				_, tty := means.OpenTerminal(t)
				cmd.Stdin, cmd.Stdout = tty, tty
			}
			if v.locked {
				f, err := os.Create(state + "/lock")
				if err == nil {
					err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
				}
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() { cmd.Wait(); close(ended) }()
			select {
			case <-ended:
				if v.refused && cmd.ProcessState.ExitCode() == 2 {
					return
				}
				t.Fatalf("it ended by itself, which proves nothing: %s: %s", cmd.ProcessState, said.String())
			case <-time.After(1500 * time.Millisecond):
			}
			begun := time.Now()
			cmd.Process.Signal(syscall.SIGTERM)
			select {
			case <-ended:
				if took := time.Since(begun); took > 2*time.Second {
					t.Errorf("it ended %s after SIGTERM", took)
				}
			case <-time.After(6 * time.Second):
				cmd.Process.Kill()
				<-ended
				t.Errorf("it did not end on SIGTERM")
			}
		})
	}
}

// filled are the words of a command line, with what stands for something made.
func filled(t *testing.T, line string) []string {
	t.Helper()
	dir := t.TempDir()
	fifo, socket := filepath.Join(dir, "fifo"), filepath.Join(dir, "socket")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	listener := silent(t, "tcp", "127.0.0.1:0")
	host, port, _ := net.SplitHostPort(listener)
	silent(t, "unix", socket)
	datagrams, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { datagrams.Close() })
	tree := filepath.Join(dir, "tree/debian-installer/amd64")
	os.MkdirAll(tree, 0o755)
	os.WriteFile(tree+"/linux", nil, 0o644)
	os.WriteFile(tree+"/initrd.gz", nil, 0o644)
	repo := filepath.Join(dir, "repo")
	if strings.Contains(line, "REPO") {
		for _, args := range [][]string{{"init", "-q", repo}, {"-C", repo, "commit", "-q", "--allow-empty", "-m", "a"},
			{"-C", repo, "commit", "-q", "--allow-empty", "-m", "b"}} {
			cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
	}
	var out []string
	for _, w := range strings.Fields(line) {
		out = append(out, strings.NewReplacer("FIFO", fifo, "LISTENER", listener,
			"DATAGRAMS", datagrams.LocalAddr().String(), "ADDRESS", host, "PORT", port,
			"SOCKET", "unix:"+socket,
			"EMPTY", dir, "TREE", filepath.Join(dir, "tree"), "REPO", repo).Replace(w))
	}
	for i, w := range out {
		if w == "SLEEP" {
			out[i] = "sleep 60"
		}
	}
	return out
}

// silent takes connections and says nothing.
func silent(t *testing.T, network, address string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		var all []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			all = append(all, c)
		}
		for _, c := range all {
			c.Close()
		}
	}()
	return l.Addr().String()
}
