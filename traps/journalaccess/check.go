package journalaccess

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"fettle/engine/trap"
	"fettle/host"
)

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	conf, applies, err := applies(ctx, h, r)
	if err != nil || !applies {
		return err
	}
	f, err := gather(ctx, h)
	if err != nil {
		r.Unknown(top, err, conf.Evidence...)
		return nil
	}
	if len(f.readers) == 0 {
		r.NotApplicable("", "/etc/group has no group systemd-journal, adm or wheel: only root may read the journal")
		return nil
	}
	f.report(r, conf, f.ownStore())
	for i := range f.stores {
		if s := &f.stores[i]; !s.Own {
			f.reportOther(r, s)
		}
	}
	return nil
}

// applies tells whether journald keeps a journal on disk here.
func applies(ctx context.Context, h *host.Host, r *trap.Report) (*settings, bool, error) {
	installed := false
	for _, p := range []string{"/usr/lib/systemd/systemd-journald", "/lib/systemd/systemd-journald"} {
		ok, err := h.Exists(ctx, p)
		if err != nil {
			return nil, false, err
		}
		if installed = ok; ok {
			break
		}
	}
	if !installed {
		r.NotApplicable("", "systemd-journald is not installed")
		return nil, false, nil
	}
	if h.Running() {
		// A container that something else is process 1 of may have the package, and
		// the folder in it. Journald makes /run/systemd/journal where systemd did not.
		_, systemd := h.Stat(ctx, "/run/systemd/system")
		_, runs := h.Stat(ctx, "/run/systemd/journal")
		switch {
		case host.IsAbsent(systemd) && host.IsAbsent(runs):
			r.NotApplicable("", "journald is not running: "+host.ErrNoSystemd.Error())
			return nil, false, nil
		case host.IsAbsent(systemd) && runs != nil:
			return nil, false, runs
		case host.IsAbsent(runs) && systemd != nil:
			return nil, false, systemd
		}
	}
	conf, err := readSettings(ctx, h)
	if err != nil {
		return nil, false, err
	}
	for _, e := range conf.Errors {
		conf.Evidence = append(conf.Evidence, trap.Ev(fmt.Sprintf("%s:%d", e.Path, e.Line), "%s", e.Msg))
	}
	if conf.Storage == "volatile" || conf.Storage == "none" {
		r.NotApplicable("", "journald keeps no journal on disk: Storage="+conf.Storage, conf.Evidence...)
		return nil, false, nil
	}
	there, err := h.Exists(ctx, top)
	if err != nil {
		return nil, false, err
	}
	if !there {
		r.NotApplicable("", "journald keeps no journal on disk: "+top+" is not there", conf.Evidence...)
	}
	return conf, there, nil
}

// report says how this machine's own journal stands. s is nil when journald
// has made no folder for it yet.
func (f *facts) report(r *trap.Report, conf *settings, s *store) {
	if err := s.unseen(); err != nil {
		r.Unknown(top, err)
		if s.Dir.Err != nil {
			return
		}
	}
	now, boot := f.now(s), f.afterBoot(s)
	k, readers := worst(f.readers, now, boot)
	if k == fine {
		if f.tmp.Unread != nil {
			r.Unknown(top, fmt.Errorf("readable now; whether it stays so after the next boot is not known: %w", f.tmp.Unread))
			return
		}
		r.Clear(top, "members of "+names(f.readers)+" can read the journal, and future journal files too", f.evidence(s, nil)...)
		return
	}
	o := trap.Finding{Subject: top, Severity: trap.Notice, Evidence: append(f.evidence(s, readers), conf.Evidence...)}
	who := names(readers)
	switch k {
	case present:
		o.Summary = "members of " + who + " cannot read the system journal"
	case toCome:
		o.Summary = "members of " + who + " will not be able to read journal files created from now on"
	case atBoot:
		o.Summary = "the next boot makes the system journal unreadable to members of " + who
	case oldOnly:
		o.Summary = "members of " + who + " cannot read older journal files"
	}
	if k != oldOnly && f.anyMember(readers) {
		o.Severity = trap.Warning
	}
	o.Detail = f.detail(k, readers, now, boot, conf)
	r.Found(o)
}

// unseen joins what could not be looked at.
func (s *store) unseen() error {
	if s == nil {
		return nil
	}
	errs := []error{s.Dir.Err}
	for _, n := range slices.Concat(s.Active, s.Old) {
		if n.Err != nil && !host.IsAbsent(n.Err) {
			errs = append(errs, n.Err)
		}
		if len(errs) > 3 {
			break
		}
	}
	return errors.Join(errs...)
}

func (f *facts) detail(k kind, readers []reader, now, boot layout, conf *settings) trap.Prose {
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, r := range readers {
		if v := now.judge(r); !v.way {
			say("Members of %s cannot even enter the parent folders.", r.Name)
			break
		}
	}
	switch {
	case k == oldOnly || k == atBoot:
	case f.tmp.Unread != nil:
		say("What the next boot will change is not known: %v.", f.tmp.Unread)
	case f.top.Link:
		say("The next boot does not fix it: %s is a symlink, and systemd-tmpfiles leaves its target alone.", top)
	case mendedByBoot(readers, boot):
		say(
			"The next boot fixes it for files that are written then: systemd-tmpfiles-setup.service applies %s. Archived files are not changed.",
			f.lines(),
		)
	case f.ownLines() == 0:
		say("The next boot does not fix it: no line of tmpfiles.d covers %s (masked or removed).", top)
	default:
		say("The next boot does not fix it: the lines of tmpfiles.d (%s) do not give these groups what they need.", f.lines())
	}
	if k == toCome {
		say(
			"The default ACL or the setgid bit of the folder is missing: journald starts a new file when the present one is full, and at a " +
				"reboot after a crash.",
		)
	}
	if f.noACL != "" {
		say("The file system stores no ACLs (%s): only group systemd-journal can be given access.", f.noACL)
	}
	if conf.SplitMode == "none" {
		say("SplitMode=none: users do not even see their own messages.")
	}
	return trap.Lines(lines...)
}

// reportOther says whether journals of other machine IDs can be read: of
// containers, of log namespaces, from before the ID changed. Nothing is
// written there by this machine's journald but for namespaces.
func (f *facts) reportOther(r *trap.Report, s *store) {
	subject := path.Join(top, s.ID)
	if err := s.unseen(); err != nil {
		r.Unknown(subject, err)
		if s.Dir.Err != nil {
			return
		}
	}
	l := f.now(s)
	var shut []reader
	for _, rd := range f.readers {
		if v := l.judge(rd); v.way && (!v.active || !v.old) {
			shut = append(shut, rd)
		}
	}
	if len(shut) == 0 {
		r.Clear(subject, "members of "+names(f.readers)+" can read the journal files of this other machine ID")
		return
	}
	if s.New {
		r.NotApplicable(subject, "created less than a minute ago: the container that it belongs to has yet to set who may read it")
		return
	}
	r.Found(trap.Finding{Subject: subject, Severity: trap.Notice, Evidence: f.evidence(s, shut),
		Summary: "members of " + names(shut) + " cannot read journal files of another machine ID",
		Detail:  "They belong to a container or a log namespace, or date from before this machine's ID changed. Booting does not change them."})
}
