package blockcache

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// put makes files below a folder: a name that ends with / is a folder.
func put(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, n := range names {
		name, text, _ := strings.Cut(n, "=")
		full := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(full), 0o755)
		err := os.MkdirAll(full, 0o755)
		if !strings.HasSuffix(name, "/") {
			os.Remove(full)
			err = os.WriteFile(full, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestSweep(t *testing.T) {
	mark := "owner=" + ownerMark + ", process 1\n"
	for name, c := range map[string]struct {
		make []string
		want string // of the notes; "" with gone
		gone bool
	}{
		"killed at work":        {[]string{mark, "data/load.0=aaaa", "data/load.1=bb", "other/load.0=c"}, "removed DIR, ", true},
		"killed at once":        {[]string{mark}, "removed DIR, ", true},
		"without owner":         {[]string{"data/load.0=a"}, "it stays, because nothing in it tells whose it was", false},
		"empty":                 {[]string{"./"}, "nothing in it tells whose", false},
		"somebody's own":        {[]string{mark, "thesis.tex=a"}, "it stays, because thesis.tex in it is not a measurement's", false},
		"a folder in the data":  {[]string{mark, "data/keep/a=b"}, "because data/keep in it is no file of a measurement", false},
		"another's owner file":  {[]string{"owner=anna\n"}, "because its file owner is not a measurement's", false},
		"owner is a folder":     {[]string{"owner/"}, "because owner in it is not a measurement's", false},
		"a file of that prefix": {nil, "because it is no folder", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			left := filepath.Join(dir, filesPrefix+"123")
			put(t, dir, "innocent/"+filesPrefix+"9/owner="+ownerMark, "fettle-other/")
			put(t, left, c.make...)
			if c.make == nil {
				put(t, dir, filesPrefix+"123=x")
			}
			var notes []string
			if err := sweep(dir, func(n string) { notes = append(notes, n) }); err != nil {
				t.Fatal(err)
			}
			want := strings.ReplaceAll(c.want, "DIR", left)
			if len(notes) != 1 || !strings.Contains(notes[0], want) {
				t.Errorf("%q, want %q", notes, want)
			}
			if _, err := os.Lstat(left); os.IsNotExist(err) != c.gone {
				t.Errorf("%v", err)
			}
			for _, keep := range []string{"innocent/" + filesPrefix + "9/owner", "fettle-other"} {
				if _, err := os.Stat(filepath.Join(dir, keep)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestSweepLinks(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	put(t, elsewhere, "owner="+ownerMark, "data/x=precious")
	if err := os.Symlink(elsewhere, filepath.Join(dir, filesPrefix+"link")); err != nil {
		t.Fatal(err)
	}
	put(t, dir, filesPrefix+"1/owner="+ownerMark)
	os.Symlink(elsewhere, filepath.Join(dir, filesPrefix+"1/data"))
	var notes []string
	if err := sweep(dir, func(n string) { notes = append(notes, n) }); err != nil || len(notes) != 2 {
		t.Errorf("%q, %v", notes, err)
	}
	if b, err := os.ReadFile(filepath.Join(elsewhere, "data/x")); string(b) != "precious" {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, filesPrefix+"1")); err != nil {
		t.Error("a folder with a link in it was removed")
	}
}

func TestSweepOthers(t *testing.T) {
	means.Root(t)
	dir := t.TempDir()
	left := filepath.Join(dir, filesPrefix+"1")
	put(t, left, "owner="+ownerMark)
	if err := os.Chown(left, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	note := ""
	if err := sweep(dir, func(n string) { note = n }); err != nil || !strings.Contains(note, "it is another user's") {
		t.Errorf("%q, %v", note, err)
	}
}

// TestTwoAtOnce: the folder of a measurement that lives is not touched, and a
// second one does not begin.
func TestTwoAtOnce(t *testing.T) {
	dir := t.TempDir()
	made, release, err := filesDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = sweep(dir, func(n string) { t.Error(n) })
	if err == nil || !strings.Contains(err.Error(), "another measurement is at work there (fettle measure blockcache, process ") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(made, ownerFile)); err != nil {
		t.Error(err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	empty(t, dir)
}

// TestKilled: SIGKILL leaves the files, but no fio; the next measurement
// there removes them.
func TestKilled(t *testing.T) {
	const env = "FETTLE_TEST_MEASURE"
	if dir := os.Getenv(env); dir != "" { // in the process that will be killed
		_, err := Do(
			context.Background(),
			Measurement{Slow: filepath.Join(dir, "slow"), Job: parsed(t, smallJob), Runtime: time.Minute, Out: filepath.Join(dir, "out"),
				Tell: func(p Progress) { os.Stdout.WriteString(p.Doing + "\n") }},
		)
		t.Fatalf("ended: %v", err)
	}
	t.Parallel()
	means.Tool(t, "fio")
	dir := t.TempDir()
	slow := filepath.Join(dir, "slow")
	put(t, dir, "slow/")
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$", "-test.v")
	cmd.Env = append(os.Environ(), env+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	for sc := bufio.NewScanner(out); sc.Scan() && sc.Text() != About("slow"); { // files are made
	}
	means.Until(t, "fio works", func() bool { return fios(t, filepath.Join(dir, "out")) > 0 })
	if err := sweep(slow, func(n string) { t.Error(n) }); err == nil || !strings.Contains(err.Error(), "another measurement is at work") {
		t.Errorf("while it lives: %v", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	means.Until(t, "fio is gone", func() bool { return fios(t, filepath.Join(dir, "out")) == 0 })
	if left, _ := filepath.Glob(filepath.Join(slow, filesPrefix+"*/data/*")); len(left) == 0 {
		t.Fatal("SIGKILL left nothing to remove: this test tests nothing")
	}
	var notes []string
	m := Measurement{
		Slow:    slow,
		Job:     parsed(t, smallJob),
		Runtime: time.Minute,
		Out:     filepath.Join(dir, "again"),
		Tell:    func(p Progress) { notes = append(notes, p.Note) },
	}
	places, err := m.check()
	if err == nil {
		err = m.prepare(places)
	}
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], ", 8 MiB, which a measurement that was killed left") {
		t.Errorf("%q, %v", notes, err)
	}
	empty(t, slow)
}

// TestRefusesPlaces: folders that are full or read-only are refused before
// anything is made. Each is a file system in a mount namespace of the test's own.
func TestRefusesPlaces(t *testing.T) {
	means.Root(t)
	for name, c := range map[string]struct {
		flags uintptr
		size  string
		want  string
	}{
		"read-only": {unix.MS_RDONLY, "64m", "no files can be made in DIR: read-only file system"},
		"full":      {0, "1m", "DIR has room for 1 MiB; the runs on it need 8 MiB: give a smaller --size"},
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan struct{})
			dir := t.TempDir()
			go func() {
				defer close(done)
				runtime.LockOSThread() // and never unlocked: the thread ends with its namespace
				if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
					t.Error(err)
					return
				}
				if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
					t.Error(err)
					return
				}
				if err := unix.Mount("tmpfs", dir, "tmpfs", c.flags, "size="+c.size); err != nil {
					t.Error(err)
					return
				}
				m := Measurement{
					Slow:    dir,
					Job:     parsed(t, smallJob),
					Runtime: time.Minute,
					Out:     filepath.Join(t.TempDir(), "out"),
					Tell:    func(Progress) {},
				}
				places, err := m.check()
				if err == nil {
					err = m.prepare(places)
				}
				if want := strings.ReplaceAll(c.want, "DIR", dir); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %s", err, want)
				}
				if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
					t.Errorf("%v is left, %v", left, err)
				}
			}()
			<-done
		})
	}
}

// TestRefusesDevices: what a load would do to a device is asked before it is opened.
func TestRefusesDevices(t *testing.T) {
	means.Root(t)
	dev := filepath.Join(t.TempDir(), "disk")
	if err := unix.Mknod(dev, unix.S_IFBLK|0o600, int(unix.Mkdev(0, 77))); err != nil {
		means.Missing(t, "needs mknod: "+err.Error())
	}
	writes := parsed(t, strings.Replace(smallJob, "randread", "randrw", 1))
	for want, m := range map[string]Measurement{
		"the job writes, and --slow " + dev + " is a block device: its data would be lost. --destroy allows it": {Slow: dev, Job: writes},
		"--slow: open " + dev + ": no such device or address": {Slow: dev,
			Job: parsed(t, smallJob)},
	} {
		m.Runtime, m.Out = time.Minute, filepath.Join(t.TempDir(), "out")
		_, err := Do(t.Context(), m)
		if _, ok := err.(*UsageError); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err := os.Stat(m.Out); err == nil {
			t.Error("a folder for runs was made")
		}
	}
}
