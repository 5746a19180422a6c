package sshslowlogin

import (
	"context"
	"errors"
	"path"
	"strings"

	"fettle/host"
	"fettle/trap"
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
	keytab, realm, err := f.kerberos(ctx)
	if err != nil {
		r.Unknown(gssapi, err, ev...)
		return
	}
	there, err := f.h.Exists(ctx, keytab)
	switch {
	case err != nil:
		r.Unknown(gssapi, err, ev...)
	case there:
		r.Clear(gssapi, "GSSAPI is in use: the host has a keytab", append(ev, trap.Ev(keytab, "is there"))...)
	default:
		ev = append(ev, trap.Ev(keytab, "is not there"))
		if realm == "" {
			ev = append(ev, trap.Ev(krb5Conf, "no default_realm"))
		}
		find(r, gssapi, trap.Notice, "sshd offers GSSAPI, which cannot succeed without a keytab; clients that try it lose time",
			"Such clients look up the name of the server's address first, and then ask for a Kerberos realm. Where their resolver is silent, ssh of OpenSSH 9.2 "+
				"asks twice: 20 s with one resolver, measured. "+measure, ev...)
	}
}

const krb5Conf = "/etc/krb5.conf"

// kerberos is where the host's keytab is, and its realm (krb5.conf(5)).
func (f *facts) kerberos(ctx context.Context) (keytab, realm string, err error) {
	keytab = "/etc/krb5.keytab"
	seen := map[string]bool{}
	var read func(name string, depth int) error
	read = func(name string, depth int) error {
		if seen[name] || depth > 8 {
			return nil
		}
		seen[name] = true
		b, err := f.h.ReadFile(ctx, name)
		if host.IsAbsent(err) {
			return nil
		}
		if err != nil {
			return err
		}
		section := ""
		for line := range strings.Lines(string(b)) {
			line = strings.TrimSpace(line)
			fs := strings.Fields(line)
			switch {
			case len(fs) == 0 || line[0] == '#' || line[0] == ';':
			case fs[0] == "include" && len(fs) == 2:
				if err := read(path.Clean(fs[1]), depth+1); err != nil {
					return err
				}
			case fs[0] == "includedir" && len(fs) == 2:
				es, err := f.h.ReadDir(ctx, path.Clean(fs[1]))
				if err != nil && !host.IsAbsent(err) {
					return err
				}
				for _, e := range es {
					if e.Type.IsDir() || strings.Trim(strings.TrimSuffix(e.Name, ".conf"), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
						continue
					}
					if err := read(path.Join(fs[1], e.Name), depth+1); err != nil {
						return err
					}
				}
			case line[0] == '[':
				section = strings.Trim(line, "[]")
			case section == "libdefaults":
				k, v, _ := strings.Cut(line, "=")
				k, v = strings.TrimSpace(k), strings.TrimSpace(v)
				switch {
				case k == "default_realm" && realm == "":
					realm = v
				case k == "default_keytab_name":
					keytab = strings.TrimPrefix(strings.TrimPrefix(v, "WRFILE:"), "FILE:")
				}
			}
		}
		return nil
	}
	err = read(krb5Conf, 0)
	if err == nil && !strings.HasPrefix(keytab, "/") {
		err = errors.New(krb5Conf + ": default_keytab_name " + keytab + " is not a file")
	}
	return keytab, realm, err
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
