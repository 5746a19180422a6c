package guest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fettle/internal/means"
	"fettle/lab"
)

// TestDisk: a new disk has no file system; on one that has, the mark of a restart is taken away, and the next act is read.
func TestDisk(t *testing.T) {
	dev := filepath.Join(t.TempDir(), "disk")
	write := func(b []byte) {
		if err := os.WriteFile(dev, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(make([]byte, 4096))
	if fresh, err := blank(dev); err != nil || !fresh {
		t.Errorf("a new disk: %v, %v", fresh, err)
	}
	if n, err := nextAct(dev); err != nil || n != 0 {
		t.Errorf("act %d, %v", n, err)
	}
	disk := bytes.Repeat([]byte{'z'}, 4096)
	copy(disk, lab.RestartMark)
	copy(disk[1024+0x38:], "\x53\xef")
	copy(disk[lab.NextOffset:], binary.LittleEndian.AppendUint64(nil, 7))
	write(disk)
	if n, err := nextAct(dev); err != nil || n != 7 {
		t.Errorf("act %d, %v", n, err)
	}
	if fresh, err := blank(dev); err != nil || fresh {
		t.Errorf("a disk in use: fresh %v, %v", fresh, err)
	}
	now, _ := os.ReadFile(dev)
	if n := len(lab.RestartMark); len(now) != len(disk) || !bytes.Equal(now[:n], make([]byte, n)) || !bytes.Equal(now[n:], disk[n:]) {
		t.Errorf("the mark: %q", now[:n+1])
	}
	write(make([]byte, 100))
	if _, err := blank(dev); err == nil {
		t.Error("a disk that is too short is read")
	}
	if _, err := nextAct(dev); err == nil {
		t.Error("an act is read of a disk that is too short")
	}
	none := dev + ".none"
	_, err := blank(none)
	_, err2 := nextAct(none)
	if err == nil || err2 == nil || writeAt(none, nil, 0) == nil || writeAt("/dev/full", []byte("x"), 0) == nil {
		t.Errorf("a disk that is not there: %v, %v", err, err2)
	}
}

// TestRestartIsNoted: before a restart the disk has the mark and the next act; of no known kind there is none.
func TestRestartIsNoted(t *testing.T) {
	dev := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(dev, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &player{orders: lab.Orders{Disk: dev}}
	if err := p.restart("odd", 5); err == nil || !strings.Contains(err.Error(), `no restart "odd"`) {
		t.Errorf("%v", err)
	}
	b, _ := os.ReadFile(dev)
	if n, err := nextAct(dev); err != nil || n != 5 || !bytes.HasPrefix(b, []byte(lab.RestartMark)) {
		t.Errorf("act %d, %v, %.30q", n, err, b)
	}
	p.orders.Disk = ""
	if err := p.restart("odd", 5); err == nil || !strings.Contains(err.Error(), "without systemd") {
		t.Errorf("%v", err)
	}
	p.orders.Disk = dev + ".none"
	if err := p.restart("odd", 5); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	ended := func(script string) error { return exec.Command("sh", "-c", script).Run() }
	for script, want := range map[string]bool{"kill -TERM $$": true, "kill -KILL $$": false, "exit 15": false} {
		if terminated(ended(script)) != want {
			t.Errorf("%s: terminated %v", script, !want)
		}
	}
	if terminated(errors.New("x")) {
		t.Error("another error")
	}
}

// TestCommands: how commands are found and end.
func TestCommands(t *testing.T) {
	for _, c := range []struct {
		argv  []string
		stdin string
		out   string
		code  int
		fails bool
	}{
		{[]string{"sh", "-c", "echo out; echo err >&2; exit 5"}, "", "out\nerr\n", 5, false}, {[]string{"cat"}, "in", "in", 0, false},
		{[]string{"sh", "-c", "kill -9 $$"}, "", "", -1, false}, {[]string{"/nonexistent"}, "", "", 0, true}, {[]string{"no-such-program"},
			"", "", -1, true},
	} {
		out, code, err := run(c.argv, []byte(c.stdin))
		if out != c.out || code != c.code || (err != nil) != c.fails {
			t.Errorf("%q: %q, %d, %v", c.argv, out, code, err)
		}
	}
	for name, want := range map[string]string{"fettle-lab": "/init", "/x/y": "/x/y"} {
		if got, err := resolve(name); got != want || err != nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	pid, stop, err := spawn([]string{"sleep", "3600"})
	if err != nil {
		t.Fatal(err)
	}
	means.Until(t, "the process to be called as it was started", func() bool { // for a moment it has no name
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return bytes.HasPrefix(b, []byte("sleep\x00"))
	})
	stop()
	if err := syscall.Kill(pid, 0); err == nil {
		t.Error("it goes on")
	}
	for _, argv := range [][]string{{"no-such-program"}, {"/nonexistent"}} {
		if _, _, err := spawn(argv); err == nil {
			t.Errorf("%q runs", argv)
		}
	}
	text := filepath.Join(t.TempDir(), "x.ko")
	if err := os.WriteFile(text, []byte("no module"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := loadModule(text); err == nil || !strings.Contains(err.Error(), "loading module x.ko") {
		t.Errorf("a text as a module: %v", err)
	}
	if err := loadModule(text + ".none"); err == nil || strings.Contains(err.Error(), "loading module") {
		t.Errorf("no file as a module: %v", err)
	}
	if exists(text+".none") || !exists(text) || Here() {
		t.Error("files and machines")
	}
	if HoldMergeable(nil) == nil || Story(nil) == nil {
		t.Error("the verbs of guests run here")
	}
}

// TestExperiment: what an experiment found goes to the host, as does that it failed or crashed.
func TestExperiment(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(context.Context, *lab.Bench) error
		want string
	}{
		"well":    {func(_ context.Context, b *lab.Bench) error { _, _, err := b.Exec([]string{"true"}); return err }, `"ok":true`},
		"fails":   {func(context.Context, *lab.Bench) error { return errors.New("it was in vain") }, "it was in vain"},
		"crashes": {func(context.Context, *lab.Bench) error { panic("oh no") }, "panic: oh no"},
	} {
		var line bytes.Buffer
		find := func(trap, n string) (lab.Experiment, bool) {
			return lab.Experiment{Run: c.run}, trap == "t" && n == name
		}
		if err := experiment(lab.Orders{Trap: "t", Experiment: name}, lab.NewTeller(&line), find); err != nil ||
			!strings.Contains(told(line.String()), c.want) || (name == "well") != strings.Contains(told(line.String()), `"ok":true`) {
			t.Errorf("%s: %v, %s", name, err, told(line.String()))
		}
		if err := experiment(lab.Orders{Trap: "t", Experiment: "none"}, lab.NewTeller(&line), find); err == nil || !strings.Contains(err.Error(), `no experiment "none"`) {
			t.Errorf("%v", err)
		}
		broken := lab.NewTeller(brokenLine{})
		if err := experiment(lab.Orders{Trap: "t", Experiment: name}, broken, find); err == nil {
			t.Errorf("%s: nobody heard of it, and all is well", name)
		}
	}
}

// told is what the host reads of a line: frames, in base64 behind their length and checksum.
func told(line string) string {
	out := ""
	for frame := range strings.Lines(line) {
		f := strings.Fields(frame)
		b, _ := base64.StdEncoding.DecodeString(f[len(f)-1])
		out += string(b) + "\n"
	}
	return out
}

type brokenLine struct{}

func (brokenLine) Write([]byte) (int, error) { return 0, errors.New("the line is broken") }

// TestFatal: that a machine could not be made ready reaches the host, or whoever waits.
func TestFatal(t *testing.T) {
	line := filepath.Join(t.TempDir(), "line")
	if err := os.WriteFile(line, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("no disk")
	if err := fatal(lab.Orders{Channel: line}, cause); !errors.Is(err, cause) {
		t.Error(err)
	}
	if b, _ := os.ReadFile(line); !strings.Contains(told(string(b)), "no disk") {
		t.Errorf("the host was told %q", b)
	}
	if err := fatal(lab.Orders{Channel: line + ".none"}, cause); !errors.Is(err, cause) || !errors.Is(err, os.ErrNotExist) ||
		!strings.HasPrefix(err.Error(), cause.Error()) {
		t.Error(err)
	}
}

// TestFilesDiffer: what an undo left otherwise, and what a fix did that nobody spoke of.
func TestFilesDiffer(t *testing.T) {
	a := map[string]string{"/etc/a": "m\n1", "/etc/b": "m\n2", "/etc/d": "m"}
	for want, b := range map[string]map[string]string{
		"": a, "/etc/b is gone": {"/etc/a": "m\n1", "/etc/d": "m"}, `/etc/a was: "m\n1"; is: "m\n9"`: {"/etc/a": "m\n9", "/etc/b": "m\n2", "/etc/d": "m"},
		`/etc/c was not there: "m"`: {"/etc/a": "m\n1", "/etc/b": "m\n2", "/etc/c": "m", "/etc/d": "m"},
	} {
		if got := strings.Join(differing(a, b), "; "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if s := oneLine(strings.Repeat("x", 1000)); len(s) != 800 {
		t.Errorf("%d bytes", len(s))
	}
	for name, c := range map[string]struct {
		want, now map[string]string
		fail      string
	}{
		"nothing was done":   {nil, a, ""},
		"a change as told":   {map[string]string{"/etc/a": "9"}, map[string]string{"/etc/a": "m\n9", "/etc/b": "m\n2", "/etc/d": "m"}, ""},
		"another mode alone": {nil, map[string]string{"/etc/a": "n\n1", "/etc/b": "m\n2", "/etc/d": "n"}, ""},
		"gone as told":       {map[string]string{"/etc/b": lab.NoFile}, map[string]string{"/etc/a": "m\n1", "/etc/d": "m"}, ""},
		"still there":        {map[string]string{"/etc/b": lab.NoFile}, a, "/etc/b is still there"},
		"not there":          {map[string]string{"/etc/c": "1"}, a, "/etc/c is not there"},
		"never there":        {map[string]string{"/etc/c": lab.NoFile}, a, ""},
		"anything": {map[string]string{"/etc/a": lab.AnyContent}, map[string]string{"/etc/a": "m\n7", "/etc/b": "m\n2",
			"/etc/d": "m"}, ""},
		"a folder of it": {map[string]string{"/etc/": lab.AnyContent}, map[string]string{"/etc/a": "m\n7", "/etc/n": "m\n1"}, ""},
		"anything in another file": {map[string]string{"/etc/a": lab.AnyContent}, map[string]string{"/etc/a": "m\n7", "/etc/a.bak": "m\n7",
			"/etc/b": "m\n2", "/etc/d": "m"}, `/etc/a.bak holds "7", and the scenario does not say`},
		"a folder that holds one thing": {map[string]string{"/etc/": "7"}, map[string]string{"/etc/a": "m\n7", "/etc/b": "m\n2", "/etc/d": "m"},
			`/etc/a holds "7", and the scenario does not say`},
		"a folder whose files may go": {map[string]string{"/etc/": lab.AnyContent}, map[string]string{"/etc/d": "m"}, ""},
		"another folder": {map[string]string{"/srv/": lab.AnyContent}, map[string]string{"/etc/a": "m\n7", "/etc/b": "m\n2", "/etc/d": "m"},
			`/etc/a holds "7", and the scenario does not say`},
		"other content": {map[string]string{"/etc/a": "9"}, a, `/etc/a holds "1", and should hold "9"`},
		"a new one":     {nil, map[string]string{"/etc/a": "m\n1", "/etc/b": "m\n2", "/etc/d": "m", "/etc/n": "m\n1"}, `/etc/n holds "1", and the scenario does not say`},
		"a new folder":  {nil, map[string]string{"/etc/a": "m\n1", "/etc/b": "m\n2", "/etc/d": "m", "/etc/n": "m"}, ""},
		"gone, untold":  {nil, map[string]string{"/etc/a": "m\n1", "/etc/d": "m"}, "/etc/b is gone, and the scenario does not say so"},
	} {
		if _, err := mendedFiles(c.want, a, c.now); (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) {
			t.Errorf("%s: %v, want %s", name, err, c.fail)
		}
	}
}
