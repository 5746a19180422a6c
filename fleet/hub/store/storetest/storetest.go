// Package storetest gives tests databases: SQLite's, and a PostgreSQL server of
// their own.
package storetest

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fettle/fleet/hub/store"
	"fettle/internal/means"
)

// SQLite is an empty database in a folder of the test.
func SQLite(t testing.TB) *store.DB { return Open(t, filepath.Join(Dir(t), "hub.db")) }

// Dir is a folder in memory, which ends with the test: databases wait for the
// disk at each commit.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(memory(), "fettle-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// memory is a folder in memory; empty, for the usual one, where there is none.
func memory() string {
	if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() {
		return "/dev/shm"
	}
	return ""
}

// Open opens a database, which ends with the test.
func Open(t testing.TB, where string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// Each runs a test over both kinds of databases, each empty.
func Each(t *testing.T, test func(*testing.T, *store.DB)) {
	t.Run("sqlite", func(t *testing.T) { test(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, Open(t, Postgres(t))) })
}

// shared is the server of all tests of a package.
var shared struct {
	sync.Mutex
	wanted bool
	*Server
}

// Run runs the tests of a package: the databases of Postgres are on one server, which ends
// with them. To make a server takes longer than most of these tests.
func Run(m *testing.M) (code int) {
	shared.wanted = true
	code = m.Run()
	if shared.Server != nil {
		shared.end()
	}
	return code
}

// Postgres makes an empty database on the package's server, or where it has none on one of
// the test, and returns its URL.
func Postgres(t testing.TB) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	switch {
	case !shared.wanted:
		return NewServer(t).Database(t)
	case shared.Server == nil:
		shared.Server = start(t)
	}
	return shared.Database(t)
}

// Server is a PostgreSQL server on a Unix socket.
type Server struct {
	dir, bin string
	cred     *syscall.Credential
	cmd      *exec.Cmd
	made     atomic.Int64
}

// program finds one of PostgreSQL's, which Debian keeps off PATH.
func program(t testing.TB, name string) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	for _, f := range append(found, "/usr/local/bin/"+name, "/usr/bin/"+name) {
		if st, err := os.Stat(f); err == nil && st.Mode()&0o111 != 0 {
			return f
		}
	}
	means.Missing(t, "needs PostgreSQL's "+name)
	return ""
}

// NewServer starts a server, which ends with the test. PostgreSQL refuses to
// run as root: it runs as the user postgres, or nobody, then.
func NewServer(t testing.TB) *Server {
	t.Helper()
	s := start(t)
	t.Cleanup(s.end)
	return s
}

func start(t testing.TB) *Server {
	t.Helper()
	s := &Server{bin: program(t, "postgres")}
	var err error
	if s.dir, err = os.MkdirTemp(memory(), "fettle-pg-"); err != nil {
		t.Fatal(err)
	}
	started := false
	defer func() {
		if !started {
			s.end()
		}
	}()
	if os.Geteuid() == 0 {
		s.cred = somebody(t)
		if err := os.Chown(s.dir, int(s.cred.Uid), int(s.cred.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := s.command(program(t, "initdb"), "-D", s.dir+"/data", "-U", "fettle", "--auth=trust", "--no-sync", "-E", "UTF8",
		"--no-locale").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	s.Start(t)
	started = true
	return s
}

func (s *Server) end() {
	s.Stop(syscall.SIGQUIT)
	os.RemoveAll(s.dir)
}

func somebody(t testing.TB) *syscall.Credential {
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.ParseUint(u.Uid, 10, 32)
			gid, _ := strconv.ParseUint(u.Gid, 10, 32)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	means.Missing(t, "needs a user postgres or nobody")
	return nil
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = s.dir
	c.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred, Pdeathsig: syscall.SIGKILL}
	return c
}

// Start starts the server, and waits until it answers.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.cmd = s.command(s.bin, "-D", s.dir+"/data", "-k", s.dir, "-h", "", "-F", "-c", "shared_buffers=32MB", "-c", "max_connections=50")
	log, err := os.OpenFile(s.dir+"/log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if out, err := s.command(program(t, "psql"), "-h", s.dir, "-U", "fettle", "-c", "SELECT 1", "postgres").CombinedOutput(); err == nil {
			return
		} else if s.cmd.ProcessState != nil {
			t.Fatalf("postgres: %s", out)
		}
		time.Sleep(50 * time.Millisecond)
	}
	b, _ := os.ReadFile(s.dir + "/log")
	t.Fatalf("postgres does not answer:\n%s", b)
}

// Stop ends the server: SIGINT at once, SIGQUIT as a crash would.
func (s *Server) Stop(sig syscall.Signal) {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(sig)
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// PID is the server's process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Database makes an empty database, and returns its URL.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("hub%d", s.made.Add(1))
	if out, err := s.command(program(t, "psql"), "-h", s.dir, "-U", "fettle", "-c", "CREATE DATABASE "+name,
		"postgres").CombinedOutput(); err != nil {
		t.Fatalf("creating a database: %v\n%s", err, out)
	}
	return "postgres://fettle@/" + name + "?host=" + url.QueryEscape(s.dir)
}

// Processor is the time that a process and its children have computed, in seconds.
func Processor(t testing.TB, pid int) float64 {
	t.Helper()
	sum := 0.0
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	for _, p := range append(strings.Fields(string(children)), strconv.Itoa(pid)) {
		b, _ := os.ReadFile("/proc/" + p + "/stat")
		_, rest, _ := strings.Cut(string(b), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 15 {
			continue // it has ended
		}
		for _, f := range fields[11:13] { // by itself, and in the kernel for it
			n, _ := strconv.ParseFloat(f, 64)
			sum += n
		}
	}
	const hertz = 100 // USER_HZ
	return sum / hertz
}
