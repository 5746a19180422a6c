package sshslowlogin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/nameservice"
)

// quick are sources that answer from the host itself, or that do not wait.
var quick = []string{
	"files",
	"db",
	"compat",
	"dns",
	"myhostname",
	"mymachines",
	"systemd",
	"altfiles",
	"cache",
	"extrausers",
	"libvirt",
	"libvirt_guest",
	"gw_name",
	"cache_oslogin",
}

// sources reports of the name services that a login asks.
func (f *facts) sources(ctx context.Context, r *trap.Report) {
	if f.swErr != nil {
		r.Unknown("nss", f.swErr)
		return
	}
	spoken := false
	seen := map[string]bool{}
	for _, db := range []string{"hosts", "passwd", "group", "initgroups", "shadow"} {
		all := f.sw.Sources(db)
		for i, s := range all {
			if slices.Contains(quick, s.Name) || seen[db+s.Name] || db != "hosts" && seen["passwd"+s.Name] {
				continue
			}
			seen[db+s.Name] = true
			spoken = true
			f.source(ctx, r, db, s, all[i+1:])
		}
	}
	if !spoken {
		ev := trap.Ev(f.sw.File, "hosts: %s; passwd: %s", names(f.sw.Sources("hosts")), names(f.sw.Sources("passwd")))
		r.Clear("nss", "names are looked up in files and DNS only", ev)
	}
}

func names(ss []nameservice.Source) string {
	var out []string
	for _, s := range ss {
		out = append(out, s.Name)
		if len(s.Actions) > 0 {
			out = append(out, "["+strings.Join(s.Actions, " ")+"]")
		}
	}
	return strings.Join(out, " ")
}

// source reports of one name service; after are those asked if it fails.
func (f *facts) source(ctx context.Context, r *trap.Report, db string, s nameservice.Source, after []nameservice.Source) {
	subject := nssPrefix + s.Name
	ev := []trap.Evidence{trap.Ev(fmt.Sprintf("%s:%d", f.sw.File, s.Line), "%s: %s", db, names(f.sw.Sources(db)))}
	lib := "libnss_" + s.Name + ".so.2"
	switch there, err := f.module(ctx, lib); {
	case !there && err == nil:
		r.Clear(subject, "is not installed: glibc skips it", append(ev, trap.Ev(lib, "is not there"))...)
		return
	case !there && f.h.Running():
		ev = append(ev, trap.Ev(lib, "not known whether it is there: %s", host.Reason(err)))
	}
	beforeDNS := slices.ContainsFunc(after, func(x nameservice.Source) bool { return x.Name == "dns" })
	switch s.Name {
	case "mdns", "mdns4", "mdns6", "mdns_minimal", "mdns4_minimal", "mdns6_minimal":
		f.mdns(ctx, r, subject, s, beforeDNS, ev)
	case "wins":
		f.hostsSource(r, subject, "asks for each name by NetBIOS broadcast, and may wait for answers", beforeDNS, ev)
	case "nis", "nisplus":
		if db == "hosts" {
			f.hostsSource(r, subject, "asks a NIS server for each name, and may wait for it", beforeDNS, ev)
			return
		}
		findByHand(r, subject, trap.Notice, "each login asks a NIS server for the account, and may wait for it",
			"While ypbind looks for a server, lookups wait. "+measure, "make sure that ypbind has two servers that answer (ypwhich -m)", ev...)
	case "ldap":
		f.ldap(ctx, r, subject, db, ev)
	case "winbind":
		r.Clear(subject, "winbindd answers from its cache while a domain controller is away", ev...)
	case "sss":
		r.Clear(subject, "sssd answers from its cache while its servers are away", ev...)
	case "oslogin": // of every virtual machine of Google's cloud with OS Login
		r.Clear(subject, "the cloud's metadata server is asked, on the machine that this one runs on", ev...)
	case "resolve":
		r.Clear(subject, "systemd-resolved is asked on the host itself", ev...)
	default:
		findByHand(r, subject, trap.Notice, "each login queries a name service that fettle does not know, and may wait for it", measure,
			"see what "+lib+" asks, and whether that answers", ev...)
	}
}

// hostsSource reports of a source of the hosts database that can be left out.
func (f *facts) hostsSource(r *trap.Report, subject, what string, beforeDNS bool, ev []trap.Evidence) {
	detail := "It is asked when sshd or PAM look up a client's name, and when ssh looks up a server's."
	if beforeDNS {
		detail += " It comes before dns, so names in DNS wait for it too."
	}
	o := trap.Finding{Subject: subject, Severity: trap.Notice, Summary: what, Detail: trap.Lines(detail + " " + measure), Evidence: ev}
	if f.sw.Authselect {
		o.ByHand = "authselect writes nsswitch.conf: choose a profile or feature without it (authselect list-features, man authselect)"
	}
	r.Found(o)
}

