package sshslowlogin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/nameservice"
	"fettle/host/format/pam"
)

// plan fixes one cause, and nothing else.
func plan(ctx context.Context, h *host.Host, fd trap.Finding) (remedy.Plan, error) {
	f := gather(ctx, h)
	switch s := fd.Subject; {
	case s == reverseDNS:
		return f.turnOff(ctx, "usedns", "UseDNS", "stop sshd from looking up client names",
			"Logs and `last` will show client addresses, and from= in authorized_keys must match addresses.")
	case s == gssapi:
		return f.turnOff(ctx, "gssapiauthentication", "GSSAPIAuthentication", "stop sshd from offering GSSAPI")
	case s == hostbased:
		return f.turnOff(ctx, "hostbasedauthentication", "HostbasedAuthentication", "stop sshd from offering host-based authentication")
	case s == logind:
		return remedy.Plan{Title: "restart systemd-logind",
			Steps: []step.Step{step.Unit{Name: logindUnit, Act: "restart"}},
			Notes: []string{
				"Sessions that are open stay open. If systemd-logind does not stay up, this is rolled back: journalctl -u " + logindUnit + " says why.",
			},
		}, nil
	case s == nssPrefix+"ldap":
		return f.softLDAP(ctx)
	case strings.HasPrefix(s, nssPrefix):
		return f.dropSource(ctx, strings.TrimPrefix(s, nssPrefix))
	case s == pamPrefix+"pam_motd":
		return f.dropScripts(ctx)
	case strings.HasPrefix(s, pamPrefix):
		return f.dropModule(ctx, strings.TrimPrefix(s, pamPrefix))
	}
	return remedy.Plan{}, fmt.Errorf("no remedy for %q, which is a bug in fettle", fd.Subject)
}

// dropSource takes a source out of the hosts line of nsswitch.conf.
func (f *facts) dropSource(ctx context.Context, name string) (remedy.Plan, error) {
	if f.swErr != nil {
		return remedy.Plan{}, f.swErr
	}
	was, err := f.h.ReadFile(ctx, f.sw.File)
	if err != nil {
		return remedy.Plan{}, err
	}
	now := nameservice.Without(string(was), "hosts", name)
	if after := nameservice.ParseSwitch(now); after.Has("hosts", name) || len(after.Sources("hosts")) == 0 {
		return remedy.Plan{}, remedy.Refuse(
			"%s: the line hosts would be empty without %s: write \"hosts: files dns\" by hand",
			nameservice.SwitchFile,
			name,
		)
	}
	if f.sw.File != nameservice.SwitchFile {
		was = nil // of the package's file a copy is changed, as SUSE has it
	}
	p := remedy.Plan{
		Title:          "stop asking " + name + " for host names",
		Steps:          []step.Step{step.File{Path: nameservice.SwitchFile, Was: was, Content: []byte(now)}},
		CutsConnection: true,
		Vanishes:       "the line hosts does not name it any more",
		Notes: []string{
			"With glibc 2.33 or newer, running programs reread nsswitch.conf; with older ones, they use the old file until they are restarted.",
		},
	}
	if strings.HasPrefix(name, "mdns") {
		p.Notes = append(p.Notes, "Names under .local that only multicast DNS knows (printers, other desktops) are no longer found.")
	}
	return p, nil
}

// softLDAP has nss_ldap give up when no server answers.
func (f *facts) softLDAP(ctx context.Context) (remedy.Plan, error) {
	for _, name := range padl {
		was, err := f.h.ReadFile(ctx, name)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return remedy.Plan{}, err
		}
		_, line := bindPolicy(string(was))
		var now strings.Builder
		n := 0
		for l := range strings.Lines(string(was)) {
			n++
			if n == line {
				l = "bind_policy soft\n"
			}
			now.WriteString(l)
		}
		if line == 0 {
			if s := now.String(); s != "" && !strings.HasSuffix(s, "\n") {
				now.WriteByte('\n')
			}
			now.WriteString("bind_policy soft\n")
		}
		return remedy.Plan{
			Title: "give up on LDAP servers that do not answer",
			Steps: []step.Step{
				step.File{Path: name, Was: was, Content: []byte(now.String()), Secret: strings.Contains(strings.ToLower(string(was)), "bindpw")},
			},
			CutsConnection: true,
			Notes:          []string{"While no LDAP server answers, users and groups that exist only there are unknown, but no login waits."},
		}, nil
	}
	return remedy.Plan{}, remedy.Refuse("nss_ldap's configuration no longer exists")
}

