package pammodulegone

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/pam"
)

// door is a way to log in.
type door struct {
	service, name string
	asked         []pam.Facility // those without which nobody comes in this way
	file          string
	shut          []pam.Facility // those that refuse everybody
	missing       []pam.Rule     // whose module is not there
}

// look fills in a door; nil: the service has no configuration of its own, and nobody logs in by it.
func look(ctx context.Context, h *host.Host, d *door) (*door, error) {
	c, err := pam.Read(ctx, h, d.service)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(c.Files, func(f string) bool { return path.Base(f) == d.service })
	if i < 0 {
		return nil, nil
	}
	d.file = c.Files[i]
	m := modules{h: h, gone: map[string]bool{}}
	for _, f := range d.asked {
		rules, _ := c.Stack(f)
		var missing []pam.Rule
		for i := range rules {
			gone, err := m.missing(ctx, &rules[i])
			if err != nil {
				return nil, err
			}
			if gone && rules[i].Control != "optional" {
				missing = append(missing, rules[i])
			}
		}
		if refuses(rules, m.gone) {
			d.shut = append(d.shut, f)
			d.missing = append(d.missing, missing...)
		}
	}
	return d, nil
}

// modules tells which modules are not installed.
type modules struct {
	h    *host.Host
	dirs []string
	gone map[string]bool // as written
}

var errNoDir = errors.New("no folder of PAM modules was found where distributions have it")

func (m *modules) missing(ctx context.Context, r *pam.Rule) (bool, error) {
	if r.Kind != pam.Module {
		return false, nil
	}
	if gone, known := m.gone[r.Module]; known {
		return gone, nil
	}
	name := r.Module
	if strings.Contains(name, "$ISA") { // libpam puts its own folder in (pam_handlers.c)
		name = path.Base(name)
	}
	there, err := m.there(ctx, name)
	if err != nil {
		return false, err
	}
	m.gone[r.Module] = !there
	return !there, nil
}

func (m *modules) there(ctx context.Context, name string) (bool, error) {
	if path.IsAbs(name) {
		return m.h.Exists(ctx, name)
	}
	if m.dirs == nil {
		for _, d := range pam.ModuleDirs {
			ok, err := m.h.Exists(ctx, d)
			if err != nil {
				return false, err
			}
			if ok {
				m.dirs = append(m.dirs, d)
			}
		}
		if m.dirs == nil {
			return false, errNoDir
		}
	}
	for _, d := range m.dirs {
		if ok, err := m.h.Exists(ctx, path.Join(d, name)); err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}

// refuses tells whether a stack lets in nobody because of what is missing, where it lets in a
// local user, or else anybody, with everything installed.
func refuses(rules []pam.Rule, gone map[string]bool) bool {
	for _, local := range []bool{true, false} {
		best := func(r *pam.Rule) pam.Code {
			switch n := r.Name(); {
			case n == "pam_deny":
				return pam.AuthErr
			case local && slices.Contains(directories, n):
				return pam.UserUnknown
			case local && n == "pam_fprintd":
				return pam.AuthinfoUnavail
			}
			return pam.Success
		}
		if pam.Walk(rules, best) != pam.Success {
			continue
		}
		return pam.Walk(rules, func(r *pam.Rule) pam.Code {
			if gone[r.Module] {
				return pam.ModuleUnknown
			}
			return best(r)
		}) != pam.Success
	}
	return false
}

// directories are modules that know no user of /etc/passwd.
var directories = []string{"pam_sss", "pam_ldap", "pam_krb5", "pam_winbind", "pam_systemd_home", "pam_himmelblau"}

// report tells of a door. Only: there is no other.
func (d *door) report(r *trap.Report, only bool) {
	if d == nil {
		return
	}
	if len(d.shut) == 0 {
		r.Clear(d.service, "no PAM module that logins need is missing", trap.Ev(d.file, "every module that decides is installed"))
		return
	}
	f := trap.Finding{Subject: d.service, Severity: trap.Warning, Lost: "logins " + d.name,
		Summary: "nobody can log in " + d.name + ": a PAM module is missing",
		ByHand: "install the module's package again, or take its lines out (pam-auth-update, authselect), " +
			"before the last session that has root's rights ends"}
	switch {
	case d.service == "sshd" && slices.Equal(d.shut, []pam.Facility{pam.Auth}):
		f.Lost += " with a password"
		f.Summary = "nobody can log in over SSH with a password: a PAM module is missing"
	case d.service == "sshd" || only:
		f.Severity, f.Start, f.Lost = trap.Critical, trap.StartFails, ""
	}
	var names []string
	for i := range d.missing {
		m := &d.missing[i]
		f.Evidence = append(f.Evidence, trap.Ev(fmt.Sprintf("%s:%d", m.File, m.Line), "%s %s %s", m.Facility, m.Control, m.Module))
		if !slices.Contains(names, m.Name()) {
			names = append(names, m.Name())
		}
	}
	f.Detail = trap.Prose("not installed: " + strings.Join(names, ", "))
	r.Found(f)
}
