package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cavaliergopher/cpio"
	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// says is a line of a shell script that sends messages as a guest does.
func says(ms ...message) string {
	var b bytes.Buffer
	for _, m := range ms {
		writeFrame(&b, m)
	}
	return "cat >&4 <<'END'\n" + b.String() + "END\n"
}

func stage(name string, ok bool, said string) message {
	return message{Stage: &Stage{Name: name, OK: ok, Said: said}}
}

// fake is a kernel that is a shell script, under the supervisor that kernels have.
func fake(t *testing.T, script string) Options {
	t.Helper()
	name := means.Script(t, filepath.Join(t.TempDir(), "linux"), script)
	return Options{Kernel: Kernel{Engine: "uml", File: name}, Init: "/proc/self/exe", Fettle: name}
}

// TestMachines: what is said of a machine by what its guest says, and by how it ends.
func TestMachines(t *testing.T) {
	if !means.Inside(t, unix.CLONE_NEWNS|unix.CLONE_NEWPID, 5*means.Patience) {
		return
	}
	if err := unix.Mount("tmpfs", "/tmp", "tmpfs", 0, ""); err != nil { // whatever goes wrong, not this machine's own
		t.Fatal(err)
	}
	hi := message{Hello: &hello{Kernel: "6.1-fake"}}
	done := message{Done: true}
	for _, c := range []struct {
		name, script string
		ok           bool
		why, console string
		stages       string
		rows         int
	}{
		{"all is well", says(hi, stage("check", true, "found"), stage("fix", true, ""), done), true, "", "", "check fix", 0},
		{"a stage fails, and another", says(hi, stage("check", false, "nothing found"), stage("fix", false, "too"), done), false,
			"check: nothing found", "", "check fix", 0},
		{"a spoilt plan is not noticed", says(hi, stage(SpoiltPrefix+"x", false, "nobody"), done), true, "", "", SpoiltPrefix + "x", 0},
		{"a table", says(hi, message{Table: &Table{Columns: []string{"a"}}}, message{Row: &row{Cells: []string{"1", "2"}}},
			message{Row: &row{Cells: []string{"3"}}}, done), true, "", "", "row row", 2},
		{"a row without a table", says(hi, message{Row: &row{Cells: []string{"1"}}}, done), true, "", "", "", 0},
		{"it was not made ready", says(hi, message{Fatal: "no /dev"}, done), false, "the guest could not be made ready: no /dev", "", "", 0},
		{"no word", "echo booting; exit 3\n", false, "the machine did not reach its init: exit status 3", "booting", "", 0},
		{"no goodbye", says(hi, stage("check", true, "")) + "echo stage one; exit 4\n", false, "the machine ended without a word: exit status 3",
			"stage one", "check", 0},
		{"a panic", says(hi) + "echo a; echo b; echo c; echo Kernel panic - not syncing; echo d\nexit 1\n", false,
			"the machine's kernel panicked: exit status", "b\nc\nKernel panic - not syncing\nd\nexit status 1", "", 0},
		{"no memory", says(hi) + "echo 'Out of memory: Killed process'; exit 1\n", false, "the machine ran out of memory: ",
			"Out of memory", "", 0},
		{"garbage", says(hi) + "echo '@9 deadbeef AAAAAAAA' >&4; sleep 1000\n", false,
			"the guest's channel to the host broke: damaged frame", "", "",
			0},
		{"it hangs", says(hi, stage("check", true, "")) + "sleep 1000\n", false,
			"the machine ended without a word: the machine was stopped after 1s",
			"", "check", 0},
	} {
		var told []string
		started := 0
		opt := fake(t, c.script)
		opt.OnStage = func(s Stage) { told = append(told, s.Name) }
		opt.OnStart = func() { started++ }
		needs := Needs{MemMiB: 512}
		if c.name == "it hangs" {
			needs.Limit = time.Second
		}
		ctx, cancel := context.WithTimeout(t.Context(), means.Patience)
		v, err := Play(ctx, "t", Scenario{Name: "s", Needs: needs}, opt)
		cancel()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if v.OK != c.ok || !strings.HasPrefix(v.Why, c.why) || (v.Why == "") != c.ok || !strings.Contains(v.Console, c.console) || c.ok &&
			v.Console != "" {
			t.Errorf("%s: %t, %q, console %q; want %t, %q, %q", c.name, v.OK, v.Why, v.Console, c.ok, c.why, c.console)
		}
		if c.name == "a panic" && v.Console != c.console {
			t.Errorf("%s: the console's last words are %q", c.name, v.Console)
		}
		if got := strings.Join(told, " "); got != c.stages || started != 1 {
			t.Errorf("%s: told of %q, started %d times; want %q", c.name, got, started, c.stages)
		}
		rows := 0
		if v.Table != nil {
			rows = len(v.Table.Rows)
		}
		if rows != c.rows || v.Name() != "t/s" || v.Engine != "uml" || (v.Kernel == "6.1-fake") != strings.Contains(c.script, "@") ||
			(v.Boot > 0) != (v.Kernel != "") || v.Took < v.Boot || v.Retries != 0 {
			t.Errorf("%s: %+v", c.name, v)
		}
	}

	// What a command says, and how it ends.
	said, err := RunCommand(t.Context(), []string{"x"}, Needs{MemMiB: 512}, fake(t, says(hi,
		message{Stage: new(CommandStage("out\n", 7, nil))}, done)))
	if err != nil || said != (Said{"out\n", 7}) {
		t.Errorf("a command: %+v, %v", said, err)
	}
	_, err = RunCommand(t.Context(), []string{"x"}, Needs{MemMiB: 512}, fake(t, says(hi)+"echo Kernel panic; exit 1\n"))
	if err == nil || !strings.Contains(err.Error(), "panicked: ") || !strings.HasSuffix(err.Error(),
		"\nlast words of its console:\nKernel panic\nexit "+
			"status 1") {
		t.Errorf("a command that nobody ran: %v", err)
	}

	// Who gives up is not told of the machine.
	ctx, cancel := context.WithCancel(t.Context())
	opt := fake(t, says(hi, stage("check", true, ""))+"sleep 1000\n")
	opt.OnStage = func(Stage) { cancel() }
	means.Within(t, "a machine that is given up", func() {
		if _, err := Play(ctx, "t", Scenario{Needs: Needs{MemMiB: 512}}, opt); !errors.Is(err, context.Canceled) {
			t.Errorf("given up: %v", err)
		}
	})

	// Each spoilt plan has a minute besides.
	needs := Needs{MemMiB: 512, Limit: time.Second - 2*time.Minute}
	v, err := play(t.Context(), Orders{Spoilt: []string{"x", "y"}}, "s", needs, fake(t, says(hi)+"sleep 1000\n"))
	if want := "the machine ended without a word: the machine was stopped after 1s"; err != nil || v.Why != want {
		t.Errorf("with spoilt plans: %q, %v; want %q", v.Why, err, want)
	}

	// What a machine cannot be built of.
	for name, c := range map[string]struct {
		change func(*Options, *Needs)
		want   string
	}{
		"no fettle-lab": {func(o *Options, _ *Needs) { o.Init = "/none/lab" }, "building the guest for t/s: open /none/lab: "},
		"no fettle":     {func(o *Options, _ *Needs) { o.Fettle = "/none/fettle" }, "building the guest for t/s: open /none/fettle: "},
		"more memory":   {func(_ *Options, n *Needs) { n.MemMiB = 1 << 30 }, "t/s needs 1073741824 MiB of memory for its machine, and "},
		"a client's": {func(_ *Options, n *Needs) { n.Client = &Client{MemMiB: 1 << 30} },
			"t/s needs 1073742336 MiB of memory for its machine"},
		"too little":          {func(o *Options, _ *Needs) { o.MemMiB = 40 }, "t/s does not fit into 40 MiB of memory: it needs at least "},
		"no kernel":           {func(o *Options, _ *Needs) { o.Kernel.File = "/none/linux" }, "opening the kernel: "},
		"no engine":           {func(o *Options, _ *Needs) { o.Kernel.Engine = "x" }, `unknown engine "x": expected uml or qemu`},
		"no tool":             {func(_ *Options, n *Needs) { n.Tools = []string{"no-such"} }, "the program no-such is not installed"},
		"no library":          {func(_ *Options, n *Needs) { n.Libs = []string{"no-such.so"} }, "the shared library no-such.so was not found"},
		"no file":             {func(_ *Options, n *Needs) { n.Files = []string{"/none/file"} }, "lstat /none/file"},
		"no modules":          {func(_ *Options, n *Needs) { n.Modules = []string{"x"} }, "x is needed: name it with --modules"},
		"no built programs":   {func(_ *Options, n *Needs) { n.BuiltTools = []string{"x"} }, "the kernel has no programs built with it"},
		"a supervisor of its": {func(o *Options, _ *Needs) { o.Init = o.Kernel.File + ".gone" }, "building the guest"},
	} {
		opt, needs := fake(t, says(hi, done)), Needs{MemMiB: 512}
		c.change(&opt, &needs)
		if v, err := Play(t.Context(), "t", Scenario{Name: "s", Needs: needs}, opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %+v; want %q", name, err, v, c.want)
		}
	}
	restarts(t)
	leashes(t)
	clients(t)
	closed(t)
}

