package sshslowlogin

import (
	"context"
	"errors"
	"strings"

	"fettle/engine/trap"
	"fettle/host/format/krb5"
)

// gss reports of GSSAPI.
func (f *facts) gss(ctx context.Context, r *trap.Report) {
	ev, err := f.on("gssapiauthentication", "GSSAPIAuthentication")
	if err != nil {
		r.Unknown(gssapi, err)
		return
	}
	if len(ev) == 0 {
		r.Clear(gssapi, "sshd does not offer GSSAPI, so no client tries it")
		return
	}
	kerberos, err := krb5.Read(ctx, f.h)
	if err != nil {
		r.Unknown(gssapi, err, ev...)
		return
	}
	there, err := f.h.Exists(ctx, kerberos.Keytab)
	switch {
	case err != nil:
		r.Unknown(gssapi, err, ev...)
	case there:
		r.Clear(gssapi, "GSSAPI is in use: the host has a keytab", append(ev, trap.Ev(kerberos.Keytab, "is there"))...)
	default:
		ev = append(ev, trap.Ev(kerberos.Keytab, "is not there"))
		if kerberos.Realm == "" {
			ev = append(ev, trap.Ev(krb5.File, "no default_realm"))
		}
		find(
			r,
			gssapi,
			trap.Notice,
			"sshd offers GSSAPI, which cannot succeed without a keytab; clients that try it lose time",
			"Such clients look up the name of the server's address first, and then ask for a Kerberos realm. Where their resolver is silent, "+
				"ssh of OpenSSH 9.2 "+
				"asks twice: 20 s with one resolver, measured. "+measure,
			ev...)
	}
}

// hosts reports of host-based authentication.
func (f *facts) hosts(ctx context.Context, r *trap.Report) {
	ev, err := f.on("hostbasedauthentication", "HostbasedAuthentication")
	if err != nil {
		r.Unknown(hostbased, err)
		return
	}
	if len(ev) == 0 {
		r.Clear(hostbased, "sshd does not offer host-based authentication")
		return
	}
	// A client is let in if it is listed, and if its key is known
	// (sshd(8), FILES; auth2-hostbased.c).
	lists := []string{"/etc/ssh/shosts.equiv", "/etc/hosts.equiv"}
	keys := []string{"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"}
	listed, err1 := f.any(ctx, lists)
	known, err2 := f.any(ctx, keys)
	if f.eff.Get("ignorerhosts").Value() != "yes" {
		listed = true // by users' own ~/.shosts
	}
	if f.eff.Get("ignoreuserknownhosts").Value() != "yes" {
		known = true // by ~/.ssh/known_hosts of the user who logs in
	}
	switch {
	case err1 != nil && !listed || err2 != nil && !known:
		r.Unknown(hostbased, errors.Join(err1, err2), ev...)
	case listed && known:
		r.Clear(hostbased, "host-based authentication is in use", ev...)
	default:
		missing := lists
		if listed {
			missing = keys
		}
		find(r, hostbased, trap.Notice, "sshd offers host-based authentication, which cannot succeed; clients that try it lose time",
			"Such clients sign with their host key (ssh-keysign looks its own name up for that), and sshd looks up theirs. "+measure,
			append(ev, trap.Ev(strings.Join(missing, ", "), "none of them is there"))...)
	}
}

// any tells whether one of the files is there.
func (f *facts) any(ctx context.Context, names []string) (bool, error) {
	var unseen error
	for _, n := range names {
		ok, err := f.h.Exists(ctx, n)
		if ok {
			return true, nil
		}
		if err != nil {
			unseen = err
		}
	}
	return false, unseen
}