// dropScripts takes the permission to execute from the scripts that may wait,
// which is how Debian and Ubuntu have them left out (update-motd(5)).
func (f *facts) dropScripts(ctx context.Context) (remedy.Plan, error) {
	slow, err := f.motdScripts(ctx)
	if err != nil {
		return remedy.Plan{}, err
	}
	p := remedy.Plan{Title: "stop running scripts at login that may wait"}
	for _, s := range slow {
		p.Steps = append(p.Steps, step.Perm{Path: s.name, Mode: s.mode &^ 0o111, UID: -1, GID: -1})
	}
	if len(p.Steps) == 0 {
		return p, remedy.Refuse("the script no longer exists")
	}
	p.Notes = []string{
		"Their output will be missing from the greeting. A timer that writes it to a file in /etc/motd.d or /run would not delay logins.",
	}
	return p, nil
}

// cannotDrop says why a module's line is not commented out: only a session
// line that can neither fail a login nor is counted by a jump may go.
func (f *facts) cannotDrop(rule pam.Rule) string {
	rules, _ := f.pam.Stack(pam.Session)
	for _, r := range rules {
		for _, a := range r.Actions {
			if a > 0 {
				return fmt.Sprintf("%s skips lines (%s): remove %s by hand, and adjust the count", at(r), r.Control, rule.Module)
			}
		}
	}
	if rule.Facility != pam.Session || rule.Control != "optional" {
		return fmt.Sprintf("%s is %s in %s: remove it by hand", rule.Module, rule.Control, rule.Facility)
	}
	return ""
}

// dropModule comments a PAM line out.
func (f *facts) dropModule(ctx context.Context, name string) (remedy.Plan, error) {
	if f.pamErr != nil {
		return remedy.Plan{}, f.pamErr
	}
	uses := f.pam.Uses(pam.Session, name)
	if len(uses) == 0 {
		return remedy.Plan{}, remedy.Refuse("%s is no longer among sshd's session modules", name)
	}
	p := remedy.Plan{Title: "open SSH sessions without " + name, CutsConnection: true, Vanishes: "sshd's PAM files do not name it any more",
		Notes: []string{
			"PAM reads its files at each login: nothing is restarted. Other services that include the file do without the module too.",
		}}
	files := []string{}
	for _, u := range uses {
		if why := f.cannotDrop(u); why != "" {
			return remedy.Plan{}, remedy.Refuse("%s", why)
		}
		if !slices.Contains(files, u.File) {
			files = append(files, u.File)
		}
	}
	for _, name := range files {
		was, err := f.h.ReadFile(ctx, name)
		if err != nil {
			return remedy.Plan{}, err
		}
		if strings.Contains(strings.ToLower(string(was)), "generated by authselect") {
			return remedy.Plan{}, remedy.Refuse("authselect writes %s: choose a profile or feature without the module", name)
		}
		var now strings.Builder
		n := 0
		for l := range strings.Lines(string(was)) {
			n++
			if slices.ContainsFunc(uses, func(u pam.Rule) bool { return u.File == name && u.Line == n }) {
				if strings.HasSuffix(strings.TrimRight(l, "\r\n"), "\\") {
					return remedy.Plan{}, remedy.Refuse("%s:%d continues on the next line: remove the module by hand", name, n)
				}
				l = "#" + l
			}
			now.WriteString(l)
		}
		p.Steps = append(p.Steps, step.File{Path: name, Was: was, Content: []byte(now.String())})
		if strings.Contains(string(was), "pam-auth-update") {
			p.Notes = append(p.Notes, "pam-auth-update keeps "+name+": from now on it asks before it overwrites this change.")
		}
	}
	return p, nil
}
