package rule

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"fettle/host"
	"fettle/internal/lazy"
)

var (
	sysctlForm = lazy.Regexp(`^[a-z0-9_]+([./][A-Za-z0-9_:@-]+)+$`)
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

func readFile(r *reading, f *Fact) (any, error) {
	name := f.arg()
	b, err := r.content(name)
	form := "file"
	if volatilePath(name) {
		form = "procf"
	}
	if host.IsAbsent(err) {
		return newObject(form, name, "absent", map[string]any{"path": name, "int": noValue("%s is absent", name)}), nil
	}
	if err != nil {
		return nil, err
	}
	s := string(b)
	return newObject(form, name, brief(s), map[string]any{
		"exists": true, "path": name, "text": s, "value": strings.TrimSpace(s),
		"lines": later(func() (any, error) { return lines(s), nil }),
		"int":   later(func() (any, error) { return asInt(name, s) }),
	}), nil
}

// noValue is a field that there is none of.
func noValue(format string, args ...any) later {
	return func() (any, error) { return nil, fmt.Errorf(format, args...) }
}

func asInt(what, s string) (any, error) {
	s = strings.TrimSpace(s)
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		if len(s) > 40 {
			s = s[:40] + "..."
		}
		return nil, fmt.Errorf("%s says %q, which is no number", what, s)
	}
	return n, nil
}

func readDir(r *reading, f *Fact) (any, error) {
	name, err := r.permit(f.arg())
	var es []host.Entry
	if err == nil {
		es, err = r.h.ReadDir(r.ctx, name)
	}
	if host.IsAbsent(err) {
		return newObject("dir", f.arg(), "absent", map[string]any{}), nil
	}
	if err != nil {
		return nil, err
	}
	names := make([]string, len(es))
	for i, e := range es {
		names[i] = e.Name
	}
	return newObject("dir", f.arg(), fmt.Sprintf("%d entries", len(es)), map[string]any{"exists": true, "names": names, "count": len(es)}), nil
}

