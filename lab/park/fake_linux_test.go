package park

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// workshop is a folder in memory in which hosts are made by programs that only write down how they are called.
type workshop struct {
	t    *testing.T
	dir  string
	said []string // calls that were read already
}

// newWorkshop is in a mount namespace that nobody else sees.
func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	w := &workshop{t: t, dir: t.TempDir()}
	if err := unix.Mount("tmpfs", w.dir, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(w.dir, unix.MNT_DETACH) })
	for name, more := range map[string]string{
		"mmdebstrap": "for a; do case $a in */root|*.part) mkdir -p $a/usr/share/keyrings; " +
			"echo keys >$a/usr/share/keyrings/ubuntu-archive-keyring.gpg;; esac; done",
		"systemd-nspawn": "while [ $1 != -D ]; do shift; done; mkdir -p $2/var/lib/park; " +
			"cat $2/usr/local/lib/park/phase >>$2/var/lib/park/saw 2>/dev/null",
		"mke2fs": "", "debugfs": "", "linux.uml": "env >$D/env", "cp": "", "truncate": "",
	} {
		text := "#!/bin/sh\nD=" + w.dir + "\n{ printf " + name + "; for a; do printf ' [%s]' \"$a\"; done; echo; } >>$D/calls\n" +
			"if [ -e $D/" + name + ".fails ]; then seq 1 30; exit 7; fi\n" + more + "\nexit 0\n"
		if err := errors.Join(os.MkdirAll(w.dir+"/bin", 0o755), os.WriteFile(w.dir+"/bin/"+name, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", w.dir+"/bin:/usr/bin:/bin")
	t.Chdir(w.dir) // what is named wrongly, and made, is made here
	w.put("fettle", "FETTLE")
	w.put("lower/below", "from the image")
	w.mkdir("lower/usr/local/bin")
	return w
}

func (w *workshop) put(name, text string) string {
	w.t.Helper()
	name = filepath.Join(w.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		w.t.Fatal(err)
	}
	return name
}

func (w *workshop) mkdir(name string) string {
	w.t.Helper()
	name = filepath.Join(w.dir, name)
	if err := os.MkdirAll(name, 0o755); err != nil {
		w.t.Fatal(err)
	}
	return name
}

// calls are those since it was last asked; folders whose names are drawn have none.
func (w *workshop) calls() []string {
	w.t.Helper()
	b, err := os.ReadFile(w.dir + "/calls")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	if err := os.Remove(w.dir + "/calls"); err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	all := strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(b), w.dir+"/", ""), "\n"), "\n")
	return slices.DeleteFunc(all, func(l string) bool { return l == "" })
}

// called holds the calls against words that each must have, in order.
func (w *workshop) called(what string, want ...[]string) {
	w.t.Helper()
	// A script's own lines are lines of the file, too.
	text := strings.Join(w.calls(), "\n")
	rest := text
	for _, words := range want {
		for _, word := range words {
			_, after, ok := strings.Cut(rest, word)
			if !ok {
				w.t.Errorf("%s: no %q, in this order, in\n%s", what, word, text)
				return
			}
			rest = after
		}
	}
	n := 0
	for line := range strings.Lines(text) {
		if first, _, _ := strings.Cut(line, " ["); slices.Contains([]string{"mmdebstrap", "systemd-nspawn", "mke2fs", "debugfs",
			"linux.uml", "cp",
			"truncate"}, first) && strings.Contains(line, " [") {
			n++
		}
	}
	if n != len(want) {
		w.t.Errorf("%s: %d calls, want %d:\n%s", what, n, len(want), text)
	}
}

// failing has a program fail while act runs.
func (w *workshop) failing(name string, act func() error, want ...string) {
	w.t.Helper()
	file := w.put(name+".fails", "")
	err := act()
	if err := os.Remove(file); err != nil {
		w.t.Fatal(err)
	}
	w.calls()
	for _, s := range append(want, "exit status 7") {
		if err == nil || !strings.Contains(err.Error(), s) {
			w.t.Errorf("%s fails: %v; want %q", name, err, s)
		}
	}
}

func (w *workshop) reads(name, want string) {
	w.t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(w.dir, name)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != want {
		w.t.Errorf("%s holds %.100q, %v; want %.100q", name, b, err, want)
	}
}

// mounts are those below the folder.
func (w *workshop) mounts() int {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Count(string(b), w.dir+"/")
}

