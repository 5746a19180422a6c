package agent

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// TestEvents: an agent hears of links and of package runs, in namespaces of its
// own, and of what changes nothing it does not.
func TestEvents(t *testing.T) {
	means.Short(t, "takes seconds")
	ip := means.Tool(t, "ip")
	if !means.Inside(t, syscall.CLONE_NEWNS|syscall.CLONE_NEWNET, 0) {
		return
	}
	atMostEach = 100 * time.Millisecond
	const dpkg = "/var/lib/dpkg"
	if _, err := os.Stat(dpkg); err != nil {
		means.Missing(t, "needs "+dpkg)
	}
	if err := unix.Mount("fettle-test", dpkg, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	status := filepath.Join(dpkg, "status")
	write := func(file string) error { return os.WriteFile(file, []byte("Package: x\n"), 0o644) }
	if err := write(status); err != nil {
		t.Fatal(err)
	}
	does := func(args ...string) func() error {
		return func() error { return exec.Command(args[0], args[1:]...).Run() }
	}
	a := &Agent{Config: Config{Log: func(s string) { t.Error(s) }}}
	events := make(chan string, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go a.watch(ctx, events)
	time.Sleep(500 * time.Millisecond) // until it watches
	for _, c := range []struct {
		what string
		do   func() error
		want string
	}{
		{"a new link", does(ip, "link", "add", "d0", "type", "veth", "peer", "name", "d1"), "link"},
		{"a link that comes up", does(ip, "link", "set", "d0", "up"), "link"},
		{"another MTU", does(ip, "link", "set", "d0", "mtu", "1400"), ""},
		{"another MTU of a link of before", does(ip, "link", "set", "lo", "mtu", "1400"), ""},
		{"a link that goes down", does(ip, "link", "set", "d0", "down"), "link"},
		{"dpkg's way to write", func() error {
			if err := write(status + "-new"); err != nil {
				return err
			}
			return os.Rename(status+"-new", status)
		}, "packages"},
		{"a touched status", does(means.Tool(t, "touch"), status), "packages"},
		{"a status that is read", func() error { _, err := os.ReadFile(status); return err }, ""},
	} {
		if err := c.do(); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		limit, rest := 20*time.Second, 200*time.Millisecond
		switch c.want {
		case "":
			limit = 400 * time.Millisecond
		case "packages":
			rest = 1200 * time.Millisecond // a run counts as one for a second
		}
		got := ""
		select {
		case got = <-events:
		case <-time.After(limit):
		}
		if got != c.want {
			t.Errorf("%s: %q, not %q", c.what, got, c.want)
		}
		time.Sleep(rest)
		select {
		case got = <-events:
			if got != c.want {
				t.Errorf("%s: then %q", c.what, got)
			}
		default:
		}
	}
	// Two in quick succession: the second is not lost.
	for _, state := range []string{"up", "down"} {
		if err := does(ip, "link", "set", "d0", state)(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-events:
		case <-time.After(means.Patience):
			t.Errorf("d0 goes %s: nobody says so", state)
		}
	}
}

// inotifies counts the folders that this process watches.
func inotifies(t *testing.T) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, _ := os.ReadFile(file) // it may be closed by now
		n += strings.Count(string(b), "inotify wd:")
	}
	return n
}

// await waits a short while for what comes at once.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(soon); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %s for %s", soon, what)
		}
	}
}

