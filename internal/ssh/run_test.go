package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle/internal/means"
)

// fakeSSH is a program that notes its arguments, a line each call, and runs the command here.
func fakeSSH(t *testing.T) (program string, asked func() []string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "ssh")
	text := "#!/bin/sh\n" + `echo "$*" >> "$0.asked"` + "\n" + `[ "$1" = -O ] && exit` + "\n" +
		`for command; do :; done; exec /bin/sh -c "$command"` + "\n"
	if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return program, func() []string {
		b, err := os.ReadFile(program + ".asked")
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(b)), "\n")
	}
}

// opened is a client of a fake ssh, with a folder of sockets in place of the user's own.
func opened(t *testing.T, opt Options) *Client {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", shortDir(t))
	t.Setenv("XDG_CACHE_HOME", shortDir(t))
	if opt.SSH == "" {
		opt.SSH, _ = fakeSSH(t)
	}
	c, err := Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// shortDir is a folder whose path leaves room for a socket's name.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestRunTellsHowItEnded(t *testing.T) {
	c := opened(t, Options{})
	for _, tt := range []struct {
		command, in, out, errs string
		exit                   int
		err                    string
	}{
		{command: "cat; echo e >&2", in: "hello", out: "hello", errs: "e\n"},
		{command: "echo gone >&2; exit 254", errs: "gone\n", exit: 254},
		{command: "exit 1", exit: 1},
		{command: "echo x; exit 3", out: "x\n", exit: 3},
		{command: "echo 'ssh: no route' >&2; exit 255", errs: "ssh: no route\n", err: "ssh: no route"},
		{command: "exit 255", err: "the connection was lost (ssh: exit status 255)"},
	} {
		var out bytes.Buffer
		exit, errs, err := c.Run(t.Context(), "web", tt.command, strings.NewReader(tt.in), &out)
		if exit != tt.exit || errs != tt.errs || out.String() != tt.out || fmt.Sprint(err) != tt.err && (err != nil || tt.err != "") {
			t.Errorf("%s: status %d, said %q and %q, %v", tt.command, exit, out.String(), errs, err)
		}
	}
	gone := &Client{ssh: filepath.Join(t.TempDir(), "none"), open: map[string]bool{}}
	if _, _, err := gone.Run(t.Context(), "web", "true", nil, nil); err == nil || !strings.HasPrefix(err.Error(),
		"the connection was lost (ssh: ") {
		t.Errorf("without the program: %v", err)
	}
}

// TestLimitEndsAllThatSSHStarted, and tells which limit that was.
func TestLimitEndsAllThatSSHStarted(t *testing.T) {
	c := opened(t, Options{Limit: 50 * time.Millisecond})
	pid := filepath.Join(t.TempDir(), "pid")
	c.Each(t.Context(), []string{"web"}, func(ctx context.Context, host string) {
		// The proxy command outlives ssh unless it is ended with it, and holds its output open.
		_, errs, err := c.Run(ctx, host, "echo begun >&2; sleep 600 & echo $! > "+pid+"; wait", nil, io.Discard)
		if err == nil || err.Error() != "took longer than 50ms" {
			t.Errorf("said %q, %v", errs, err)
		}
	})
	if b, err := os.ReadFile(pid); err == nil { // it came so far
		var n int
		fmt.Sscan(string(b), &n)
		means.Until(t, "the end of what ssh started", func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n))
			return err != nil || strings.Contains(string(stat), ") Z ")
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := c.Run(ctx, "web", "sleep 600", nil, nil); err == nil || err.Error() != "interrupted" {
		t.Errorf("interrupted: %v", err)
	}
}

