package confine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/host"
	"fettle/internal/means"
)

// As a child, the test program does what its job says.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == CheckVerb {
		behave()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func behave() {
	p, job, err := Join()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	switch job := string(job); job {
	case "speak":
		p.Say([]byte("hello"))
		select {}
	case "stop": // as a process that hangs whole
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case "pause": // stopped for longer than is allowed, then going on
		p.Say([]byte("before"))
		time.Sleep(200 * time.Millisecond)
		p.Say([]byte("after"))
	case "flood":
		for {
			p.Say([]byte("again"))
		}
	case "deaf": // asks, and does not read the answers
		p.mu.Lock() // the first answer waits here for ever
		for range 500 {
			q := fmt.Sprintf(`{"proc":"read","path":"/proc/%d/smaps"}`, os.Getpid())
			p.write(frame{kind: kindAsk, body: []byte(q)})
			time.Sleep(5 * time.Millisecond) // the parent has answered
		}
	case "huge":
		unix.Write(channel, []byte("\xff\xff\xff\x7fM\x00\x00\x00\x00"))
		select {}
	case "half":
		unix.Write(channel, []byte("\xff\x00\x00\x00M\x00\x00\x00\x00half a mess"))
		os.Exit(0)
	case "handed": // names what it finds in the files that it was handed
		var said []string
		for i := range 2 {
			f, err := Handed(i)
			if err != nil {
				said = append(said, err.Error())
				continue
			}
			b := make([]byte, 100)
			n, _ := f.ReadAt(b, 0)
			said = append(said, string(b[:n]))
		}
		p.Say([]byte(strings.Join(said, "|")))
	case "diverged": // a thread with a filter of its own cannot be given another
		ready := make(chan error)
		go func() {
			runtime.LockOSThread()
			err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
			ready <- errors.Join(err, installFilter(filter(Rules{Program: true}), 0))
			select {}
		}()
		err := <-ready
		if err == nil {
			_, err = confineSelf(Rules{}, 0)
		}
		p.Say(fmt.Append(nil, err))
	case "unfit": // a rule that cannot be kept must not be overlooked
		_, err := confineSelf(Rules{Read: []string{"/nosuch"}}, full)
		p.Say(fmt.Append(nil, err))
	case "grumble":
		fmt.Fprintln(os.Stderr, strings.Repeat("fatal error: this and that\n", 100_000))
		os.Exit(2)
	default:
		switch f := strings.Fields(job); {
		case len(f) == 3 && f[0] == "try":
			b, _ := json.Marshal(tryLayer(f[1], f[2]))
			p.Say(b)
			return
		case len(f) == 2 && f[0] == "attack":
			p.Say([]byte(attack(f[1])))
			return
		case len(f) == 2:
			p.Say([]byte(oneLayer(f[0], f[1])))
			return
		}
		// questions
		ctx := context.Background()
		src := p.Source(nil)
		_, terr := src.Table(ctx, "no-such-table")
		_, cerr := src.Command(ctx, host.Command{Name: "rm", Args: []string{"-rf", "/"}})
		_, xerr := p.ask(ctx, ask{Proc: "read", Path: "/etc/shadow"})
		_, lerr := p.ask(ctx, ask{Proc: "link", Path: "/proc/1/root/etc"})
		p.Say(fmt.Appendf(nil, "%v|%v|%v|%v", terr, cerr, xerr, lerr))
	}
}

// oneLayer confines the process with one layer alone, and names what it could
// still do to the files in dir.
func oneLayer(layer, dir string) string {
	var err error
	switch layer {
	case "filter":
		runtime.LockOSThread()
		if err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err == nil {
			err = installFilter(filter(Rules{}), unix.SECCOMP_FILTER_FLAG_TSYNC)
		}
	case "landlock":
		err = restrict(Rules{})
	}
	if err != nil {
		return err.Error()
	}
	file := dir + "/file"
	worked := []string{}
	for name, try := range map[string]func() error{
		"write":    func() error { return os.WriteFile(file, []byte("x"), 0o600) },
		"truncate": func() error { return os.Truncate(file, 0) },
		"trunc":    func() error { _, err := os.OpenFile(file, os.O_RDONLY|os.O_TRUNC, 0); return err },
		"tmpfile":  func() error { _, err := os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600); return err },
		"mkdir":    func() error { return os.Mkdir(dir+"/new", 0o700) },
		"mkfifo":   func() error { return unix.Mkfifo(dir+"/fifo", 0o600) },
		"rename":   func() error { return os.Rename(file, dir+"/other") },
		"link":     func() error { return os.Link(file, dir+"/other") },
		"symlink":  func() error { return os.Symlink("x", dir+"/other") },
		"unlink":   func() error { return os.Remove(dir + "/victim") },
		"sysctl":   func() error { _, err := os.OpenFile("/proc/self/oom_score_adj", os.O_WRONLY, 0); return err },
		"exec":     func() error { return syscall.Exec("/bin/true", []string{"true"}, nil) },
	} {
		if err := try(); err == nil || !errors.Is(err, os.ErrPermission) {
			worked = append(worked, fmt.Sprintf("%s: %v", name, err))
		}
	}
	if _, err := os.ReadFile(file); err != nil {
		worked = append(worked, "reading failed: "+err.Error())
	}
	return strings.Join(worked, ", ")
}

