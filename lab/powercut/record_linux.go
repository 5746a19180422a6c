package powercut

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// recordWhile logs what is written while live runs. The disk is left as it was
// before the first of it.
func (d *disk) recordWhile(live func() error) (*Log, func() error, error) {
	before := top + "/mem/before"
	if err := copyFile(d.file, before); err != nil {
		return nil, nil, err
	}
	if err := d.record(); err != nil {
		return nil, nil, err
	}
	err := live()
	said, serr := status("recorded")
	if err = errors.Join(err, serr, d.close()); err != nil {
		return nil, nil, err
	}
	if strings.Contains(said, "disabled") {
		return nil, nil, fmt.Errorf("the log of writes came to an end before the writes: %s of %d sectors", said, logSize/sector)
	}
	if err := copyFile(before, d.file); err != nil {
		return nil, nil, err
	}
	os.Remove(before)
	f, err := os.Open(d.logFile)
	if err != nil {
		return nil, nil, err
	}
	l, err := ReadLog(f, logSize)
	if err != nil {
		return nil, nil, err
	}
	if err := l.undecided(); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return l.PerDisk(d.part), f.Close, nil
}