// started boots a fake kernel, and waits for its end.
func started(t *testing.T, script string, disk int) (said []string, ended error) {
	t.Helper()
	opt := fake(t, script)
	opt.disk = disk
	img, err := memoryFile("empty", func(w io.Writer) error { _, err := io.WriteString(w, "the image"); return err })
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	m, err := boot(opt, img, 8, func(m message) { said = append(said, m.Stage.Said) })
	if err != nil {
		t.Fatal(err)
	}
	defer m.kill()
	select {
	case ended = <-m.done:
	case <-time.After(means.Patience):
		t.Fatal("the machine does not end")
	}
	return said, ended
}

// restarts: a machine whose guest has marked its disk is started again, with the disk as it was, once for each mark.
func restarts(t *testing.T) {
	mark := "printf 'fettle: start me again\\n' | dd of=/tmp/disk conv=notrunc 2>/dev/null\n"
	count := "echo >>/tmp/boots; boots=$(cat /tmp/boots | wc -l)\n"
	tell := func(words string) string { // words are the shell's to fill in
		return "said=\"" + words + "\"\n" + "b=$(printf '{\"stage\":{\"name\":\"s\",\"ok\":true,\"said\":\"%s\",\"took_ns\":0}}' \"$said\")\n" +
			"printf '%s' \"$b\" >/tmp/frame; sum=$(gzip -c /tmp/frame | tail -c8 | od -An -tx4 -N4 | tr -d ' ')\n" +
			"printf '@%d %s %s\\n' ${#b} $sum $(base64 -w0 /tmp/frame) >&4\n"
	}
	for _, c := range []struct {
		name, script string
		disk         int
		want         []string
		fails        bool
	}{
		{"without a mark", count + tell("boot $boots, $(stat -c %s /tmp/disk) bytes, $(cat /proc/self/fd/3)"), 1,
			[]string{"boot 1, 1048576 bytes, the image"}, false},
		{"with one, twice",
			count + tell("boot $boots, $(head -c6 /tmp/disk | tr -d '\\\\000')") + "if [ $boots -lt 3 ]; then\n" + mark + "fi\n", 1,
			[]string{"boot 1, ", "boot 2, ", "boot 3, "}, false},
		{"without a disk", count + tell("boot $boots, $(ls /tmp/disk 2>&1 | tail -c4)") + mark, 0, []string{"boot 1, ory"}, false},
		{"where it fails", count + tell("boot $boots") + "exit 9\n", 1, []string{"boot 1"}, true},
	} {
		got, err := started(t, c.script, c.disk)
		if !slices.Equal(got, c.want) || (err != nil) != c.fails {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
	if got, err := started(t, tell("$(($(stat -f -c %b /tmp) * $(stat -f -c %S /tmp)))"), 3); err != nil ||
		!slices.Equal(got, []string{fmt.Sprint((8 + 3) << 20)}) {
		t.Errorf("there is room for %q bytes, %v; want that of the memory and of the disk", got, err)
	}
	// What the kernel is told, where it is, and in what it runs.
	got, err := started(t, tell("$(pwd) $HOME $$ $1 $2 $3 $(ls /tmp)")+"sleep 0\n", 0)
	if len(got) != 1 || err != nil || !strings.HasPrefix(got[0], "/tmp /tmp ") || !strings.Contains(got[0],
		" mem=8M initrd=/proc/self/fd/3 con=null") {
		t.Errorf("a kernel's surroundings: %q, %v", got, err)
	}
}

// leashes: a machine ends when it is told to, and when who started it closes its end of the pipe.
func leashes(t *testing.T) {
	for name, end := range map[string]func(*machine){"killed": (*machine).kill, "stopped": (*machine).stop,
		"let go": func(m *machine) { m.leash.Close() }} {
		opt := fake(t, says(stage("up", true, ""))+"sleep 1000\n")
		img, err := memoryFile("empty", func(io.Writer) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		defer img.Close()
		up := make(chan message, 1)
		m, err := boot(opt, img, 8, func(m message) { up <- m })
		if err != nil {
			t.Fatal(err)
		}
		for _, wait := range []func() bool{func() bool { return len(up) > 0 }, func() bool {
			end(m)
			select {
			case <-m.gone:
				return true
			default:
				return false
			}
		}} {
			means.Until(t, "a machine that is to be "+name, wait)
		}
	}
}

// clients: the first machine waits for its client's sockets, not for one that has ended, and not forever.
func clients(t *testing.T) {
	script := func(text string) []string { return []string{"/bin/sh", "-c", text} }
	for _, status := range []string{"0", "5"} {
		if err := startClient(script("exit " + status)); err == nil || err.Error() != "the client ended: exit status "+status {
			t.Errorf("a client that ends: %v", err)
		}
	}
	if err := startClient([]string{"/none/qemu"}); err == nil || !strings.HasPrefix(err.Error(), "starting the client: ") {
		t.Errorf("a client that does not start: %v", err)
	}
	for _, there := range [][]string{nil, {clientWire}, {clientWire, clientSerial}} {
		for _, name := range there {
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			err := awaitClient(make(chan error))
			want := "the client made no socket " + []string{clientWire, clientSerial, clientMonitor}[len(there)]
			if waited := time.Since(began); err == nil || err.Error() != want || waited != 20*time.Second {
				t.Errorf("after %s: %v, want %s", waited, err, want)
			}
		})
	}
	for _, name := range []string{clientWire, clientSerial} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := startClient(script("pwd >/tmp/where; for s in wire serial monitor; do sleep 0.1; touch /tmp/client-$s; done; " +
		"exec sleep 1000")); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile("/tmp/where"); err != nil || string(b) != "/tmp\n" {
		t.Errorf("a client runs in %q, %v", b, err)
	}
}

// closed: whatever was opened for a machine or an image is closed when that is done.
func closed(t *testing.T) {
	dir := t.TempDir()
	sleep, err := FindTool("sleep")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(sleep)
	if err == nil {
		err = errors.Join(os.MkdirAll(dir+"/root/usr/bin", 0o755), os.WriteFile(dir+"/root/usr/bin/sleep", b, 0o755),
			os.WriteFile(dir+"/script", []byte("#!/bin/sh\n"), 0o755), os.WriteFile(dir+"/a.ko", nil, 0o644),
			os.WriteFile(dir+"/modules.dep", []byte("a.ko:\n"), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	opt := fake(t, says(message{Hello: &hello{Kernel: "6.1"}}, message{Done: true}))
	opt.Kernel.Modules, opt.Kernel.Root = dir, dir+"/root"
	short := opt
	short.Fettle = "/none"
	t.Setenv("XDG_CACHE_HOME", dir)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it would close what was forgotten
	for name, act := range map[string]func() error{
		"a machine": func() error {
			_, err := Play(t.Context(), "t", Scenario{Needs: Needs{MemMiB: 512, Modules: []string{"a"}, BuiltTools: []string{"sleep"}}}, opt)
			return err
		},
		"a machine that is not built": func() error {
			_, err := Play(t.Context(), "t", Scenario{}, short)
			if err == nil {
				return errors.New("it was built")
			}
			return nil
		},
		"a kernel that is not there": func() error {
			bad := opt
			bad.Kernel.File = "/none"
			if _, err := boot(bad, os.Stdin, 1, nil); err == nil {
				return errors.New("it was booted")
			}
			return nil
		},
		"a supervisor that is not there": func() error {
			bad := opt
			bad.Init = "/none"
			if _, err := boot(bad, os.Stdin, 1, nil); err == nil || !strings.Contains(err.Error(), "in namespaces of its own") {
				return fmt.Errorf("it was booted: %w", err)
			}
			return nil
		},
		"a disk": func() error {
			err := makeDisk(1)
			if wantsRestart() {
				err = errors.New("a new disk is marked")
			}
			if makeDisk(1) == nil {
				err = errors.New("a disk is made anew")
			}
			return errors.Join(err, os.Remove(diskFile))
		},
		"kernels": func() error {
			_, err := KernelFile("/proc/self/exe")
			if _, bad := KernelFile(dir + "/script"); bad == nil {
				err = errors.New("a script is a kernel")
			}
			if _, bad := kernelOfDeb(t.Context(), dir+"/script"); bad == nil {
				err = errors.New("a script is a package")
			}
			return err
		},
	} {
		if err := act(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		before := len(means.OpenFiles(t))
		for range 3 {
			if err := act(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		means.Until(t, name+": descriptors to be closed", func() bool { return len(means.OpenFiles(t)) <= before })
	}
}

// TestJobsThatAreGivenUp: each job has its outcome, one after the other, also where nobody waits for them any more.
func TestJobsThatAreGivenUp(t *testing.T) {
	var jobs []Job
	for i := range 40 {
		jobs = append(jobs, Job{Trap: "t", Scenario: Scenario{Name: fmt.Sprint(i), Needs: Needs{Tools: []string{"nosuch"}}}})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, ctx := range map[string]context.Context{"played": t.Context(), "given up": ctx, "played as many as fit": t.Context()} {
		var at atomic.Int32
		parallel := 4
		if name == "played as many as fit" {
			parallel = 0
		}
		seen, given := map[string]bool{}, 0
		each := func(o Outcome) {
			if at.Add(1) > 1 {
				t.Errorf("%s: two outcomes at once", name)
			}
			runtime.Gosched()
			seen[o.Job.Name()] = true
			switch {
			case errors.Is(o.Err, context.Canceled):
				given++
			case !errors.As(o.Err, new(*MissingError)):
				t.Errorf("%s: %v", name, o.Err)
			}
			at.Add(-1)
		}
		means.Within(t, "all jobs to be "+name, func() { PlayAll(ctx, jobs, parallel, each) })
		if len(seen) != len(jobs) || (given > 0) != (name == "given up") {
			t.Errorf("%s: %d of %d jobs have an outcome, %d were given up", name, len(seen), len(jobs), given)
		}
	}
	var c cpus
	if free, err := c.start(func() error { return io.EOF }); err != io.EOF {
		t.Errorf("what does not start: %v", err)
	} else {
		free()
	}
}

// TestSupervisorIsForTheLab: nobody calls the hidden verb by hand.
func TestSupervisorIsForTheLab(t *testing.T) {
	for _, args := range [][]string{nil, {"8+0"}, {"8+0", "0", "/bin/true"}} {
		if err := Supervisor(args); err == nil || !strings.Contains(err.Error(), "for fettle lab alone") {
			t.Errorf("%q: %v", args, err)
		}
	}
	for s, want := range map[string][2]int{"8+0": {8, 0}, "320+96": {320, 96}, "8": {-1}, "x+1": {-1}, "1+x": {-1}, "": {-1}} {
		mem, disk, err := parseRoom(s)
		if (err != nil) != (want[0] < 0) || err == nil && ([2]int{mem, disk} != want || room(mem, disk) != s) {
			t.Errorf("%q: %d, %d, %v", s, mem, disk, err)
		}
	}
}

// packed is what an image holds: of files their mode and content, of links their target.
func packed(t *testing.T, r io.Reader) map[string]string {
	t.Helper()
	out := map[string]string{}
	for c := cpio.NewReader(r); ; {
		h, err := c.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := out[h.Name]; ok {
			t.Errorf("%s is there twice", h.Name)
		}
		switch h.Mode &^ 0o7777 {
		case cpio.TypeDir:
			out[h.Name] = fmt.Sprintf("dir %o", h.Mode&0o7777)
		case cpio.TypeSymlink:
			out[h.Name] = "-> " + h.Linkname + string(b)
		default:
			out[h.Name] = fmt.Sprintf("%o %s", h.Mode&0o7777, b)
		}
		if up := filepath.Dir(h.Name); up != "." && !strings.HasPrefix(out[up], "dir ") {
			t.Errorf("%s comes before its folder", h.Name)
		}
	}
}

// TestImage: what a guest finds: its programs, orders, accounts, tools, files and modules.
func TestImage(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string, mode os.FileMode) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), mode)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	put("more/one", "1", 0o640)
	put("more/below/two", "2", 0o755)
	put("elsewhere", "e", 0o600)
	for name, target := range map[string]string{"more/link": "../elsewhere", "more/gone": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	put("modules/modules.dep", "a.ko: b.ko\nb.ko:\n", 0o644)
	put("modules/a.ko", "A", 0o644)
	put("modules/b.ko", "B", 0o644)
	opt := Options{Kernel: Kernel{Engine: "uml", Modules: dir + "/modules"}, Init: put("lab", "LAB", 0o755),
		Fettle: put("fettle", "FETTLE", 0o755),
		Slips:  SlipTurn{Of: 3, At: 1}}
	build := func(o Orders, n Needs, opt Options) map[string]string {
		t.Helper()
		img, err := buildImage(o, n, opt)
		if err != nil {
			t.Fatal(err)
		}
		defer img.Close()
		return packed(t, io.NewSectionReader(img, 0, 1<<40))
	}
	has := build(Orders{Trap: "t", Scenario: Scenario{Name: "s"}, Spoilt: []string{"x"}},
		Needs{Tools: []string{"cat"}, MayTools: []string{"head", "no-such-tool"}, Libs: []string{"libc.so.6"}, Files: []string{dir + "/more/"},
			Modules: []string{"a"}, MayModules: []string{"no_such"}}, opt)
	in := strings.TrimPrefix(dir, "/")
	for name, want := range map[string]string{
		"init": "755 LAB", "usr/bin/fettle": "755 FETTLE", "dev": "dir 755", "proc": "dir 755", "tmp": "dir 755",
		"bin": "-> usr/bin", "lib64": "-> usr/lib64",
		in + "/more/one": "640 1", in + "/more/below/two": "755 2", in + "/more/link": "-> ../elsewhere", in + "/elsewhere": "600 e",
		in + "/more/gone": "-> nowhere", "modules/a.ko": "644 A", "modules/b.ko": "644 B", "etc/passwd": "644 " + accounts["/etc/passwd"],
		"usr/bin/bash": "", "usr/bin/no-such-tool": "", "etc/machine-id": "",
	} {
		if got := has[name]; got != want {
			t.Errorf("%s is %.80q, want %q", name, got, want)
		}
	}
	tools := 0
	for name := range has {
		if slices.Contains([]string{"ip", "sleep", "cat", "head"}, filepath.Base(name)) || strings.Contains(name, "/libc.so.6") {
			tools++
		}
	}
	if tools < 5 {
		t.Errorf("%d of 5 tools and libraries are there", tools)
	}
	var o Orders
	if err := json.Unmarshal([]byte(strings.TrimPrefix(has["lab.json"], "600 ")), &o); err != nil {
		t.Fatal(err)
	}
	want := Orders{Trap: "t", Scenario: Scenario{Name: "s"}, Spoilt: []string{"x"}, Channel: "/dev/ttyS0", Console: "/dev/tty0",
		Modules: []string{"/modules/b.ko", "/modules/a.ko"}, Slips: SlipTurn{Of: 3, At: 1}}
	if !reflect.DeepEqual(o, want) {
		t.Errorf("the orders are %+v, want %+v", o, want)
	}
	// Who looks around inside has a shell, and systemd its units.
	for _, tool := range slices.Concat(shellTools, systemdTools) {
		if _, err := FindTool(tool); err != nil {
			means.Missing(t, "needs the program "+tool)
		}
	}
	put("modules/modules.dep", "ext4.ko:\n", 0o644)
	put("modules/ext4.ko", "E", 0o644)
	opt.Shell = ShellAfterStory
	has = build(Orders{}, Needs{Systemd: true}, opt)
	for name, want := range map[string]string{
		"usr/lib/systemd/system/fettle-lab.service":                            "644 " + storyUnit,
		"usr/lib/systemd/system/multi-user.target.wants/fettle-lab.service":    "-> ../fettle-lab.service",
		"usr/lib/systemd/system/sysinit.target.wants/systemd-journald.service": "-> ../systemd-journald.service",
		"usr/lib/systemd/system/sockets.target.wants/systemd-journald.socket":  "-> ../systemd-journald.socket",
		"etc/systemd/system/default.target":                                    "-> /usr/lib/systemd/system/multi-user.target",
		"etc/machine-id":                                                       "644 0123456789abcdef0123456789abcdef\n",
		"modules/ext4.ko":                                                      "644 E",
	} {
		if got := has[name]; got != want {
			t.Errorf("with systemd %s is %.80q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"usr/bin/bash", "usr/bin/stat", "usr/bin/systemctl", "usr/lib/systemd/systemd-journald",
		"usr/lib/systemd/system/basic.target", "etc/systemd/system.conf.d/lab.conf"} {
		if has[name] == "" {
			t.Errorf("with systemd and a shell there is no %s", name)
		}
	}
	units, err := os.ReadDir(systemdUnits)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range units {
		if name := strings.TrimPrefix(systemdUnits, "/") + "/" + u.Name(); u.Type().IsRegular() && has[name] == "" {
			t.Errorf("with systemd there is no %s", name)
		}
	}
	o = Orders{}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(has["lab.json"], "600 ")), &o); err != nil || o.Disk != "/dev/ubda" ||
		o.Shell != ShellAfterStory ||
		!slices.Equal(o.Modules, []string{"/modules/ext4.ko"}) {
		t.Errorf("with systemd the orders are %+v, %v", o, err)
	}
}

// TestScriptsAndLibrariesComeAlong: a tool brings what it needs, be it a script, from the folders that its kernel was built with, too.
func TestScriptsAndLibrariesComeAlong(t *testing.T) {
	dir := t.TempDir()
	sleep, err := FindTool("sleep")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "root")
	for name, b := range map[string][]byte{"script": []byte("#!/bin/sleep 1\n"), "text": []byte("x\n"), "empty": []byte("#!\n"),
		"root/usr/sbin/built": program, "root/usr/lib/libc.so.6": program, "outside": program} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, b, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	pack := func(add func(*image) error) (map[string]string, error) {
		var b bytes.Buffer
		im := newImage(&b)
		err := errors.Join(im.skeleton(), add(im), im.close())
		return packed(t, &b), err
	}
	for name, want := range map[string]bool{"script": true, "text": false, "empty": false} {
		has, err := pack(func(im *image) error { return im.libraries(filepath.Join(dir, name)) })
		if _, ok := has[strings.TrimPrefix(sleep, "/")]; ok != want || err != nil {
			t.Errorf("%s: its interpreter is there: %t, %v; want %t", name, ok, err, want)
		}
	}
	if _, err := pack(func(im *image) error { return im.libraries(dir + "/none") }); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
	has, err := pack(func(im *image) error { return im.rootTool(root, "built") })
	if err != nil || has["usr/sbin/built"] != "755 "+string(program) || has["usr/lib/libc.so.6"] != "755 "+string(program) {
		t.Errorf("a program that was built with a kernel: %v, and its library of %d bytes", err, len(has["usr/lib/libc.so.6"]))
	}
	if err := errors.Join(os.Remove(root+"/usr/lib/libc.so.6"), os.Symlink("../../../outside", root+"/usr/lib/libc.so.6")); err != nil {
		t.Fatal(err)
	}
	if _, err := pack(func(im *image) error { return im.rootTool(root, "built") }); err == nil || !strings.Contains(err.Error(),
		"libc.so.6 leads out of "+root) {
		t.Errorf("a library from elsewhere: %v", err)
	}
	if err := os.Remove(root + "/usr/lib/libc.so.6"); err != nil {
		t.Fatal(err)
	}
	has, err = pack(func(im *image) error { return im.rootTool(root, "built") })
	if own := slices.ContainsFunc(slices.Collect(maps.Keys(has)), func(n string) bool {
		return strings.HasSuffix(n,
			"/libc.so.6")
	}); err != nil || !own {
		t.Errorf("without a library of its own: %v, this host's is there: %t", err, own)
	}
	if err := errors.Join(os.WriteFile(dir+"/libx.so.1", []byte("X"), 0o644), os.Symlink("libx.so.1", dir+"/libx.so")); err != nil {
		t.Fatal(err)
	}
	has, err = pack(func(im *image) error { return errors.Join(im.library("libx.so", dir), im.library("libx.so", dir)) })
	if in := strings.TrimPrefix(dir, "/"); err != nil || has[in+"/libx.so"] != "644 X" || has[in+"/libx.so.1"] != "" {
		t.Errorf("a library that is a link: %v, %.20q and %.20q", err, has[in+"/libx.so"], has[in+"/libx.so.1"])
	}
	if err := os.WriteFile(dir+"/libc.so.6", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if p, err := findLibrary("libc.so.6", dir+"/none", dir); p != dir+"/libc.so.6" || err != nil {
		t.Errorf("a library that a program has for itself: %s, %v", p, err)
	}
	if err := os.WriteFile(root+"/usr/sbin/odd", []byte("\x7fELF no"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := pack(func(im *image) error { return im.rootTool(root, "odd") }); err == nil ||
		!strings.HasPrefix(err.Error(), root+"/usr/sbin/odd: ") {
		t.Errorf("a program that is none: %v", err)
	}
	for name, want := range map[string]string{"other": "no program other was built with the kernel (looked in " + root + ")"} {
		if _, err := pack(func(im *image) error { return im.rootTool(root, name) }); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEngines: how each engine is started, and what the guest is told of its devices.
func TestEngines(t *testing.T) {
	means.Tool(t, "qemu-system-x86_64")
	table := []byte("table")
	for _, c := range []struct {
		name   string
		engine string
		opt    Options
		has    []string // in this order
		lacks  string
	}{
		{"uml", "uml", Options{}, []string{kernelFD + " mem=77M initrd=/proc/self/fd/3", "con0=null,fd:1 ssl0=fd:5,fd:4", "panic=-1",
			"initcall_blacklist=raid6_select_algo,raid6_init"}, "ubd0"},
		{"a shell, a disk, RAID6", "uml", Options{Shell: ShellAfterStory, disk: 1, raid6: true}, []string{"con0=fd:0,fd:1", "ubd0=/tmp/disk"},
			"initcall_blacklist"},
		{"qemu", "qemu", Options{}, []string{"-no-reboot -m 77 -kernel " + kernelFD + " -initrd /proc/self/fd/3", "console=ttyS0 panic=-1 quiet",
			"-serial chardev:console -serial file:/proc/self/fd/4", "-accel tcg -cpu qemu64,-cx16"}, "-drive"},
		{"KVM", "qemu", Options{KVM: true, devices: []string{"-device", "x"}}, []string{"-accel kvm -cpu host", "-device x"}, "tcg"},
		{"a disk", "qemu", Options{disk: 1}, []string{"-drive if=virtio,format=raw,cache=unsafe,file=/tmp/disk"}, "-acpitable"},
		{"a table of the firmware's", "qemu", Options{acpi: table}, []string{"-acpitable file=" + acpiFD}, "-drive"},
		{"a client", "qemu", Options{client: &Client{}}, []string{"-device virtio-serial-pci", "path=" + clientSerial, "path=" + clientMonitor,
			"server=off,addr.type=unix,addr.path=" + clientWire}, "-acpitable"},
	} {
		argv, err := (Kernel{Engine: c.engine}).argv(77, c.opt)
		line := strings.Join(argv, " ")
		rest, ok := line, true
		for _, w := range c.has {
			var found bool
			_, rest, found = strings.Cut(rest, w)
			ok = ok && found
		}
		if err != nil || !ok || strings.Contains(line, c.lacks) {
			t.Errorf("%s: %s, %v; want %q and no %q", c.name, line, err, c.has, c.lacks)
		}
	}
	for _, c := range []struct {
		client Client
		kvm    bool
		has    []string
		lacks  string
		mem    int
		files  string
	}{
		{Client{}, false, []string{"-S -accel tcg -m 1024", "bootindex=1,mac=" + ClientMAC}, "-bios", 1024, "/usr/lib/ipxe/qemu/pxe-virtio.rom"},
		{Client{UEFI: true, MemMiB: 2048}, true, []string{"-S -accel kvm -m 2048", "-bios " + ovmf,
			"mac=" + ClientMAC + ",romfile="}, "tcg", 2048, ovmf},
	} {
		argv, err := c.client.argv(c.kvm)
		line := strings.Join(argv, " ")
		for _, w := range c.has {
			if !strings.Contains(line, w) || strings.Contains(line, c.lacks) || err != nil {
				t.Errorf("%+v: %s, %v; want %q and no %q", c.client, line, err, w, c.lacks)
			}
		}
		n := Needs{Client: &c.client, Files: []string{"/some/file"}, MemMiB: 100}
		if got := n.allMemory(Options{}); got != 100+c.mem {
			t.Errorf("%+v: %d MiB", c.client, got)
		}
		if got := strings.Join(n.allFiles(), " "); got != c.files {
			t.Errorf("%+v: files %s, want %s", c.client, got, c.files)
		}
	}
	for engine, want := range map[string][]string{"uml": {"/dev/ttyS0", "/dev/tty0", "/dev/ubda", "ext4"},
		"qemu": {"/dev/ttyS1", "/dev/ttyS0", "/dev/vda", "virtio_pci", "virtio_blk", "ext4"}} {
		k := Kernel{Engine: engine}
		if got := append([]string{k.channel(), k.console(), k.disk()}, k.diskModules()...); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", engine, got, want)
		}
	}
}

// TestNeeds: how much memory and time a machine is given.
func TestNeeds(t *testing.T) {
	emulated, kvm := Options{Kernel: Kernel{Engine: "qemu"}}, Options{Kernel: Kernel{Engine: "qemu"}, KVM: true}
	for _, c := range []struct {
		n     Needs
		opt   Options
		mem   int
		limit time.Duration
		raid6 bool
		tools int
	}{
		{Needs{}, Options{}, 320, 5 * time.Minute, false, 0},
		{Needs{MemMiB: 400, Limit: time.Minute, Tools: []string{"x"}, Modules: []string{"raid456"}}, kvm, 400, time.Minute, true, 1},
		{Needs{MemMiB: 400, MayModules: []string{"x", "dm-raid"}}, Options{MemMiB: 500}, 500, 5 * time.Minute, true, 0},
		{Needs{Limit: time.Minute, Modules: []string{"raid1"}}, emulated, 320, 3 * time.Minute, false, 0},
		{Needs{Systemd: true, Tools: []string{"x"}}, Options{Shell: "story"}, 320, 24 * time.Hour, false, len(systemdTools) + 1},
	} {
		if m, l, r, n := c.n.memory(c.opt), c.n.limit(c.opt), c.n.parity(), len(c.n.allTools()); m != c.mem || l != c.limit ||
			r != c.raid6 || n != c.tools {
			t.Errorf("%+v: %d MiB, %s, RAID6 %t, %d tools; want %+v", c.n, m, l, r, n, c)
		}
	}
	if free := availableMiB(); free < 1 || free > 1<<30 {
		t.Errorf("%d MiB are available", free)
	}
	w := &tail{}
	for i := range 3000 {
		fmt.Fprintf(w, "line %d\r\n", i)
	}
	if got := w.lastWords(2); got != "line 2998\nline 2999" || len(w.buf) != tailBytes {
		t.Errorf("the last words are %q, of %d bytes", got, len(w.buf))
	}
	var also bytes.Buffer
	w = &tail{also: &also}
	io.WriteString(w, "one\ntwo\n")
	if got := w.lastWords(20); got != "one\ntwo" || also.String() != "one\ntwo\n" {
		t.Errorf("%q and %q", got, also.String())
	}
}

// bzImage is what the lab takes for a kernel of qemu's.
var bzImage = append(make([]byte, 0x202), "HdrS...."...)

// debOf builds a Debian package of these files.
func debOf(t *testing.T, dir, name string, files map[string][]byte) string {
	t.Helper()
	put := func(f string, b []byte) {
		f = filepath.Join(dir, name, f)
		if err := errors.Join(os.MkdirAll(filepath.Dir(f), 0o755), os.WriteFile(f, b, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	put("DEBIAN/control", []byte("Package: x\nVersion: 1\nArchitecture: all\nMaintainer: x <x@example.org>\nDescription: x\n"))
	for f, b := range files {
		put(f, b)
	}
	if _, err := command(t.Context(), means.Patience, dir, "dpkg-deb", "-Znone", "-b", name, name+".deb"); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name+".deb")
}

func needsTools(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := FindTool(tool); err != nil {
			means.Missing(t, "needs the program "+tool)
		}
	}
}

// TestKernelsThatAreNamed: what a kernel is that was named by a file or a package, and why one is not booted.
func TestKernelsThatAreNamed(t *testing.T) {
	needsTools(t, "dpkg-deb", "depmod")
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir+"/cache")
	deb := func(name string, files map[string][]byte) string { t.Helper(); return debOf(t, dir, name, files) }
	find := func(name, modules string) (Kernel, error) {
		return FindKernel(t.Context(), name, modules, func(string) { t.Errorf("%s: something is fetched", name) })
	}
	for _, modules := range []string{"lib/modules", "usr/lib/modules"} {
		name := "good" + strings.ReplaceAll(modules, "/", "-")
		file := deb(name, map[string][]byte{"boot/vmlinuz-6.1-x": bzImage,
			modules + "/6.1-x/kernel/x.txt": []byte(name)})
		for _, time := range []string{"first", "second"} { // from the cache
			k, err := find(file, "")
			if err != nil || k.Engine != "qemu" || !strings.HasPrefix(k.File, dir+"/cache/fettle/kernels/") ||
				filepath.Base(k.File) != "vmlinuz-6.1-x" ||
				!strings.HasSuffix(k.Modules, "/"+modules+"/6.1-x") || !exists(k.Modules+"/modules.dep") {
				t.Fatalf("%s, the %s time: %+v, %v", name, time, k, err)
			}
			if left, _ := filepath.Glob(dir + "/cache/fettle/kernels/unpack-*"); len(left) > 0 {
				t.Errorf("%s: %s stays", name, left)
			}
			if time == "second" {
				if err := os.Remove(k.Modules + "/modules.dep"); err != nil {
					t.Fatal(err)
				}
				if _, err := find(file, ""); err == nil || !strings.Contains(err.Error(), "is not whole: remove that folder and try again") {
					t.Errorf("half a kernel in the cache: %v", err)
				}
			}
		}
	}
	empty := deb("none", map[string][]byte{"boot/x": nil})
	bad := deb("bad", map[string][]byte{"boot/vmlinuz-6.1-y": []byte("x"), "lib/modules/6.1-y/x": nil})
	put := func(name string, b []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, c := range []struct{ name, want string }{
		{empty, "none.deb is not a kernel package: it holds 0 boot/vmlinuz-* and 0 folders of modules, expected one of each"},
		{bad, "vmlinuz-6.1-y is not a Linux kernel image: no boot protocol magic HdrS at offset 0x202"},
		{put("text.deb", []byte("text that is long enough")), "text.deb is not a Debian package: it does not begin with !<arch>"},
		{put("short.deb", nil), "short.deb is not a Debian package"},
		{put("broken.deb", []byte("!<arch>\nx")), "unpacking " + dir + "/broken.deb: dpkg-deb: exit status 2: "},
		{dir + "/none.d.deb", "opening the kernel package: "}, {dir + "/absent", "opening the kernel: "},
		{put("text", []byte("x")), "text is not a Linux kernel image"},
	} {
		if k, err := find(c.name, ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v; want %q", c.name, k, err, c.want)
		}
	}
	bz := put("vmlinuz-0-none", bzImage)
	if k, err := find(bz, "/some/modules"); err != nil || k != (Kernel{Engine: "qemu", File: bz, Modules: "/some/modules"}) {
		t.Errorf("with modules: %+v, %v", k, err)
	}
	if k, err := find(bz, ""); err != nil || k != (Kernel{Engine: "qemu", File: bz}) {
		t.Errorf("without: %+v, %v", k, err)
	}
	if k, err := KernelFile(bz); err != nil || k.Engine != "qemu" {
		t.Errorf("%+v, %v", k, err)
	}
	if k, err := KernelFile("/proc/self/exe"); err != nil || k != (Kernel{Engine: "uml", File: "/proc/self/exe"}) {
		t.Errorf("a program: %+v, %v", k, err)
	}
	if err := os.Chmod(dir+"/cache/fettle/kernels", 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := find(bad, ""); err == nil || !strings.Contains(err.Error(), "can be written by others") {
		t.Errorf("a cache that others may write to: %v", err)
	}
	for dir, want := range map[string]string{"/dev/null/x": "not a directory", "relative": "finding a cache folder for kernels: "} {
		t.Setenv("XDG_CACHE_HOME", dir)
		if _, err := find(bad, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a cache in %s: %v", dir, err)
		}
	}
	t.Setenv("XDG_CACHE_HOME", dir+"/cache")
	if out, err := command(t.Context(), means.Patience, "/", "no-such-program"); err == nil || out != "" {
		t.Errorf("a program that is not there: %q, %v", out, err)
	}
	if out, err := command(t.Context(), means.Patience, "/", "sh", "-c",
		"echo out; echo first >&2; echo last >&2; exit 3"); err == nil || out != "out\n" ||
		err.Error() != "sh: exit status 3: last" {
		t.Errorf("a program that fails: %q, %v", out, err)
	}
	if out, err := command(t.Context(), means.Patience, "/tmp", "sh", "-c",
		"echo 'x: No space left on device' >&2; echo y >&2; exit 1"); err == nil ||
		err.Error() != "sh: exit status 1: no space left on the device that holds /tmp" {
		t.Errorf("a full disk: %q, %v", out, err)
	}
	if _, err := Named(t.Context(), "group/none", nil); err == nil || !strings.Contains(err.Error(), "make lab-group builds it") {
		t.Errorf("one that nobody has built: %v", err)
	}
	if got := CommandStage(strings.Repeat("x", maxSaid)+"y", 0, io.EOF).Said; !strings.HasSuffix(got, "xyEOF\n") || len(got) != maxSaid+4 {
		t.Errorf("a command that says too much: %d bytes", len(got))
	}
}