// Of the folders that there are it hears when a file is written or replaced, once a second at most, and not that one
// is read; an agent that ends watches them no longer.
func TestWatchFolders(t *testing.T) {
	t.Parallel()
	dir, was := t.TempDir(), watched
	watched = []string{filepath.Join(dir, "none"), dir}
	defer func() { watched = was }()
	file := filepath.Join(dir, "status")
	write := func() {
		t.Helper()
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := &Agent{Config: Config{Log: func(s string) { t.Error(s) }}}
	touched, over := make(chan string, 1), make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	before := inotifies(t)
	go func() { defer close(over); a.watchFolders(ctx, touched) }()
	await(t, "that it watches", func() bool { return inotifies(t) == before+1 })
	hears := func(what string) {
		t.Helper()
		select {
		case got := <-touched:
			if got != "packages" {
				t.Errorf("%s: %q", what, got)
			}
		case <-time.After(soon):
			t.Fatalf("%s: nobody says so", what)
		}
	}
	if _, err := os.ReadDir(dir); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	write()
	hears("a file is written")
	write()
	time.Sleep(100 * time.Millisecond)
	if len(touched) > 0 && time.Since(began) < 900*time.Millisecond {
		t.Error("a run that writes two files counts twice")
	}
	hears("another one, when the second is over")
	stop()
	select {
	case <-over:
	case <-time.After(soon):
		t.Fatal("it goes on when the agent has ended")
	}
	if n := inotifies(t); n != before {
		t.Errorf("the process watches %d folders, and %d before", n, before)
	}
}

// TestWatch: links that change are told of, in a network of the test's own: also what changes within the time in which
// nothing is told.
func TestWatch(t *testing.T) {
	if !means.Inside(t, syscall.CLONE_NEWNET, soon) {
		return
	}
	atMostEach, watched = 50*time.Millisecond, []string{t.TempDir()}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	up := false
	turn := func() {
		t.Helper()
		set := netlink.LinkSetUp
		if up {
			set = netlink.LinkSetDown
		}
		if up = !up; set(lo) != nil {
			t.Fatal("lo stays as it is")
		}
	}
	a, events := &Agent{Config: Config{Log: func(s string) { t.Error(s) }}}, make(chan string, 1)
	over := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() { defer close(over); a.watch(ctx, events) }()
	hears := func(what, want string) { // what is told late aside
		t.Helper()
		for got := ""; got != want; {
			select {
			case got = <-events:
			case <-time.After(soon / 2):
				t.Fatalf("%s: nobody says so", what)
			}
		}
	}
	for begun := false; !begun; { // once it watches
		turn()
		select {
		case got := <-events:
			if begun = true; got != "link" {
				t.Errorf("a link: %q", got)
			}
		case <-time.After(10 * time.Millisecond):
		}
	}
	for range 3 {
		turn()
		hears("a link that changes again", "link")
	}
	if err := os.WriteFile(filepath.Join(watched[0], "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	hears("a package", "packages")
	stop()
	<-over
}

// Of links it counts whether they are up and running, of clocks that they were set; and of many events the last one is
// told, when the one before it is some time ago.
func TestSeen(t *testing.T) {
	s := &seen{links: map[int]uint32{1: unix.IFF_UP}, wall: time.Unix(1e9, 0), up: time.Hour}
	for i, c := range []struct {
		index int
		flags uint32
		want  string
	}{{1, unix.IFF_UP | unix.IFF_PROMISC, ""}, {1, unix.IFF_UP | unix.IFF_RUNNING, "link"}, {1, unix.IFF_UP | unix.IFF_RUNNING, ""},
		{1, 0, "link"},
		{2, 0, "link"}, {2, 0, ""}, {2, unix.IFF_UP, "link"}} {
		if got := s.link(c.index, c.flags); got != c.want {
			t.Errorf("link %d: %q", i, got)
		}
	}
	for i, c := range []struct {
		wall, up time.Duration
		want     string
	}{{time.Minute, time.Minute, ""}, {90 * time.Second, time.Minute, ""}, {91 * time.Second, time.Minute, "clock"},
		{29 * time.Second, time.Minute, "clock"}, {30 * time.Second, time.Minute, ""}, {time.Hour, time.Hour, ""}} {
		if got := s.clock(s.wall.Add(c.wall), s.up+c.up); got != c.want {
			t.Errorf("clock %d: %q", i, got)
		}
	}
	for i, c := range []struct {
		quiet       bool // long enough
		event, want string
	}{{false, "", ""}, {false, "a", "a"}, {false, "b", ""}, {false, "c", ""}, {false, "", ""}, {true, "", "c"}, {false, "d", ""},
		{true, "e", "e"},
		{true, "", ""}, {false, "f", "f"}} {
		if c.quiet {
			s.told = false
		}
		if got := s.tell(c.event); got != c.want {
			t.Errorf("event %d: %q", i, got)
		}
	}
}
