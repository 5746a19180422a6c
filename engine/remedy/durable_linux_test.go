package remedy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/internal/means"
)

// What a disk may hold after a power cut: of a file the content and attributes
// that it had when it was last fsynced, of a folder the names. What came later
// may be there or not, names and contents apart. After each act of applying and
// undoing a plan the power is cut, and what is left is put back in every such
// guise: resume and undo must lead on from each.

// inode is a file or folder as it stood at one moment. Its names are those in
// a folder, by the number of what they lead to.
type inode struct {
	machine.Image
	names map[string]machine.ID
}

// disks are all files below some folders: as the running host sees them, and
// as they were made durable.
type disks struct {
	tops          []string
	live, durable map[machine.ID]inode
}

// surface reads what the running host sees.
func (d *disks) surface(t *testing.T) {
	t.Helper()
	d.live = map[machine.ID]inode{}
	for _, top := range d.tops {
		must(t, "walking", filepath.WalkDir(top, func(name string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			img, err := (machine.Linux{}).Look(name, true)
			n := inode{Image: img}
			if err == nil && img.Type == machine.Folder {
				var es []os.DirEntry
				es, err = os.ReadDir(name)
				n.names = map[string]machine.ID{}
				for _, e := range es {
					var child machine.Image
					if child, err = (machine.Linux{}).Look(filepath.Join(name, e.Name()), false); err != nil {
						return err
					}
					n.names[e.Name()] = child.ID
				}
			}
			if twin, there := d.live[img.ID]; there && twin.Links == 1 {
				t.Fatalf("%s has another file's number: %+v", name, img.ID)
			}
			d.live[img.ID] = n
			return err
		}))
	}
}

// sync makes one file or folder durable, as it is now.
func (d *disks) sync(t *testing.T, name string) {
	t.Helper()
	d.surface(t)
	img, err := (machine.Linux{}).Look(name, false)
	must(t, "looking", err)
	d.durable[img.ID] = d.live[img.ID]
}

// frame is one instant at which the power may be cut.
type frame struct {
	after         string
	live, durable map[machine.ID]inode
}

// film is a machine and a store's disk that remember every instant.
type film struct {
	killer
	t      *testing.T
	disk   disk
	dir    string // of the store
	disks  disks
	frames []frame
}

func (f *film) shoot(after string) {
	f.disks.surface(f.t)
	durable := map[machine.ID]inode{}
	for id, n := range f.disks.durable {
		durable[id] = n
	}
	f.frames = append(f.frames, frame{after, f.disks.live, durable})
}

// did is called by killer after each act on the machine.
func (f *film) did(name string) {
	if path, ok := strings.CutPrefix(name, "sync "); ok {
		f.disks.sync(f.t, path)
	}
	f.shoot(name)
}

// The store's disk.

func (f *film) act(name string, err error) error {
	f.shoot(name)
	return err
}
func (f *film) Mkdir(n string) error { return f.act("store mkdir "+n, f.disk.Mkdir(n)) }
func (f *film) Write(n string, b []byte) error {
	return f.act("store write "+n, f.disk.Write(n, b))
}
func (f *film) WriteAt(n string, b []byte, off int64) error {
	return f.act("store write "+n, f.disk.WriteAt(n, b, off))
}
func (f *film) Rename(a, b string) error        { return f.act("store rename "+a, f.disk.Rename(a, b)) }
func (f *film) Remove(n string) error           { return f.act("store remove "+n, f.disk.Remove(n)) }
func (f *film) RemoveAll(n string) error        { return f.act("store remove "+n, f.disk.RemoveAll(n)) }
func (f *film) Read(n string) ([]byte, error)   { return f.disk.Read(n) }
func (f *film) List(n string) ([]string, error) { return f.disk.List(n) }
func (f *film) Sync(n string) error {
	err := f.disk.Sync(n)
	f.disks.sync(f.t, filepath.Join(f.dir, n))
	return f.act("store sync "+n, err)
}

// guise says what of the not yet durable is there all the same.
type guise struct{ names, contents bool }

var guises = []guise{{false, false}, {true, false}, {false, true}, {true, true}}