func TestEachTakesSomeHostsAtOnce(t *testing.T) {
	c := opened(t, Options{Forks: 3, Limit: time.Hour})
	var mu sync.Mutex
	now, most := 0, 0
	var done []string
	all := strings.Fields("a b c d e f g h i j")
	full := make(chan struct{})
	c.Each(t.Context(), all, func(ctx context.Context, host string) {
		mu.Lock()
		now++
		most = max(most, now)
		if now == 3 && len(done) == 0 {
			close(full)
		}
		mu.Unlock()
		select {
		case <-full:
		case <-time.After(means.Patience):
			t.Error("there are never three at once")
		}
		if end, ok := ctx.Deadline(); !ok || time.Until(end) > time.Hour || time.Until(end) < 50*time.Minute {
			t.Errorf("%s may take until %v", host, end)
		}
		mu.Lock()
		now--
		done = append(done, host)
		mu.Unlock()
	})
	slices.Sort(done)
	if most != 3 || !slices.Equal(done, all) {
		t.Errorf("%d at once; done: %v", most, done)
	}
	c.Limited(time.Minute).Each(t.Context(), []string{"a"}, func(ctx context.Context, _ string) {
		if end, _ := ctx.Deadline(); time.Until(end) > time.Minute {
			t.Errorf("limited to a minute, it may take until %v", end)
		}
	})
}

