package guest

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
	"fettle/lab"
	"fettle/lab/labtest"
)

// TestTree: of each file its type, mode, owner and content are seen, but for those that programs rewrite by themselves.
func TestTree(t *testing.T) {
	means.Root(t)
	dir := t.TempDir()
	folders, files := compared, passing
	t.Cleanup(func() { compared, passing = folders, files })
	compared, passing = []string{dir + "/etc", dir + "/none", dir + "/srv"}, []string{dir + "/etc/mtab", dir + "/etc/cache"}
	for name, mode := range map[string]os.FileMode{"etc/a": 0o640, "etc/empty": 0o604, "etc/mtab": 0o600, "etc/cache/x": 0o600,
		"etc/sub/.google_authenticator": 0o600, "srv/trustdb.gpg": 0o600, "srv/trustdb.gpg.txt": 0o600, "elsewhere/x": 0o600} {
		text := []byte(name + "\n")
		if name == "etc/empty" {
			text = nil
		}
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, text, mode), os.Chmod(name, mode)); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("unix", dir+"/etc/socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := errors.Join(os.Symlink("a b", dir+"/etc/link"), os.Lchown(dir+"/etc/link", 7, 8), os.Chown(dir+"/etc/a", 1000, 4),
		syscall.Mkfifo(dir+"/srv/fifo", 0o600), os.Chmod(dir+"/srv/fifo", 0o600)); err != nil {
		t.Fatal(err)
	}
	got, err := tree()
	want := map[string]string{"etc": "mode 0040755 owner 0:0", "etc/a": "mode 0100640 owner 1000:4\netc/a\n",
		"etc/empty": "mode 0100604 owner 0:0\n",
		"etc/link":  "mode 0120777 owner 7:8 to a b", "etc/sub": "mode 0040755 owner 0:0", "etc/cache/x": "mode 0100600 owner 0:0\netc/cache/x\n",
		"srv": "mode 0040755 owner 0:0", "srv/fifo": "mode 0010600 owner 0:0",
		"srv/trustdb.gpg.txt": "mode 0100600 owner 0:0\nsrv/trustdb.gpg.txt\n"}
	for name, is := range got {
		short := strings.TrimPrefix(name, dir+"/")
		if want[short] != is {
			t.Errorf("%s is %q, want %q", short, is, want[short])
		}
		delete(want, short)
	}
	if err != nil || len(want) > 0 {
		t.Errorf("not seen: %q, %v", want, err)
	}
	compared = []string{"/dev/null/x"}
	if got, err := tree(); !errors.Is(err, syscall.ENOTDIR) || got != nil {
		t.Errorf("a folder that cannot be read: %v, %v", got, err)
	}
	d, err := os.ReadDir(dir + "/etc")
	if err != nil {
		t.Fatal(err)
	}
	if is, err := described(dir+"/none", d[0]); !errors.Is(err, os.ErrNotExist) || is != "" {
		t.Errorf("a file that went: %q, %v", is, err)
	}
}

// TestUntil: an act that waits gives up after its time, and not before.
func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := (&daemons{}).act(lab.Act{Until: []string{"no-such-program", "x"}})
		if took := time.Since(began); err == nil || err.Error() != "no-such-program x: did not succeed within 20 s: " || took < 20*time.Second ||
			took > 21*time.Second {
			t.Errorf("after %s: %v", took, err)
		}
	})
	count := filepath.Join(t.TempDir(), "count")
	if err := (&daemons{}).act(lab.Act{Until: []string{"sh", "-c",
		"echo x >>" + count + "; test $(wc -l <" + count + ") -ge 2"}}); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(count); err != nil || string(b) != "x\nx\n" {
		t.Errorf("it was tried %q, %v", b, err)
	}
}

