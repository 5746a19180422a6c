package powercut

import (
	"fmt"
	"strings"
)

// lie is something that no power cut may leave, done to the disk on purpose once
// the cut at a mark was tried as it is: a trial that does not say what is
// wrong then proves nothing.
type lie struct {
	name string
	mark string // told at the cut there
	when stage
	tell func(d *disk) error
	want string // of what the trial must say
}

// stage is how far a trial has come.
type stage int

const (
	noLie     stage = iota
	mounted         // the root
	assembled       // the array
	ending          // all that was asked for is done
)

// at tells the lie when its time has come; no lie, at no time.
func (f *lie) at(s stage, d *disk) error {
	if f == nil || f.when != s {
		return nil
	}
	return f.tell(d)
}

// noticed judges the trial of a lie.
func (f *lie) noticed(r result) error {
	switch {
	case r.err == nil:
		return fmt.Errorf("%s: no trial noticed", f.name)
	case !strings.Contains(r.err.Error(), f.want):
		return fmt.Errorf("%s: expected %q to be said of it: %w", f.name, f.want, r.err)
	}
	return nil
}
