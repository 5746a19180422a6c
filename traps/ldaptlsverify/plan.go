package ldaptlsverify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/ldapconf"
)

// planner makes the plan for one client.
type planner struct {
	*edits
	c       *ldapconf.Client
	cs      []*ldapconf.Client
	lib     Library
	f       trap.Finding
	answers map[host.PeerQuestion]asked
	notes   []string
}

// plan restores verification: the CA first, so that turning it on shuts
// nobody out, then the settings. Every server is asked before.
func plan(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
	cs, _ := ldapconf.All(ctx, h)
	p := &planner{edits: &edits{h: h, files: map[string]*edited{}}, cs: cs, f: f}
	name, _, _ := strings.Cut(f.Subject, " ")
	i := slices.IndexFunc(cs, func(c *ldapconf.Client) bool { return c.Name == name })
	if i < 0 {
		return remedy.Plan{}, remedy.Refuse("%s is no longer configured, or its files cannot be read", name)
	}
	p.c = cs[i]
	var err error
	if p.lib, _, err = libraryOf(ctx, h); err != nil {
		return remedy.Plan{}, err
	}
	title := "have " + name + " verify its servers' certificates"
	if f.Chosen("verify") == "never" {
		title = "have " + name + " accept any certificate"
		err = p.never(ctx)
	} else {
		err = p.verify(ctx)
	}
	if err != nil {
		return remedy.Plan{}, err
	}
	steps, secret := p.steps()
	if len(steps) == 0 {
		return remedy.Plan{}, remedy.Refuse(
			"fettle has nothing to change on this host: what is wrong is on the server's side, or has to be decided by hand (fettle explain %s)",
			"ldap-tls-verify",
		)
	}
	if secret {
		p.notes = append(p.notes, "A file that changes contains a password, so no diff is shown. The lines that change:")
		p.notes = append(p.notes, p.said...)
	}
	if err := p.simulate(ctx); err != nil {
		return remedy.Plan{}, err
	}
	out := remedy.Plan{Title: title, Notes: p.notes, Steps: steps, CutsConnection: p.c.Login}
	restart, note := p.restart(ctx)
	out.Steps = append(out.Steps, restart...)
	if note != "" {
		out.Notes = append(out.Notes, note)
	}
	return out, nil
}

// never is done only when asked for, and only about a server: that a client
// takes any certificate is itself what the check finds.
func (p *planner) never(ctx context.Context) error {
	if !strings.Contains(p.f.Subject, " ") {
		return remedy.Refuse("accepting any certificate is what the check reports; accept the finding if it has to stay so (fettle accept)")
	}
	p.notes = append(p.notes, "After this, anybody can impersonate the server: passwords can be intercepted.",
		"fettle check will say so, about "+p.c.Name+".")
	v := "never"
	if p.c.Program == ldapconf.PADL {
		v = "no"
	}
	return p.set(ctx, p.c, keysOf[p.c.Program].reqcert, v, p.c.ReqCert)
}

func (p *planner) verify(ctx context.Context) error {
	c := p.c
	if err := p.protect(ctx); err != nil {
		return err
	}
	// The client as it will be: what is asked of servers follows from that.
	cs, unread := ldapconf.All(ctx, host.New(&after{p.h.Source(), p.edits, nil}))
	i := slices.IndexFunc(cs, func(x *ldapconf.Client) bool { return x.Name == c.Name })
	if i < 0 {
		return fmt.Errorf("reading the changed configuration: %v", unread)
	}
	p.answers = answersOf(ctx, p.h, cs[i:i+1])
	return p.trust(ctx, cs[i])
}

// protect changes the settings that open the client.
func (p *planner) protect(ctx context.Context) error {
	c, k := p.c, keysOf[p.c.Program]
	if !c.Verifies() {
		v := "demand"
		if c.Program == ldapconf.PADL {
			v = "yes"
		}
		if err := p.set(ctx, c, k.reqcert, v, c.ReqCert); err != nil {
			return err
		}
	}
	if c.ReqSAN.Value == "never" && p.lib == GnuTLS {
		if c.Program != ldapconf.OpenLDAP {
			return remedy.Refuse(
				"TLS_REQSAN never is set at %s, for all programs that use the "+
					"OpenLDAP library: fix it there (fettle fix ldap-tls-verify --on openldap)",
				c.ReqSAN.Place(),
			)
		}
		if err := p.set(ctx, c, k.reqsan, "allow", c.ReqSAN); err != nil {
			return err
		}
	}
	if c.Program == ldapconf.SSSD {
		if a := c.ClearAuth; a != nil {
			if err := p.set(ctx, c, "ldap_auth_disable_tls_never_use_in_production", "false", *a); err != nil {
				return err
			}
		}
		if a := c.Clear; a != nil {
			at := *a
			if !strings.EqualFold(at.Value, "false") { // the URI's line, not the option's
				at = ldapconf.Setting{}
			}
			return p.set(ctx, c, k.tls, "true", at)
		}
		return nil
	}
	if a := c.ClearAuth; a != nil {
		at := *a
		if !slices.Contains([]string{"on", "off", "start_tls"}, at.Value) {
			at = ldapconf.Setting{}
		}
		return p.set(ctx, c, k.tls, "start_tls", at)
	}
	return nil
}

// simulate runs the check over the host as it will be.
func (p *planner) simulate(ctx context.Context) error {
	t := &trap.Trap{Lore: trap.Lore(lore), Check: check, Talks: true}
	h := host.New(&after{p.h.Source(), p.edits, p.answers})
	var bad error
	trap.Run(ctx, h, []*trap.Trap{t}, trap.Options{Network: true}, func(r trap.Result) {
		for _, o := range r.Outcomes {
			mine := o.Subject == p.f.Subject
			if p.f.Chosen("verify") != "never" {
				mine = mine || strings.HasPrefix(o.Subject, p.c.Name+" ")
			}
			switch {
			case !mine:
			case o.Status == trap.Found && (o.Severity > trap.Notice || o.Subject == p.f.Subject):
				bad = errors.Join(bad, remedy.Refuse("after all that can be changed here, %s would still be so: %s", o.Subject, o.Summary))
			case o.Status == trap.Unknown && p.c.Login && strings.Contains(o.Subject, " ") && !strings.HasSuffix(o.Subject, " _srv_"):
				bad = errors.Join(
					bad,
					remedy.Refuse(
						"%s cannot be asked (%s), so whether logins would still work is not known: try again when it answers",
						o.Subject,
						o.Reason,
					),
				)
			}
		}
	})
	return bad
}

// restart has a daemon read its changed files.
func (p *planner) restart(ctx context.Context) ([]step.Step, string) {
	unit := map[ldapconf.Program]string{ldapconf.SSSD: "sssd.service", ldapconf.NSLCD: "nslcd.service"}[p.c.Program]
	if unit == "" {
		return nil, "Running programs keep the settings that they read at start; programs started from now on use the new ones."
	}
	u, err := p.h.Unit(ctx, unit)
	switch {
	case err != nil:
		return nil, "fettle cannot restart it here (" + host.Reason(err) + "): restart " + unit + " by hand."
	case !u.Active():
		return nil, unit + " is not running; it reads the new settings when it is started."
	}
	return []step.Step{step.Unit{Name: unit, Act: "restart"}}, ""
}
