package sshtotp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/host"
	"fettle/host/fact/sshlogin"
	"fettle/host/format/pam"
	"fettle/internal/units"
)

// compare says what is wrong with a design's outcome; nil: it holds. Hard
// tells that no other text would do better.
func (v *survey) compare(after *survey, d design) (err error, hard bool) {
	if c := after.logins.Sim.Config; c.Fatal != nil {
		return c.Fatal, false
	}
	if len(after.logins.Sshd.Errors) > 0 {
		return after.logins.Sshd.Errors[0], false
	}
	var locked []*person
	for i := range v.people {
		was, is := &v.people[i], &after.people[i]
		member := d.group == "" || slices.Contains(was.user.Groups, d.group)
		if was.now.GetsIn() != pam.No && is.now.GetsIn() == pam.No {
			locked = append(locked, is)
			continue
		}
		if err := change(was, is, member, d); err != nil {
			return fmt.Errorf("%s: %w (before: %s; after: %s)", was.user.Name, err, was.now.Words(), is.now.Words()), false
		}
	}
	if len(locked) > 0 {
		// Who has a file that the module takes is locked out by the text, and
		// another may do better.
		lack := slices.DeleteFunc(slices.Clone(locked), func(p *person) bool { return p.file.State == pam.FileUsable || p.file.Path == "" })
		if len(lack) < len(locked) {
			return fmt.Errorf("it would lock out %s (%s)", names(locked), locked[0].now.Words()), false
		}
		return remedy.Refuse(
			"this would lock out %s: %s %s. Give them a file first (fettle totp enrol), take them out of the group, or choose mode=nullok",
			names(lack),
			lack[0].file.Path,
			lack[0].file.Why,
		), !d.nullok
	}
	return nil, false
}

// change tells what is wrong with what becomes of one user.
func change(was, is *person, member bool, d design) error {
	for _, m := range sshlogin.All {
		if !member && was.now.Ways[m] != is.now.Ways[m] {
			return fmt.Errorf("is outside the group, and %s would change from %s to %s", m, was.now.Ways[m], is.now.Ways[m])
		}
		// Those without a file whom nullok shall let in again: that is what was asked for.
		anew := d.nullok && was.now.Wanted && is.file.State == pam.FileAbsent
		if !m.Code && !anew && is.now.Ways[m] > was.now.Ways[m] {
			return fmt.Errorf("%s would suffice, and did not before", m)
		}
	}
	if !member || was.now.Denied != "" {
		return nil
	}
	if v := is.held.Ways[sshlogin.Means{Code: true}]; v != pam.No {
		return fmt.Errorf("a code alone would let in")
	}
	if v := is.held.Ways[sshlogin.Means{Password: true}]; v != pam.No {
		return fmt.Errorf("a password alone would let in in spite of the code")
	}
	if is.user.UID == 0 && !usesCode(&is.held) {
		return nil // PermitRootLogin leaves root a key or nothing
	}
	if by, m := is.held.WithoutCode(); d.factors == "key" && by != pam.No {
		return fmt.Errorf("%s would let in in spite of the code", m)
	}
	if was.held.GetsIn() != pam.No && !usesCode(&is.held) {
		return fmt.Errorf("would never be asked for the code")
	}
	return nil
}

// steps is the plan for files that hold.
func steps(ctx context.Context, h *host.Host, d design, with files, before, after *survey) (remedy.Plan, error) {
	who := "everybody"
	if d.group != "" {
		who = "members of " + d.group
	}
	p := remedy.Plan{Title: fmt.Sprintf("ask %s for a one-time code at SSH logins, with their %s", who, d.factors), CutsConnection: true}
	var changed []string
	for path := range with {
		if path != service {
			changed = append(changed, path)
		}
	}
	slices.Sort(changed)
	for _, path := range changed {
		if err := p2file(ctx, h, &p, path, with[path]); err != nil {
			return p, err
		}
	}
	if len(p.Steps) > 0 {
		reload, err := reloading(ctx, h)
		if err != nil {
			return p, err
		}
		p.Steps = append(append(p.Steps, step.Check{Run: []string{"/usr/sbin/sshd", "-t"}}), reload...)
	}
	// PAM's file counts from the moment it is there, so it comes last: before
	// that, sshd must demand what its new stack does not ask for any more.
	if err := p2file(ctx, h, &p, service, with[service]); err != nil {
		return p, err
	}
	if len(p.Steps) == 0 {
		return p, remedy.Refuse("the files already do this: there is nothing to change")
	}
	p.Notes = notes(d, before, after)
	return p, nil
}