func TestOpen(t *testing.T) {
	for _, bad := range []Options{{Forks: -1}, {Limit: -1}, {Connect: -1}} {
		if _, err := Open(bad); err == nil || !strings.Contains(err.Error(), "must not be negative") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	c := opened(t, Options{})
	if c.opt.Forks != DefaultForks || c.opt.Limit != DefaultLimit || c.opt.Connect != DefaultConnect {
		t.Errorf("defaults: %+v", c.opt)
	}
	set := Options{SSH: c.ssh, Forks: 7, Limit: time.Second, Connect: time.Minute, Config: "/x"}
	if c := opened(t, set); c.opt != set {
		t.Errorf("given: %+v", c.opt)
	}
	t.Setenv("PATH", filepath.Dir(c.ssh))
	if own := opened(t, Options{SSH: "ssh"}); own.ssh != c.ssh {
		t.Errorf("on PATH is %s, not %s", own.ssh, c.ssh)
	}
	if p, err := findSSH(""); p != c.ssh {
		t.Errorf("without a name: %s, %v", p, err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Open(Options{}); !errors.Is(err, exec.ErrNotFound) || !strings.HasPrefix(err.Error(), "OpenSSH's client is needed") {
		t.Errorf("without OpenSSH: %v", err)
	}
}

// TestSocketsAreTheUsersAlone: the folder of ssh's sockets lasts, is the user's own, and its path is short enough.
func TestSocketsAreTheUsersAlone(t *testing.T) {
	short := shortDir(t)
	long := filepath.Join(short, strings.Repeat("x", 108-57-len(short)-len("/")-len("/fettle-ssh")-len("/"))) // a byte too long
	file := filepath.Join(short, "file")
	for _, dir := range []string{long, long[:len(long)-1]} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	prepare := func(name string, do func(dir string) error) string {
		dir := filepath.Join(short, name)
		if err := errors.Join(os.Mkdir(dir, 0o700), do(filepath.Join(dir, "fettle-ssh"))); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	nothing := func(string) error { return nil }
	cache := filepath.Join(short, "cache")
	own, cached := "own", "cached"
	for name, c := range map[string]struct{ run, want string }{
		"new":                     {prepare("new", nothing), own},
		"made before":             {prepare("old", func(d string) error { return os.Mkdir(d, 0o700) }), own},
		"the folder is not there": {filepath.Join(short, "none"), own},
		"as long as can be":       {long[:len(long)-1], own},
		"too long":                {long, cached},
		"others may enter":        {prepare("open", func(d string) error { return os.Mkdir(d, 0o750) }), cached},
		"a link":                  {prepare("link", func(d string) error { return os.Symlink(short, d) }), cached},
		"a file":                  {prepare("file2", func(d string) error { return os.WriteFile(d, nil, 0o700) }), cached},
		"below a file":            {file, cached},
		"no such variable":        {"", cached},
	} {
		t.Setenv("XDG_RUNTIME_DIR", c.run)
		t.Setenv("XDG_CACHE_HOME", cache)
		want := filepath.Join(c.run, "fettle-ssh")
		if c.want == cached {
			want = filepath.Join(cache, "fettle", "ssh")
		}
		dir, ours, err := controlDir()
		if err != nil || dir != want || ours {
			t.Errorf("%s: %s, %v, %v; want %s", name, dir, ours, err, want)
			continue
		}
		if st, err := os.Lstat(dir); err != nil || !st.IsDir() || st.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	t.Setenv("XDG_RUNTIME_DIR", file)
	t.Setenv("XDG_CACHE_HOME", file)
	t.Setenv("TMPDIR", filepath.Join(short, "nowhere"))
	if dir, _, err := controlDir(); err == nil || !strings.HasPrefix(err.Error(), "making a folder for ssh's control sockets: ") {
		t.Errorf("no folder at all: %q, %v", dir, err)
	}
	if c, err := Open(Options{SSH: "/bin/true"}); err == nil {
		t.Errorf("no folder at all, and a client: %+v", c)
	}
}

func TestSocketsOfOthersAreNotUsed(t *testing.T) {
	means.Root(t)
	short := shortDir(t)
	dir := filepath.Join(short, "fettle-ssh")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, means.Nobody, means.Nobody)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", short)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(short, "cache"))
	if got, _, err := controlDir(); err != nil || got == dir {
		t.Errorf("%s, which belongs to another: %v", got, err)
	}
}

// TestCloseHangsUp where the sockets' folder was made for this run, and leaves the connections that last.
func TestCloseHangsUp(t *testing.T) {
	program, asked := fakeSSH(t)
	t.Setenv("XDG_RUNTIME_DIR", "/dev/null")
	t.Setenv("XDG_CACHE_HOME", "/dev/null")
	tmp := shortDir(t)
	t.Setenv("TMPDIR", tmp)
	c, err := Open(Options{SSH: program, Config: "/etc/x"})
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(c.control); err != nil || filepath.Dir(c.control) != tmp || st.Mode().Perm() != 0o700 {
		t.Fatalf("%s: %v, %v", c.control, st, err)
	}
	for _, host := range []string{"a", "b", "a"} {
		if _, _, err := c.Run(t.Context(), host, "true", nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	before := len(asked())
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	got := asked()[before:]
	slices.Sort(got)
	exit := "-O exit -F /etc/x -o ControlPath=" + c.control + "/%C -- "
	if want := []string{exit + "a", exit + "b"}; !slices.Equal(got, want) {
		t.Errorf("asked %q, want %q", got, want)
	}
	if _, err := os.Stat(c.control); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder stays: %v", err)
	}

	lasting := opened(t, Options{SSH: program})
	if _, _, err := lasting.Run(t.Context(), "a", "true", nil, nil); err != nil {
		t.Fatal(err)
	}
	before = len(asked())
	if err := lasting.Close(); err != nil || len(asked()) != before {
		t.Errorf("connections that last were closed: %q, %v", asked()[before:], err)
	}
	if _, err := os.Stat(lasting.control); err != nil {
		t.Error(err)
	}
	lasting.HangUp("a")
	if got, want := asked()[before:], "-O exit -o ControlPath="+lasting.control+"/%C -- a"; len(got) != 1 || got[0] != want {
		t.Errorf("asked %q, want %q", got, want)
	}
	lasting.Anew().HangUp("a") // it keeps none
	if len(asked()) != before+1 {
		t.Errorf("asked %q", asked()[before:])
	}
}

// TestRunsConcurrently: a client's methods may be called by many.
func TestRunsConcurrently(t *testing.T) {
	c := opened(t, Options{})
	var hosts []string
	for i := range 8 {
		hosts = append(hosts, fmt.Sprint("h", i))
	}
	means.Within(t, "ssh", func() {
		c.Each(t.Context(), hosts, func(ctx context.Context, host string) {
			if exit, _, err := c.Run(ctx, host, "exit 4", nil, nil); exit != 4 {
				t.Errorf("%s: %d, %v", host, exit, err)
			}
		})
	})
	if len(c.open) != len(hosts) {
		t.Errorf("known are %v", c.open)
	}
}

func TestArgs(t *testing.T) {
	c := &Client{opt: Options{Config: "/etc/ssh_config", Connect: 1500 * time.Millisecond}, control: "/run/x"}
	a := strings.Join(c.args("web", "true"), " ")
	if !strings.HasPrefix(a, "-F /etc/ssh_config -o BatchMode=yes -o ConnectTimeout=1 ") ||
		!strings.HasSuffix(a, "-o ControlMaster=auto -o ControlPath=/run/x/%C -o ControlPersist=60 -- web true") {
		t.Error(a)
	}
	for connect, want := range map[time.Duration]string{0: "ConnectTimeout=1", 100 * time.Millisecond: "ConnectTimeout=1",
		10 * time.Second: "ConnectTimeout=10"} {
		c := &Client{opt: Options{Connect: connect}}
		if a := c.args("web", "true"); !slices.Contains(a, want) || slices.Contains(a, "-F") {
			t.Errorf("%s: %q", connect, a)
		}
	}
}

func TestScript(t *testing.T) {
	c := opened(t, Options{})
	var out, errs bytes.Buffer
	exit, err := c.Script(t.Context(), "web", `cat; echo $0 $# $2 $1; echo "to err" >&2; exit 9`, []string{"a=b,c", "100%"},
		strings.NewReader("in "), &out,
		&errs)
	if exit != 9 || err != nil || out.String() != "in fettle 2 100% a=b,c\n" || errs.String() != "to err\n" {
		t.Errorf("status %d, %v, said %q and %q", exit, err, out.String(), errs.String())
	}
	if exit, err := c.Script(t.Context(), "web", "true", []string{"x"}, nil, nil, nil); exit != 0 || err != nil {
		t.Errorf("with nothing to read and to write: %d, %v", exit, err)
	}
	for _, bad := range []struct {
		script string
		args   []string
		want   string
	}{
		{"echo 'x'", []string{"a"}, `could not reach web: a script for other hosts with "'x'"`}, {"! true", []string{"a"}, `"! true"`},
		{"a\nb", []string{"a"}, `"\nb"`}, {`a\b`, []string{"a"}, `"\\b"`}, {"true", nil, "or no argument"},
		{"true", []string{"a", "b c"}, `could not reach web: argument "b c": only letters`}, {"true", []string{""}, `argument ""`},
		{"true", []string{"a\n"}, "argument"}, {"true", []string{"$x"}, "argument"}, {"'", []string{"a"}, "a script for other hosts"},
		{"echo lost >&2; exit 255", []string{"a"}, "could not reach web: lost"},
	} {
		exit, err := c.Script(t.Context(), "web", bad.script, bad.args, nil, nil, nil)
		var e *Error
		if !errors.As(err, &e) || e.Host != "web" || exit != 0 || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%q %q: %d, %v; want %q", bad.script, bad.args, exit, err, bad.want)
		}
	}
	if got, err := Command("echo $1", []string{"a", "b@c:/d+1"}); err != nil || got != "/bin/sh -c 'echo $1' fettle a b@c:/d+1" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestErrorTellsWhatWasReached(t *testing.T) {
	for want, e := range map[string]*Error{"web: no fettle": {"web", true, "no fettle"},
		"could not reach web: timeout": {"web", false, "timeout"}} {
		if e.Error() != want {
			t.Errorf("%q, want %q", e.Error(), want)
		}
	}
}

func TestWords(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "\n \n": "", "a\n": "a", "a\nb\nc": "a; b; c", "a\nb\n\n c \r\nd\n": "b; c; d",
		"Warning: Permanently added 'x' (ED25519) to the list of known hosts.\nPermission denied\n": "Permission denied",

		"Warning: remote host identification has changed": "Warning: remote host identification has changed",
	} {
		if got := Words(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestOnlyTheEndOfWhatIsSaidIsKept(t *testing.T) {
	c := opened(t, Options{})
	var all bytes.Buffer
	_, errs, err := c.stream(t.Context(), "web", "for i in 1 2 3 4; do printf %04000d $i >&2; done", nil, nil, &all)
	if want := all.String(); err != nil || len(want) != 16000 || errs != want[16000-8<<10:] {
		t.Errorf("%v; %d bytes in all, %d at the end", err, len(want), len(errs))
	}
	small := &tailBuffer{max: 4}
	for _, step := range [][2]string{{"ab", "ab"}, {"cd", "abcd"}, {"e", "bcde"}, {"fghijk", "hijk"}, {"", "hijk"}} {
		if n, err := small.Write([]byte(step[0])); n != len(step[0]) || err != nil || small.String() != step[1] {
			t.Errorf("after %q: %q, %d, %v", step[0], small.String(), n, err)
		}
	}
}
