package powercut

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/host/mdraid"
	"fettle/internal/means"
	"fettle/lab"
	"fettle/lab/labtest"
)

const mdDir = "/sys/block/md0/md"

// room stands in for a machine: an array that is files, and programs that end as written.
type room struct {
	t *testing.T
	labtest.Scripted[outcome]
}

type outcome struct {
	out  string
	code int
	act  func()
}

func (r *room) exec(argv []string) (string, int, error) {
	end := r.Run(argv)
	if end.act != nil {
		end.act()
	}
	return end.out, end.code, nil
}

// runs are the commands since it was last asked.
func (r *room) runs() string {
	all := strings.Join(r.Ran, "; ")
	r.Ran = nil
	return all
}

func (r *room) disk(parts ...string) *disk {
	return &disk{b: &lab.Bench{Exec: r.exec}, members: len(parts), parts: parts}
}

func (r *room) md(files map[string]string) {
	r.t.Helper()
	for name, text := range files {
		put(r.t, filepath.Join(mdDir, name), text)
	}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o640), os.Chmod(name, 0o640)); err != nil {
		t.Fatal(err)
	}
}

// wants holds an error against what it must say; empty: there is none.
func wants(t *testing.T, what string, err error, want string) {
	t.Helper()
	if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v; want %q", what, err, want)
	}
}

