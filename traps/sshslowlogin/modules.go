package sshslowlogin

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/krb5"
	"fettle/host/format/pam"
)

func at(r pam.Rule) string { return fmt.Sprintf("%s:%d", r.File, r.Line) }

// sessions tells whether sshd opens PAM sessions; the error, that nobody knows.
func (f *facts) sessions() (bool, error) {
	s, _, err := f.setting("usepam")
	if err != nil || !s.Is("yes") {
		return false, err
	}
	return true, f.pamErr
}

// judges look at the modules that are known to make logins wait.
var judges = map[string]func(f *facts, ctx context.Context, r *trap.Report, rule pam.Rule){
	"pam_ck_connector":    (*facts).consoleKit,
	"pam_motd":            (*facts).motd,
	"pam_lastlog":         (*facts).lastlog,
	"pam_mount":           (*facts).mount,
	"pam_exec":            (*facts).exec,
	"pam_ldap":            (*facts).pamLDAP,
	"pam_krb5":            (*facts).pamKrb5,
	"pam_afs_session":     (*facts).afs,
	"pam_openafs_session": (*facts).afs,
}

// modules reports of the PAM modules that every login passes. Modules that ask
// for a password or a second factor are waited for on purpose.
func (f *facts) modules(ctx context.Context, r *trap.Report) {
	ok, err := f.sessions()
	switch {
	case err != nil:
		r.Unknown("pam", err)
		return
	case !ok:
		r.Clear("pam", "sshd does not use PAM", trap.Ev(f.eff.Get("usepam").Place.String(), "UsePAM no"))
		return
	case f.pam.Fatal != nil:
		r.Unknown("pam", f.pam.Fatal)
		return
	}
	spoken := false
	seen := map[string]bool{}
	for _, fac := range []pam.Facility{pam.Session, pam.Auth, pam.Account} {
		rules, _ := f.pam.Stack(fac)
		for _, rule := range rules {
			judge := judges[rule.Name()]
			if rule.Kind != pam.Module || judge == nil || seen[rule.Name()] {
				continue
			}
			if rule.Name() == "pam_motd" && rule.Arg("noupdate") || rule.Name() == "pam_lastlog" && !rule.Arg("showfailed") {
				continue
			}
			seen[rule.Name()], spoken = true, true
			f.judge(ctx, r, rule, judge)
		}
	}
	if !spoken {
		r.Clear("pam", "none of sshd's PAM modules is known to wait", trap.Ev(strings.Join(f.pam.Files, ", "), "read"))
	}
}

func (f *facts) judge(ctx context.Context, r *trap.Report, rule pam.Rule, judge func(*facts, context.Context, *trap.Report, pam.Rule)) {
	if !path.IsAbs(rule.Module) {
		if there, err := f.module(ctx, "security/"+rule.Module); !there && err == nil {
			r.Clear(pamPrefix+rule.Name(), "is not installed", evidence(rule), trap.Ev("security/"+rule.Module, "is not there"))
			return
		}
	}
	judge(f, ctx, r, rule)
}

func evidence(r pam.Rule) trap.Evidence {
	return trap.Ev(at(r), "%s %s %s", r.Facility, r.Control, strings.Join(append([]string{r.Module}, r.Args...), " "))
}

// consoleKit was the session tracker before systemd-logind; its daemon has
// been gone from distributions since 2015.
func (f *facts) consoleKit(ctx context.Context, r *trap.Report, rule pam.Rule) {
	o := trap.Finding{Subject: pamPrefix + rule.Name(), Severity: trap.Notice, Evidence: []trap.Evidence{evidence(rule)},
		Summary: "each login queries ConsoleKit, which is no longer maintained, over D-Bus, and may wait for it",
		Detail:  "D-Bus starts the daemon for the call, and waits 25 s if it does not come up. " + measure}
	o.ByHand = f.cannotDrop(rule)
	r.Found(o)
}

const (
	btmp = "/var/log/btmp"
	// slowBtmp is where reading btmp is felt. Measured with Linux-PAM 1.5.2,
	// file in the page cache: see lore.md.
	slowBtmp = 256 << 20
)

// lastlog reports of pam_lastlog showfailed, which reads all of btmp, one
// record of 384 bytes a call (pam_lastlog.c, last_login_failed).
func (f *facts) lastlog(ctx context.Context, r *trap.Report, rule pam.Rule) {
	subject := pamPrefix + rule.Name()
	st, err := f.h.Stat(ctx, btmp)
	switch {
	case host.IsAbsent(err):
		r.Clear(subject, "there are no failed logins to count", evidence(rule))
	case err != nil:
		r.Unknown(subject, err, evidence(rule))
	case st.Size < slowBtmp:
		r.Clear(subject, "counts failed logins in a file of moderate size", evidence(rule))
	default:
		findByHand(
			r,
			subject,
			trap.Notice,
			"each login reads all failed logins ever made: "+btmp+" is huge",
			fmt.Sprintf("%s is %d MiB; pam_lastlog reads all of it for showfailed.", btmp, st.Size>>20),
			"rotate it (logrotate --force /etc/logrotate.d/btmp), and find out why there are so many failed logins",
			evidence(rule),
			trap.Ev(btmp, "%d bytes", st.Size),
		)
	}
}

