package deletedopenfiles

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/units"
)

// justRotated is how old a fresh log must be before its writer is blamed for
// not having opened it: logrotate runs postrotate within seconds.
const justRotated = time.Minute

// checkLogs finds logs that were renamed or deleted while somebody writes to them.
func checkLogs(ctx context.Context, h *host.Host, r *trap.Report, files []host.OpenFile) bool {
	open := map[string]bool{} // logs that somebody writes to under the name they ought to have
	for _, f := range files {
		if f.Write && !f.Deleted && !f.Elsewhere && f.Container == "" {
			open[f.Path] = true
		}
	}
	groups := groupBy(files, logSubject)
	some := false
	for _, g := range groups {
		lost := false
		for _, f := range g.files {
			lost = lost || f.Deleted
		}
		why := ""
		if !lost {
			var err error
			if why, err = abandoned(ctx, h, g, open); err != nil {
				r.Unknown(g.subject, fmt.Errorf("its writer holds %s: %w", g.files[0].Path, err))
				some = true
				continue
			}
			if why == "" {
				continue
			}
		}
		some = true
		f := trap.Finding{Subject: g.subject, Severity: trap.Warning,
			Summary: "was renamed by log rotation, and its writer still writes to the renamed file"}
		if !slices.ContainsFunc(g.files, func(f host.OpenFile) bool { return !session(f.Unit) }) {
			f.Severity = trap.Notice // a desktop's programs tidy up their own logs
		}
		if lost {
			f.Summary = "was deleted, and its writer still writes to the deleted file: those lines are lost when it is closed"
		}
		var procs []string
		for _, o := range g.files {
			procs = append(procs, who(o)+": "+o.Path+map[bool]string{true: " (deleted)"}[o.Deleted])
			f.Evidence = append(f.Evidence, trap.Ev(where(o), "%s%s, open for writing, %s", o.Path,
				map[bool]string{true: " (deleted)"}[o.Deleted], units.Size(o.Size)))
		}
		f.Detail = trap.Lines(first(unique(procs), 5)...)
		if why != "" {
			f.Evidence = append(f.Evidence, trap.Ev(g.subject, "%s", why))
		}
		if rule, err := rotationOf(ctx, h, g.subject); err == nil && rule != nil {
			f.Evidence = append(f.Evidence, trap.Ev(rule.where(), "%s", rule.says()))
			if rule.silent() {
				f.Detail = f.Detail.Also(rule.where() + " rotates it and does not make the writer open the new file: it will happen again.")
			}
		}
		told := factsOf(kindLog, g.files)
		f.ByHand, _ = leaves(f.Subject, told)
		f.Facts = trap.FactsOf(told)
		r.Found(f)
	}
	return some
}

// logSubject is the name that a log had before it was rotated away; empty
// when the file is none. What was deleted counts only if it is called like a log.
func logSubject(f host.OpenFile) string {
	if !f.Write || f.Elsewhere || f.Container != "" || f.Mapped || !host.LogPath(f.Path) {
		return ""
	}
	before, rotated := host.RotatedName(f.Path)
	switch {
	case rotated:
		return before
	case f.Deleted && (strings.HasSuffix(f.Path, ".log") || path.Dir(f.Path) == "/var/log"):
		return f.Path
	}
	return ""
}

// abandoned tells why the holders of a renamed log ought to have opened the
// log of the old name; "" when they need not.
func abandoned(ctx context.Context, h *host.Host, g *group, open map[string]bool) (string, error) {
	if open[g.subject] {
		return "", nil // its writer has the new one too, and lets go of the old one in its own time
	}
	for _, f := range g.files {
		// A process in a mount namespace of its own may mean another file.
		if i, err := h.Lstat(ctx, f.Path); err == nil && i.Ino != 0 && i.Ino != f.Ino {
			return "", nil
		}
	}
	i, err := h.Lstat(ctx, g.subject)
	switch {
	case host.IsAbsent(err):
		// Without a new log the rotation's mark alone must tell. Programs that
		// put the date into the names of their logs themselves are many.
		p := g.files[0].Path
		for _, mark := range []string{".0", ".1", ".old"} {
			if strings.HasSuffix(p, mark) && strings.Contains(path.Base(g.subject), "log") {
				return "no new log was created", nil
			}
		}
		return "", nil
	case err != nil:
		return "", err
	case h.Now().Sub(i.ModTime) < justRotated:
		return "", nil
	}
	return "the new log exists, and no process has it open", nil
}
