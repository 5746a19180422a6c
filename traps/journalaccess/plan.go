package journalaccess

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/acl"
	"fettle/host/format/accounts"
	"fettle/host/format/tmpfiles"
)

// dropIn holds the lines when the distribution's own are masked or gone. Its
// name sorts last, so that lines of the admin's for the same path are first.
const dropIn = "/etc/tmpfiles.d/zz-journal-access.conf"

// plan gives owner, group, mode and ACLs as the distribution's tmpfiles.d
// lines would, to the folders and to the files that are there. It is what
// `systemd-tmpfiles --create --prefix /var/log/journal` does and more (that
// leaves archived files alone), in steps that can be undone.
func plan(ctx context.Context, h *host.Host, fd trap.Finding) (remedy.Plan, error) {
	f, err := gather(ctx, h)
	if err != nil {
		return remedy.Plan{}, err
	}
	if f.tmp.Unread != nil {
		return remedy.Plan{}, remedy.Refuse(
			"tmpfiles.d cannot be read completely, so the effect of the next boot on the journal is not known: %v",
			f.tmp.Unread,
		)
	}
	var s *store
	own := fd.Subject == top
	if own {
		s = f.ownStore()
	} else if i := slices.IndexFunc(f.stores, func(s store) bool { return path.Join(top, s.ID) == fd.Subject }); i >= 0 {
		s = &f.stores[i]
	} else {
		return remedy.Plan{}, remedy.Refuse("%s no longer exists", fd.Subject)
	}
	if err := s.unseen(); err != nil {
		return remedy.Plan{}, err
	}
	if err := f.refuse(s); err != nil {
		return remedy.Plan{}, err
	}
	p := remedy.Plan{Title: "let members of " + names(f.readers) + " read " + fd.Subject}
	nodes := []node{f.top}
	if s != nil {
		nodes = append(append(append(nodes, s.Dir), s.Active...), s.Old...)
	}
	id := ""
	if s != nil {
		id = s.ID
	}
	rules := tmpfiles.Parse(ctx, h, dropIn, f.rules(id))
	if len(rules.Errors)+len(rules.Skipped) > 0 {
		return remedy.Plan{}, fmt.Errorf("own rules: %v %v", rules.Errors, rules.Skipped)
	}
	wanted := func(n node) tmpfiles.State {
		if !n.Dir && !slices.ContainsFunc(f.readers, func(r reader) bool { return !allows(n.State, r, acl.Read) }) {
			return n.State // fine as it is, however it came to be
		}
		want, _ := tmpfiles.Settle(rules.For(n.Path), n.State, f.db.Names(), false)
		return opened(want)
	}
	for _, n := range nodes {
		p.Steps = append(p.Steps, steps(n, wanted(n), f.db)...)
	}
	if own {
		step, err := f.bootStep(ctx, h, s, wanted)
		if err != nil {
			return remedy.Plan{}, err
		}
		if step != nil {
			p.Steps = append(p.Steps, step)
		}
		if len(p.Steps) == 0 {
			return remedy.Plan{}, remedy.Refuse("there is nothing left to change: run the check again")
		}
		p.Notes = append(p.Notes, "journald need not be restarted: it still writes to the same files.")
	}
	p.Notes = append(p.Notes, "The journal can contain secrets that programs logged. Members of these groups will see all of it.")
	return p, nil
}

// refuse says why there is no plan.
func (f *facts) refuse(s *store) error {
	now := f.now(s)
	for _, n := range f.above {
		for _, r := range f.readers {
			if !allows(n.State, r, 1) {
				return remedy.Refuse(
					"%s is closed to members of %s (%s). Opening it gives access to all other logs too: if that is intended, run chmod o+x %s",
					n.Path,
					r.Name,
					f.show(n).Value,
					n.Path,
				)
			}
		}
	}
	if f.noACL == "" {
		return nil
	}
	for _, r := range f.readers {
		if v := now.judge(r); r.Name != "systemd-journal" && !(v.way && v.active && v.future && v.old) {
			return remedy.Refuse("%s stores no ACLs (%s), so group %s cannot be given access beside systemd-journal. "+
				"Turn ACLs on (ZFS: zfs set acltype=posixacl; others: mount without noacl), or add the users to group systemd-journal",
				top, f.noACL, r.Name)
		}
	}
	return nil
}