// TestImagesAreMadeOnce: what a base and a layer are made of, by which programs, and that half a one is never used.
func TestImagesAreMadeOnce(t *testing.T) {
	if !means.Inside(t, unix.CLONE_NEWNS, 5*means.Patience) {
		return
	}
	w := newWorkshop(t)
	im := Images{Dir: w.mkdir("images")}
	plain := Recipe{Name: "plain", Release: "bookworm"}
	layers := func(r Recipe) []string {
		t.Helper()
		all, err := im.Layer(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	w.failing("mmdebstrap", func() error { _, err := im.Layer(t.Context(), plain); return err }, "building the base of bookworm: mmdebstrap: ",
		"\n16\n17\n", "\n30")
	w.failing("systemd-nspawn", func() error { _, err := im.Layer(t.Context(), plain); return err }, "building the base of bookworm: ")
	base := layers(plain)
	if len(base) != 1 || filepath.Dir(base[0]) != im.Dir || !strings.HasPrefix(filepath.Base(base[0]), "base-bookworm-") {
		t.Fatalf("the base is %q", base)
	}
	w.called("a base", []string{"mmdebstrap [--mode=root] [--variant=important] [--include=dbus,openssh-server",
		"[bookworm] [images/base-bookworm-",
		".part] [deb http://deb.debian.org/debian bookworm main] [deb http://deb.debian.org/debian bookworm-updates main] [deb " +
			"http://deb.debian.org/debian-security bookworm-security main]"},
		[]string{"systemd-nspawn [-q] [--register=no] [--keep-unit] [-D] [images/base-bookworm-",
			".part] [--resolv-conf=copy-host]", "[-exc] [" + installed})
	if again := layers(plain); !slices.Equal(again, base) {
		t.Errorf("the base is %q, and was %q", again, base)
	}
	w.called("a base that is there")
	more := Recipe{Name: "more", Release: "bookworm", Packages: []string{"nginx", "curl"}, Build: "echo built"}
	got := layers(more)
	if len(got) != 2 || !strings.HasPrefix(filepath.Base(got[0]), "more-") || got[1] != base[0] {
		t.Fatalf("the layers are %q, above %q", got, base)
	}
	w.called("a layer",
		[]string{"[/bin/sh] [-exc] [apt-get update -q\napt-get install -y -q -o Dpkg::Options::=--force-unsafe-io nginx curl\n" +
			"apt-get clean\necho built]"})
	layers(more)
	w.called("a layer that is there")
	built, bare := Recipe{Name: "more", Release: "bookworm", Build: "echo built"}, more
	bare.Bare = true
	for _, r := range []Recipe{built, bare} {
		if l := layers(r); l[0] == got[0] {
			t.Errorf("%+v is the layer of another", r)
		}
	}
	w.called("others", []string{"[-exc] [echo built]"}, []string{"--force-unsafe-io --no-install-recommends nginx curl\n"})
	w.failing("systemd-nspawn", func() error {
		r := more
		r.Build = "other"
		_, err := im.Layer(t.Context(), r)
		return err
	}, "building the layer of more: systemd-nspawn: ")
	if n := w.mounts(); n != 0 {
		t.Errorf("%d mounts stay", n)
	}
	// Keys that are not the known ones are not believed.
	if _, err := im.Layer(t.Context(), Recipe{Name: "u", Release: "jammy"}); err == nil || !strings.Contains(err.Error(),
		"building the base of jammy: ubuntu-keyring has the sum ") || !strings.Contains(err.Error(), ", not 80a36b0a6de2") {
		t.Errorf("other keys: %v", err)
	}
	w.called("keys", []string{"mmdebstrap [--mode=root] [--variant=extract] [--include=ubuntu-keyring] [noble] [",
		"/root] [deb [trusted=yes] " +
			"http://archive.ubuntu.com/ubuntu noble main]"})
	w.failing("mmdebstrap", func() error { _, err := im.Layer(t.Context(), Recipe{Release: "noble"}); return err },
		"building the base of noble: ")
}

// TestHostsAreBooted: what a host is given, how it is booted, and where its answers are.
func TestHostsAreBooted(t *testing.T) {
	if !means.Inside(t, unix.CLONE_NEWNS, 5*means.Patience) {
		return
	}
	w := newWorkshop(t)
	lower, fettle := w.mkdir("lower"), w.dir+"/fettle"
	w.mkdir("lower/etc")
	r := Recipe{Name: "web", Begin: "begin here", Inside: "look inside"}
	got, err := Boot(t.Context(), "container", r, []string{lower}, fettle, w.mkdir("one"))
	if err != nil || got != w.dir+"/one/up/var/lib/park" {
		t.Fatalf("%s, %v", got, err)
	}
	w.called("a container", []string{"systemd-nspawn [-q] [--register=no] [--keep-unit] [-M] [park-web] [-D] [one/mount-",
		"/root] [--private-network] [--resolv-conf=off] [--boot]"})
	for name, text := range map[string]string{"local/bin/fettle": "FETTLE", "local/lib/park/ask": ask, "local/lib/park/begin": "begin here",
		"local/lib/park/inside": "look inside"} {
		w.reads("one/up/usr/"+name, text)
	}
	w.reads("one/up/etc/systemd/system/park.service", unit)
	w.reads("one/up/etc/systemd/system/graphical.target.wants/park.service", unit)
	if left, _ := filepath.Glob(w.dir + "/lower/*/*"); len(left) != 1 || w.mounts() != 0 {
		t.Errorf("the image holds %q, and %d mounts stay", left, w.mounts())
	}
	r.Privileged = true
	if _, err := Boot(t.Context(), "container", r, []string{lower}, fettle, w.mkdir("two")); err != nil {
		t.Error(err)
	}
	w.called("a container that may",
		[]string{"systemd-nspawn [--capability=all] [--system-call-filter=@mount @raw-io @keyring bpf perf_event_open] [-q]"})

	r.Disks = []int{64, 128}
	got, err = Boot(t.Context(), "machine", r, []string{lower}, fettle, w.mkdir("three"))
	if err != nil || got != w.dir+"/three/park" {
		t.Errorf("%s, %v", got, err)
	}
	w.called("a machine", []string{"cp [-a] [/usr/lib/uml/modules/.] [three/mount-", "/root/lib/modules]"},
		[]string{"mke2fs [-q] [-t] [ext4] [-U] [" + rootUUID + "] [-d] [three/mount-", "/root] [three/disk] [6G]"},
		[]string{"truncate [-s] [64M] [three/disk1]"}, []string{"truncate [-s] [128M] [three/disk2]"},
		[]string{"linux.uml [mem=768M] [ubd0=three/disk] [root=/dev/ubda] [ro] [con=null] [con0=null,fd:1] " +
			"[ubd1=three/disk1] [ubd2=three/disk2]"},
		[]string{"debugfs [-R] [rdump /var/lib/park ", "three] [three/disk]"})
	w.reads("three/up/etc/fstab", rootEntry)
	if b, err := os.ReadFile(w.dir + "/env"); err != nil || !strings.Contains("\n"+string(b), "\nTMPDIR=/dev/shm\n") {
		t.Errorf("a machine's memory is not in memory: %q, %v", b, err)
	}
	w.put("lower/etc/fstab", "# as installed\n")
	n := 0
	boot := func(way string) error {
		n++
		_, err := Boot(t.Context(), way, r, []string{lower}, fettle, w.mkdir(fmt.Sprint("failing", n)))
		return err
	}
	for tool, want := range map[string]string{"cp": "giving the host the kernel's modules: cp: ", "mke2fs": "mke2fs: ",
		"truncate":  "truncate: ",
		"linux.uml": "the host did not run to its end: ", "debugfs": "debugfs: "} {
		w.failing(tool, func() error { return boot("machine") }, want)
	}
	w.failing("systemd-nspawn", func() error { return boot("container") }, "the host did not run to its end: exit status 7\n11\n", "\n30")
	if err := boot("machine"); err != nil {
		t.Error(err)
	}
	w.calls()
	w.reads(fmt.Sprint("failing", n, "/up/etc/fstab"), "# as installed\n"+rootEntry)
	if _, err := Boot(t.Context(), "container", r, []string{lower}, w.dir+"/none", w.mkdir("four")); err == nil ||
		!strings.Contains(err.Error(), "preparing the host: open "+w.dir+"/none") {
		t.Errorf("no fettle: %v", err)
	}
	if _, err := Boot(t.Context(), "container", r, []string{w.dir + "/none"}, fettle, w.mkdir("five")); err == nil ||
		!strings.Contains(err.Error(), "mounting an overlay of "+w.dir+"/none: ") {
		t.Errorf("no image: %v", err)
	}
	if _, err := Boot(t.Context(), "container", r, []string{lower}, fettle, w.dir+"/one"); !errors.Is(err, os.ErrExist) {
		t.Errorf("where a host was booted already: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Boot(ctx, "container", r, []string{lower}, fettle, w.mkdir("six")); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	if n := w.mounts(); n != 0 {
		t.Errorf("%d mounts stay", n)
	}
}

// TestHostsAreUpgraded: a host is booted before, for and after its upgrade, mended first where that is asked.
func TestHostsAreUpgraded(t *testing.T) {
	if !means.Inside(t, unix.CLONE_NEWNS, 5*means.Patience) {
		return
	}
	w := newWorkshop(t)
	lower, fettle, debs := w.mkdir("lower"), w.dir+"/fettle", w.dir+"/debs"
	u := Upgraded{Name: "db", Cases: []Case{{Prepare: "p", Works: "w", Mend: "m", After: "a", Install: []string{"one", "two"}},
		{Works: "w2", Sources: true, Install: []string{"three"}}}}
	boot := []string{"systemd-nspawn [--bind=debs:/var/cache/apt/archives] [-q]", "[-M] [park-upgraded-db] [-D]", "[--boot]"}
	load := []string{"systemd-nspawn [--bind=debs:/var/cache/apt/archives] [-q]", "[--resolv-conf=copy-host]", fetch}
	got, err := u.Upgrade(t.Context(), []string{lower}, false, fettle, debs, w.mkdir("plain"))
	if err != nil || got != w.dir+"/plain/up/var/lib/park" {
		t.Fatalf("%s, %v", got, err)
	}
	w.called("an upgrade", boot, load, boot, boot)
	w.reads(got+"/saw", "prepareupgradeupgradeafter")
	lib := "plain/up/usr/local/lib/park/"
	for name, text := range map[string]string{"ask": upgrade, "cases/00/prepare": "p", "cases/00/works": "w", "cases/00/mend": "m",
		"cases/00/after": "a", "cases/01/works": "w2", "cases/01/sources": "yes"} {
		w.reads(lib+name, text)
	}
	for _, name := range []string{"cases/00/sources", "cases/01/prepare", "mended"} {
		if _, err := os.Stat(filepath.Join(w.dir, lib, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	w.reads("plain/up/etc/systemd/system/park.service", strings.Replace(unit, "multi-user", "basic", 1))
	w.reads("plain/up/etc/systemd/system.conf.d/park.conf", "[Manager]\nDefaultTimeoutStopSec=20s\n")
	if st, err := os.Stat(debs + "/partial"); err != nil || !st.IsDir() {
		t.Errorf("apt has no folder for what it loads: %v", err)
	}
	if _, err := u.Upgrade(t.Context(), []string{lower}, true, fettle, debs, w.mkdir("mended")); err != nil {
		t.Error(err)
	}
	w.called("one that is mended",
		[]string{"[-exc] [apt-get update -q\napt-get install -y -q --no-install-recommends one two three]"}, boot, load, boot,
		boot)
	w.reads("mended/up/usr/local/lib/park/mended", "")
	if _, err := (&Upgraded{Name: "db"}).Upgrade(t.Context(), []string{lower}, true, fettle, debs, w.mkdir("nothing")); err != nil {
		t.Error(err)
	}
	w.called("one for which nothing is to be installed", boot, load, boot, boot)
	w.failing("systemd-nspawn", func() error {
		_, err := u.Upgrade(t.Context(), []string{lower}, false, fettle, debs, w.mkdir("failing"))
		return err
	}, "prepare: the host did not run to its end: ")
	w.failing("systemd-nspawn", func() error {
		_, err := u.Upgrade(t.Context(), []string{lower}, true, fettle, debs, w.mkdir("failing2"))
		return err
	}, "systemd-nspawn: ")
	if _, err := u.Upgrade(t.Context(), []string{lower}, false, w.dir+"/none", debs, w.mkdir("failing3")); err == nil ||
		!strings.Contains(err.Error(), "preparing the host: open "+w.dir+"/none") {
		t.Errorf("no fettle: %v", err)
	}
	if n := w.mounts(); n != 0 {
		t.Errorf("%d mounts stay", n)
	}
	// Without the next release's packages there is no upgrade.
	w.put("bin/systemd-nspawn", "#!/bin/sh\ncase \"$*\" in *full-upgrade*) exit 7;; esac\n")
	if err := os.Chmod(w.dir+"/bin/systemd-nspawn", 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := u.Upgrade(t.Context(), []string{lower}, false, fettle, debs, w.mkdir("failing4")); err == nil ||
		!strings.Contains(err.Error(), "loading the next release: ") {
		t.Errorf("a release that cannot be loaded: %v", err)
	}
	if _, err := exec.LookPath("systemd-nspawn"); err != nil {
		t.Error(err)
	}
}

// TestAnswersAreJudged: what a host has left is read whole, or what it has not left is named.
func TestAnswersAreJudged(t *testing.T) {
	w := &workshop{t: t, dir: t.TempDir()}
	u := Upgraded{Name: "db", Failing: []string{"known.service"}, Cases: []Case{{Name: "hit", Trap: "a", On: "x",
		Units: []string{"x.service"}},
		{Name: "apt", Trap: "b", Sources: true}, {Name: "fine", Like: true}}}
	judge := func(want string) Result {
		t.Helper()
		r, err := u.Judge(w.dir)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Fatalf("%v, want %q", err, want)
		}
		return r
	}
	judge("the host left no told.json")
	w.put("told.json", "{")
	judge("reading told.json: ")
	w.put("told.json", `{"verdict": "breaks", "stops": ["a:x"], "changes": ["b"], "report": {"results": [`+
		`{"trap": "a", "outcomes": [{"subject": "x", "status": "found"}, {"subject": "y", "status": "found"}]},`+
		`{"trap": "b", "outcomes": [{"status": "found"}]}]}}`)
	judge("the host left no failed.after")
	w.put("failed.after", "new.service loaded failed\n\nold.service loaded failed\nx.service loaded\nknown.service x\n")
	judge("the host left no failed.before")
	w.put("failed.before", "old.service loaded failed\n")
	judge("upgrade.log")
	w.put("upgrade.log", "Unpacking first\nUnpacking a\nUnpacking b\n not Unpacking\n")
	for name, status := range map[string]string{"before/00": "0\n", "before/01": "0\n", "before/02": "0", "after/00": "1\n", "after/01": "0\n",
		"sources/01": "100\n", "after/02": "0\n"} {
		w.put(name+".status", status)
	}
	r := judge("")
	if r.Host != "db" || r.Verdict != "breaks" || r.Packages != 2 || !slices.Equal(r.Failing, []string{"new.service"}) {
		t.Errorf("%+v", r)
	}
	for i, want := range []Fate{{Told: true, Before: true}, {Told: true, Before: true}, {Before: true, After: true}} {
		if f := r.Fates[i]; f.Told != want.Told || f.Before != want.Before || f.After != want.After {
			t.Errorf("%s: %+v", f.Name, f)
		}
	}
	if n := len(r.Unasked); n != 0 {
		t.Errorf("%d findings of no case: %+v", n, r.Unasked)
	}

	w.put("report.json", `{"results": [{"trap": "b", "outcomes": [{"subject": "z", "status": "clear"}, {"subject": "a", "status": "found"}]},`+
		`{"trap": "a", "outcomes": [{"subject": "q", "status": "unknown", "reason": "r"}]}]}`)
	all, err := read(w.dir + "/report.json")
	if err != nil || !slices.Equal(all, []Outcome{{Trap: "a", Subject: "q", Status: "unknown", Reason: "r"}, {Trap: "b",
		Subject: "a", Status: "found"},
		{Trap: "b", Subject: "z", Status: "clear"}}) {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := read(w.dir + "/none.json"); err == nil || err.Error() != "the host left no none.json" {
		t.Error(err)
	}
	if got, want := row("h", "l", all), (Row{Host: "h", Look: "l", Found: 1, Unknown: 1, Cleared: 1}); got != want {
		t.Errorf("%+v", got)
	}
	if err := readJSON(w.dir, nil); err == nil || strings.Contains(err.Error(), "left no") {
		t.Errorf("a folder: %v", err)
	}
	if got := lastLines("a\nb\nc\n", 2); got != "b\nc" || lastLines("a", 2) != "a" {
		t.Errorf("the last lines are %q", got)
	}
}

// TestFreshHostsAreMild: what a distribution leaves is worth a notice at most.
func TestFreshHostsAreMild(t *testing.T) {
	mild := []Outcome{{Trap: "a", Status: "found", Severity: "notice"}, {Trap: "b", Status: "clear"}, {Trap: "c", Status: "unknown"}}
	if err := Mild(mild); err != nil {
		t.Error(err)
	}
	if err := Mild(append(mild, Outcome{Trap: "d", Subject: "s", Status: "found", Severity: "warning"})); err == nil ||
		err.Error() != `d on "s" is worth warning on a fresh host` {
		t.Error(err)
	}
	if plain, sinner := (Recipe{}).screen(), (Recipe{Sinner: true}).screen(); plain != 24 || sinner != 40 {
		t.Errorf("a screen has %d lines, a sinner's %d", plain, sinner)
	}
}

// TestSOS3: a report looks as one that sos 3.9 has made, whichever of the new files it had.
func TestSOS3(t *testing.T) {
	w := &workshop{t: t, dir: t.TempDir()}
	if err := AsSOS3(w.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no report: %v", err)
	}
	for _, name := range []string{"sos_reports/manifest.json", "sos_reports/sos.json", "sos_reports/sos.txt"} {
		w.put(name, "x")
	}
	for range 2 {
		w.put("version.txt", "a\nsosreport: 4.8.2\nb\n")
		if err := AsSOS3(w.dir); err != nil {
			t.Error(err)
		}
		w.reads("version.txt", "a\nsosreport: 3.9\nb\n")
	}
	if left, _ := filepath.Glob(w.dir + "/sos_reports/*"); len(left) != 1 || filepath.Base(left[0]) != "sos.txt" {
		t.Errorf("left: %q", left)
	}
	w.put("sos_reports/sos.json/x", "")
	if err := AsSOS3(w.dir); err == nil {
		t.Error("what cannot be removed is no error")
	}
}

// TestRecipesAreStrict: what is wrong with a recipe, or with what is expected of a host, is said with its file.
func TestRecipesAreStrict(t *testing.T) {
	for text, want := range map[string]string{
		"release: bookworm\n":                                   "a.yaml: about is missing",
		"about: x\nrelease: potato\n":                           `a.yaml: release "potato" is none of bullseye, bookworm, trixie, noble, jammy`,
		"about: x\nrelease: jammy\nboots: [machine, bicycle]\n": `a.yaml: boots: "bicycle" is none of container, machine`,
		"about: x\nrelease: jammy\nbuilds: x\n":                 "a.yaml: ",
	} {
		if _, err := Recipes(fstest.MapFS{"a.yaml": {Data: []byte(text)}}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	all, err := Recipes(fstest.MapFS{"b.yaml": {Data: []byte("about: x\nrelease: jammy\n")},
		"a.yaml": {Data: []byte("about: y\nrelease: noble\n" +
			"boots: [machine]\n")}, "c.txt": {}})
	if err != nil || len(all) != 2 || all[0].Name != "a" || all[1].Name != "b" || !slices.Equal(all[0].Boots, []string{"machine"}) ||
		!slices.Equal(all[1].Boots, []string{"container"}) {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := Recipes(fstest.MapFS{"a.yaml/x": {}}); err == nil {
		t.Error("a recipe that cannot be read")
	}
	good := "found: [{trap: a, why: w, in: [inside]}]\n"
	for text, want := range map[string]string{
		"found: [{why: w}]\n":                        "h.yaml: \"\": trap and why are both needed",
		"clear: [{trap: a}]\n":                       "h.yaml: \"a\": trap and why are both needed",
		"unknown: [{trap: a, why: w, in: [afar]}]\n": `h.yaml: a: there is no look "afar"`,
		"why: [{trap: a, why: w, inn: [x]}]\n":       "h.yaml: ",
		good:                                         "open common.yaml",
	} {
		if _, _, err := Expectations(fstest.MapFS{"h.yaml": {Data: []byte(text)}}, "h"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, _, err := Expectations(fstest.MapFS{"common.yaml": {}}, "h"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing expected: %v", err)
	}
	own, common, err := Expectations(fstest.MapFS{"h.yaml": {Data: []byte(good)},
		"common.yaml": {Data: []byte("clear: [{trap: c, why: w}]\n")}}, "h")
	if err != nil || len(own.Found) != 1 || len(common.Clear) != 1 || len(own.Clear)+len(common.Found) != 0 {
		t.Errorf("%+v, %+v, %v", own, common, err)
	}
	one, other := Outcome{Trap: "a", Subject: "x", Status: "found"}, Outcome{Trap: "a", Subject: "x", Status: "found", Summary: "s"}
	if err := Same([]Outcome{one}, []Outcome{other}); err == nil || err.Error() != "the replay lacks: a on \"x\" found\n"+
		"only the replay has: a on \"x\" found ()" {
		t.Error(err)
	}
}
