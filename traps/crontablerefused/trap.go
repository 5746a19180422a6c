// Package crontablerefused finds system tables of cron whose text cron refuses: a line of them, or the whole file.
package crontablerefused

import (
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/accounts"
	"fettle/host/format/crontab"
	"fettle/host/redact"
	"fettle/internal/lazy"
	"fettle/internal/units"
)

//go:embed lore.md
var lore trap.Lore

// Trap is cron-table-refused.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check, Plan: plan}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	dialect, why, err := reader(ctx, h)
	if err != nil {
		return err
	}
	if why != "" {
		r.NotApplicable("", why)
		return nil
	}
	names, err := h.Glob(ctx, "/etc/cron.d", "*")
	if err != nil {
		return err
	}
	db, dberr := accounts.Read(ctx, h)
	tables := 0
	for _, name := range append([]string{"/etc/crontab"}, names...) {
		if path.Dir(name) == "/etc/cron.d" && !read(dialect, path.Base(name)) {
			continue // cron-file-ignored tells of those
		}
		is, err := table(ctx, h, r, dialect, name, db, dberr)
		if err != nil {
			r.Unknown(name, err)
		}
		if is || err != nil {
			tables++
		}
	}
	if tables == 0 {
		r.NotApplicable("", "cron has no system tables")
	}
	return nil
}

// reader is which cron reads the tables, or why none does that fettle knows.
func reader(ctx context.Context, h *host.Host) (d crontab.Dialect, why string, err error) {
	for _, c := range []struct {
		name string
		d    crontab.Dialect
	}{{"cron", crontab.Debian}, {"cronie", crontab.Cronie}} {
		p, err := h.Package(ctx, c.name)
		if err != nil && !host.IsAbsent(err) {
			return 0, "", err
		}
		if err == nil && p.Installed() {
			return c.d, "", nil
		}
	}
	return 0, "neither Debian's cron nor cronie is installed", nil
}

// debianNames are those that Debian's cron reads in /etc/cron.d (cron(8), DEBIAN SPECIFIC).
var debianNames = lazy.Regexp(`^[A-Za-z0-9_-]+$`)

// read reports whether cron reads a file of that name (cronie's database.c, not_a_crontab).
func read(d crontab.Dialect, base string) bool {
	if d == crontab.Debian {
		return debianNames().MatchString(base)
	}
	return !strings.HasPrefix(base, ".") && !strings.HasPrefix(base, "#") && !strings.HasSuffix(base, "~") && !strings.Contains(base, ".rpm")
}

// table judges one file. is: it is one.
func table(ctx context.Context, h *host.Host, r *trap.Report, d crontab.Dialect, name string, db *accounts.DB, dberr error) (is bool,
	err error) {
	st, err := h.Stat(ctx, name)
	if host.IsAbsent(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !st.Mode.IsRegular() || st.UID != 0 || st.Mode.Perm()&(fs.ModePerm&0o022) != 0 {
		return false, nil // it is not read at all: cron-file-ignored
	}
	b, err := h.ReadFile(ctx, name)
	if host.IsAbsent(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if strings.Contains(string(b), redact.LeftOut) {
		return true, fmt.Errorf("redaction left out lines of it: %w", host.ErrNotCollected)
	}
	t := crontab.Parse(d, string(b))
	bad, err := refused(t, db, dberr)
	unended := t.Unended && len(t.Jobs) > 0
	switch {
	case len(bad) > 0 || unended:
		r.Found(finding(d, name, t, bad))
	case err != nil:
		return false, err
	default:
		r.Clear(name, "cron reads it: "+units.Count(len(t.Jobs), "job", "jobs"))
	}
	return true, nil
}

// refused are the jobs that cron cannot read. err: whether a user exists is not known.
func refused(t crontab.Table, db *accounts.DB, dberr error) (bad []crontab.Job, err error) {
	for _, j := range t.Jobs {
		if j.Bad == "" {
			ok, uerr := exists(j.User, db, dberr)
			if uerr != nil {
				err = fmt.Errorf("line %d: %w", j.Line, uerr)
			}
			if ok || uerr != nil {
				continue
			}
			j.Bad = "bad username"
		}
		bad = append(bad, j)
	}
	return bad, err
}

func exists(name string, db *accounts.DB, dberr error) (bool, error) {
	if dberr != nil {
		return false, dberr
	}
	if _, ok := db.User(name); ok || strings.ContainsAny(name, "/*$=") {
		return ok, nil
	}
	if others := slices.DeleteFunc(slices.Clone(db.UsersElsewhere), func(s string) bool { return s == "systemd" }); len(others) > 0 {
		return false, fmt.Errorf("the user %q is not in the files, and %s may know it", name, strings.Join(others, " or "))
	}
	return false, nil
}

func finding(d crontab.Dialect, name string, t crontab.Table, bad []crontab.Job) trap.Finding {
	f := trap.Finding{Subject: name, Severity: trap.Warning, Detail: trap.Prose(units.Count(len(t.Jobs), "job", "jobs") + " in this file")}
	var says string
	if len(bad) > 0 {
		j := bad[0]
		says, f.ByHand = reason(j)
		says = fmt.Sprintf("line %d has a %s", j.Line, says)
		for _, j := range bad {
			f.Evidence = append(f.Evidence, trap.Ev(fmt.Sprintf("%s:%d", name, j.Line), "%s", j.Bad))
		}
	} else {
		says, f.ByHand = "the last line has no newline", "end its last line with a newline"
		f.Evidence = []trap.Evidence{trap.Ev(name, "Missing newline before EOF")}
	}
	f.Summary = "cron ignores the whole file, and none of its jobs run: " + says
	if d == crontab.Cronie {
		f.Summary = "cron drops a job: " + says
		if len(bad) > 1 {
			f.Summary = "cron drops several jobs: " + says
		}
	}
	return f
}

// reason is what is wrong with a job, and what to do.
func reason(j crontab.Job) (says, byHand string) {
	switch j.Bad {
	case "bad username":
		if strings.Contains(j.User, "/") {
			return "command where the user belongs", "write the user, mostly root, before the command"
		}
		return "user that does not exist: " + j.User, "create the user and touch the file, or write another user"
	case "bad command":
		return "command or a user, but not both", "write the user, mostly root, before the command"
	case "bad time specifier":
		return "word after @ that cron does not know", "use @reboot, @hourly, @daily, @weekly, @monthly or @yearly"
	}
	return strings.Replace(j.Bad, "bad ", "", 1) + " that cron cannot read",
		"correct the line; a variable without a value needs quotes (MAILTO=\"\"), " +
			"and a file from Windows needs Unix line ends (sed -i 's/\\r$//')"
}

func plan(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
	b, err := h.ReadFile(ctx, f.Subject)
	if err != nil {
		return remedy.Plan{}, err
	}
	if !strings.Contains(f.Summary, "no newline") {
		return remedy.Plan{}, remedy.Refuse("only who wrote %s knows what the line was to do: %s", f.Subject, f.ByHand)
	}
	return remedy.Plan{
		Title: "end " + f.Subject + " with a newline",
		Notes: []string{"cron reads the file again within a minute, and its jobs will run. First check that they still should."},
		Steps: []step.Step{step.File{Path: f.Subject, Content: append(slices.Clone(b), '\n'), Was: b}},
	}, nil
}
