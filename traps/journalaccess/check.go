package journalaccess

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/host"
	"fettle/trap"
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
		r.NotApplicable("", "no group systemd-journal, adm or wheel is in /etc/group: only root is to read the journal")
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
			r.Unknown(top, fmt.Errorf("readable now, but whether the next boot leaves it so is not known: %w", f.tmp.Unread))
			return
		}
		r.Clear(top, "members of "+names(f.readers)+" can read the journal, and will be able to read files to come", f.evidence(s, nil)...)
		return
	}
	o := trap.Finding{Subject: top, Severity: trap.Notice, Evidence: append(f.evidence(s, readers), conf.Evidence...)}
	who := names(readers)
	switch k {
	case present:
		o.Summary = "members of " + who + " cannot read the system journal"
	case toCome:
		o.Summary = "members of " + who + " will not be able to read journal files made from now on"
	case atBoot:
		o.Summary = "the next boot takes the system journal from members of " + who
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

func (f *facts) detail(k kind, readers []reader, now, boot layout, conf *settings) string {
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, r := range readers {
		if v := now.judge(r); !v.way {
			say("Already the folders on the way keep members of %s out.", r.Name)
			break
		}
	}
	switch {
	case k == oldOnly || k == atBoot:
	case f.tmp.Unread != nil:
		say("What the next boot makes of it is not known: %v.", f.tmp.Unread)
	case f.top.Link:
		say("The next boot does not mend it: %s is a symlink, and systemd-tmpfiles leaves its target alone.", top)
	case mendedByBoot(readers, boot):
		say("The next boot mends it for files that are written then: systemd-tmpfiles-setup.service applies %s. Archived files stay as they are.", f.lines())
	case f.ownLines() == 0:
		say("The next boot does not mend it: no line of tmpfiles.d is about %s (masked or removed).", top)
	default:
		say("The next boot does not mend it: the lines of tmpfiles.d (%s) do not give these groups what they need.", f.lines())
	}
	if k == toCome {
		say("The default ACL or the setgid bit of the folder is missing: journald starts a new file when the present one is full, and at a reboot after a crash.")
	}
	if f.noACL != "" {
		say("The file system keeps no ACLs (%s): only group systemd-journal can be given access.", f.noACL)
	}
	if conf.SplitMode == "none" {
		say("SplitMode=none: users do not even see their own messages.")
	}
	return strings.Join(lines, "\n")
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
	r.Found(trap.Finding{Subject: subject, Severity: trap.Notice, Evidence: f.evidence(s, shut),
		Summary: "members of " + names(shut) + " cannot read journal files of another machine ID",
		Detail:  "They are of a container or a log namespace, or from before this machine's ID changed. Boot does not touch them."})
}

// evidence shows what decides: the folders, a file of each sort, who is meant.
func (f *facts) evidence(s *store, shut []reader) []trap.Evidence {
	ev := []trap.Evidence{f.show(f.top)}
	for _, n := range f.above {
		for _, r := range shut {
			if !allows(n.State, r, 1) {
				ev = append(ev, f.show(n))
				break
			}
		}
	}
	if s != nil {
		ev = append(ev, f.show(s.Dir))
		for _, ns := range [][]node{s.Active, s.Old} {
			if n, more := example(ns, shut); n.Path != "" {
				e := f.show(n)
				if more > 0 {
					e.Value += fmt.Sprintf(" (and %d more like it)", more)
				}
				ev = append(ev, e)
			}
		}
	}
	if len(shut) > 0 {
		ev = append(ev, f.members()...)
	}
	return ev
}

// example picks the first file that is shut to one of the readers, or the
// first of all, and counts the others of the same fate.
func example(ns []node, shut []reader) (node, int) {
	var of []node
	for _, n := range ns {
		if slices.ContainsFunc(shut, func(r reader) bool { return n.Err == nil && !allows(n.State, r, 4) }) {
			of = append(of, n)
		}
	}
	if len(of) == 0 {
		of = ns
	}
	if len(of) == 0 {
		return node{}, 0
	}
	return of[0], len(of) - 1
}

// show is a node as ls and getfacl would tell it, in one line.
func (f *facts) show(n node) trap.Evidence {
	if n.Err != nil {
		return trap.Ev(n.Path, "%v", n.Err)
	}
	s := fmt.Sprintf("%04o %s:%s", n.Mode, f.db.UserName(n.UID), f.db.GroupName(n.GID))
	if n.Extra {
		s += ", ACL " + n.Access.Named(f.db.UserName, f.db.GroupName)
	} else {
		s += ", no ACL"
	}
	if n.Dir && len(n.Default) > 0 {
		s += "; default ACL " + n.Default.Named(f.db.UserName, f.db.GroupName)
	} else if n.Dir {
		s += ", no default ACL"
	}
	return trap.Evidence{Source: n.Path, Value: s}
}

// members tells who is in the groups that are to read, and which users of
// sudo and wheel are in none of them.
func (f *facts) members() []trap.Evidence {
	var ev []trap.Evidence
	reads := map[string]bool{}
	for _, r := range f.readers {
		users, missing := f.db.MembersOf(r.Name)
		var list []string
		for _, u := range users {
			reads[u.Name] = true
			list = append(list, u.Name)
		}
		list = append(list, missing...)
		if len(list) == 0 {
			list = []string{"no members"}
		}
		ev = append(ev, trap.Ev("group "+r.Name, "%s", strings.Join(list, ", ")))
	}
	for _, name := range []string{"sudo", "wheel"} {
		users, _ := f.db.MembersOf(name)
		var list []string
		for _, u := range users {
			if !reads[u.Name] && u.UID != 0 {
				list = append(list, u.Name)
			}
		}
		if len(list) > 0 {
			ev = append(ev, trap.Ev("group "+name, "%s: in no group that reads the journal", strings.Join(list, ", ")))
		}
	}
	if len(f.db.GroupsElsewhere) > 0 {
		ev = append(ev, trap.Ev("/etc/nsswitch.conf", "further members may be known to %s", strings.Join(f.db.GroupsElsewhere, ", ")))
	}
	return ev
}

// anyMember tells whether somebody but root is in one of the groups, or may be.
func (f *facts) anyMember(readers []reader) bool {
	if len(f.db.GroupsElsewhere) > 0 {
		return true
	}
	for _, r := range readers {
		users, missing := f.db.MembersOf(r.Name)
		if len(missing) > 0 {
			return true
		}
		for _, u := range users {
			if u.UID != 0 {
				return true
			}
		}
	}
	return false
}

func names(rs []reader) string {
	var s []string
	for _, r := range rs {
		s = append(s, r.Name)
	}
	slices.Sort(s)
	if len(s) > 1 {
		return strings.Join(s[:len(s)-1], ", ") + " and " + s[len(s)-1]
	}
	return strings.Join(s, "")
}
