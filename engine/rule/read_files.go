package rule

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"fettle/host"
	"fettle/host/format/accounts"
	"fettle/internal/lazy"
)

var (
	sysctlForm = lazy.Regexp(`^[a-z0-9_]+([./][A-Za-z0-9_:@-]+)+$`)
	unitForm   = lazy.Regexp(`^[A-Za-z0-9:_@\\][A-Za-z0-9:_.@\\-]*\.[a-z]+$`)
	moduleForm = lazy.Regexp(`^[A-Za-z0-9_-]+$`)
)

func positive(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err == nil && (n < 0 || n > 10000) {
		err = strconv.ErrRange
	}
	return n, err
}

// brief is a text's evidence: its one line, or how many there are.
func brief(s string) string {
	ls := lines(strings.TrimSpace(s))
	switch len(ls) {
	case 0:
		return "empty"
	case 1:
		return ls[0]
	}
	return fmt.Sprintf("%d lines", len(ls))
}

func readFile(r *reading, f *Fact) (*fileFact, error) {
	name := f.arg()
	b, err := r.content(name)
	if host.IsAbsent(err) {
		return &fileFact{seen: seen{name, "absent"}, Path: name, Int: noValue[int64]("%s is absent", name)}, nil
	}
	if err != nil {
		return nil, err
	}
	s := string(b)
	return &fileFact{
		seen: seen{name, brief(s)}, Exists: true, Path: name, Text: s, Value: strings.TrimSpace(s),
		Lines: sync.OnceValues(func() ([]string, error) { return lines(s), nil }),
		Int:   func() (int64, error) { return asInt(name, s) },
	}, nil
}

func asInt(what, s string) (int64, error) {
	s = strings.TrimSpace(s)
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		if len(s) > 40 {
			s = s[:40] + "..."
		}
		return 0, fmt.Errorf("%s says %q, which is not a number", what, s)
	}
	return n, nil
}

func readDir(r *reading, f *Fact) (*dirFact, error) {
	name, err := r.permit(f.arg())
	var es []host.Entry
	if err == nil {
		es, err = r.h.ReadDir(r.ctx, name)
	}
	if host.IsAbsent(err) {
		return &dirFact{seen: seen{f.arg(), "absent"}}, nil
	}
	if err != nil {
		return nil, err
	}
	names := make([]string, len(es))
	for i, e := range es {
		names[i] = e.Name
	}
	return &dirFact{seen: seen{f.arg(), fmt.Sprintf("%d entries", len(es))}, Exists: true, Names: names, Count: len(es)}, nil
}

func readGlob(r *reading, f *Fact) ([]string, error) {
	var out []string
	for _, p := range f.Args {
		names, err := r.glob(p)
		if err != nil {
			return nil, err
		}
		out = append(out, names...)
	}
	return out, nil
}

// globLimit is how many paths a pattern may come to.
const globLimit = 10000

