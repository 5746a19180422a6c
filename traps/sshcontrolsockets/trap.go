// Package sshcontrolsockets finds SSH clients that log in again for every
// command, and control sockets that fail, clash, or let others in.
package sshcontrolsockets

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/accounts"
	"fettle/host/format/sshconfig"
)

//go:embed lore.md
var lore trap.Lore

// Trap is the trap ssh-control-sockets. Its subjects are users.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check, Plan: plan, Setup: setup, Choices: []trap.Choice{
	{Name: "host", About: "the hosts to share connections with, a pattern as in ssh_config(5)", Default: "*"},
	{Name: "persist", About: "how long an idle connection is kept, as in ControlPersist", Default: "10m"},
}}

// setup is for who connects to few hosts and wants it nevertheless: fettle measure
// login --control shows what one host would gain.
var setup = &trap.Setup{Name: "ssh-control-sockets", Choice: "host",
	Finding: trap.Finding{Summary: "share the SSH connections to a host"}}

// many is from how many known hosts on a user is told that he could share
// connections: below that it is nobody's trouble.
const many = 10

// maxUsers bounds the users looked at.
const maxUsers = 500

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	db, err := accounts.Read(ctx, h)
	if host.IsAbsent(err) {
		r.NotApplicable("", "there is no /etc/passwd, so no home directories")
		return nil
	}
	if err != nil {
		return err
	}
	system, sysErr := sshconfig.Read(ctx, h, sshconfig.System, "/etc/ssh", "/root")
	if host.IsAbsent(sysErr) {
		sysErr = nil
	}
	said, n := false, 0
	var unread []error // one outcome for all: homes on a server would make hundreds
	for _, u := range db.Users {
		if !person(u) {
			continue
		}
		if n++; n > maxUsers {
			r.Unknown("(more)", fmt.Errorf("fettle checks %d users; this host has more", maxUsers))
			break
		}
		c := &client{user: u, system: system}
		ctx := host.As(ctx, u.UID) // his file names others
		c.own, c.err = sshconfig.Read(ctx, h, c.file(), path.Dir(c.file()), u.Home)
		known, knownErr := h.ReadFile(ctx, path.Join(u.Home, ".ssh/known_hosts"))
		if host.IsAbsent(c.err) {
			c.own, c.err = nil, nil
			if host.IsAbsent(knownErr) {
				continue // never used ssh
			}
			if knownErr != nil {
				said, unread = true, append(unread, knownErr)
				continue
			}
		}
		said = true
		switch {
		case sysErr != nil:
			unread = append(unread, errors.Join(c.err, sysErr))
			continue
		case errors.Is(c.err, host.ErrTooBig): // his own doing, and his alone
			r.Unknown(u.Name, c.err)
			continue
		case c.err != nil:
			unread = append(unread, c.err)
			continue
		}
		c.known, c.knownErr = names(string(known)), knownErr
		c.report(ctx, h, r)
	}
	if len(unread) > 1 {
		r.Unknown("", fmt.Errorf("%w (and of %d more users)", unread[0], len(unread)-1))
	} else if len(unread) == 1 {
		r.Unknown("", unread[0])
	}
	if !said {
		r.NotApplicable("", "no user of this host has used ssh")
	}
	return nil
}

// person tells whether somebody logs in as u.
func person(u accounts.User) bool {
	shell := path.Base(u.Shell)
	return (u.UID == 0 || u.UID >= 1000 && u.UID < 60000) && strings.HasPrefix(u.Home, "/") && u.Home != "/" && shell != "nologin" &&
		shell != "false"
}

// client is one user's ssh.
type client struct {
	user     accounts.User
	own      *sshconfig.Config // nil: there is none
	system   *sshconfig.Config // nil: there is none
	err      error
	known    []string // names in known_hosts; "" for hashed ones
	knownErr error
}

func (c *client) file() string { return path.Join(c.user.Home, ".ssh/config") }

// lines lists what sets a keyword, the user's own first, as ssh takes it.
func (c *client) lines(keyword string) []sshconfig.Line {
	var out []sshconfig.Line
	for _, cfg := range []*sshconfig.Config{c.own, c.system} {
		if cfg != nil {
			out = append(out, cfg.All(keyword)...)
		}
	}
	return out
}

// unseen is why the lines may not be all.
func (c *client) unseen() error {
	for _, cfg := range []*sshconfig.Config{c.own, c.system} {
		if cfg == nil {
			continue
		}
		if cfg.Unread != nil {
			return cfg.Unread
		}
		if len(cfg.Errors) > 0 {
			return fmt.Errorf("ssh would refuse its configuration: %w", cfg.Errors[0])
		}
	}
	return nil
}

func (c *client) report(ctx context.Context, h *host.Host, r *trap.Report) {
	name := c.user.Name
	faults, ev, err := c.faults(ctx, h)
	if len(faults) > 0 {
		f := trap.Finding{
			Subject:  name,
			Severity: faults[0].severity,
			Summary:  faults[0].summary,
			Detail:   trap.Lines(faults[0].detail),
			Evidence: ev,
		}
		for _, x := range faults[1:] {
			f.Detail = f.Detail.Also("Also: " + x.summary + ". " + x.detail)
		}
		r.Found(f)
		return
	}
	masters := c.lines("controlmaster")
	if err = errors.Join(err, c.unseen()); err != nil {
		r.Unknown(name, err, ev...)
		return
	}
	switch {
	case len(ev) > 0:
		r.Clear(name, "control sockets are set up safely", ev...)
	case len(masters) > 0:
		r.Clear(name, "control sockets were decided on", trap.Ev(masters[0].Place(), "ControlMaster %s", masters[0].Args[0]))
	case c.knownErr != nil && !host.IsAbsent(c.knownErr):
		r.Unknown(name, c.knownErr)
	case c.hosts() < many:
		r.Clear(name, "connects to few hosts")
	default:
		r.Found(trap.Finding{Subject: name, Severity: trap.Notice,
			Summary: "connects to many hosts, and logs in again for each command: no control sockets",
			Detail: trap.Lines(
				"A second command over a shared connection skips key exchange and login. What that saves here: fettle measure login HOST. " +
					fmt.Sprintf("known_hosts has about %d hosts.", c.hosts()),
			),
			Evidence: []trap.Evidence{
				trap.Ev(path.Join(c.user.Home, ".ssh/known_hosts"), "many hosts"),
				trap.Ev(c.file(), "no ControlMaster, no ControlPath"),
			}})
	}
}

// hosts is about how many hosts are known: of hashed names, which may be
// three keys of one host, a third.
func (c *client) hosts() int {
	hashed := 0
	plain := map[string]bool{}
	for _, n := range c.known {
		if n == "" {
			hashed++
		} else {
			plain[n] = true
		}
	}
	return len(plain) + (hashed+2)/3
}

// names lists the first name of each line of a known_hosts file (sshd(8)).
func names(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) > 1 && strings.HasPrefix(f[0], "@") {
			f = f[1:]
		}
		if len(f) < 3 || f[0][0] == '#' {
			continue
		}
		n, _, _ := strings.Cut(f[0], ",")
		if strings.HasPrefix(n, "|") {
			n = ""
		}
		out = append(out, strings.TrimPrefix(n, "["))
	}
	return out
}