// develop puts a folder back as a disk may hold it after the cut.
func (fr frame) develop(t *testing.T, top string, root machine.ID, g guise) {
	t.Helper()
	es, _ := os.ReadDir(top)
	for _, e := range es {
		must(t, "emptying", os.RemoveAll(filepath.Join(top, e.Name())))
	}
	fr.lay(t, top, root, g, map[machine.ID]string{})
}

func (fr frame) lay(t *testing.T, name string, id machine.ID, g guise, laid map[machine.ID]string) {
	t.Helper()
	n, known := fr.durable[id]
	if live, ok := fr.live[id]; ok {
		switch {
		case !known: // a name whose file never got to the disk: empty, as made
			n, known = live, true
			if !g.contents {
				n.Image = machine.Image{Type: live.Type, Mode: 0o600}
				n.names = nil
				if live.Type == machine.Folder {
					n.Mode = live.Mode // which comes with its name
				}
			}
			if !g.names && live.Type == machine.Folder {
				n.names = nil
			}
		case live.Type == machine.Folder && g.names:
			n.names = live.names
		case live.Type != machine.Folder && g.contents:
			n = live
		}
	}
	if !known {
		return
	}
	switch {
	case n.Type == machine.Folder:
		if err := os.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
		for child, cid := range n.names {
			fr.lay(t, filepath.Join(name, child), cid, g, laid)
		}
	case laid[id] != "":
		must(t, "link", os.Link(laid[id], name))
		return
	default:
		must(t, "write", os.WriteFile(name, n.Content, 0o600))
		laid[id] = name
	}
	must(
		t,
		"owner",
		errors.Join(os.Chown(name, int(n.UID), int(n.GID)), os.Chmod(name, os.FileMode(n.Mode&0o777)), unix.Chmod(name, n.Mode)),
	)
	for attr, v := range n.Xattrs {
		must(t, "attribute", unix.Setxattr(name, attr, v, 0))
	}
}

func durablePlan(etc string) Plan {
	return Plan{Steps: []step.Step{
		step.File{Path: etc + "/existing.conf", Was: []byte(before), Content: []byte("new\n")},
		step.File{Path: etc + "/new.d/sub/drop.conf", Content: []byte("new\n"), Mode: 0o640},
		step.File{Path: etc + "/hard.conf", Was: []byte(before), Content: []byte("new\n")},
		step.Remove{Path: etc + "/gone.conf", Was: []byte(before)},
		step.Perm{Path: etc + "/perm.conf", Mode: 0o600, UID: 7, GID: 8},
		step.ACL{Path: etc + "/log", Access: "user::rwx,group::r-x,group:4:r-x,mask::r-x,other::---"},
	}}
}

