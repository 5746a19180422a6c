package unitcannotstartagain

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"fettle/host"
	"fettle/host/fact/process"
	"fettle/host/fact/startup"
	"fettle/host/format/accounts"
	"fettle/host/format/confd"
	"fettle/host/format/tmpfiles"
)

// world is what all units share, read when the first one needs it.
type world struct {
	ctx  context.Context
	h    *host.Host
	all  []startup.Unit
	db   *accounts.DB
	err  error
	made map[string]bool // folders that the start makes below /run
	// unread is why it may make others.
	unread error
}

func newWorld(ctx context.Context, h *host.Host, all []startup.Unit) *world {
	return &world{ctx: ctx, h: h, all: all}
}

// account tells whether a user or a group exists, or will when the host has started.
func (w *world) account(kind, name string) (bool, error) {
	if w.db == nil && w.err == nil {
		w.db, w.err = accounts.Read(w.ctx, w.h)
	}
	if w.err != nil {
		return false, w.err
	}
	_, user := w.db.User(name)
	_, group := w.db.Group(name)
	if kind == "user" && user || kind == "group" && group {
		return true, nil
	}
	declared, err := w.declared(name)
	if declared || err != nil {
		return declared, err
	}
	services := w.db.UsersElsewhere
	if kind == "group" {
		services = w.db.GroupsElsewhere
	}
	// nss-systemd(8) knows users of running services and of userdb, no others.
	if others := slices.DeleteFunc(slices.Clone(services), func(s string) bool { return s == "systemd" }); len(others) > 0 {
		return false, fmt.Errorf("the %s %q is not in the files, and %s may know it", kind, name, strings.Join(others, " or "))
	}
	for _, dir := range []string{"/etc/userdb", "/run/userdb", "/usr/lib/userdb"} {
		there, err := w.h.Exists(w.ctx, path.Join(dir, name+"."+kind))
		if there || err != nil {
			return there, err
		}
	}
	return false, nil
}

// declared tells whether systemd-sysusers makes the account at the start (sysusers.d(5)).
func (w *world) declared(name string) (bool, error) {
	files, err := confd.Files(w.ctx, w.h, confd.Dirs("sysusers.d"), ".conf")
	if err != nil {
		return false, err
	}
	for _, f := range files {
		if f.Null {
			continue
		}
		b, err := w.h.ReadFile(w.ctx, f.Path)
		if err != nil && !host.IsAbsent(err) {
			return false, err
		}
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) > 1 && (f[0][0] == 'u' || f[0][0] == 'g') && f[1] == name {
				return true, nil
			}
		}
	}
	return false, nil
}

// folder tells whether the start makes a folder below /run: tmpfiles.d(5), or a setting of a unit.
func (w *world) folder(dir string) bool {
	if w.made == nil {
		w.made = map[string]bool{}
		conf := tmpfiles.Read(w.ctx, w.h)
		w.unread = conf.Unread
		for _, l := range conf.Lines {
			w.made[path.Clean(strings.Replace(l.Path, "/var/run/", "/run/", 1))] = true
		}
		for i := range w.all {
			if u := &w.all[i]; u.Kind() == "service" || u.Kind() == "socket" {
				w.add(u)
			}
		}
	}
	return w.made[dir]
}

func (w *world) add(u *startup.Unit) {
	t, err := startup.Read(w.ctx, w.h, u)
	if err != nil {
		if !host.IsAbsent(err) {
			w.unread = cmp.Or(w.unread, err)
		}
		return
	}
	for _, n := range append(t.Words("Service", "RuntimeDirectory"), t.Words("Socket", "RuntimeDirectory")...) {
		n, _, _ = strings.Cut(n, ":")
		n, _ = u.Expand(n)
		w.made[path.Join("/run", n)] = true
	}
	for _, key := range []string{"ListenStream", "ListenDatagram", "ListenFIFO", "ListenSequentialPacket"} { // systemd makes the folders above
		for _, n := range t.Words("Socket", key) {
			n, _ = u.Expand(n)
			if path.IsAbs(n) {
				w.made[path.Dir(strings.Replace(n, "/var/run/", "/run/", 1))] = true
			}
		}
	}
}

