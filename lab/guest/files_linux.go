package guest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// compared are the folders whose files an undo must bring back as they were.
var compared = []string{"/etc", "/home", "/root", "/srv", "/usr/local"}

// passing are files there that programs rewrite by themselves.
var passing = []string{"/etc/ld.so.cache", "/etc/mtab", "/etc/resolv.conf", "/etc/.updated", "/root/.cache"}

// passingNames are those in any folder: a module notes the codes that were used, gpg
// its keys and what it thinks of them.
var passingNames = []string{".google_authenticator", "pubring.kbx", "pubring.kbx~", "trustdb.gpg"}

// tree describes each file below the compared folders: its type, mode, owner, and
// what it holds.
func tree() (map[string]string, error) {
	out := map[string]string{}
	for _, dir := range compared {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || slices.Contains(passing, name) || slices.Contains(passingNames, filepath.Base(name)) {
				return nil
			}
			if err != nil {
				return err
			}
			if d.Type()&fs.ModeSocket != 0 { // a running program's, such as ssh's control sockets
				return nil
			}
			out[name], err = described(name, d)
			if errors.Is(err, fs.ErrNotExist) { // it went meanwhile
				delete(out, name)
				err = nil
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func described(name string, d fs.DirEntry) (string, error) {
	var st unix.Stat_t
	if err := unix.Lstat(name, &st); err != nil {
		return "", err
	}
	head := fmt.Sprintf("mode %07o owner %d:%d", st.Mode, st.Uid, st.Gid)
	switch {
	case d.Type()&fs.ModeSymlink != 0:
		to, err := os.Readlink(name)
		return head + " to " + to, err
	case d.Type().IsRegular():
		b, err := os.ReadFile(name)
		return head + "\n" + string(b), err
	}
	return head, nil
}

// differing lists what is not in both as it is in the other.
func differing(before, after map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		now, there := after[name]
		switch {
		case !there:
			out = append(out, name+" is gone")
		case now != before[name]:
			out = append(out, name+" was: "+oneLine(before[name])+"; is: "+oneLine(now))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, there := before[name]; !there {
			out = append(out, name+" was not there: "+oneLine(after[name]))
		}
	}
	return out
}

func oneLine(s string) string {
	s = fmt.Sprintf("%q", s)
	return s[:min(len(s), 400)]
}

// mendedFiles compares what files hold once the trap is mended, whole.
func mendedFiles(want, now map[string]string) (string, error) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		_, got, _ := strings.Cut(now[name], "\n")
		if _, there := now[name]; !there {
			return "", fmt.Errorf("%s is not there", name)
		}
		if got != want[name] {
			return "", fmt.Errorf("%s holds %q, and should hold %q", name, got, want[name])
		}
	}
	return fmt.Sprintf("%d files hold what they should", len(want)), nil
}
