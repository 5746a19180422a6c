package agent

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/internal/jsondoc"
	"fettle/internal/means"
	"fettle/report"
)

// reported is a report with one finding, as fettle check writes it.
func reported(t *testing.T, subject string) string {
	t.Helper()
	b, err := json.Marshal(report.Document{
		Envelope: jsondoc.Envelope{Format: report.DocumentFormat, Schema: jsondoc.Version}, Meta: report.Meta{Host: "itself"},
		Results: []trap.Result{{Trap: "bridge-mtu", Outcomes: []trap.Outcome{
			{Trap: "bridge-mtu", Status: trap.Found, Subject: subject, Severity: trap.Warning, Summary: "s"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What fettle check ends with decides whether its report counts; what it says is in the error, within bounds.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "fettle")
	doc := "cat << 'END'\n" + reported(t, "br0") + "\nEND\n"
	for what, c := range map[string]struct{ text, says string }{
		"all is well":         {doc, ""},
		"findings":            {doc + "exit 1", ""},
		"unknown":             {doc + "exit 4", ""},
		"a usage error":       {doc + "echo 'unknown flag' >&2; exit 2", "fettle check: exit status 2: unknown flag"},
		"another error":       {doc + "exit 3", "fettle check: exit status 3: "},
		"killed":              {doc + "kill -9 $$", "fettle check: signal: killed: "},
		"no report":           {"echo x", "what fettle check wrote: invalid character"},
		"no report, findings": {"exit 1", "what fettle check wrote: unexpected end"},
		"another document":    {"echo '{}'", "what fettle check wrote: its format is"},
	} {
		means.Script(t, program, `[ "$*" = "check --format json --root /x" ] || exit 9`+"\n"+c.text)
		s, took, err := check(t.Context(), program, []string{"--root", "/x"})
		if c.says != "" {
			says(t, what, err, c.says)
			if s != nil {
				t.Errorf("%s: %+v", what, s)
			}
		} else if err != nil || s.Meta.Host != "itself" || len(s.Results) != 1 {
			t.Errorf("%s: %+v, %v", what, s, err)
		}
		if took <= 0 || took > means.Patience {
			t.Errorf("%s: took %s", what, took)
		}
	}
	_, _, err := check(t.Context(), filepath.Join(dir, "none"), nil)
	says(t, "no program", err, "fork/exec ")
	means.Script(t, program, "exec sleep 300")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err = check(ctx, program, nil)
	says(t, "ended by somebody", err, "fettle check did not end within 10m0s")
	c := child(ctx, "/bin/true")
	if c.Dir != "/" || c.WaitDelay < time.Second || !c.SysProcAttr.Setpgid || c.SysProcAttr.Pdeathsig != syscall.SIGKILL {
		t.Errorf("%+v", c)
	}
}

// The answer of a program counts, and how it ended.
func TestAnswer(t *testing.T) {
	program := filepath.Join(t.TempDir(), "fettle")
	for what, c := range map[string]struct {
		text, says string
		exit       int
	}{
		"well":      {`echo '{"a":7}'`, "", 0},
		"with more": {`echo '{"a":7}'; head -c 300000 /dev/zero; exit 3`, "", 3},
		"nothing":   {"exit 2", "EOF", 2},
		"no JSON":   {"echo x", "invalid character", 0},
		"killed":    {`echo '{"a":7}'; kill -9 $$`, "", -1},
	} {
		means.Script(t, program, c.text)
		var got struct{ A int }
		exit, err := 0, error(nil)
		means.Within(t, what, func() { exit, err = answer(child(t.Context(), program), &got) })
		if c.says != "" {
			says(t, what, err, c.says)
		} else if err != nil || got.A != 7 {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
		if exit != c.exit {
			t.Errorf("%s: exit status %d", what, exit)
		}
	}
	exit, err := answer(child(t.Context(), program+"x"), nil)
	if says(t, "no program", err, "fork/exec "); exit != -1 {
		t.Errorf("no program: exit status %d", exit)
	}
}

// The beginning of what a program says is kept, two kilobytes of it, as text.
func TestHead(t *testing.T) {
	h := &head{}
	for _, s := range []string{" a", strings.Repeat("b", 2045), "cd", "e"} {
		if n, err := h.Write([]byte(s)); n != len(s) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if got := h.String(); got != "a"+strings.Repeat("b", 2045)+"c" {
		t.Errorf("%d bytes: %q", len(got), got[max(0, len(got)-5):])
	}
	h = &head{}
	h.Write([]byte("x\xff \n"))
	if h.String() != "x\ufffd" {
		t.Errorf("%q", h)
	}
}

// A program that others could replace is not run.
func TestRunnable(t *testing.T) {
	means.Root(t)
	for what, c := range map[string]struct {
		dir, file os.FileMode
		dirs, own int // who owns them
		says      string
	}{
		"root's":              {0o755, 0o755, 0, 0, ""},
		"the group may write": {0o755, 0o775, 0, 0, "FILE is not run: FILE belongs to another user"},
		"all may write":       {0o755, 0o757, 0, 0, "FILE is not run: FILE belongs to another user"},
		"its folder":          {0o777, 0o755, 0, 0, "FILE is not run: DIR belongs to another user"},
		"a folder like /tmp":  {0o777 | os.ModeSticky, 0o755, 0, 0, ""},
		"another user's":      {0o755, 0o755, 0, 7, "FILE is not run: FILE belongs to another user"},
		"in another user's":   {0o755, 0o755, 7, 0, "FILE is not run: DIR belongs to another user"},
	} {
		dir := filepath.Join(t.TempDir(), "d")
		file := filepath.Join(dir, "fettle")
		for _, err := range []error{os.Mkdir(dir, 0o700), os.WriteFile(file, nil, 0o700), os.Chown(file, c.own, 0), os.Chown(dir, c.dirs, 0),
			os.Chmod(file, c.file), os.Chmod(dir, c.dir)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		err := Runnable(file)
		if c.says == "" {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		says(t, what, err, strings.NewReplacer("FILE", file, "DIR", dir).Replace(c.says))
	}
	says(t, "not there", Runnable("/nonexistent/fettle"), "stat /nonexistent/fettle: ")
	if err := Runnable("/proc"); err != nil { // below the root folder
		t.Error(err)
	}
}

// Who is not root, and runs an agent, has it run root's programs and his own, and nobody else's.
func TestRunnableForOthers(t *testing.T) {
	dir := t.TempDir()
	owners := map[string]int{"root's": 0, "his own": means.Nobody, "another user's": 7}
	for what, uid := range owners {
		if err := errors.Join(os.Mkdir(filepath.Join(dir, what), 0o755), os.WriteFile(filepath.Join(dir, what, "fettle"), nil, 0o755),
			os.Chown(filepath.Join(dir, what), uid, uid), os.Chown(filepath.Join(dir, what, "fettle"), uid, uid)); err != nil {
			t.Fatal(err)
		}
	}
	for folder := dir; folder != os.TempDir() && len(folder) > 1; folder = filepath.Dir(folder) {
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	means.AsNobody(t, func() {
		for what, uid := range owners {
			if err := Runnable(filepath.Join(dir, what, "fettle")); (err == nil) != (uid != 7) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// A host that is busy may take longer than a second to list changes, to install a pack or to save a snapshot.
func TestSlowFettle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "fettle")
	means.Script(t, program, "sleep 1.1\n"+`echo '{"changes":[{"id":"1","trap":"a"}]}'`)
	r := newRestarted(t)
	r.Fettle, r.Packs = program, dir
	if err := os.Mkdir(filepath.Join(dir, "agent"), 0o700); err != nil {
		t.Fatal(err)
	}
	another := &Agent{Config: Config{Dir: filepath.Join(dir, "agent"), Fettle: program, Packs: dir, Log: func(string) {}}}
	means.Within(t, "all three", func() {
		var all sync.WaitGroup
		all.Go(func() {
			if got := fixes(t.Context(), program, dir); len(got) != 1 {
				t.Errorf("changes: %+v", got)
			}
		})
		all.Go(func() {
			if !another.takePack(t.Context(), message.NewPack("acme", 1, []byte("x"))) || another.refusals != nil {
				t.Errorf("a pack: %+v", another.refusals)
			}
		})
		all.Go(func() {
			if r.snapshot(t.Context()); r.restart.was.Saved.IsZero() {
				t.Errorf("a snapshot: %q", r.said)
			}
		})
		all.Wait()
	})
}

// keeping is a context that counts what waits for its end.
type keeping struct {
	context.Context // one that never ends
	done            chan struct{}
	n               atomic.Int32
}

func newKeeping() *keeping { return &keeping{Context: context.Background(), done: make(chan struct{})} }

func (k *keeping) Done() <-chan struct{} { return k.done }

func (k *keeping) AfterFunc(func()) (stop func() bool) {
	k.n.Add(1)
	var once sync.Once
	return func() bool { once.Do(func() { k.n.Add(-1) }); return true }
}

// An agent runs for years: nothing that it does leaves anything behind that waits for its end.
func TestLeavesNothing(t *testing.T) {
	r := newRestarted(t)
	r.Packs = r.Dir
	means.Script(t, r.Fettle, `[ $1 = check ] && cat << 'END'`+"\n"+reported(t, "br0")+"\nEND\n"+`[ $1 = check ] || echo '{"restarted":true}'`)
	for what, do := range map[string]func(ctx context.Context){
		"a check":      func(ctx context.Context) { _, _, _ = check(ctx, r.Fettle, nil) },
		"changes":      func(ctx context.Context) { fixes(ctx, r.Fettle, r.Dir) },
		"a pack":       func(ctx context.Context) { r.takePack(ctx, message.NewPack("acme", 1, []byte("x"))) },
		"a snapshot":   func(ctx context.Context) { r.snapshot(ctx) },
		"a comparison": func(ctx context.Context) { _, _ = r.after(ctx, 0) },
	} {
		ctx := newKeeping()
		do(ctx)
		if n := ctx.n.Load(); n != 0 {
			t.Errorf("%s leaves %d behind", what, n)
		}
	}
}

// without runs an act while the process can open nothing.
func without(t *testing.T, act func()) {
	t.Helper()
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
			t.Fatal(err)
		}
	}()
	act()
}

// An agent that has no file descriptor left says so of each thing that it cannot do, and takes it for nothing else.
func TestOutOfFiles(t *testing.T) {
	const full = "too many open files"
	r := newRestarted(t)
	joining, said := filepath.Join(t.TempDir(), "agent"), make(chan string, 9)
	watching := &Agent{Config: Config{Log: func(s string) { said <- s }}}
	var checked, answered, same, saved error
	without(t, func() {
		_, _, checked = check(t.Context(), "/bin/true", nil)
		_, answered = answer(child(t.Context(), "/bin/true"), nil)
		same, saved = (&Member{Machine: "m"}).sameMachine(), Save(joining, "web1", false, &admitted)
		watching.watchFolders(ended(t), nil)
		watching.watch(ended(t), nil)
		r.begin(t.Context())
	})
	for what, err := range map[string]error{"a check": checked, "a program": answered, "which machine it is": same, "joining": saved} {
		if err == nil || !strings.HasSuffix(err.Error(), full) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, want := range []string{"package runs are not watched: " + full, "links are not watched: " + full} {
		select {
		case got := <-said:
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		default:
			t.Errorf("%q is not said", want)
		}
	}
	if r.Restarts || r.restart.first != nil || r.restart.was.Boot != "" {
		t.Errorf("which start this is it does not know, and yet: %+v", r.restart.was)
	}
}
