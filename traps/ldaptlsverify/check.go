package ldaptlsverify

import (
	"context"
	"fmt"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/ldapconf"
)

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	cs, unread := ldapconf.All(ctx, h)
	for _, u := range unread {
		r.Unknown(u.Name, u.Err)
	}
	if len(cs) == 0 {
		if len(unread) == 0 {
			r.NotApplicable("", "no LDAP client is configured here")
		}
		return nil
	}
	lib, why, err := libraryOf(ctx, h)
	for _, c := range cs {
		ck := checker{h, r, c, lib, why, err}
		ck.configuration(ctx)
	}
	if trap.MayTalk(ctx) {
		askAll(ctx, h, r, cs, lib, why, err)
	}
	return nil
}

// checker looks at one client.
type checker struct {
	h      *host.Host
	r      *trap.Report
	c      *ldapconf.Client
	lib    Library
	why    trap.Evidence
	libErr error
}

// usesTLS tells whether certificates matter to the client: programs of the
// OpenLDAP library may be given servers on their command lines.
func usesTLS(c *ldapconf.Client) bool {
	if c.Program == ldapconf.OpenLDAP || c.Discovers.Value != "" {
		return true
	}
	for _, s := range c.Servers {
		if s.Mode == ldapconf.StartTLS || s.Mode == ldapconf.Implicit {
			return true
		}
	}
	return false
}

// onlyLocal: every server is this host, and nothing is in between.
func onlyLocal(c *ldapconf.Client) bool {
	return len(c.Servers) > 0 && len(c.Remote()) == 0 && c.Discovers.Value == ""
}

// grave is the severity of what opens a client to interception.
func grave(c *ldapconf.Client) trap.Severity {
	if c.Login && c.Kerberos == "" {
		return trap.Critical
	}
	return trap.Warning
}

// configuration judges what is in files.
func (ck *checker) configuration(ctx context.Context) {
	c, r := ck.c, ck.r
	found := false
	say := func(sev trap.Severity, detail string, ev []trap.Evidence, format string, args ...any) {
		found = true
		r.Found(trap.Finding{Subject: c.Name, Severity: sev, Summary: fmt.Sprintf(format, args...), Detail: trap.Lines(detail), Evidence: ev})
	}
	for _, e := range c.Errors {
		say(
			trap.Notice,
			"",
			[]trap.Evidence{trap.Ev(fmt.Sprintf("%s:%d", e.Path, e.Line), "%s", e.Msg)},
			"fettle does not understand a line of its configuration: %s",
			e.Msg,
		)
	}
	local := onlyLocal(c)
	if !c.Verifies() && !local {
		detail := "An attacker who can impersonate the server (ARP, DNS, a router in between) can read the passwords that are sent, and " +
			"forge accounts."
		if c.Kerberos != "" {
			detail = "Connections that Kerberos protects are not touched by it; any TLS connection is."
		}
		say(
			grave(c),
			detail,
			[]trap.Evidence{trap.Ev(c.ReqCert.Place(), "%s", reqcertLine(c))},
			"accepts any server certificate: open to interception",
		)
	}
	if c.ClearAuth != nil {
		say(grave(c), "", []trap.Evidence{settingEv(*c.ClearAuth)}, "sends passwords over the network in the clear")
	} else if c.Clear != nil && c.Bind.Given() {
		say(grave(c), "", []trap.Evidence{settingEv(*c.Clear), trap.Ev(c.Bind.Place(), "%s is set", c.Bind.Value)}, "sends its own password "+
			"over the network in the clear")
	} else if c.Clear != nil {
		say(trap.Warning, "An attacker who can impersonate the server can forge group "+
			"memberships. Passwords of logins still go through StartTLS.",
			[]trap.Evidence{settingEv(*c.Clear)}, "looks up accounts without TLS")
	}
	if !usesTLS(c) || c.Kerberos != "" && len(c.Servers) == 0 {
		if !found {
			ck.fine(local, trap.MayTalk(ctx))
		}
		return
	}
	if ck.libErr != nil {
		r.Unknown(c.Name, ck.libErr)
		return
	}
	if c.ReqSAN.Value == "never" && c.Verifies() && ck.lib == GnuTLS && !local {
		say(
			grave(c),
			"With GnuTLS the OpenLDAP library then compares no name at all, not even the common name: any certificate from a trusted CA will "+
				"do, whoever owns it.",
			[]trap.Evidence{trap.Ev(c.ReqSAN.Place(), "TLS_REQSAN never"), ck.why},
			"does not compare the server's name with its certificate",
		)
	}
	wrong, err := usable(ctx, ck.h, c, ck.lib)
	switch {
	case err != nil:
		r.Unknown(c.Name, err)
		return
	case wrong != "":
		sev := trap.Warning
		if len(c.Servers) == 0 && c.Discovers.Value == "" {
			sev = trap.Notice
		}
		say(sev, "", []trap.Evidence{caEv(c), ck.why}, "cannot verify any server: %s", wrong)
	case c.Name == "openldap" && c.CACert.Given():
		if st, err := ck.h.Stat(ctx, c.CACert.Value); err == nil && st.Mode.Perm()&0o004 == 0 {
			say(
				trap.Notice,
				"",
				[]trap.Evidence{caEv(c), trap.Ev("stat "+c.CACert.Value, "mode %04o", st.Mode.Perm())},
				"can verify servers only as root: not every user can read its CA file %s",
				c.CACert.Value,
			)
		}
	}
	if !found {
		ck.fine(local, trap.MayTalk(ctx))
	}
}

func (ck *checker) fine(local, talked bool) {
	c := ck.c
	ev := []trap.Evidence{trap.Ev(c.ReqCert.Place(), "%s", reqcertLine(c))}
	switch {
	case c.Kerberos != "" && len(c.Servers) == 0:
		ck.r.NotApplicable(c.Name, "its connections are protected by Kerberos, not TLS ("+c.Kerberos+")")
	case local:
		ck.r.Clear(c.Name, "talks to this host only", settingEv(c.Servers[0].From))
	case !usesTLS(c):
		ck.r.Clear(c.Name, "sends nothing over the network in the clear")
	default:
		hint := "; --network asks them for theirs"
		if talked {
			hint = ""
		}
		ck.r.Clear(c.Name, "requires its servers' certificates to verify"+hint, ev...)
	}
}

// reqcertLine names the setting as the client's own file does.
func reqcertLine(c *ldapconf.Client) string {
	key := map[ldapconf.Program]string{ldapconf.OpenLDAP: "TLS_REQCERT ", ldapconf.SSSD: "ldap_tls_reqcert = ",
		ldapconf.NSLCD: "tls_reqcert ", ldapconf.PADL: "tls_checkpeer: "}[c.Program]
	if strings.HasSuffix(c.ReqCert.File, "ldap.conf") {
		key = "TLS_REQCERT "
	}
	return key + c.Level()
}

func settingEv(s ldapconf.Setting) trap.Evidence { return trap.Ev(s.Place(), "%s", s.Value) }

func caEv(c *ldapconf.Client) trap.Evidence {
	switch {
	case c.CACert.Given():
		return trap.Ev(c.CACert.Place(), "CA file %s", c.CACert.Value)
	case c.CACertDir.Given():
		return trap.Ev(c.CACertDir.Place(), "CA folder %s", c.CACertDir.Value)
	}
	return trap.Ev(strings.Join(c.Files, ", "), "no CA file is set")
}