func readGlob(r *reading, f *Fact) (any, error) {
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
// absent has none in it.
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
			if errors.Is(err, host.ErrNotRegular) || host.IsAbsent(err) {
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
			if err != nil && !host.IsAbsent(err) {
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

var fileTypes = map[fs.FileMode]string{0: "file", fs.ModeDir: "dir", fs.ModeSymlink: "link", fs.ModeDevice: "block",
	fs.ModeDevice | fs.ModeCharDevice: "char", fs.ModeNamedPipe: "fifo", fs.ModeSocket: "socket"}

func readStat(r *reading, f *Fact) (any, error) {
	name := f.arg()
	stat := r.h.Stat
	if !f.on("follow", true) {
		stat = r.h.Lstat
	}
	i, err := stat(r.ctx, name)
	if host.IsAbsent(err) {
		return newObject("stat", "stat "+name, "absent", map[string]any{"path": name}), nil
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
	text := fmt.Sprintf("%04o", mode)
	return newObject("stat", "stat "+name, fmt.Sprintf("mode %s, owner %d:%d", text, i.UID, i.GID), map[string]any{
		"exists": true, "path": name, "type": fileTypes[i.Mode.Type()], "mode": text, "uid": int64(i.UID), "gid": int64(i.GID), "size": i.Size,
		"nlink": i.Nlink, "world_writable": mode&0o002 != 0, "group_writable": mode&0o020 != 0,
		"mtime": later(func() (any, error) { return i.ModTime, known(i.ModTime, name) }),
		"age":   later(func() (any, error) { return r.h.Now().Sub(i.ModTime), known(i.ModTime, name) }),
	}), nil
}

func known(t time.Time, name string) error {
	if t.IsZero() {
		return fmt.Errorf("the time of %s: %w", name, host.ErrNotCollected)
	}
	return nil
}

func readLink(r *reading, f *Fact) (any, error) {
	name := f.arg()
	to, err := r.h.Readlink(r.ctx, name)
	if err != nil {
		if i, serr := r.h.Lstat(r.ctx, name); host.IsAbsent(err) || serr == nil && i.Mode&fs.ModeSymlink == 0 {
			return newObject("link", name, "no symlink", map[string]any{}), nil
		}
		return nil, err
	}
	abs := to
	if !path.IsAbs(abs) {
		abs = path.Join(path.Dir(name), abs)
	}
	return newObject("link", "link "+name, to, map[string]any{
		"exists": true, "target": to,
		"resolved": later(func() (any, error) { return realPath(r.ctx, r.h, abs) }),
		"dangling": later(func() (any, error) {
			ok, err := r.h.Exists(r.ctx, abs)
			return !ok, err
		}),
	}), nil
}

// inFiles are the paths of a fact's option in, wildcards resolved, or others
// where it is not given.
func (r *reading) inFiles(f *Fact, otherwise ...string) ([]string, error) {
	var out []string
	for _, p := range append(f.Opts["in"], otherwise[:len(otherwise)*b2i(len(f.Opts["in"]) == 0)]...) {
		if !strings.ContainsAny(p, "*?[") {
			out = append(out, p)
			continue
		}
		more, err := r.glob(p)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// matchLimit bounds what a regex fact lists.
const matchLimit = 1000

func readRegex(r *reading, f *Fact) (any, error) {
	re, err := compiled(f.arg())
	if err != nil {
		return nil, err
	}
	files, err := r.inFiles(f)
	if err != nil {
		return nil, err
	}
	ignore, err := compiled(f.opt("ignore", `[^\s\S]`))
	if err != nil {
		return nil, err
	}
	var found []*object
	exists := false
	count := 0
	for _, name := range files {
		b, err := r.content(name)
		if host.IsAbsent(err) || errors.Is(err, host.ErrNotRegular) && len(f.Opts["in"]) > 0 && len(files) > 1 {
			continue
		}
		if err != nil {
			return nil, err
		}
		exists = true
		err = eachMatch(r.ctx, re, b, func(n int, line string) {
			if ignore.MatchString(line) {
				return
			}
			if count++; count <= matchLimit {
				found = append(found, newObject("match", fmt.Sprintf("%s:%d", name, n), strings.TrimSpace(line), map[string]any{
					"path": name, "line": n, "text": line, "groups": groups(re, line)}))
			}
		})
		if err != nil {
			return nil, err
		}
	}
	source := strings.Join(f.Opts["in"], ", ")
	o := newObject("regex", source, "no line matches "+f.arg(), map[string]any{"exists": exists, "found": count > 0, "matches": found, "count": count,
		"first": noValue("no line of %s matches %s", source, f.arg())})
	switch {
	case count > 0:
		o.fields["first"] = found[0]
		o.source, o.brief = found[0].source, found[0].brief
	case !exists:
		o.brief = "absent"
	}
	return o, nil
}

func readTable(r *reading, f *Fact) (any, error) {
	name := f.arg()
	b, err := r.content(name)
	if host.IsAbsent(err) {
		return newObject("table", name, "absent", map[string]any{"rows": []map[string]string{}}), nil
	}
	if err != nil {
		return nil, err
	}
	split := strings.Fields
	if sep := f.opt("separator", ""); sep != "" {
		re, err := compiled(sep)
		if err != nil {
			return nil, err
		}
		split = func(s string) []string { return re.Split(strings.TrimSpace(s), -1) }
	}
	ls := lines(string(b))
	skip, _ := positive(f.opt("skip", "0"))
	ls = ls[min(skip, len(ls)):]
	columns := f.Opts["columns"]
	if f.on("header", false) && len(ls) > 0 {
		columns, ls = split(ls[0]), ls[1:]
	}
	rows := make([]map[string]string, 0, len(ls))
	for _, l := range ls {
		if strings.TrimSpace(l) == "" {
			continue
		}
		row := map[string]string{}
		for i, v := range split(l) {
			col := strconv.Itoa(i)
			if i < len(columns) {
				col = columns[i]
			}
			row[col] = v
		}
		rows = append(rows, row)
	}
	return newObject("table", name, fmt.Sprintf("%d rows", len(rows)), map[string]any{"exists": true, "rows": rows}), nil
}
