package netbootstale

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/tftpd"
)

// heldFacts are what the remedy of a server that holds an old folder needs.
type heldFacts struct {
	Unit string `json:"unit"` // that is restarted; empty: none
}

// worksIn are the servers that open what they serve from their working folder, so
// that this is what they serve (tftpd-hpa 5.2, tftpd.c: chdir, later chroot(".")).
// The others open paths, below a root that may be another one for a reason: of that
// it counts only that it is deleted.
var worksIn = map[string]bool{"in.tftpd": true, "tftpd": true}

// heldFolders reports on running servers that serve what has another name now, or
// none: judged by what they hold, not by the path that their configuration names.
func heldFolders(ctx context.Context, h *host.Host, r *trap.Report, roots []tftpd.Root) {
	if !h.Running() {
		return
	}
	servers, err := h.Held(ctx)
	if err != nil {
		if len(roots) > 0 || !errors.Is(err, host.ErrNotCollected) {
			r.Unknown("", fmt.Errorf("what the running servers hold: %w", err))
		}
		return
	}
	var subjects []string
	of := map[string][]host.Held{}
	for _, s := range servers {
		name := subjectOf(s)
		if of[name] == nil {
			subjects = append(subjects, name)
		}
		of[name] = append(of[name], s)
	}
	for _, subject := range subjects {
		reportHeld(ctx, h, r, subject, of[subject], roots)
	}
}

// reportHeld reports on the processes of one server. One of tftpd's that has the
// folder of today answers new clients; others then only end what they began.
func reportHeld(ctx context.Context, h *host.Host, r *trap.Report, subject string, servers []host.Held, roots []tftpd.Root) {
	var found *trap.Finding
	denied, fine := false, false
	var lost error
	for _, s := range servers {
		if s.Denied { // every web server's is, to a user without root
			denied = denied || worksIn[s.Comm]
			continue
		}
		f, ok := judgeHeld(ctx, h, s, roots)
		err := unseen(ctx, h, s, roots)
		switch {
		case ok && (err == nil || gone(s)):
			if found == nil {
				f.Subject = subject
				found = &f
			}
		case ok:
			lost = errors.Join(lost, err)
		case worksIn[s.Comm]:
			fine, lost = fine || err == nil, errors.Join(lost, err)
		}
	}
	switch {
	case fine:
		r.Clear(subject, "serves the folder that has its name now")
	case found != nil:
		r.Found(*found)
	case lost != nil:
		r.Unknown(subject, lost)
	case denied:
		r.Unknown(subject, fmt.Errorf("what it holds: %w", host.ErrDenied))
	}
}

// gone reports whether a folder that a server holds is deleted.
func gone(s host.Held) bool {
	return s.Cwd.Deleted || s.Root.Deleted || slices.ContainsFunc(s.Mounts, func(m host.HeldFile) bool { return m.Deleted })
}

// subjectOf is the unit of a server, or its name.
func subjectOf(s host.Held) string {
	switch {
	case s.Container != "":
		return s.Comm + " in " + s.Container
	case s.Own() && strings.HasSuffix(s.Unit, ".service"):
		return s.Unit
	}
	return s.Comm
}

// judgeHeld compares what a server holds with what its arguments and the
// configuration name.
func judgeHeld(ctx context.Context, h *host.Host, s host.Held, roots []tftpd.Root) (trap.Finding, bool) {
	named := namedFor(s, roots)
	proc := fmt.Sprintf("/proc/%d/", s.PID)
	if worksIn[s.Comm] && s.Own() && old(ctx, h, s.Cwd, named, s.Root.Path) {
		return holding(s, proc+"cwd", "its working folder is ", s.Cwd), true
	}
	if s.Root.Deleted {
		return holding(s, proc+"root", "its root is ", s.Root), true
	}
	for _, m := range s.Mounts {
		if m.Deleted || slices.ContainsFunc(named, func(n string) bool { return path.Clean(n) == m.Path && !same(ctx, h, m, n) }) {
			return holding(s, proc+"mountinfo", "an older folder is mounted for it on ", m), true
		}
	}
	for _, f := range s.Files {
		if base := path.Base(f.Path); strings.HasPrefix(base, "initrd") || base == "linux" || strings.HasPrefix(base, "vmlinuz") {
			return holding(s, proc+"fd", "it keeps open ", f), true
		}
	}
	return trap.Finding{}, false
}