// On kernels that have one of the layers only, that one must do.
func TestEachLayerAlone(t *testing.T) {
	means.Ends(t)
	for _, layer := range []string{"filter", "landlock"} {
		if layer == "landlock" && ABI() < full {
			t.Logf("SKIPPED, NOTHING PROVED: this kernel's Landlock is ABI %d", ABI())
			continue
		}
		dir := t.TempDir()
		for _, name := range []string{"file", "victim"} {
			if err := os.WriteFile(dir+"/"+name, []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if b, err := start(t, layer+" "+dir).Receive(t.Context()); err != nil || len(b) > 0 {
			t.Errorf("%s alone: %s, %v", layer, b, err)
		}
		if b, err := os.ReadFile(dir + "/file"); string(b) != "precious" {
			t.Errorf("%s alone: the file says %q, %v", layer, b, err)
		}
	}
}

func start(t *testing.T, job string) *Child {
	t.Helper()
	live, err := Live()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Start(t.Context(), Job{Body: []byte(job), Host: live, Messages: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		for range c.said { // until nobody listens any more: tests change what listening reads
		}
	})
	return c
}

func TestChildren(t *testing.T) {
	means.Ends(t)
	means.Short(t, "takes seconds")
	old := silence
	silence = 1500 * time.Millisecond // the race detector ends programs a second late
	defer func() { silence = old }()
	for job, want := range map[string]string{
		"stop":    "gave no sign of life",
		"flood":   "sent too much",
		"deaf":    "sent too much",
		"huge":    "unexpected frame",
		"half":    "ended: exit status 0",
		"grumble": "ended: exit status 2: fatal error: this and that",
	} {
		t.Run(job, func(t *testing.T) {
			c := start(t, job)
			var err error
			for err == nil {
				_, err = c.Receive(t.Context())
			}
			if !strings.Contains(err.Error(), want) || len(err.Error()) > 500 {
				t.Errorf("%v, want %q", err, want)
			}
			begin := time.Now()
			c.Close()
			if d := time.Since(begin); d > means.Patience {
				t.Errorf("closing took %s", d)
			}
			select {
			case <-c.gone:
			case <-time.After(means.Patience):
				t.Error("the process lives on")
			}
		})
	}
}

func TestQuestions(t *testing.T) {
	means.Ends(t)
	c := start(t, "ask")
	b, err := c.Receive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"not collected", "rm is not one of the read-only commands", "that it may not make", "may not make"} {
		if got := strings.Split(string(b), "|")[i]; !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestChildThatDoesNotTakeItsJob: who starts it is told.
func TestChildThatDoesNotTakeItsJob(t *testing.T) {
	means.Ends(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // which ends the child before it has read so much
	c, err := Start(ctx, Job{Body: make([]byte, 16<<20)})
	if err == nil || !strings.HasPrefix(err.Error(), "giving the confined child its job: ") {
		t.Error(c, err)
	}
}

func TestPausedChildIsWaitedFor(t *testing.T) {
	means.Ends(t)
	c := start(t, "pause")
	for _, want := range []string{"before", "after"} {
		if b, err := c.Receive(t.Context()); string(b) != want || err != nil {
			t.Errorf("%q, %v", b, err)
		}
	}
}

// A child does not outlive its parent, whatever ended that.
func TestChildEndsWithParent(t *testing.T) {
	means.Ends(t)
	c := start(t, "speak")
	if b, err := c.Receive(t.Context()); string(b) != "hello" || err != nil {
		t.Fatal(string(b), err)
	}
	c.conn.Close() // what the kernel does when the parent dies
	select {
	case <-c.gone:
	case <-time.After(means.Patience):
		t.Error("the child lives on without its parent")
	}
}

func TestContextEndsChild(t *testing.T) {
	means.Ends(t)
	ctx, cancel := context.WithCancel(t.Context())
	c, err := Start(ctx, Job{Body: []byte("stop"), Messages: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cancel()
	if _, err := c.Receive(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	select {
	case <-c.gone:
	case <-time.After(means.Patience):
		t.Error("the child lives on")
	}
}

// The filter's jumps must stay within the program, for every kind of rules.
func TestFilterIsWellFormed(t *testing.T) {
	means.Ends(t)
	for _, r := range []Rules{{}, {Network: true}, {Program: true}, {Program: true, Write: []string{"/x"}},
		{Resolve: true, Write: []string{"/x"}}} {
		p := filter(r)
		if p == nil {
			means.Missing(t, "needs an architecture that has a filter")
		}
		for i, in := range p {
			if in.Code&0x07 == unix.BPF_JMP && (i+1+int(in.Jt) >= len(p) || i+1+int(in.Jf) >= len(p)) {
				t.Errorf("%+v: instruction %d jumps out of the program", r, i)
			}
		}
		if last := p[len(p)-1]; last.Code != unix.BPF_RET|unix.BPF_K || len(p) > 4096 {
			t.Errorf("%+v: %d instructions, the last %+v", r, len(p), last)
		}
	}
}