// rules are lines as systemd ships them, for the groups of this host, and
// more of them for files that are there already.
func (f *facts) rules(id string) string {
	dirs, files := []string{"group::r-x"}, []string{"group::r--"}
	for _, r := range f.readers {
		if r.Name != "systemd-journal" {
			dirs = append(dirs, "group:"+r.Name+":r-x")
			files = append(files, "group:"+r.Name+":r--")
		}
	}
	if f.noACL == "" {
		dirs = append(dirs, "d:"+strings.Join(dirs, ",d:"))
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("z %s 2755 root systemd-journal - -", top)
	line("a+ %s - - - - %s", top, strings.Join(dirs, ","))
	if id != "" {
		line("z %s/%s 2755 root systemd-journal - -", top, id)
		line("a+ %s/%s - - - - %s", top, id, strings.Join(dirs, ","))
		line("z %s/%s/*.journal* 0640 root systemd-journal - -", top, id)
		line("a+ %s/%s/*.journal* - - - - %s", top, id, strings.Join(files, ","))
	}
	return b.String()
}

// opened lifts the mask of a folder's default list where it would shut out
// those whom the list names: lines of tmpfiles.d leave a mask as it is.
func opened(s tmpfiles.State) tmpfiles.State {
	if m, ok := s.Default.Find(acl.Mask, 0); ok && m.Perm&5 != 5 {
		s.Default = s.Default.Merge(acl.Entry{Tag: acl.Mask, Perm: m.Perm | acl.Read | acl.Exec})
	}
	return s
}

// steps are what leads from a node to the state wanted.
func steps(n node, want tmpfiles.State, db *accounts.DB) []step.Step {
	var out []step.Step
	if n.Err != nil {
		return nil
	}
	if n.Mode != want.Mode || n.UID != want.UID || n.GID != want.GID {
		out = append(out, step.Perm{Path: n.Path, Mode: int(want.Mode), UID: int(want.UID), GID: int(want.GID),
			User: db.UserName(want.UID), Group: db.GroupName(want.GID)})
	}
	a := step.ACL{Path: n.Path}
	if !want.Access.Minimal() && !want.Access.Equal(n.Access) {
		a.Access = want.Access.String()
	}
	if n.Dir && !want.Default.Equal(n.Default) {
		a.Default = want.Default.String()
	}
	if a.Access != "" || a.Default != "" {
		out = append(out, a)
	}
	return out
}

// bootStep is a drop-in for a host whose boot would not keep what the other
// steps do, or would not make it: nil where the lines that are there do.
func (f *facts) bootStep(ctx context.Context, h *host.Host, s *store, wanted func(node) tmpfiles.State) (step.Step, error) {
	if f.top.Link || mendedByBoot(f.readers, f.afterBoot(s)) {
		return nil, nil
	}
	id := ""
	if f.own != "" {
		id = "%m"
	}
	text := "# Keeps the journal readable to members of " + names(f.readers) + ", see tmpfiles.d(5).\n" + f.rules(id)
	// What would boot make of it all, with these lines among the others?
	at := slices.IndexFunc(f.tmp.Lines, func(l tmpfiles.Line) bool { return path.Base(l.File) > path.Base(dropIn) })
	if at < 0 {
		at = len(f.tmp.Lines)
	}
	with := &tmpfiles.Config{Lines: slices.Concat(f.tmp.Lines[:at], tmpfiles.Parse(ctx, h, dropIn, text).Lines, f.tmp.Lines[at:])}
	boot := f.lay(s, func(n node) tmpfiles.State {
		st, _ := tmpfiles.Settle(with.For(n.Path), wanted(n), f.db.Names(), true)
		return st
	})
	if !mendedByBoot(f.readers, boot) {
		return nil, remedy.Refuse("other lines of tmpfiles.d close the journal at every boot; remove them first: %s", f.lines())
	}
	was, err := h.ReadFile(ctx, dropIn)
	if err != nil && !host.IsAbsent(err) {
		return nil, err
	}
	return step.File{Path: dropIn, Content: []byte(text), Was: was}, nil
}

// lines names the lines of tmpfiles.d that act on the journal's folder.
func (f *facts) lines() string {
	var out []string
	for _, l := range f.tmp.Lines {
		if l.Supported && l.Acts(top) {
			out = append(out, fmt.Sprintf("%s:%d", l.File, l.Num))
		}
	}
	return strings.Join(out, ", ")
}

// ownLines counts the lines of tmpfiles.d that act on the journal's folder.
func (f *facts) ownLines() int {
	return len(slices.DeleteFunc(f.tmp.For(top), func(l tmpfiles.Line) bool { return !l.Supported }))
}
