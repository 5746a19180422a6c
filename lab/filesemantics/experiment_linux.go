package filesemantics

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fettle/lab"
)

// Experiment is fettle lab file-semantics.
var Experiment = lab.Experiment{
	Name:  "file-semantics",
	About: "Where a write lands, and when space is free, when an open file is renamed or deleted",
	Needs: lab.Needs{
		MemMiB: 768, Limit: 3 * time.Minute,
		Modules: []string{"loop"}, MayModules: []string{"ext4", "xfs", "btrfs", "overlay"},
		Tools: []string{"mount", "umount"}, MayTools: []string{"mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"},
	},
	Run: run,
}

// place is a mounted file system. What is put into below before it is
// mounted is seen in dir; both are the same but for overlay.
type place struct{ below, dir string }

// kinds are the file systems, in the table's order.
var kinds = []struct {
	name string
	mkfs []string // on a loop device; nil needs none
	size int64    // bytes: mkfs.xfs wants 300 MiB, mkfs.btrfs some 110
}{
	{"ext4", []string{"mkfs.ext4", "-qF"}, 64 << 20},
	{"xfs", []string{"mkfs.xfs", "-qf"}, 320 << 20},
	{"btrfs", []string{"mkfs.btrfs", "-qf"}, 160 << 20},
	{"tmpfs", nil, 0},
	{"overlay", nil, 0},
}

func run(_ context.Context, b *lab.Bench) error {
	columns := []string{"An open file is ..."}
	var answers []map[string]string // by name of the case
	for _, k := range kinds {
		columns = append(columns, k.name)
		got := map[string]string{}
		answers = append(answers, got)
		if why := lacks(k.name, k.mkfs); why != "" {
			b.Note("%s was not tried: %s", k.name, why)
			continue
		}
		if err := tryAll(b, k.name, k.mkfs, k.size, got); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	b.Columns(columns...)
	row := func(name string) {
		cells := []string{name}
		for _, got := range answers {
			a, ok := got[name]
			if !ok {
				a = "-"
			}
			cells = append(cells, a)
		}
		b.Row(cells...)
	}
	for _, c := range Cases {
		row(c.Name)
	}
	for _, q := range questions {
		row(q.name)
	}
	b.Note("The first %d rows name the files in which what is written afterwards is found.", len(Cases))
	b.Note("Of overlay, the file was in the lower layer when it was opened.")
	return nil
}

// lacks says what a file system needs that this machine does not have.
func lacks(name string, mkfs []string) string {
	known, err := os.ReadFile("/proc/filesystems")
	if err != nil || !strings.Contains(string(known), "\t"+name+"\n") {
		return "this kernel does not have it"
	}
	if mkfs != nil {
		if _, err := lab.FindTool(mkfs[0]); err != nil {
			return err.Error()
		}
	}
	return ""
}

// tryAll makes a file system with a folder for each case, and fills in answers.
func tryAll(b *lab.Bench, name string, mkfs []string, size int64, answers map[string]string) error {
	p, done, err := mount(b, name, mkfs, size, prepareAll)
	if err != nil {
		return err
	}
	defer done()
	for i, c := range Cases {
		seen, err := c.Try(filepath.Join(p.dir, fmt.Sprint("case", i)))
		if err != nil {
			answers[c.Name] = "failed"
			b.Note("%s, %s: %v", name, c.Name, err)
			continue
		}
		answers[c.Name] = seen.Lands()
		if d := c.Differs(seen); d != "" {
			b.Note("%s, %s: %s", name, c.Name, d)
		}
	}
	for i, q := range questions {
		a, err := q.ask(filepath.Join(p.dir, fmt.Sprint("question", i)))
		if err != nil {
			a = "failed"
			b.Note("%s, %s: %v", name, q.name, err)
		}
		answers[q.name] = a
	}
	return nil
}

func prepareAll(dir string) error {
	for i, c := range Cases {
		d := filepath.Join(dir, fmt.Sprint("case", i))
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
		if err := c.Prepare(d); err != nil {
			return err
		}
	}
	for i, q := range questions {
		d := filepath.Join(dir, fmt.Sprint("question", i))
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
		if err := q.prepare(d); err != nil {
			return err
		}
	}
	return nil
}

// mount makes a file system below /run and mounts it; fill puts files into it,
// of overlay into its lower layer.
func mount(b *lab.Bench, name string, mkfs []string, size int64, fill func(string) error) (place, func(), error) {
	top := "/run/" + name
	p := place{top + "/mnt", top + "/mnt"}
	for _, d := range []string{p.dir, top + "/lower", top + "/upper", top + "/work"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return p, nil, err
		}
	}
	done := func() {
		unix.Unmount(p.dir, unix.MNT_DETACH)
		os.RemoveAll(top)
	}
	switch {
	case name == "overlay":
		p.below = top + "/lower"
		if err := fill(p.below); err != nil {
			return p, nil, err
		}
		return p, done, unix.Mount("overlay", p.dir, "overlay", 0, "lowerdir="+p.below+",upperdir="+top+"/upper,workdir="+top+"/work")
	case mkfs == nil:
		if err := unix.Mount(name, p.dir, name, 0, "size=64m"); err != nil {
			return p, nil, err
		}
	default:
		disk := top + "/disk"
		f, err := os.Create(disk)
		if err != nil {
			return p, nil, err
		}
		err = f.Truncate(size)
		f.Close()
		if err != nil {
			return p, nil, err
		}
		if _, err := b.Run(append(mkfs[:len(mkfs):len(mkfs)], disk)...); err != nil {
			return p, nil, err
		}
		if _, err := b.Run("mount", "-t", name, "-o", "loop", disk, p.dir); err != nil {
			return p, nil, err
		}
	}
	return p, done, fill(p.dir)
}
