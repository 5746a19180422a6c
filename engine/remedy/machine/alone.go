package machine

import (
	"fmt"
	"path"
	"strings"
)

// treeLimit is how many files and folders below a target are looked at: a
// served folder of installers has some thousands.
const treeLimit = 200_000

// Shared is the refusal to let a program act as root on a path that somebody
// other than root can redirect or change while the program works: a program
// opens paths by itself, and does not know what its path named before.
type Shared struct {
	Path string // what the program was to work on
	At   string // the first place on the way to it, or below it, that others can change
	Why  string
	// Owner is the user whose it is; 0: root's, and others may write to it.
	Owner uint32
}

func (e *Shared) Error() string {
	if e.Path == e.At {
		return fmt.Sprintf(
			"%s %s: whoever that is could redirect root's writes. Make it root's alone (chown -R root:root, chmod -R go-w), and run this again",
			e.At,
			e.Why,
		)
	}
	return fmt.Sprintf(
		"%s cannot be changed safely: %s %s, and could redirect root's writes. Make it root's alone (chown -R root:root, chmod -R go-w), and "+
			"run this again",
		e.Path,
		e.At,
		e.Why,
	)
}

// RootsAlone tells whether only root can change what a path names, and, of a
// folder, all names below it. A path where nothing stands yet is judged by
// the folder in which it would be made. The error is an *Untrusted or a
// *Shared where somebody else can.
func RootsAlone(m Machine, name string) error {
	real, err := m.Resolve(name)
	if err != nil {
		return err
	}
	for at := real; ; at = path.Dir(at) {
		img, err := m.Look(at, false)
		switch {
		case err != nil:
			return err
		case img.Foreign:
			return onTheWay(m, real)
		case img.Type == Absent && at != "/":
			continue // judged by the folder in which it will be made
		}
		left := treeLimit
		if at != real { // only the folder itself: what else is in it is not touched
			left = 0
		}
		return alone(m, real, at, img, &left)
	}
}

// onTheWay names the first folder on the way to a path in which others than
// root can rename.
func onTheWay(m Machine, real string) error {
	dir := "/"
	for _, part := range split(real) {
		next := path.Join(dir, part)
		img, err := m.Look(next, false)
		if err != nil {
			return err
		}
		if img.Foreign {
			if img, err = m.Look(dir, false); err != nil {
				return err
			}
			if err := alone(m, real, dir, img, new(int)); err != nil {
				return err
			}
		}
		dir = next
	}
	return &Shared{real, real, "can be renamed by others than root", 0}
}

// alone judges one name, and what is below it while left is not used up.
func alone(m Machine, target, at string, img Image, left *int) error {
	if img.Type == Other { // a device is not written by name
		return nil
	}
	switch {
	case img.UID != 0:
		return &Shared{target, at, fmt.Sprintf("belongs to user ID %d", img.UID), img.UID}
	case img.Mode&0o002 != 0:
		return &Shared{target, at, fmt.Sprintf("can be written by everybody (mode %04o)", img.Mode), 0}
	case img.Mode&0o020 != 0: // with an ACL, the mask (acl(5))
		return &Shared{target, at, fmt.Sprintf("can be written by others than root (mode %04o, group ID %d)", img.Mode, img.GID), 0}
	case img.Type != Folder || *left == 0:
		return nil
	}
	names, err := m.List(at)
	if err != nil {
		return err
	}
	for _, n := range names {
		if *left--; *left <= 0 {
			return fmt.Errorf("%s holds more than %d files: too many to tell whether others than root can change them", target, treeLimit)
		}
		below := path.Join(at, n)
		img, err := m.Look(below, false)
		if err != nil {
			return err
		}
		if img.Type == Absent {
			continue
		}
		if err := alone(m, target, below, img, left); err != nil {
			return err
		}
	}
	return nil
}

func split(name string) []string {
	return strings.FieldsFunc(path.Clean(name), func(r rune) bool { return r == '/' })
}