// TestInARoom tries, in a mount namespace where nothing is this machine's own, what a power cut's trials do to files, and
// to an array that is made of files.
func TestInARoom(t *testing.T) {
	if !means.Inside(t, unix.CLONE_NEWNS|unix.CLONE_NEWPID, 5*means.Patience) {
		return
	}
	for _, dir := range []string{"/run", "/etc", "/sys/block", "/proc/sys", "/dev/mapper"} {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil && !errors.Is(err, unix.ENOENT) {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		test func(t *testing.T, r *room)
	}{{"arrays", arraysInARoom}, {"disks", disksInARoom}, {"configurations", confInARoom}, {"journals", journalsInARoom},
		{"ends", endsInARoom},
		{"files", filesInARoom}, {"cuts", cutsInARoom}} {
		ok := t.Run(c.name, func(t *testing.T) {
			for _, dir := range []string{top, confDir, "/sys/block/md0"} {
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
			}
			c.test(t, &room{t, labtest.Scripted[outcome]{Ends: map[string][]outcome{}}})
		})
		if !ok {
			return // what waits for an array would wait long now
		}
	}
}

// arraysInARoom: how arrays are started, watched and compared.
func arraysInARoom(t *testing.T, r *room) {
	d := r.disk("/dev/a", "/dev/b")
	if err := d.stopArray(); err != nil || r.runs() != "" {
		t.Errorf("an array that is not there is stopped: %v", err)
	}
	const assemble, stop, force = "mdadm --assemble /dev/md0 --run /dev/a /dev/b", "mdadm --stop /dev/md0",
		"mdadm --assemble /dev/md0 --run /dev/a /dev/b --force"
	fails := outcome{"first\nbusy", 1, nil}
	state := func(s string) outcome {
		return outcome{act: func() { r.md(map[string]string{"array_state": s + "\n"}) }}
	}
	for _, c := range []struct {
		name   string
		ends   map[string][]outcome
		forced bool
		ran    string
		fails  string
		isNew  string // what is said of one that was just made
	}{
		{"it starts", map[string][]outcome{assemble: {state("clean")}}, false, assemble, "", ""},
		{"inactive", map[string][]outcome{assemble: {state("inactive")}, force: {state("active")}}, true,
			assemble + "; " + stop + "; " + force, "",
			"the array that was just made does not start: mdadm needed --force"},
		{"mdadm fails", map[string][]outcome{assemble: {fails}, force: {state("active")}}, true, assemble + "; " + stop + "; " + force, "",
			"mdadm needed --force"},
		{"both fail", map[string][]outcome{assemble: {fails}, force: {fails}}, true, assemble + "; " + stop + "; " + force,
			assemble + ": exit status 1: busy; with --force: " + force + ": exit status 1: busy", "does not start: mdadm --assemble"},
		{"inactive with force", map[string][]outcome{assemble: {fails}, force: {state("inactive")}}, true, assemble + "; " + stop + "; " + force,
			`the array does not start, with --force neither: array_state "inactive"`, "array_state"},
		{"no state with force", map[string][]outcome{assemble: {state("")}, force: {state("")}}, true, assemble + "; " + stop + "; " + force,
			`the array does not start, with --force neither: array_state ""`, "array_state"},
	} {
		r.Ends = c.ends
		forced, err := d.assemble()
		if ran := r.runs(); forced != c.forced || ran != c.ran {
			t.Errorf("%s: forced %t; ran %s; want %t, %s", c.name, forced, ran, c.forced, c.ran)
		}
		wants(t, c.name, err, c.fails)
		r.Ends = c.ends
		wants(t, c.name+", just made", d.assembleNew(), c.isNew)
		r.runs()
	}
	r.md(map[string]string{"sync_action": "idle\n"})
	r.Ends = map[string][]outcome{}
	wants(t, "creating", d.createArray(Level{RAID: "10", Members: 2, Bitmap: "internal"}), "")
	if ran := r.runs(); !strings.HasSuffix(ran, "--metadata=1.2 --level=10 --raid-devices=2 --bitmap=internal /dev/a /dev/b") ||
		!strings.HasPrefix(ran, "mdadm --create /dev/md0 --run ") {
		t.Error(ran)
	}
	r.Ends = map[string][]outcome{"mdadm --create": {fails}}
	wants(t, "creating", d.createArray(Level{}), "exit status 1: busy")
	for out, want := range map[string]string{"No bad-blocks list configured on x\n": "false", "Bad-blocks list is empty in x\n": "true",
		"Bad-blocks on x:\n 1 for 8 sectors\n": "the bad blocks list of /dev/b: Bad-blocks on x"} {
		r.Ends = map[string][]outcome{"mdadm --examine-badblocks /dev/b": {{out, 0, nil}}}
		has, err := d.hasList(1)
		if got := fmt.Sprint(has); err == nil && got != want || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %s, %v", out, got, err)
		}
	}
	r.Ends = map[string][]outcome{"mdadm --examine": {fails}}
	_, err := d.hasList(0)
	wants(t, "a list that cannot be read", err, "exit status 1: busy")
	for text, want := range map[string]int{"0\n": 0, "2\n": 2, "x": -1, "": -1} {
		r.md(map[string]string{"degraded": text})
		if n := missing(); n != want {
			t.Errorf("%q: %d members are missing, want %d", text, n, want)
		}
	}
	// What waits ends with what it waits for, or after its time.
	for what, c := range map[string]struct {
		after time.Duration // it is idle
		want  string
		took  time.Duration
	}{"soon": {3 * time.Second, "", 3 * time.Second}, "never": {time.Hour, "/dev/md0 is still busy after a minute: resync", time.Minute}} {
		synctest.Test(t, func(t *testing.T) {
			r.md(map[string]string{"sync_action": "resync\n"})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				select {
				case <-time.After(c.after):
					r.md(map[string]string{"sync_action": "idle\n"})
				case <-ctx.Done():
				}
			}()
			began := time.Now()
			err := settled()
			cancel()
			wants(t, what, err, c.want)
			if took := time.Since(began); took < c.took || took > c.took+time.Second {
				t.Errorf("%s: after %s, want %s", what, took, c.took)
			}
		})
	}
	for what, c := range map[string]struct {
		ends []outcome
		want string
		n    int
	}{"at the third": {[]outcome{fails, fails, {}}, "", 3}, "never": {[]outcome{fails}, "exit status 1: busy", 50}} {
		synctest.Test(t, func(t *testing.T) {
			r.Ends = map[string][]outcome{stop: c.ends}
			wants(t, "stopped "+what, d.stopArray(), c.want)
			if n := strings.Count(r.runs(), stop); n != c.n {
				t.Errorf("stopped %s: %d tries, want %d", what, n, c.n)
			}
		})
	}
	// Rows of chunks are looked at one after the other, each to its end, and the window is opened again.
	r.md(map[string]string{"chunk_size": "4096\n", "mismatch_cnt": "8\n", "sync_action": "idle", "sync_min": "", "sync_max": "",
		"sync_completed": ""})
	if err := errors.Join(os.Remove(mdDir+"/sync_completed"), os.Symlink("sync_max", mdDir+"/sync_completed")); err != nil {
		t.Fatal(err)
	}
	got, err := rows(&mdraid.Superblock{Size: 20}, 3)
	var spans []string
	for _, x := range got {
		spans = append(spans, x.String())
	}
	if !slices.Equal(spans, []string{"sectors 0 to 7 of members [0 1 2]", "sectors 8 to 15 of members [0 1 2]"}) || err != nil ||
		md("sync_max") != "max" ||
		md("sync_min") != "0" || md("sync_action") != "idle" {
		t.Fatalf("%q, %v; the window is %s to %s, md %s", spans, err, md("sync_min"), md("sync_max"), md("sync_action"))
	}
	r.md(map[string]string{"mismatch_cnt": "0\n"})
	if got, err := rows(&mdraid.Superblock{Size: 16}, 3); len(got) > 0 || err != nil {
		t.Errorf("of equal copies: %v, %v", got, err)
	}
	r.md(map[string]string{"mismatch_cnt": "8\n"})
	if got, err := rows(&mdraid.Superblock{Size: 16}, 3); len(got) != 2 || err != nil {
		t.Errorf("to the end of the last row: %v, %v", got, err)
	}
	for _, size := range []string{"0\n", "511", "x"} {
		r.md(map[string]string{"chunk_size": size})
		_, err := rows(&mdraid.Superblock{Size: 16}, 3)
		wants(t, "chunks", err, "the array has chunks of ")
	}
	if err := os.Remove(mdDir + "/sync_completed"); err != nil {
		t.Fatal(err)
	}
	r.md(map[string]string{"sync_completed": "8 / 16\n", "sync_max": "16\n"})
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := scrubWindow()
		wants(t, "a check that does not go on", err, "a check up to sector 16 stays at 8 / 16")
		if took := time.Since(began); took < 10*time.Second || took > 11*time.Second {
			t.Errorf("it was waited for for %s", took)
		}
	})
	if err := os.RemoveAll("/sys/block/md0"); err != nil {
		t.Fatal(err)
	}
	_, err1 := scrub("check")
	_, err2 := scrubWindow()
	if !errors.Is(err1, os.ErrNotExist) || !errors.Is(err2, os.ErrNotExist) {
		t.Errorf("no array: %v, %v", err1, err2)
	}
}