// handMade finds a folder below /run that the unit names, that somebody made before the service
// started, and that nothing makes at the start.
func handMade(ctx context.Context, h *host.Host, s *service) (*fault, error) {
	if s.MainPID == 0 || s.SourcePath != "" {
		return nil, nil
	}
	for _, e := range s.Entries {
		if e.Section != "Service" || !slices.Contains(naming, e.Key) || strings.HasPrefix(e.Value, "-") {
			continue
		}
		for _, dir := range runFolders(e.Value) {
			by, err := s.byHand(ctx, h, dir)
			if err != nil {
				return nil, err
			}
			if by {
				return &fault{dir + " was made by hand, and nothing makes it at boot", "write RuntimeDirectory=" + strings.TrimPrefix(dir, "/run/") +
					" into its section [Service], or a line of tmpfiles.d", e.At(), e.Key + "=" + e.Value}, nil
			}
		}
	}
	return nil, nil
}

// naming are the settings in which a unit names what it needs.
var naming = []string{"ExecStart", "ExecStartPre", "WorkingDirectory", "EnvironmentFile", "ReadWritePaths", "BindPaths", "PIDFile"}

// runFolders are the folders right below /run that a value names.
func runFolders(value string) []string {
	var out []string
	for w := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune(" \t\"'=,;:()", r) }) {
		w = strings.Replace(w, "/var/run/", "/run/", 1)
		if rest, ok := strings.CutPrefix(w, "/run/"); ok {
			if name, _, _ := strings.Cut(rest, "/"); name != "" && !strings.ContainsAny(name, "%$*?[{") {
				out = append(out, "/run/"+name)
			}
		}
	}
	return out
}

// byHand tells whether a folder was there before the service started and whether nothing that
// fettle knows of makes it. A service that may write to /run could make it, if it ran as root; then the
// folder is as young as the service.
func (s *service) byHand(ctx context.Context, h *host.Host, dir string) (bool, error) {
	st, err := h.Lstat(ctx, dir)
	if host.IsAbsent(err) || err == nil && !st.Mode.IsDir() {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if s.world.folder(dir) || !strings.HasPrefix(s.File, "/etc/systemd/system/") || s.prepares(dir) {
		return false, nil
	}
	if s.world.unread != nil {
		return false, s.world.unread
	}
	boot, started, err := started(ctx, h, s.MainPID)
	if err != nil {
		return false, err
	}
	// Made by a daemon that starts earlier, it is as old as the boot, and not this service's.
	root := s.Value("Service", "User") == "" || s.Value("Service", "User") == "root"
	if root {
		return st.ModTime.Before(started.Add(-2*time.Second)) && st.ModTime.After(boot.Add(time.Minute)), nil
	}
	u, known := s.world.user(s.Value("Service", "User"))
	return known && st.UID == u, nil
}

// prepares tells whether a command before the program may make the folder.
func (s *service) prepares(dir string) bool {
	for _, e := range s.List("Service", "ExecStartPre") {
		if strings.Contains(e.Value, dir) || strings.HasPrefix(e.Value, "+") {
			return true
		}
	}
	for _, e := range s.List("Service", "ExecStart") {
		if strings.Contains(e.Value, "mkdir") || strings.Contains(e.Value, "install -d") {
			return true
		}
	}
	return false
}

func (w *world) user(name string) (uint32, bool) {
	if w.db == nil {
		w.db, w.err = accounts.Read(w.ctx, w.h)
	}
	if w.err != nil {
		return 0, false
	}
	u, ok := w.db.User(name)
	return u.UID, ok
}

// started is when the host was started, and a process on it.
func started(ctx context.Context, h *host.Host, pid int) (boot, at time.Time, err error) {
	if boot, err = process.Booted(ctx, h); err != nil {
		return boot, at, err
	}
	s, err := process.ReadStat(ctx, h, pid)
	if err != nil {
		return boot, at, err
	}
	return boot, boot.Add(s.Start), nil
}