// mount reports of pam_mount with volumes of other machines.
func (f *facts) mount(ctx context.Context, r *trap.Report, rule pam.Rule) {
	const conf = "/etc/security/pam_mount.conf.xml"
	subject := pamPrefix + rule.Name()
	b, err := f.h.ReadFile(ctx, conf)
	if err != nil {
		r.Unknown(subject, err, evidence(rule))
		return
	}
	remote, err := volumes(string(b))
	switch {
	case err != nil:
		r.Unknown(subject, &host.SyntaxError{Path: conf, Msg: "not well-formed XML"}, evidence(rule))
	case len(remote) == 0:
		r.Clear(subject, "mounts no volumes from other machines", evidence(rule))
	default:
		findByHand(
			r,
			subject,
			trap.Notice,
			"each login mounts volumes from other machines, and may wait for them",
			measure,
			"let autofs or systemd mount them, which the login does not wait for",
			evidence(rule),
			trap.Ev(conf, "volume of type %s", strings.Join(remote, ", ")),
		)
	}
}

// volumes lists the network types among pam_mount's volumes.
func volumes(text string) ([]string, error) {
	var out []string
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		e, ok := tok.(xml.StartElement)
		if !ok || e.Name.Local != "volume" {
			continue
		}
		for _, a := range e.Attr {
			if a.Name.Local == "fstype" && (host.NetworkFilesystem(a.Value) || slices.Contains([]string{"fuse", "ncp", "smb"}, a.Value)) {
				out = append(out, a.Value)
			}
		}
	}
}

func (f *facts) exec(_ context.Context, r *trap.Report, rule pam.Rule) {
	program := "a program"
	for _, a := range rule.Args {
		if strings.HasPrefix(a, "/") {
			program = a
			break
		}
	}
	findByHand(r, pamPrefix+rule.Name(), trap.Notice, "each login runs "+program+" and may wait for it", measure,
		"see how long it takes, and whether it can work in the background", evidence(rule))
}

func (f *facts) afs(_ context.Context, r *trap.Report, rule pam.Rule) {
	findByHand(r, pamPrefix+rule.Name(), trap.Notice, "each login asks for AFS tokens, and may wait for the cell's servers", measure,
		"remove it if home folders are not in AFS", evidence(rule))
}

// pamLDAP: PADL's module has a time limit only where bind_policy is soft;
// Debian's libpam-ldapd asks nslcd, which has.
func (f *facts) pamLDAP(ctx context.Context, r *trap.Report, rule pam.Rule) {
	subject := pamPrefix + rule.Name()
	nslcd, err := f.h.Exists(ctx, "/etc/nslcd.conf")
	if nslcd {
		r.Clear(subject, "nslcd asks the LDAP servers, with a time limit", evidence(rule))
		return
	}
	if err != nil {
		r.Unknown(subject, err, evidence(rule))
		return
	}
	for _, name := range append([]string{"/etc/pam_ldap.conf"}, padl...) {
		b, err := f.h.ReadFile(ctx, name)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			r.Unknown(subject, err, evidence(rule))
			return
		}
		if p, _ := bindPolicy(string(b)); strings.HasPrefix(p, "soft") {
			r.Clear(subject, "gives up immediately when no LDAP server answers", evidence(rule))
			return
		}
		break
	}
	findByHand(r, subject, trap.Notice, "password logins query an LDAP server, and may wait long if it does not answer", measure,
		"set bind_policy soft and bind_timelimit in its configuration (pam_ldap(5))", evidence(rule))
}

func (f *facts) pamKrb5(ctx context.Context, r *trap.Report, rule pam.Rule) {
	subject := pamPrefix + rule.Name()
	kerberos, err := krb5.Read(ctx, f.h)
	switch {
	case err != nil:
		r.Unknown(subject, err, evidence(rule))
	case kerberos.Realm != "":
		r.Clear(subject, "asks the KDCs of its realm", evidence(rule), trap.Ev(krb5.File, "default_realm %s", kerberos.Realm))
	default:
		findByHand(r, subject, trap.Notice, "password logins look up a Kerberos realm that is not configured, and may wait", measure,
			"remove the module (Debian: pam-auth-update), or set default_realm", evidence(rule), trap.Ev(krb5.File, "no default_realm"))
	}
}