// disksInARoom: disks are made as large as they must be, and what was mounted goes in the end; without device mapper
// nothing is recorded, and that is said.
func disksInARoom(t *testing.T, r *room) {
	n := 0
	r.Ends = map[string][]outcome{"losetup": {{out: "/dev/loop7\n"}, {out: "/dev/loop8\n"}, {out: "/dev/loop9\n"}}}
	b := &lab.Bench{Exec: r.exec}
	d, err := newDisk(b, 2)
	if err != nil {
		t.Fatal(err)
	}
	if d.loop != "/dev/loop7" || d.logLoop != "/dev/loop8" || d.spareLp != "/dev/loop9" || r.runs() != "losetup --find --show "+d.file+
		"; losetup --find --show "+d.logFile+"; losetup --find --show "+d.spare {
		t.Errorf("%+v", d)
	}
	for name, size := range map[string]int64{d.file: 72 * mib, d.logFile: logSize, d.spare: spareSize} {
		if st, err := os.Stat(name); err != nil || st.Size() != size {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	if err := os.WriteFile(d.spare, make([]byte, mib), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Truncate(d.spare, spareSize), d.forget()); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(d.spare)
	if err != nil || st.Size() != spareSize || st.Sys().(*syscall.Stat_t).Blocks != 0 {
		t.Errorf("the spare is not forgotten: %+v, %v", st, err)
	}
	// What is mounted last goes first, and a busy one in time.
	for _, dir := range []string{rootDir, confDir, dataDir} {
		if err := d.mount("tmpfs", dir, "tmpfs", 0); err != nil {
			t.Fatal(err)
		}
		put(t, dir+"/x", "x")
	}
	if err := d.mount("/none", dataDir, "tmpfs-none", 0); err == nil || !strings.Contains(err.Error(),
		"mounting /none on "+dataDir+": ") || len(d.mounted) != 3 {
		t.Errorf("%v, mounted %q", err, d.mounted)
	}
	if err := d.unmountData(); err != nil || len(d.mounted) != 2 {
		t.Errorf("%v, mounted %q", err, d.mounted)
	}
	if err := d.unmountData(); err != nil || len(d.mounted) != 2 {
		t.Errorf("what is not mounted is unmounted: %v, mounted %q", err, d.mounted)
	}
	if err := d.close(); err != nil || len(d.mounted) != 0 {
		t.Errorf("%v, mounted %q", err, d.mounted)
	}
	for _, dir := range []string{rootDir, confDir, dataDir} {
		if _, err := os.Stat(dir + "/x"); err == nil {
			t.Errorf("%s is still mounted", dir)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		d.mounted = []string{"/none"}
		wants(t, "what cannot be unmounted", d.close(), "unmounting /none: ")
		d.mapped = []string{"one", "two"}
		began := time.Now()
		if err := d.close(); !errors.Is(err, os.ErrNotExist) || d.mapped != nil || time.Since(began) < 2*time.Second {
			t.Errorf("without device mapper: %v after %s, mapped %q", err, time.Since(began), d.mapped)
		}
	})
	// Without device mapper.
	_, err1 := mapDevice("x")
	_, err2 := status("x")
	put(t, "/sys/block/loop7/queue/write_cache", "write back\n")
	for what, err := range map[string]error{"mapDevice": err1, "status": err2, "mark": mark("x", "y"), "mapOn": d.mapOn("/dev/x", false),
		"record": d.record(), "replay": d.replay(&Log{}, Cut{}, false), "files": filesCase{}.prepare(d)} {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s without device mapper: %v", what, err)
		}
	}
	if b, _ := os.ReadFile("/sys/block/loop7/queue/write_cache"); string(b) != "write through" {
		t.Errorf("the disk that is recorded has a cache: %q", b)
	}
	_, _, err3 := d.recordWhile(func() error { t.Error("what nobody records is done"); return nil })
	r2 := raidCase{}.trial(d, &Log{}, Cut{}, 2, nil)
	var r3 result
	err4 := filesCase{}.trial(t.Context(), d, &Log{}, Cut{}, 0, &r3, nil, nil, nil)
	for what, err := range map[string]error{"recordWhile": err3, "a trial": r2.err, "a trial of files": err4} {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s without device mapper: %v", what, err)
		}
	}
	if !r2.resume || (raidCase{}).trial(d, &Log{}, Cut{}, 1, nil).resume || r2.lost || r3.lost || r2.finished {
		t.Errorf("%+v, %+v", r2, r3)
	}
	for what, err := range map[string]error{"the remedies": raidCase{}.live(d), "beside syncs": raidCase{}.besideSyncs(d),
		"a root": d.mountRoot()} {
		wants(t, what+" without a root", err, "mounting  on "+rootDir+": ")
	}
	r.Ends["mkfs.ext4"] = []outcome{{"no room", 1, nil}}
	wants(t, "a root that is not made", d.makeRoot(), "exit status 1: no room")
	d.loop = "/dev/loop0none"
	wants(t, "a disk without a queue", d.record(), "taking the cache from the disk that is recorded: ")
	w := startWriter(dataDir+"/records", "recorded")
	if err := w.end(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a writer whose marks are lost: %v", err)
	}
	if err := intact(dataDir+"/records", 1); err != nil {
		t.Error(err)
	}
	if err := startWriter("/none/records", "recorded").end(); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := synced(dataDir+"/one", 7); err != nil {
		t.Error(err)
	}
	if b, _ := os.ReadFile(dataDir + "/one"); string(b) != "7\n" || synced("/none/x", 1) == nil {
		t.Errorf("%q", b)
	}
	// An experiment says where it came to grief.
	for what, c := range map[string]struct {
		ends map[string][]outcome
		want string
	}{"losetup": {map[string][]outcome{"losetup": {{"no loop", 1, nil}}}, "exit status 1: no loop"},
		"the rest": {map[string][]outcome{"losetup": {{out: "/dev/loop7\n"}}}, "no such file or directory"}} {
		for _, e := range Experiments {
			if !strings.HasSuffix(e.Name, "-sample") && !strings.HasSuffix(e.Name, "-syncs") {
				continue
			}
			n++
			r.Ends = c.ends
			err := e.Run(t.Context(), b)
			wants(t, e.Name+", "+what, err, c.want)
			if what == "the rest" && strings.Contains(e.Name, "raid") && !strings.Contains(err.Error(), "preparing the array: ") {
				t.Errorf("%s: %v", e.Name, err)
			}
			unix.Unmount(top+"/mem", unix.MNT_DETACH)
		}
	}
	if n != 6 {
		t.Errorf("%d experiments were tried", n)
	}
	unix.Unmount(top+"/mem", unix.MNT_DETACH)
}