// glob lists the paths that a pattern fits, in any of its components, sorted.
// Hidden names need a dot in the pattern, as in a shell. A folder that is
// absent has none in it; nor has one in a user's folder that is closed to that
// user, with whose rights root looks there.
func (r *reading) glob(pattern string) ([]string, error) {
	found := []string{"/"}
	for _, part := range strings.Split(strings.Trim(pattern, "/"), "/") {
		var next []string
		for _, dir := range found {
			if !strings.ContainsAny(part, "*?[") {
				next = append(next, path.Join(dir, part))
				continue
			}
			real, err := r.permit(dir)
			if err != nil {
				return nil, err
			}
			names, err := r.h.Glob(r.ctx, real, part)
			if errors.Is(err, host.ErrNotRegular) || host.IsAbsent(err) || r.closed(real, err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			for _, n := range names {
				base := path.Base(n)
				if base[0] == '.' && part[0] != '.' {
					continue
				}
				next = append(next, path.Join(dir, base))
			}
			if len(next) > globLimit {
				return nil, fmt.Errorf("%s fits more than %d paths", pattern, globLimit)
			}
		}
		found = next
	}
	if last := path.Base(pattern); !strings.ContainsAny(last, "*?[") { // not looked at yet
		var there []string
		for _, p := range found {
			ok, err := r.h.Exists(r.ctx, p)
			if err != nil && !host.IsAbsent(err) && !r.closed(p, err) {
				return nil, err
			}
			if ok {
				there = append(there, p)
			}
		}
		return there, nil
	}
	return found, nil
}

// closed reports whether root may not look at a path because it lies in the folder
// of a user who may not.
func (r *reading) closed(name string, err error) bool {
	if !errors.Is(err, host.ErrDenied) || r.h.Identity().EUID != 0 {
		return false
	}
	for name != "/" {
		name = path.Dir(name)
		if st, err := r.h.Stat(r.ctx, name); err == nil && st.UID != 0 {
			return true
		}
	}
	return false
}

var fileTypes = map[fs.FileMode]string{0: "file", fs.ModeDir: "dir", fs.ModeSymlink: "link", fs.ModeDevice: "block",
	fs.ModeDevice | fs.ModeCharDevice: "char", fs.ModeNamedPipe: "fifo", fs.ModeSocket: "socket"}

func readStat(r *reading, f *Fact) (*statFact, error) {
	return r.stat(f.arg(), f.on("follow", true))
}

func readStats(r *reading, f *Fact) ([]*statFact, error) {
	names, err := readGlob(r, f)
	if err != nil {
		return nil, err
	}
	out := []*statFact{}
	for _, name := range names {
		s, err := r.stat(name, f.on("follow", true))
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (r *reading) stat(name string, follow bool) (*statFact, error) {
	stat := r.h.Stat
	if !follow {
		stat = r.h.Lstat
	}
	i, err := stat(r.ctx, name)
	if host.IsAbsent(err) {
		return &statFact{seen: seen{"stat " + name, "absent"}, Path: name}, nil
	}
	if err != nil {
		return nil, err
	}
	mode := int(i.Mode.Perm())
	for bit, m := range map[int]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if i.Mode&m != 0 {
			mode |= bit
		}
	}
	text, owner := fmt.Sprintf("%04o", mode), r.owner(i.UID, i.GID)
	return &statFact{
		seen:   seen{"stat " + name, "mode " + text + ", owner " + owner},
		Exists: true, Path: name, Type: fileTypes[i.Mode.Type()], Mode: text, UID: i.UID, GID: i.GID, Owner: owner,
		Size: i.Size, Nlink: uint64(i.Nlink), WorldWritable: mode&0o002 != 0, GroupWritable: mode&0o020 != 0,
		MTime: func() (time.Time, error) { return i.ModTime, known(i.ModTime, name) },
		Age:   func() (time.Duration, error) { return r.h.Now().Sub(i.ModTime), known(i.ModTime, name) },
	}, nil
}

// owner names a file's user and group, for people.
func (r *reading) owner(uid, gid uint32) string {
	if uid == 0 && gid == 0 {
		return "root:root"
	}
	db, err := accounts.Read(r.ctx, r.h)
	if err != nil {
		return fmt.Sprintf("%d:%d", uid, gid)
	}
	return db.UserName(uid) + ":" + db.GroupName(gid)
}

func known(t time.Time, name string) error {
	if t.IsZero() {
		return fmt.Errorf("the time of %s: %w", name, host.ErrNotCollected)
	}
	return nil
}

func readLink(r *reading, f *Fact) (*linkFact, error) {
	name := f.arg()
	to, err := r.h.Readlink(r.ctx, name)
	if err != nil {
		if i, serr := r.h.Lstat(r.ctx, name); host.IsAbsent(err) || serr == nil && i.Mode&fs.ModeSymlink == 0 {
			return &linkFact{seen: seen{name, "no symlink"}}, nil
		}
		return nil, err
	}
	abs := to
	if !path.IsAbs(abs) {
		abs = path.Join(path.Dir(name), abs)
	}
	return &linkFact{
		seen: seen{"link " + name, to}, Exists: true, Target: to,
		Resolved: func() (string, error) { return realPath(r.ctx, r.h, abs) },
		Dangling: func() (bool, error) {
			ok, err := r.h.Exists(r.ctx, abs)
			return !ok, err
		},
	}, nil
}
