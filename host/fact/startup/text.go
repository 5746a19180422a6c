package startup

import (
	"context"
	"path"
	"slices"
	"strings"

	"fettle/host"
	"fettle/host/format/ini"
	"fettle/internal/sorted"
)

// Text is what the files of a unit say now: what systemd reads at the next start, whatever it
// has loaded.
type Text struct {
	// File is the unit's own file; empty where there is none.
	File    string
	Entries []ini.Entry // of it and of its drop-ins, in the order in which systemd reads them
}

// Read reads a unit's file and its drop-ins, without those below /run that no generator makes
// again. Where the file is gone, the text has no File.
func Read(ctx context.Context, h *host.Host, u *Unit) (*Text, error) {
	t := &Text{}
	own, err := ownFile(ctx, h, u)
	if err != nil {
		return nil, err
	}
	files := own
	drops, err := dropIns(ctx, h, u)
	if err != nil {
		return nil, err
	}
	for i, f := range append(files, drops...) {
		b, err := h.ReadFile(ctx, f)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if i == 0 && len(own) > 0 {
			t.File = f
		}
		t.Entries = append(t.Entries, ini.Parse(ini.Systemd, f, b).Entries...)
	}
	return t, nil
}

// ownFile is the unit's file: one in /etc hides the one that systemd has loaded.
func ownFile(ctx context.Context, h *host.Host, u *Unit) ([]string, error) {
	if u.FragmentPath == "" {
		return nil, nil
	}
	in := path.Join("/etc/systemd/system", path.Base(u.FragmentPath))
	if in == u.FragmentPath || strings.HasPrefix(u.FragmentPath, "/run/systemd/generator.early/") {
		return []string{u.FragmentPath}, nil
	}
	there, err := h.Exists(ctx, in)
	if err != nil {
		return nil, err
	}
	if there {
		return []string{in}, nil
	}
	return []string{u.FragmentPath}, nil
}

// dropIns are those that systemd has loaded, and those in /etc that it has not yet.
func dropIns(ctx context.Context, h *host.Host, u *Unit) ([]string, error) {
	var out []string
	for _, f := range u.DropIns {
		if !UntilRestart(f) {
			out = append(out, f)
		}
	}
	dirs := []string{u.ID + ".d"}
	if name, rest, ok := strings.Cut(u.ID, "@"); ok {
		dirs = append(dirs, name+"@"+rest[strings.LastIndexByte(rest, '.'):]+".d")
	}
	for _, d := range dirs {
		in, err := h.Glob(ctx, path.Join("/etc/systemd/system", d), "*.conf")
		if err != nil {
			return nil, err
		}
		out = append(out, in...)
	}
	sorted.By(out, func(a, b string) int { return strings.Compare(path.Base(a), path.Base(b)) })
	return slices.Compact(out), nil
}

// UntilRestart reports whether a unit's file or drop-in is one that a restart takes away: below
// /run, and not made by a generator, which makes it again.
func UntilRestart(file string) bool {
	return strings.HasPrefix(file, "/run/") && !strings.HasPrefix(file, "/run/systemd/generator")
}

// Last is the value that a setting has in the end, and where it is.
func (t *Text) Last(section, key string) (e ini.Entry, ok bool) {
	for _, e := range slices.Backward(t.Entries) {
		if e.Section == section && e.Key == key {
			return e, e.Value != ""
		}
	}
	return ini.Entry{}, false
}

// Value is the text of Last.
func (t *Text) Value(section, key string) string {
	e, _ := t.Last(section, key)
	return e.Value
}

// List are the values of a setting that may be given several times; an empty one takes away
// those before it (systemd.syntax(7)).
func (t *Text) List(section, key string) []ini.Entry {
	var out []ini.Entry
	for _, e := range t.Entries {
		switch {
		case e.Section != section || e.Key != key:
		case e.Value == "":
			out = nil
		default:
			out = append(out, e)
		}
	}
	return out
}

// Words are the words of all values of a list.
func (t *Text) Words(section, key string) []string {
	var out []string
	for _, e := range t.List(section, key) {
		out = append(out, strings.Fields(e.Value)...)
	}
	return out
}

// Expand replaces the specifiers for the unit's own name (systemd.unit(5), SPECIFIERS). ok is
// false where another one is left.
func (u *Unit) Expand(s string) (expanded string, ok bool) {
	if !strings.Contains(s, "%") {
		return s, true
	}
	full := u.ID[:strings.LastIndexByte(u.ID, '.')]
	prefix, instance, _ := strings.Cut(full, "@")
	last := prefix[strings.LastIndexByte(prefix, '-')+1:]
	out := strings.NewReplacer("%%", "\x00", "%n", u.ID, "%N", full, "%p", prefix, "%P", unescape(prefix), "%i", instance,
		"%I", unescape(instance), "%j", last, "%J", unescape(last), "%t", "/run", "%S", "/var/lib", "%C", "/var/cache", "%L", "/var/log",
		"%E", "/etc", "%T", "/tmp", "%V", "/var/tmp", "%h", "/root").Replace(s)
	ok = !strings.Contains(out, "%")
	return strings.ReplaceAll(out, "\x00", "%"), ok
}

// unescape reads a name as systemd-escape(1) writes it.
func unescape(s string) string {
	s = strings.ReplaceAll(s, "-", "/")
	for {
		i := strings.Index(s, `\x`)
		if i < 0 || i+4 > len(s) {
			return s
		}
		n, ok := hex(s[i+2 : i+4])
		if !ok {
			return s
		}
		s = s[:i] + string([]byte{n}) + s[i+4:]
	}
}

func hex(s string) (byte, bool) {
	var n byte
	for _, c := range []byte(strings.ToLower(s)) {
		i := strings.IndexByte("0123456789abcdef", c)
		if i < 0 {
			return 0, false
		}
		n = n<<4 | byte(i)
	}
	return n, true
}

// Quoted escapes what systemd expands in a quoted word of a unit file (systemd.service(5),
// systemd.syntax(7)).
func Quoted(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$").Replace(s)
}

// Program is the path that a command line begins with, and the prefixes before it
// (systemd.service(5), "Special executable prefixes"); empty where there is no command.
func Program(command string) (name, prefixes string) {
	f := strings.Fields(command)
	if len(f) == 0 {
		return "", ""
	}
	name = strings.TrimLeft(f[0], "@-:+!|")
	return strings.Trim(name, `"'`), f[0][:len(f[0])-len(name)]
}