// p2file adds a step for a file that says something else so far.
func p2file(ctx context.Context, h *host.Host, p *remedy.Plan, path string, want []byte) error {
	was, err := h.ReadFile(ctx, path)
	if err != nil && !host.IsAbsent(err) {
		return err
	}
	if host.IsAbsent(err) {
		was = nil
	} else if string(was) == string(want) {
		return nil
	}
	p.Steps = append(p.Steps, step.File{Path: path, Content: want, Was: was})
	return nil
}

// reloading makes a running sshd read its files; connections stay. None: none
// runs, as with socket activation, where each connection reads the files.
func reloading(ctx context.Context, h *host.Host) ([]step.Step, error) {
	units, err := h.Units(ctx, "ssh.service", "sshd.service")
	switch {
	case errors.Is(err, host.ErrNotRunning):
		return nil, nil
	case errors.Is(err, host.ErrNoSystemd):
		name := "sshd"
		if debian, err := h.Exists(ctx, "/etc/debian_version"); err != nil {
			return nil, err
		} else if debian {
			name = "ssh"
		}
		return []step.Step{step.Command{Do: []string{"/usr/sbin/service", name, "reload"}, Again: true}}, nil
	case err != nil:
		return nil, err
	}
	for _, n := range []string{"ssh.service", "sshd.service"} {
		if units[n].Active() {
			return []step.Step{step.Unit{Name: n, Act: "reload"}}, nil
		}
	}
	return nil, nil
}

// notes tells who gets in with what, before and after, for those whom it
// changes.
func notes(d design, before, after *survey) []string {
	var out []string
	n, without := 0, 0
	for i := range before.people {
		was, is := &before.people[i], &after.people[i]
		if is.file.State == pam.FileAbsent && is.held.Wanted {
			without++
		}
		if was.now.Words() == is.now.Words() {
			continue
		}
		if n++; n <= maxNames {
			out = append(out, fmt.Sprintf("%s: now %s; then %s", was.user.Name, was.now.Words(), is.now.Words()))
		}
	}
	if n > maxNames {
		out = append(out, "and "+units.Count(n-maxNames, "more user", "more users"))
	}
	switch {
	case without > 0 && d.nullok:
		out = append(
			out,
			fmt.Sprintf(
				"%d users of the group have no file yet and can log in without a code until they do (nullok): fettle totp enrol.",
				without,
			),
		)
	case n == 0:
		out = append(out, "No user is asked for a code yet: the group has no members with a file.")
	}
	if e := before.logins.DB.UsersElsewhere; len(e) > 0 {
		out = append(out, "Users that only "+strings.Join(e, ", ")+" knows are not simulated.")
	}
	if d.factors == "password" {
		out = append(out, "A key alone still lets in; with factors=key it does not.")
	}
	return append(out, "Keep this session open, and log in once more before you run fettle confirm.")
}

// modePlan takes surplus rights from a user's file. In a user's folder the step
// has that user's rights: root must not follow what a user may put in its place
// meanwhile.
func modePlan(ctx context.Context, h *host.Host, name string) (remedy.Plan, error) {
	v, err := take(ctx, h, nil)
	if err != nil {
		return remedy.Plan{}, err
	}
	i := slices.IndexFunc(v.people, func(p person) bool { return p.user.Name == name })
	if i < 0 {
		return remedy.Plan{}, remedy.Refuse("%s is no longer asked for a code", name)
	}
	p := &v.people[i]
	st := p.file.Info
	if !strings.Contains(p.file.Why, "has mode") || !st.Mode.IsRegular() || st.UID != p.user.UID {
		return remedy.Plan{}, remedy.Refuse("%s %s: write it again with fettle totp enrol %s --replace", p.file.Path, p.file.Why, name)
	}
	return remedy.Plan{Title: "let nobody but " + name + " read " + p.file.Path, Vanishes: "the module takes the file",
		Steps: []step.Step{step.Perm{Path: p.file.Path, Mode: 0o400, UID: -1, GID: -1}}}, nil
}
