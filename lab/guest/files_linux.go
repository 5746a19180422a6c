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

	"fettle/lab"
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
	return s[:min(len(s), 800)]
}

// mendedFiles compares what files hold once the trap is fixed, whole. A file that the
// plan has changed, made or deleted must be among those that the scenario speaks of.
func mendedFiles(want, before, now map[string]string) (string, error) {
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if strings.HasSuffix(name, "/") {
			continue
		}
		_, got, _ := strings.Cut(now[name], "\n")
		_, there := now[name]
		switch gone := want[name] == lab.NoFile; {
		case gone && there:
			wrong = append(wrong, name+" is still there")
		case !gone && !there:
			wrong = append(wrong, name+" is not there")
		case !gone && got != want[name] && want[name] != lab.AnyContent:
			wrong = append(wrong, fmt.Sprintf("%s holds %s, and should hold %s", name, oneLine(got), oneLine(want[name])))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		_, said := want[name]
		said = said || anyBelow(want, name)
		_, got, file := strings.Cut(now[name], "\n")
		_, was, _ := strings.Cut(before[name], "\n")
		if _, there := before[name]; !said && file && (!there || got != was) {
			wrong = append(wrong, fmt.Sprintf("%s holds %s, and the scenario does not say what it must hold", name, oneLine(got)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, there := now[name]; !there && want[name] != lab.NoFile && !anyBelow(want, name) {
			wrong = append(wrong, name+" is gone, and the scenario does not say so")
		}
	}
	if len(wrong) > 0 {
		return "", errors.New(strings.Join(wrong, "; "))
	}
	return fmt.Sprintf("%d files hold what they should", len(want)), nil
}

// anyBelow tells whether the scenario leaves what is in a folder above to a probe.
func anyBelow(want map[string]string, name string) bool {
	for dir, holds := range want {
		if holds == lab.AnyContent && strings.HasSuffix(dir, "/") && strings.HasPrefix(name, dir) {
			return true
		}
	}
	return false
}