// mdns reports of nss-mdns. The minimal ones ask for names under .local and
// for link-local addresses only (nss-mdns, README.md); all of them ask
// avahi-daemon, and fail at once where it does not run.
func (f *facts) mdns(ctx context.Context, r *trap.Report, subject string, s nameservice.Source, beforeDNS bool, ev []trap.Evidence) {
	const socket = "/run/avahi-daemon/socket"
	const program = "/usr/sbin/avahi-daemon"
	look := socket
	if !f.h.Running() {
		look = program
	}
	there, err := f.h.Exists(ctx, look)
	if !there && err == nil {
		r.Clear(subject, "avahi-daemon is not running: it fails immediately", append(ev, trap.Ev(look, "is not there"))...)
		return
	}
	if !strings.HasSuffix(s.Name, "_minimal") {
		if err != nil {
			r.Unknown(subject, err, ev...)
			return
		}
		f.hostsSource(r, subject, "asks the local network by multicast for each name and address, and may wait for answers", beforeDNS, ev)
		return
	}
	if f.resolverErr != nil {
		r.Unknown(subject, f.resolverErr, ev...)
		return
	}
	local := slices.IndexFunc(f.resolver.Search, func(d string) bool {
		d = strings.ToLower(strings.TrimSuffix(d, "."))
		return d == "local" || strings.HasSuffix(d, ".local")
	})
	if local < 0 {
		r.Clear(subject, "asks the local network for names under .local and link-local addresses only", ev...)
		return
	}
	ev = append(ev, trap.Ev(nameservice.ResolvFile, "search %s", f.resolver.Search[local]))
	if err != nil {
		r.Unknown(subject, err, ev...)
		return
	}
	what := "names of the search domain end in .local: each is looked up by multicast on the local network, and may wait there"
	if s.Returns("NOTFOUND") {
		what = "names of the search domain end in .local: each is looked up by multicast on the local network, may wait there, and is never " +
			"looked up in DNS"
	}
	f.hostsSource(r, subject, what, beforeDNS, ev)
}

// padl are the files of PADL's nss_ldap, in the order of the distributions:
// Debian, then Red Hat and SUSE.
var padl = []string{"/etc/libnss-ldap.conf", "/etc/nss_ldap.conf", "/etc/ldap.conf"}

// ldap reports of accounts kept in LDAP: nss_ldap of PADL connects in the
// process that asks, and by default tries again until a server answers
// (nss_ldap(5), bind_policy hard); nslcd does so with a time limit.
func (f *facts) ldap(ctx context.Context, r *trap.Report, subject, db string, ev []trap.Evidence) {
	nslcd, err := f.h.Exists(ctx, "/etc/nslcd.conf")
	if nslcd {
		r.Clear(subject, "nslcd asks the LDAP servers, with a time limit", append(ev, trap.Ev("/etc/nslcd.conf", "is there"))...)
		return
	}
	if err != nil {
		r.Unknown(subject, err, ev...)
		return
	}
	for _, name := range padl {
		b, err := f.h.ReadFile(ctx, name)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			r.Unknown(subject, err, ev...)
			return
		}
		policy, line := bindPolicy(string(b))
		src := name
		if line > 0 {
			src = fmt.Sprintf("%s:%d", name, line)
		}
		if strings.HasPrefix(policy, "soft") {
			r.Clear(subject, "gives up immediately when no LDAP server answers", append(ev, trap.Ev(src, "bind_policy %s", policy))...)
			return
		}
		say := "bind_policy " + policy
		if line == 0 {
			say = "no bind_policy: hard"
		}
		find(
			r,
			subject,
			trap.Warning,
			"when no LDAP server answers, every login hangs for minutes, root's too (bind_policy hard)",
			"nss_ldap tries again with growing pauses for each account and group that is looked up. "+measure,
			append(ev, trap.Ev(src, "%s", say))...)
		return
	}
	findByHand(r, subject, trap.Notice, "accounts are looked up in LDAP by a module whose configuration was not found", measure,
		"see which module it is, and what it does when its servers are silent", ev...)
}

// bindPolicy is what a configuration of nss_ldap says; the last line counts.
func bindPolicy(text string) (policy string, line int) {
	policy = "hard"
	n := 0
	for l := range strings.Lines(text) {
		n++
		if fs := strings.Fields(l); len(fs) >= 2 && strings.EqualFold(fs[0], "bind_policy") {
			policy, line = strings.ToLower(fs[1]), n
		}
	}
	return policy, line
}
