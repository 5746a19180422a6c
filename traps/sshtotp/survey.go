package sshtotp

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/sshlogin"
	"fettle/host/format/accounts"
	"fettle/host/format/pam"
	"fettle/host/format/sshd"
)

// person is one user who may log in.
type person struct {
	user *pam.User
	now  sshlogin.Access   // as it is
	from []sshlogin.Access // from origins that Match blocks treat otherwise
	held sshlogin.Access   // as it would be with a file that the module takes
	file pam.File
}

// survey is who gets in with what.
type survey struct {
	logins *sshlogin.Logins
	lines  []pam.Rule // that ask for a code
	people []person
	held   *pam.Sim // as if everybody had a file that the module takes
}

// owner names the owner of a person's file.
func (p *person) owner() string {
	switch uid := p.file.Info.UID; {
	case uid == p.user.UID:
		return p.user.Name
	case uid == 0:
		return "root"
	default:
		return strconv.FormatUint(uint64(uid), 10)
	}
}

// files are contents as a plan would leave them, by path.
type files map[string][]byte

// take surveys the host, with the content of some files changed.
func take(ctx context.Context, h *host.Host, with files) (*survey, error) {
	s, err := sshd.ReadWith(ctx, h, with)
	if err != nil {
		return nil, err
	}
	if s.Unread != nil {
		return nil, s.Unread
	}
	c, err := pam.ReadWith(ctx, h, sshlogin.Service, with)
	if err != nil {
		return nil, err
	}
	v := &survey{lines: c.Uses(pam.Auth, module)}
	db := &accounts.DB{}
	if with != nil || len(v.lines) > 0 || c.Fatal != nil {
		if db, err = accounts.Read(ctx, h); err != nil {
			return nil, err
		}
	}
	v.logins = sshlogin.New(ctx, h, s, c, db)
	if with == nil && len(v.lines) == 0 {
		return v, nil // nobody is asked for a code: no need to look at everybody
	}
	held := *v.logins
	sim := *v.logins.Sim
	sim.File = func(*pam.Rule, *pam.User) pam.FileState { return pam.FileUsable }
	held.Sim, v.held = &sim, &sim
	seen := map[string]bool{}
	for _, u := range db.Users {
		if seen[u.Name] || !interactive(u.Shell) {
			continue
		}
		seen[u.Name] = true
		p := person{user: pam.UserOf(db, u)}
		as := v.logins.For(p.user)
		p.now, p.from = as[0], as[1:]
		if len(v.lines) > 0 && p.now.Wanted {
			p.file = pam.LookFile(ctx, h, db, &v.lines[0], p.user)
		}
		p.held = p.now
		if p.now.Wanted && (p.file.State != pam.FileUsable || p.file.Frozen != "" || len(v.lines) > 1) {
			p.held = held.For(p.user)[0]
		}
		v.people = append(v.people, p)
	}
	return v, nil
}

// interactive tells whether a shell lets anybody do something.
func interactive(shell string) bool {
	base := shell[strings.LastIndexByte(shell, '/')+1:]
	return !slices.Contains([]string{"nologin", "false", "sync", "shutdown", "halt", "true"}, base)
}

// wanted are those whom PAM asks for a code and sshd does not refuse.
func (v *survey) wanted() []*person {
	var out []*person
	for i := range v.people {
		if p := &v.people[i]; p.held.Wanted && p.now.Denied == "" {
			out = append(out, p)
		}
	}
	return out
}

// usesCode tells whether a code helps somewhere, as far as is known.
func usesCode(a *sshlogin.Access) bool {
	for m, v := range a.Ways {
		without := m
		without.Code = false
		if m.Code && v > a.Ways[without] {
			return true
		}
	}
	return false
}

// keyless tells whether there is a way in without a key.
func keyless(a *sshlogin.Access) pam.Verdict {
	best := pam.No
	for m, v := range a.Ways {
		if !m.Key {
			best = max(best, v)
		}
	}
	return best
}

// evidence is the lines that decide.
func (v *survey) evidence() []trap.Evidence {
	var ev []trap.Evidence
	rules, _ := v.logins.Sim.Config.Stack(pam.Auth)
	for i, r := range rules {
		if r.Name() != module {
			continue
		}
		if i > 0 && slices.ContainsFunc(rules[i-1].Actions[:], func(a pam.Action) bool { return a > 0 }) {
			ev = append(ev, line(&rules[i-1]))
		}
		ev = append(ev, line(&r))
	}
	e := v.logins.Sshd.For(sshd.Conn{})
	for _, k := range []string{"UsePAM", "KbdInteractiveAuthentication", "PasswordAuthentication", "AuthenticationMethods"} {
		if s := e.Get(k); s.Known {
			ev = append(ev, trap.Ev(s.Place.String(), "%s %s", k, s.Value()))
		}
	}
	for _, d := range v.logins.Sshd.Lines {
		if !d.Global() && slices.Contains([]string{"authenticationmethods", "kbdinteractiveauthentication"}, d.Keyword) {
			ev = append(ev, trap.Ev(d.Place.String(), "%s: %s %s", d.Match[len(d.Match)-1], d.Spelling, strings.Join(d.Args, " ")))
		}
	}
	return ev
}

// line shows a line of PAM's.
func line(r *pam.Rule) trap.Evidence {
	ctl := r.Control
	if strings.ContainsAny(ctl, "= ") {
		ctl = "[" + ctl + "]"
	}
	return trap.Ev(
		fmt.Sprintf("%s:%d", r.File, r.Line),
		"%s",
		strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Facility, ctl, r.Module, strings.Join(r.Args, " "))),
	)
}

// maxNames bounds how many users one text names.
const maxNames = 20

// names lists people.
func names(ps []*person) string {
	var s []string
	for _, p := range ps {
		if len(s) == maxNames {
			s = append(s, fmt.Sprintf("and %d more", len(ps)-maxNames))
			break
		}
		s = append(s, p.user.Name)
	}
	return strings.Join(s, ", ")
}

// table says for each what he gets in with, a line each.
func table(ps []*person) []string {
	var out []string
	for i, p := range ps {
		if i == maxNames {
			out = append(out, fmt.Sprintf("and %d more", len(ps)-maxNames))
			break
		}
		out = append(out, fmt.Sprintf("%s: %s", p.user.Name, p.now.Words()))
		for _, a := range p.from {
			out = append(out, fmt.Sprintf("%s from %s: %s", p.user.Name, a.From, a.Words()))
		}
	}
	return out
}