// namedFor are the folders that a server is told to serve.
func namedFor(s host.Held, roots []tftpd.Root) []string {
	named := slices.Clone(s.Paths)
	for _, root := range roots {
		if names(root.Server, s.Comm) {
			named = append(named, root.Path)
		}
	}
	return named
}

// unseen is why a folder that a server is told to serve cannot be compared with what
// it holds; nil where all can be.
func unseen(ctx context.Context, h *host.Host, s host.Held, roots []tftpd.Root) error {
	for _, n := range namedFor(s, roots) {
		for _, name := range []string{n, path.Join(s.Root.Path, n)} {
			if _, err := h.Stat(ctx, name); err != nil && !host.IsAbsent(err) {
				return err
			}
		}
	}
	return nil
}

// names tells whether a configuration is this server's.
func names(server, comm string) bool {
	return server == comm || server == "tftpd-hpa" && worksIn[comm]
}

// old tells whether a folder that a server holds is none of those that are named:
// another has the name by now, or it has none any more.
// root is the server's own, below which its arguments name folders.
func old(ctx context.Context, h *host.Host, f host.HeldFile, named []string, root string) bool {
	switch {
	case f.Deleted:
		return true
	case f.Path == "" || f.Path == "/":
		return false
	}
	there := false
	for _, n := range named {
		if same(ctx, h, f, n) || same(ctx, h, f, path.Join(root, n)) {
			return false
		}
		// A folder that is named and is one: files, such as a map of names, are not served.
		if st, err := h.Stat(ctx, n); err == nil && st.Mode.IsDir() || host.IsAbsent(err) && path.Ext(n) == "" {
			there = true
		}
	}
	return there
}

// same tells whether a path leads to the very thing.
func same(ctx context.Context, h *host.Host, f host.HeldFile, name string) bool {
	st, err := h.Stat(ctx, name)
	return err == nil && st.Dev == f.Dev && st.Ino == f.Ino
}

func holding(s host.Held, where, how string, f host.HeldFile) trap.Finding {
	name := f.Path
	if f.Deleted {
		name += ", which is deleted"
	}
	out := trap.Finding{Severity: trap.Warning,
		Summary: "the running " + s.Comm + " still serves a folder that was moved or deleted: clients get its old files",
		Detail: trap.Prose(fmt.Sprintf("%s%s. What has the configured name now is served after a restart.",
			strings.ToUpper(how[:1])+how[1:], name)),
		Evidence: []trap.Evidence{trap.Ev(where, "%s", name)}}
	if s.Own() && strings.HasSuffix(s.Unit, ".service") {
		out.Facts = trap.FactsOf(heldFacts{s.Unit})
		return out
	}
	out.ByHand = "restart " + s.Comm + " in the way it was started"
	if s.Container != "" {
		out.ByHand = "restart the container " + s.Container
	}
	out.Facts = trap.FactsOf(heldFacts{})
	return out
}

// restart plans the restart of such a server.
func restart(f trap.Finding) (remedy.Plan, error) {
	told, err := trap.FactsIn[heldFacts](f)
	if err != nil {
		return remedy.Plan{}, err
	}
	if told.Unit == "" {
		return remedy.Plan{}, remedy.Refuse("%s", f.ByHand)
	}
	return remedy.Plan{
		Title:    "restart " + told.Unit,
		Notes:    []string{"Clients that load files at that very moment must begin again."},
		Vanishes: "the check reports only servers that hold a folder, which this one no longer does",
		Steps:    []step.Step{step.Unit{Name: told.Unit, Act: "restart"}},
	}, nil
}