// TestLine: the serial line carries what is written as it is, and a file in its place does, too.
func TestLine(t *testing.T) {
	master, name := means.Terminal(t)
	line, err := openLine(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := line.WriteString("one\ntwo\r\n"); err != nil {
		t.Fatal(err)
	}
	if got := means.Shown(t, master, "two\r\n"); got != "one\ntwo\r\n" {
		t.Errorf("the host hears %q", got)
	}
	set, err := unix.IoctlGetTermios(int(line.Fd()), unix.TCGETS)
	if err != nil || set.Lflag&(unix.ECHO|unix.ICANON|unix.ISIG) != 0 || set.Oflag&unix.OPOST != 0 || set.Iflag&(unix.ICRNL|unix.IXON) != 0 {
		t.Errorf("the line is not raw: %+v, %v", set, err)
	}
	closeLine(line)
	if _, err := line.WriteString("x"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the line stays open: %v", err)
	}
	if _, err := openLine("/none/line"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestWhoLooksAround: somebody who opens a shell sees the trap, or what the story left, and no spoilt plan is tried.
func TestWhoLooksAround(t *testing.T) {
	const console = "/none/console" // the shell says so, and ends
	x := map[string]string{"/etc/x": "a = 3\nb = 2\n"}
	for _, c := range []struct{ shell, sabotage, fails, want string }{
		{lab.ShellAfterPrepare, "", "", "prepare"},
		{lab.ShellAfterStory, "", "", "prepare check fix recheck files others undo as-before after-undo"},
		{"", "spoilt", "", "prepare check fix recheck files others undo as-before after-undo"},
		{"", "", "undo", "prepare check fix recheck files others undo"},
		{"", "", "", "prepare check fix recheck files others undo as-before after-undo spoilt one slips"},
	} {
		l := &liar{fails: c.fails, spoilt: map[string]string{"one": "fails", "spoilt": "mends"}}
		p := &player{orders: lab.Orders{Trap: "t", Shell: c.shell, Console: console, Sabotage: c.sabotage, Spoilt: []string{"one"},
			Scenario: lab.Scenario{Subject: "s", Files: x}}, host: l, run: l.run, tree: l.tree, act: func(lab.Act) error { return nil },
			ended: func() string { return "" }}
		p.story()
		var names []string
		for _, s := range l.stages {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("shell %q, sabotage %q: %s, want %s", c.shell, c.sabotage, got, c.want)
		}
	}
	for shell, want := range map[string]string{lab.ShellAfterPrepare: "one", lab.ShellAfterStory: "one two", "": "one two"} {
		l := &liar{}
		p := &player{orders: lab.Orders{Shell: shell, Console: console, Scenario: lab.Scenario{Steps: []lab.Step{{Name: "one"}, {Name: "two"}}}},
			host: l, ended: func() string { return "" }}
		p.steps(0)
		var names []string
		for _, s := range l.stages {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("steps, shell %q: %s, want %s", shell, got, want)
		}
	}
	for shell, want := range map[string]bool{lab.ShellAfterPrepare: false, lab.ShellAfterStory: true, "": true} {
		ran := false
		find := func(string, string) (lab.Experiment, bool) {
			return lab.Experiment{Run: func(context.Context, *lab.Bench) error { ran = true; return nil }}, true
		}
		var told strings.Builder
		if err := experiment(lab.Orders{Shell: shell, Console: console}, lab.NewTeller(&told), find); err != nil ||
			ran != want || (told.Len() > 0) != want {
			t.Errorf("an experiment, shell %q: it ran: %t, told %d bytes, %v", shell, ran, told.Len(), err)
		}
	}
}

// TestSpoiltPlansEnd: who noticed a spoilt plan, and in what it left the machine, is said of each.
func TestSpoiltPlansEnd(t *testing.T) {
	const fix = "fettle-lab __lab-sabotaged t x"
	files := map[string]string{"/etc/x": "m\nold\n"}
	spoilt := map[string]string{"/etc/x": "m\nnew\n"}
	ok, bad := end{line("t", "s", "clear"), 0, nil}, end{line("t", "s", "found"), 1, nil}
	all := end{line("other", "x", "clear"), 0, nil}
	for _, c := range []struct {
		name   string
		ends   map[string][]end
		trees  []map[string]string // one after the other; the last stays
		by     string
		err    string
		undone int
	}{
		{"nobody", map[string][]end{"fettle check t": {ok, bad}, "fettle check --format": {all}}, []map[string]string{spoilt, spoilt, files}, "",
			errUnnoticed.Error(), 1},
		{"the check", map[string][]end{"fettle check t": {bad}}, []map[string]string{spoilt, files},
			"noticed: recheck: expected to be clear", "", 1},
		{"fix itself", map[string][]end{fix: {{"one\nit broke", 6, nil}}, "fettle check t": {bad}}, []map[string]string{files},
			"noticed: fix: it broke", "", 0},
		{"fix itself, half done", map[string][]end{fix: {{"it broke", 6, nil}}, "fettle check t": {bad}}, []map[string]string{spoilt, files},
			"noticed: fix: it broke", "", 1},
		{"the undo alone", map[string][]end{"fettle check t": {ok, bad}, "fettle check --format": {all}},
			[]map[string]string{spoilt, spoilt, {"/etc/x": "m\nodd\n"}}, "noticed by the undo: /etc/x was", "the machine is not as before", 1},
		{"an undo that fails", map[string][]end{"fettle check t": {ok}, "fettle check --format": {all}, "fettle undo": {{"a\nno", 3, nil}}},
			[]map[string]string{spoilt}, "noticed by the undo: undo: fettle undo --yes: exit status 3: no", "the machine is not as before", 1},
		{"both", map[string][]end{"fettle check t": {bad, ok}}, []map[string]string{spoilt, files}, "noticed: recheck: ",
			"and after it the machine is not as before: expected to be found", 1},
		{"a plan without the step", map[string][]end{fix: {{lab.NothingToSpoil + ": 2", 3, nil}}}, []map[string]string{files}, lab.NothingToSpoil,
			"the plan has changed", 0},
		{"a program that is gone", map[string][]end{fix: {{"", 0, errGone}}}, []map[string]string{files}, "", errGone.Error(), 0},
	} {
		g := &scripted{labtest.Scripted[end]{Ends: c.ends}}
		trees := c.trees
		p := &player{orders: lab.Orders{Trap: "t", Scenario: lab.Scenario{Subject: "s", Files: map[string]string{"/etc/x": "new\n"}}}, run: g.run,
			tree: func() (map[string]string, error) {
				now := trees[0]
				trees = trees[min(1, len(trees)-1):]
				return now, nil
			}}
		by, err := p.tried("x", files, map[string]string{"other:x": "clear"})
		if !strings.HasPrefix(by, c.by) || c.by == "" && by != "" || (err == nil) != (c.err == "") || err != nil &&
			!strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v; want %q, %q", c.name, by, err, c.by, c.err)
		}
		undone := 0
		for _, ran := range g.Ran {
			if ran == "fettle undo --yes" {
				undone++
			}
		}
		if undone != c.undone || errors.Is(err, errPieces) != strings.Contains(c.err, "not as before") {
			t.Errorf("%s: undone %d times, want %d; %v", c.name, undone, c.undone, err)
		}
		if !slices.ContainsFunc(g.Ran, func(s string) bool {
			return strings.HasPrefix(s, "fettle-lab "+lab.SabotagedVerb+" t x fix t --yes")
		}) {
			t.Errorf("%s: ran %q", c.name, g.Ran)
		}
	}
}