// TestPowerCuts cuts the power after each act, and looks what can be made of
// each thing that a disk may then hold.
func TestPowerCuts(t *testing.T) {
	means.Short(t, "takes seconds")
	privately(t)
	// One file system for both: inodes are told apart by number and birth, and
	// two of a tmpfs's own count may be made within the same tick of the clock.
	top := tmpfs(t, "mode=0755")
	state, etc := top+"/state", top+"/etc"
	must(t, "mkdir", errors.Join(os.Mkdir(state, 0o755), os.Mkdir(etc, 0o755)))
	for _, n := range []string{"existing.conf", "hard.conf", "gone.conf", "perm.conf"} {
		put(t, etc+"/"+n, before, 0o644)
		must(t, "setfattr", machine.Linux{}.SetXattr(machine.At(etc+"/"+n), "user.note", []byte("keep")))
	}
	must(t, "link", os.Link(etc+"/hard.conf", etc+"/hard-too.conf"))
	must(t, "mkdir", os.Mkdir(etc+"/log", 0o755))
	boot := filepath.Join(t.TempDir(), "boot_id")
	put(t, boot, "recorded\n", 0o644)
	was := world(t, etc, false)

	store, err := OpenStoreAt(state + "/state")
	must(t, "store", err)
	f := &film{t: t, disk: store.disk, dir: store.Dir, disks: disks{tops: []string{state, etc}, durable: map[machine.ID]inode{}}}
	f.killer = killer{Machine: here{machine.Linux{BootIDFile: boot}}, after: f.did}
	f.disks.surface(t)
	for id, n := range f.disks.live {
		f.disks.durable[id] = n
	}
	store.disk = f
	e := &Engine{Store: store, Machine: &f.killer}
	_, err = e.Apply(t.Context(), Head{Plan: durablePlan(etc)}, nil)
	must(t, "apply", err)
	applied := len(f.frames)
	f.shoot("applied")
	mended := world(t, etc, false)
	_, err = e.Undo(t.Context(), "", UndoOptions{})
	must(t, "undo", err)
	undone := len(f.frames)
	f.shoot("undone")
	same(t, "undone without a cut", was, world(t, etc, false))
	put(t, boot, "after the cut\n", 0o644)

	stateID, err := (machine.Linux{}).Look(state, false)
	must(t, "look", err)
	etcID, err := (machine.Linux{}).Look(etc, false)
	must(t, "look", err)
	cuts := 0
	for i, fr := range f.frames {
		for k, g := range [][2]guise{{guises[0], guises[0]}, {guises[0], guises[3]}, {guises[3], guises[0]}, {guises[3], guises[1]},
			{guises[3], guises[2]},
			{guises[1], guises[3]}, {guises[2], guises[3]}, {guises[3], guises[3]}} {
			if os.Getenv("FETTLE_LONG") == "" && k > 2 && (i+k)%4 != 0 {
				continue // the two that lose most at every instant, of the others every fourth
			}
			cuts++
			fr.develop(t, state, stateID.ID, g[0])
			fr.develop(t, etc, etcID.ID, g[1])
			where := fmt.Sprintf("cut %d after %s, of the store %+v, of the host %+v", i, fr.after, g[0], g[1])
			wantPhase, want := Phase(""), was
			switch {
			case i >= undone:
				wantPhase = TakenBack
			case i == applied:
				wantPhase, want = Applied, mended
			}
			if !afterCut(t, where, state, boot, etc, wantPhase, want, was, mended, (i+k)%2 == 0 && i != applied && i < undone) {
				return
			}
		}
	}
	t.Logf("%d instants, %d cuts", len(f.frames), cuts)
}

// afterCut looks at what a cut left, and leads it on: forward or back.
func afterCut(t *testing.T, where, state, boot, etc string, phase Phase, want, was, mended map[string]string, resume bool) bool {
	t.Helper()
	store, err := OpenStoreAt(state + "/state")
	must(t, where, err)
	defer store.Close()
	var said []string
	e := &Engine{Store: store, Machine: here{machine.Linux{BootIDFile: boot}}, Log: func(l string) { said = append(said, l) }}
	all, err := store.Changes()
	must(t, where, err)
	now := Phase("")
	if len(all) > 0 {
		now = all[len(all)-1].Phase()
	}
	if phase != "" && now != phase {
		t.Errorf("%s: the change was said to be %q, and is %q", where, phase, now)
	}
	if phase != "" || now == "" {
		same(t, where, want, world(t, etc, false))
		if phase != Applied {
			return !t.Failed()
		}
	}
	goal := was
	if resume {
		c, err := e.Resume(context.Background(), "", nil)
		if must(t, where+": resume", err); c == nil && now == Applied || c != nil && c.Phase() == Applied {
			goal = mended
		}
	} else if now != TakenBack {
		c, err := e.Undo(context.Background(), "", UndoOptions{})
		if err != nil || c == nil || len(c.Left()) > 0 {
			t.Errorf("%s: undo: %v\n%s", where, err, strings.Join(said, "\n"))
		}
	}
	same(t, where+fmt.Sprintf(" (%s, resume %v)", now, resume), goal, world(t, etc, false))
	return !t.Failed()
}

// TestSyncIsAsked: fsync(2) of a FIFO fails, so a Sync that asks the kernel does.
func TestSyncIsAsked(t *testing.T) {
	privately(t)
	dir := t.TempDir()
	must(t, "fifo", unix.Mkfifo(dir+"/fifo", 0o600))
	rw, err := os.OpenFile(dir+"/fifo", os.O_RDWR, 0) // a reader without a writer would wait
	must(t, "open", err)
	defer rw.Close()
	if err := (machine.Linux{}).Sync(machine.At(dir + "/fifo")); !errors.Is(err, unix.EINVAL) {
		t.Errorf("the machine's: %v", err)
	}
	root, err := os.OpenRoot(dir)
	must(t, "root", err)
	if err := (rootDisk{root}).Sync("fifo"); !errors.Is(err, unix.EINVAL) {
		t.Errorf("the store's: %v", err)
	}
}
