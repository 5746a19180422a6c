package proof

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"fettle/lab"
)

// mounted fixes all there is to fix on an array that carries a file system
// which is written to all the time, and takes it all back; then every file
// must hold what was written, and the file system be clean.
func mounted(k arrayKind) func(context.Context, *lab.Bench) error {
	return func(_ context.Context, b *lab.Bench) error { return playMounted(k, b) }
}

func playMounted(k arrayKind, b *lab.Bench) error {
	r := &rig{Bench: b}
	n := k.n
	if err := r.need(n, 24); err != nil {
		return err
	}
	if err := r.create(k.level, n, "--bitmap=internal"); err != nil {
		return err
	}
	const dir = "/run/mounted"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := cmds("mkfs.ext4 -qF /dev/md0", "mount -t ext4 /dev/md0 "+dir)(r); err != nil {
		return err
	}
	watch := startWatch()
	defer close(watch.stop)
	files := startFiles(dir)
	b.Columns("Act", "Took", "Lists left", "Most members missing")
	act := func(about string, args ...string) error {
		start := time.Now()
		out, code, err := r.Exec(append([]string{"fettle"}, args...))
		if err != nil || code != 0 {
			return fmt.Errorf("fettle %s: status %d, %v: %s", strings.Join(args, " "), code, err, out)
		}
		lists := 0
		for _, m := range members() {
			if l, err := r.badblocks(m); err != nil {
				return err
			} else if l != "none" {
				lists++
			}
		}
		most := watch.most.Load()
		b.Row(about, time.Since(start).Round(100*time.Millisecond).String(), fmt.Sprint(lists), fmt.Sprint(most))
		if most > 1 {
			return fmt.Errorf("%d members were missing at once", most)
		}
		return nil
	}
	err := act("fix all findings", "fix", "mdadm-bad-blocks", "--yes")
	if err == nil {
		if out, code, _ := r.Exec([]string{"fettle", "check", "mdadm-bad-blocks"}); code != 0 {
			err = fmt.Errorf("after the fix the check still finds: %s", out)
		}
	}
	if err == nil {
		err = act("undo it", "undo", "--yes")
	}
	written, ferr := files.end()
	if err == nil {
		err = ferr
	}
	if err != nil {
		return err
	}
	if err := cmds("umount "+dir, "e2fsck -fn /dev/md0", "mount -t ext4 -o ro /dev/md0 "+dir)(r); err != nil {
		return err
	}
	if err := files.verify(); err != nil {
		return err
	}
	b.Note("%d files were written and fsynced meanwhile, and all read back as written after an unmount; e2fsck found nothing.", written)
	return r.intact()
}

// files writes files of their own content, each with fsync, without pause.
type files struct {
	dir  string
	n    int
	stop chan struct{}
	done chan error
}

const fileBlocks = 8

func startFiles(dir string) *files {
	f := &files{dir: dir, stop: make(chan struct{}), done: make(chan error, 1)}
	go func() {
		for {
			select {
			case <-f.stop:
				f.done <- nil
				return
			case <-time.After(10 * time.Millisecond):
			}
			if err := f.write(f.n % 500); err != nil {
				f.done <- err
				return
			}
			f.n++
		}
	}()
	return f
}

func (f *files) path(i int) string { return fmt.Sprintf("%s/f%d", f.dir, i) }

func (f *files) body(i int) []byte {
	var b []byte
	for k := range fileBlocks {
		b = append(b, content(uint64(i), uint64(k))...)
	}
	return b
}

func (f *files) write(i int) error {
	o, err := os.Create(f.path(i))
	if err != nil {
		return err
	}
	defer o.Close()
	if _, err := o.Write(f.body(i)); err != nil {
		return err
	}
	return o.Sync()
}

// end stops writing and tells how many files were written.
func (f *files) end() (int, error) {
	close(f.stop)
	err := <-f.done
	return f.n, err
}

func (f *files) verify() error {
	for i := range min(f.n, 500) {
		b, err := os.ReadFile(f.path(i))
		if err != nil {
			return err
		}
		if string(b) != string(f.body(i)) {
			return fmt.Errorf("%s does not hold what was written", f.path(i))
		}
	}
	return nil
}