// confInARoom: mdadm.conf is the old one, the new one, or wrong; and lies are told of it.
func confInARoom(t *testing.T, r *room) {
	const name = confDir + "/mdadm.conf"
	mended := strings.Replace(confText, "owner=root", "owner=root bbl=no", 1)
	for _, c := range []struct {
		text   string
		mended bool
		fails  string
	}{{confText, false, ""}, {mended, true, ""}, {"", false, name + ` is neither the old nor the new one: ""`}, {confText[:9], false, "neither"}} {
		put(t, name, c.text)
		is, err := conf()
		if is != c.mended {
			t.Errorf("%q: mended %t", c.text, is)
		}
		wants(t, c.text, err, c.fails)
	}
	put(t, name, mended)
	if err := os.Chmod(name, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := conf()
	wants(t, "another mode", err, name+" has mode -rw-------, and had -rw-r-----")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if _, err := conf(); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	put(t, top+"/x", "")
	if err := bootID("trial-7"); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(os.Getenv("FETTLE_BOOT_ID_FILE")); err != nil || string(b) != "trial-7\n" || os.Getenv("FETTLE_STATE") != state {
		t.Errorf("fettle takes it for boot %q, %v, with its state in %s", b, err, os.Getenv("FETTLE_STATE"))
	}
	// Each lie that is told of files is what the trial says of them.
	tell := func(lies []lie, name string) {
		t.Helper()
		i := slices.IndexFunc(lies, func(l lie) bool { return l.name == name })
		if i < 0 {
			t.Fatalf("no lie %q", name)
		}
		if err := lies[i].tell(r.disk("/dev/a", "/dev/b", "/dev/c")); err != nil {
			t.Fatal(err)
		}
	}
	array := raidCase{Level: Level{Members: 4}}.lies()
	put(t, name, mended)
	tell(array, "half a configuration")
	_, err = conf()
	wants(t, "half a configuration", err, "neither the old nor the new one")
	tell(array, "a configuration that is the old one")
	if is, err := conf(); is || err != nil {
		t.Errorf("the old one: %t, %v", is, err)
	}
	tell(array, "a configuration changed behind the undo")
	_, err = conf()
	wants(t, "behind the undo", err, "has mode")
	put(t, state+"/changes/1", "x")
	tell(array, "no journal")
	if _, err := os.Stat(state + "/changes"); !errors.Is(err, os.ErrNotExist) {
		t.Error("the journal is there")
	}
	tell(array, "two members out")
	if ran := r.runs(); ran != "mdadm /dev/md0 --fail /dev/a; mdadm /dev/md0 --fail /dev/c" {
		t.Error(ran)
	}
	if two := (raidCase{Level: Level{Members: 2}}).lies(); len(two) != len(array)-1 || slices.ContainsFunc(two, func(l lie) bool {
		return l.name == "two members out"
	}) {
		t.Error("both members of a mirror go")
	}
	for _, l := range append(array, filesLies...) {
		if l.mark == "" || l.want == "" || l.when == noLie {
			t.Errorf("%+v", l)
		}
	}
	if halve("/none")(nil) == nil {
		t.Error("half of nothing")
	}
}

// change leaves a change of a subject in fettle's journal: as applied, or taken back.
func change(t *testing.T, subject string, undone bool) {
	t.Helper()
	e, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Store.Close()
	file := filepath.Join(rootDir, strings.ReplaceAll(subject, "/", "-"))
	_, err = e.Apply(t.Context(), remedy.Head{Trap: "t", Subject: subject, Plan: remedy.Plan{Title: "a change", Steps: []step.Step{
		step.File{Path: file, Content: []byte("x"), Mode: 0o600}}}}, nil)
	if err == nil && undone {
		_, err = e.Undo(t.Context(), "", remedy.UndoOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// journalsInARoom: what the journal and mdadm.conf say is held against what had been said when the power went.
func journalsInARoom(t *testing.T, r *room) {
	const name, list = confDir + "/mdadm.conf", "md0/dm-2"
	mended := strings.Replace(confText, "owner=root", "owner=root bbl=no", 1)
	rc := raidCase{Level: Level{Members: 2}, trap: "t", confSubject: "mdadm.conf"}
	d := r.disk("/dev/a", "/dev/b")
	put(t, top+"/x", "")
	if err := bootID("one"); err != nil {
		t.Fatal(err)
	}
	has, hasNot := outcome{out: "Bad-blocks list is empty"}, outcome{out: "No bad-blocks list configured"}
	for _, c := range []struct {
		name       string
		conf, list string // the changes: "", applied, undone
		mended     bool
		lists      outcome
		said       []string
		fails      string
	}{
		{"nothing yet", "", "", false, has, nil, ""},
		{"nothing, and it was said", "", "", false, has, []string{confFixed}, `fettle had said that mdadm.conf is mended; it is "" in the journal, mended: false`},
		{"mended as said", "applied", "", true, has, []string{confFixed}, ""},
		{"mended, not said yet", "applied", "", true, has, nil, ""},
		{"said, and not in the file", "applied", "", false, has, []string{confFixed}, "mended: false"},
		{"said, and taken back", "undone", "", true, has, []string{confFixed}, "fettle had said that mdadm.conf is mended"},
		{"mended without a word", "", "applied", true, has, nil, "mdadm.conf is mended, and no journal tells of it"},
		{"the list is gone as said", "applied", "applied", true, hasNot, []string{confFixed, listFixed}, ""},
		{"the list was said to be gone", "applied", "", true, hasNot, []string{confFixed, listFixed}, `fettle had said that the list is gone; the change is ""`},
		{"the undo had begun", "applied", "undone", true, has, []string{confFixed, listFixed, undoBegun}, ""},
		{"the list is back as said", "applied", "undone", true, has, []string{confFixed, listFixed, undoBegun, listUndone}, ""},
		{"the list was said to be back", "applied", "applied", true, hasNot, []string{confFixed, listFixed, undoBegun, listUndone},
			`fettle had said that the list is back; the change is "applied"`},
		{"the list is gone without a word", "applied", "", true, hasNot, []string{confFixed}, "the list is gone, and no journal tells of it"},
		{"the list cannot be read", "applied", "", true, outcome{"x", 1, nil}, nil, "exit status 1: x"},
	} {
		if err := os.RemoveAll(rootDir); err != nil {
			t.Fatal(err)
		}
		put(t, rootDir+"/x", "")
		if c.conf != "" {
			change(t, rc.confSubject, c.conf == "undone")
		}
		if c.list != "" {
			change(t, list, c.list == "undone")
		}
		put(t, name, confText)
		if c.mended {
			put(t, name, mended)
		}
		r.Ends = map[string][]outcome{"mdadm --examine-badblocks /dev/b": {c.lists}}
		k := facts{marks: map[string]bool{}}
		for _, m := range c.said {
			k.marks[m] = true
		}
		wants(t, c.name, rc.journal(d, k), c.fails)
		// There is nothing to look at before fettle has said or noted anything.
		if ran := r.runs(); (ran == "") != (c.conf == "" && c.list == "" && c.said == nil) || ran != "" &&
			!strings.HasPrefix(ran, "fettle changes") {
			t.Errorf("%s: ran %q", c.name, ran)
		}
	}
	change(t, list, false)
	r.Ends = map[string][]outcome{"fettle changes": {{"it is broken", 3, nil}}}
	wants(t, "a journal that cannot be shown", rc.journal(d, facts{}), "fettle changes: exit status 3: it is broken\nit is broken")
	// What was cut off is finished, or taken back, and compared with what came of it.
	r.runs()
	for _, c := range []struct {
		name   string
		resume bool
		ends   map[string][]outcome
		ran    string
		fails  string
	}{
		{"resumed", true, nil, "fettle resume", ""},
		{"resume fails", true, map[string][]outcome{"fettle resume": {{"no", 3, nil}}}, "fettle resume", "fettle resume: exit status 3: no"},
		{"undone", false, map[string][]outcome{"fettle undo": {{act: func() { undo(t) }}}}, "fettle undo --yes; fettle undo --yes", ""},
		{"nothing is left", false, nil, "", ""},
	} {
		r.Ends = c.ends
		wants(t, c.name, rc.act(d, c.resume), c.fails)
		if ran := r.runs(); ran != c.ran {
			t.Errorf("%s: ran %s, want %s", c.name, ran, c.ran)
		}
	}
	change(t, list, false)
	r.Ends = map[string][]outcome{"fettle resume": {{act: func() { undo(t) }}}}
	conf0, list0, _ := rc.changes()
	wants(t, "a resume that undoes", rc.act(d, true), fmt.Sprintf("resume made of %q, %q: %q, %q", conf0, list0, conf0, remedy.TakenBack))
	change(t, list, false)
	r.Ends = map[string][]outcome{"fettle undo": {{"no", 3, nil}}}
	wants(t, "an undo that fails", rc.act(d, false), "fettle undo --yes: exit status 3: no")
	r.Ends = nil
	wants(t, "an undo that does nothing", rc.act(d, false), "two changes are not undone after three undos")
}

// undo takes the last change back that is applied.
func undo(t *testing.T) {
	t.Helper()
	e, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Store.Close()
	if _, err := e.Undo(t.Context(), "", remedy.UndoOptions{}); err != nil {
		t.Fatal(err)
	}
}

// endsInARoom: in the end all is as fettle says: the configuration, the lists, the members, the bitmap, the records, the copies.
func endsInARoom(t *testing.T, r *room) {
	rc := raidCase{Level: Level{Members: 2, Bitmap: "internal"}, trap: "t", confSubject: "mdadm.conf"}
	d := r.disk("/dev/a", "/dev/b")
	put(t, rootDir+"/x", "")
	if err := bootID("one"); err != nil {
		t.Fatal(err)
	}
	change(t, rc.confSubject, false)
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() { // md compares, and is done
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			if how := md("sync_action"); how == "check" || how == "repair" {
				os.WriteFile(mdDir+"/sync_action", []byte("idle\n"), 0o640)
			}
		}
	}()
	defer func() { close(stop); <-ended }()
	mended := strings.Replace(confText, "owner=root", "owner=root bbl=no", 1)
	has, hasNot := outcome{out: "Bad-blocks list is empty"}, outcome{out: "No bad-blocks list configured"}
	for _, c := range []struct {
		name  string
		set   func()
		fails string
	}{
		{"all is well", func() {}, ""},
		{"the configuration", func() { put(t, confDir+"/mdadm.conf", confText) }, `mdadm.conf: change "applied", mended: false`},
		{"a file that stays", func() { put(t, confDir+"/.fettle-1", "") }, "temporary files stay: " + confDir + "/.fettle-1"},
		{"a list that is gone", func() { r.Ends["mdadm --examine-badblocks /dev/a"] = []outcome{hasNot} }, `change "": member 0 has a list: false`},
		{"the victim's list", func() { r.Ends["mdadm --examine-badblocks /dev/b"] = []outcome{hasNot} }, `change "": member 1 has a list: false`},
		{"a list that cannot be read", func() { r.Ends["mdadm --examine-badblocks /dev/a"] = []outcome{{"x", 1, nil}} }, "exit status 1: x"},
		{"a member", func() { r.md(map[string]string{"degraded": "1"}) }, "1 members are missing in the end"},
		{"the bitmap", func() { r.md(map[string]string{"bitmap/location": "none"}) }, "the bitmap was internal, and is at none in the end"},
		{"a record", func() { put(t, dataDir+"/records", string(record(0))) }, "record 1 of 2"},
		{"copies that differ", func() { r.md(map[string]string{"mismatch_cnt": "8"}) }, "finding where the copies differ: "},
		{"a resync", func() { r.md(map[string]string{"resync_start": "8"}) }, "its resync after the cut is still to come (resync_start 8)"},
	} {
		put(t, confDir+"/mdadm.conf", mended)
		os.Remove(confDir + "/.fettle-1")
		put(t, dataDir+"/records", string(record(0))+string(record(1)))
		r.Ends = map[string][]outcome{"mdadm --examine": {has}}
		r.md(map[string]string{"sync_action": "idle\n", "degraded": "0\n", "bitmap/location": "+8\n", "resync_start": "none\n",
			"mismatch_cnt": "0\n"})
		c.set()
		wants(t, c.name, rc.end(d, &Log{}, Cut{}, facts{written: 2}, &result{}), c.fails)
	}
	rc.Bitmap = "none"
	r.Ends = map[string][]outcome{"mdadm --examine": {has}}
	r.md(map[string]string{"bitmap/location": "none\n", "resync_start": "none\n"})
	wants(t, "no bitmap, as it was", rc.end(d, &Log{}, Cut{}, facts{written: 2}, &result{}), "")
	// With the list's change applied its victim alone has none.
	change(t, "md0/dm-2", false)
	wants(t, "a list that should be gone", rc.end(d, &Log{}, Cut{}, facts{}, &result{}), `change "applied": member 1 has a list: true`)
	r.Ends["mdadm --examine-badblocks /dev/b"] = []outcome{hasNot}
	wants(t, "a list that is gone", rc.end(d, &Log{}, Cut{}, facts{}, &result{}), "")
	if n, err := scrub("repair"); n != "0" || err != nil {
		t.Errorf("%s, %v", n, err)
	}
}

// filesInARoom: the plan of all steps is applied, undone, and seen to be.
func filesInARoom(t *testing.T, _ *room) {
	for name, text := range map[string]string{"existing.conf": strings.Repeat("old\n", 5000), "perm": "x\n",
		"away.conf": "away\n", "journal/x": ""} {
		put(t, filepath.Join(etc, name), text)
	}
	if err := errors.Join(unix.Setxattr(etc+"/perm", "user.note", []byte("kept"), 0), bootID("one")); err != nil &&
		!errors.Is(err, unix.EOPNOTSUPP) {
		t.Fatal(err)
	}
	see := func() world {
		t.Helper()
		w, err := look()
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	e, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Store.Close()
	was := see()
	if f := was[etc+"/perm"]; f.sum == "" || f.modified == 0 || !strings.HasPrefix(f.attributes, "-rw-r----- 0 0") {
		t.Errorf("%+v", f)
	}
	if f := was[etc+"/journal"]; f.sum != "" || f.modified != 0 || !strings.HasPrefix(f.attributes, "drwxr-xr-x 0 0") {
		t.Errorf("%+v", f)
	}
	if _, err := e.Apply(t.Context(), remedy.Head{Trap: "files", Plan: filesPlan()}, nil); err != nil {
		t.Fatal(err)
	}
	mended := see()
	diff := was.differs(mended, true)
	for _, want := range []string{"away.conf is there", "existing.conf is ", "unit.d/fettle.conf is missing", "/perm is ", "/journal is "} {
		if !strings.Contains(diff, want) {
			t.Errorf("the plan does not change it: %s; %s", want, diff)
		}
	}
	// Each lie differs from what was said.
	for _, l := range filesLies {
		if l.mark != applied {
			continue
		}
		if err := l.tell(nil); err != nil {
			t.Errorf("%s: %v", l.name, err)
		}
	}
	if lied := see(); lied.differs(mended, true) == "" {
		t.Error("nobody sees the lies")
	}
	if _, err := os.Stat(state + "/changes"); !errors.Is(err, os.ErrNotExist) {
		t.Error("the journal is there")
	}
	if err := os.RemoveAll(etc); err != nil {
		t.Fatal(err)
	}
	if _, err := look(); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// cutsInARoom: the root as it was at each mark is finished as it must be, and what differs from what was said is named.
func cutsInARoom(t *testing.T, _ *room) {
	sh := func(text string) {
		t.Helper()
		if out, err := exec.Command("sh", "-c", text).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", text, err, out)
		}
	}
	for name, text := range map[string]string{"existing.conf": strings.Repeat("old\n", 5000), "perm": "x\n",
		"away.conf": "away\n", "journal/x": ""} {
		put(t, filepath.Join(etc, name), text)
	}
	for _, name := range []string{"existing.conf", "perm", "away.conf"} {
		if err := errors.Join(os.Chown(filepath.Join(etc, name), 1000, 4), os.Chmod(filepath.Join(etc, name), 0o604)); err != nil {
			t.Fatal(err)
		}
	}
	if err := bootID("recorded"); err != nil {
		t.Fatal(err)
	}
	const kept = top + "/kept/"
	if err := os.MkdirAll(kept, 0o755); err != nil {
		t.Fatal(err)
	}
	var marks []string
	was, mended, err := filesCase{}.live(t.Context(), func(text string) error {
		marks = append(marks, text)
		sh("cp -a " + rootDir + " " + kept + text)
		return nil
	})
	if err != nil || strings.Join(marks, " ") != "begun applied undo-begun undone ended" {
		t.Fatalf("%q, %v", marks, err)
	}
	n := 0
	try := func(at string, said map[string]bool, resume bool, change func(), f *lie) (result, error) {
		t.Helper()
		n++
		sh("rm -rf " + rootDir + " && cp -a " + kept + at + " " + rootDir)
		if change != nil {
			change()
		}
		if err := bootID(fmt.Sprint("trial-", n)); err != nil {
			t.Fatal(err)
		}
		r := result{resume: resume}
		return r, filesCase{}.finish(t.Context(), nil, said, &r, was, mended, f)
	}
	for i, at := range marks {
		said := map[string]bool{}
		for _, m := range marks[:i+1] {
			said[m] = true
		}
		for _, resume := range []bool{true, false} {
			if _, err := try(at, said, resume, nil, nil); err != nil {
				t.Errorf("at %s, resume %t: %v", at, resume, err)
			}
			now, err := look()
			if err != nil {
				t.Fatal(err)
			}
			want := was
			if resume && (at == applied || at == undoBegun) {
				want = mended
			}
			if diff := now.differs(want, false); diff != "" {
				t.Errorf("at %s, resume %t: in the end %s", at, resume, diff)
			}
		}
		for _, l := range filesLies {
			if l.mark != at {
				continue
			}
			_, err := try(at, said, false, nil, &l)
			wants(t, l.name, err, l.want)
		}
	}
	chmod := func(name string, mode os.FileMode) func() {
		return func() {
			if err := os.Chmod(etc+"/"+name, mode); err != nil {
				t.Error(err)
			}
		}
	}
	all := map[string]bool{begun: true, applied: true, undoBegun: true, undone: true}
	for _, c := range []struct {
		what, at string
		said     map[string]bool
		change   func()
		fails    string
	}{
		{"applied without its files", begun, map[string]bool{begun: true, applied: true}, nil, `it was said to be applied; it is "", and differs: `},
		{"applied, and the undo is done", undone, map[string]bool{begun: true, applied: true}, nil, "it was said to be applied; it is"},
		{"applied, and an owner is another", applied, map[string]bool{applied: true}, chmod("perm", 0o644), "it was said to be applied; it is"},
		{"undone, and is not", applied, all, nil, "it was said to be undone; it is"},
		{"undone, and a mode is another", undone, all, chmod("away.conf", 0o644), "it was said to be undone; it is"},
		{"changed, and nobody wrote it down", begun, nil, chmod("perm", 0o644), "no journal tells of what was changed: "},
		{"half a content", begun, nil, func() { put(t, etc+"/perm", "y") }, etc + "/perm holds neither its old content nor its new one"},
		{"a temporary file", applied, map[string]bool{}, func() { put(t, etc+"/.fettle-x", "y") }, "/.fettle-x is there"},
	} {
		r, err := try(c.at, c.said, false, c.change, nil)
		wants(t, c.what, err, c.fails)
		if r.lost {
			t.Errorf("%s: the root is lost", c.what)
		}
	}
	// Whoever cannot mark, or look, does not go on.
	broken := errors.New("no mark")
	for i, at := range marks {
		sh("rm -rf " + rootDir + " && cp -a " + kept + "begun " + rootDir)
		seen := 0
		if _, _, err := (filesCase{}).live(t.Context(), func(string) error {
			if seen++; seen == i+1 {
				return broken
			}
			return nil
		}); !errors.Is(err, broken) || seen != i+1 {
			t.Errorf("no mark %s: %v after %d", at, err, seen)
		}
	}
	// Nor who cannot do what is next.
	for _, c := range []struct{ at, before, want string }{
		{begun, "echo other >" + etc + "/existing.conf", "existing.conf"}, {applied, "rm -rf " + etc, "no such file"},
		{undoBegun, "echo other >" + etc + "/existing.conf", "existing.conf"},
		{undone, "chmod 600 " + etc + "/perm", "an undo without a power cut differs: "},
	} {
		sh("rm -rf " + rootDir + " && cp -a " + kept + "begun " + rootDir)
		last := ""
		_, _, err := (filesCase{}).live(t.Context(), func(text string) error {
			if last = text; text == c.at {
				sh(c.before)
			}
			return nil
		})
		if wants(t, c.before+" at "+c.at, err, c.want); last != c.at {
			t.Errorf("%s at %s: it goes on to %s", c.before, c.at, last)
		}
	}
	sh("rm -rf " + rootDir + " && cp -a " + kept + "begun " + rootDir + " && rm -rf " + state + " && echo >" + state)
	goesOn := func(string) error { t.Error("it goes on"); return nil }
	_, _, err = filesCase{}.live(t.Context(), goesOn)
	wants(t, "without a journal", err, "it is no folder")
	wants(t, "without a journal", filesCase{}.finish(t.Context(), nil, nil, &result{}, was, mended, nil), "it is no folder")
	sh("rm -rf " + etc)
	if _, _, err := (filesCase{}).live(t.Context(), func(string) error { t.Error("it goes on"); return nil }); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("without files: %v", err)
	}
	if err := (filesCase{}).finish(t.Context(), nil, nil, &result{}, was, mended, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without files: %v", err)
	}
}

// TestExperiments: each has a name of its own and time enough, and what takes long, or a machine for hours, is asked for.
func TestExperiments(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range Experiments {
		all, quick := strings.HasSuffix(e.Name, "-all"), strings.HasSuffix(e.Name, "-sample") || strings.HasSuffix(e.Name, "-syncs")
		least := 10 * time.Minute
		if quick {
			least = 5 * time.Minute
		}
		if seen[e.Name] || e.Run == nil || e.About == "" || e.Needs.Engine != "uml" || e.Needs.Limit < least || e.Needs.Limit > 12*time.Hour ||
			e.Named != all || e.Long == quick || e.Needs.MemMiB < 512 || all && e.Needs.Limit < time.Hour {
			t.Errorf("%+v", e)
		}
		seen[e.Name] = true
		for m, want := range map[string]bool{"raid456": strings.Contains(e.Name, "raid6"), "dm-log-writes": true,
			"dm-snapshot": true, "ext4": true,
			"raid10": strings.Contains(e.Name, "raid")} {
			if slices.Contains(e.Needs.Modules, m) != want {
				t.Errorf("%s: modules %q", e.Name, e.Needs.Modules)
			}
		}
		if strings.Contains(e.Name, "raid") != slices.Contains(e.Needs.Tools, "mdadm") || all != strings.HasSuffix(e.About, "every state") {
			t.Errorf("%s: %s, tools %q", e.Name, e.About, e.Needs.Tools)
		}
	}
	if len(seen) != 12 {
		t.Errorf("%d experiments", len(seen))
	}
}
