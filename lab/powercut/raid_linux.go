package powercut

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fettle/lab"
)

// confText is mdadm.conf before it is fixed.
const confText = "HOMEHOST <system>\nCREATE owner=root # as installed\nMAILADDR root\n"

// Marks in the log of writes: what was known to be done by then.
const (
	begun      = "begun"
	confFixed  = "configuration-fixed"
	listFixed  = "list-fixed"
	undoBegun  = "undo-begun"
	listUndone = "list-undone"
	ended      = "ended"
)

// raidCase is an experiment on one array: the trap's remedies are applied while
// the array is written to, one of them is undone, and the power is cut.
type raidCase struct {
	Level
	trap        string
	confSubject string
	cuts        int // how many are tried at most; 0 is all
}

// victim is the member whose list is taken away.
const victim = 1

func (rc raidCase) run(ctx context.Context, b *lab.Bench) error {
	d, l, closeLog, err := rc.recorded(b, rc.live)
	if err != nil {
		return err
	}
	defer closeLog()
	return replayAll(ctx, b, d, l, rc.cuts, rc.trial, rc.lies())
}

// recorded is what live writes to the array and the root, once both are prepared.
func (rc raidCase) recorded(b *lab.Bench, live func(*disk) error) (*disk, *Log, func() error, error) {
	d, err := newDisk(b, rc.Members)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := rc.prepare(d); err != nil {
		return nil, nil, nil, fmt.Errorf("preparing the array: %w", errors.Join(err, d.close()))
	}
	l, closeLog, err := d.recordWhile(func() error { return live(d) })
	if err != nil {
		return nil, nil, nil, fmt.Errorf("recording: %w", err)
	}
	if err := l.tellsFlushes(d.part); err != nil {
		return nil, nil, nil, errors.Join(err, closeLog())
	}
	return d, l, closeLog, nil
}

// prepare makes the root and the array, and stops both.
func (rc raidCase) prepare(d *disk) error {
	os.WriteFile("/proc/sys/dev/raid/speed_limit_min", []byte("100000"), 0) // KiB/s: a sync does not wait for the writer
	if err := d.mapOn(d.loop, false); err != nil {
		return err
	}
	if err := d.makeRoot(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(confDir, "mdadm.conf"), []byte(confText), 0o640); err != nil {
		return err
	}
	if err := d.createArray(rc.Level); err != nil {
		return err
	}
	if _, err := d.b.Run(append(mkfs[:len(mkfs):len(mkfs)], array)...); err != nil {
		return err
	}
	return d.close()
}

// assembleNew starts the array that was just made, which needs no force.
func (d *disk) assembleNew() error {
	forced, err := d.assemble()
	if forced && err == nil {
		err = errors.New("mdadm needed --force")
	}
	if err != nil {
		return fmt.Errorf("the array that was just made does not start: %w", err)
	}
	return nil
}

// live applies the remedies and undoes one, while the array is written to.
func (rc raidCase) live(d *disk) error {
	if err := bootID("recorded"); err != nil {
		return err
	}
	if err := d.mountRoot(); err != nil {
		return err
	}
	if err := d.assembleNew(); err != nil {
		return err
	}
	if err := d.mount(array, dataDir, "ext4", 0); err != nil {
		return err
	}
	w := startWriter(dataDir+"/records", "recorded")
	subject := "md0/" + base(d.parts[victim])
	for _, s := range []struct {
		mark string
		argv []string
	}{
		{mark: begun},
		{confFixed, []string{"fettle", "fix", rc.trap, "--on", rc.confSubject, "--yes"}},
		{listFixed, []string{"fettle", "fix", rc.trap, "--on", subject, "--yes"}},
		{mark: undoBegun},
		{listUndone, []string{"fettle", "undo", "--yes"}},
	} {
		if s.argv != nil {
			if out, err := d.b.Run(s.argv...); err != nil {
				return errors.Join(fmt.Errorf("%w\n%s", err, out), w.end())
			}
		}
		if err := mark("recorded", s.mark); err != nil {
			return errors.Join(err, w.end())
		}
	}
	time.Sleep(200 * time.Millisecond)
	if err := w.end(); err != nil {
		return fmt.Errorf("writing to the array: %w", err)
	}
	return mark("recorded", ended)
}

// bootID tells fettle that this is another boot.
func bootID(name string) error {
	file := top + "/boot_id"
	os.Setenv("FETTLE_BOOT_ID_FILE", file)
	os.Setenv("FETTLE_STATE", state)
	return os.WriteFile(file, []byte(name+"\n"), 0o600)
}

// conf reads mdadm.conf and tells whether it is the new one.
func conf() (mended bool, err error) {
	name := filepath.Join(confDir, "mdadm.conf")
	b, err := os.ReadFile(name)
	if err != nil {
		return false, err
	}
	st, err := os.Stat(name)
	if err != nil {
		return false, err
	}
	if st.Mode() != 0o640 {
		return false, fmt.Errorf("%s has mode %s, and had %s", name, st.Mode(), os.FileMode(0o640))
	}
	switch {
	case bytes.Equal(b, []byte(confText)):
		return false, nil
	case string(b) == strings.Replace(confText, "owner=root", "owner=root bbl=no", 1):
		return true, nil
	}
	return false, fmt.Errorf("%s is neither the old nor the new one: %q", name, b)
}
