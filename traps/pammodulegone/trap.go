// Package pammodulegone finds PAM modules that are configured and not installed, where that keeps everybody from logging in.
package pammodulegone

import (
	"context"
	_ "embed"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/accounts"
	"fettle/host/format/pam"
	"fettle/host/format/sshd"
)

//go:embed lore.md
var lore trap.Lore

// Trap is pam-module-gone.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	remote, notSSH := overSSH(ctx, h)
	if remote != nil {
		remote, notSSH = look(ctx, h, remote)
	}
	if notSSH != nil {
		r.Unknown("sshd", notSSH)
	}
	remote.report(r, false)
	// Where sshd is there and does not ask PAM, the console is not the only way in.
	there, err := h.Exists(ctx, daemon)
	only := err == nil && !there
	console, err := look(ctx, h, &door{service: "login", name: "at the console", asked: atConsole})
	if err != nil {
		r.Unknown("login", err)
	}
	console.report(r, only)
	if remote == nil && console == nil && notSSH == nil && err == nil {
		r.NotApplicable("", "neither sshd nor login asks PAM here")
	}
	return rootShell(ctx, h, r)
}

const daemon = "/usr/sbin/sshd"

// atConsole are the facilities that login(1) needs (util-linux, login-utils/login.c: loginpam_err).
var atConsole = []pam.Facility{pam.Auth, pam.Account, pam.Session}

// overSSH is how sshd asks PAM: nil where it does not. A login with a key needs the account's
// consent and a session: without one, sshd runs nothing (OpenSSH 9.2, session.c, do_child).
func overSSH(ctx context.Context, h *host.Host) (*door, error) {
	if there, err := h.Exists(ctx, daemon); err != nil || !there {
		return nil, err
	}
	c, err := sshd.Read(ctx, h)
	switch {
	case host.IsAbsent(err):
		return nil, nil
	case err != nil:
		return nil, err
	case c.Unread != nil:
		return nil, c.Unread
	}
	eff := c.For(sshd.Conn{})
	if !eff.Get("UsePAM").Is("yes") {
		return nil, nil
	}
	d := &door{service: "sshd", name: "over SSH", asked: []pam.Facility{pam.Account, pam.Session}}
	if eff.Get("PasswordAuthentication").Is("yes") || eff.Get("KbdInteractiveAuthentication").Is("yes") {
		d.asked = append(d.asked, pam.Auth)
	}
	return d, nil
}

// rootShell tells of a login shell of root's that is not there (OpenSSH 9.2, auth.c, allowed_user).
func rootShell(ctx context.Context, h *host.Host, r *trap.Report) error {
	db, err := accounts.Read(ctx, h)
	if host.IsAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	root, ok := db.User("root")
	if !ok || !strings.HasPrefix(root.Shell, "/") {
		return nil
	}
	there, err := h.Exists(ctx, root.Shell)
	switch {
	case err != nil:
		r.Unknown("root's shell", err)
	case !there:
		r.Found(trap.Finding{Subject: "root's shell", Severity: trap.Warning, Lost: "logins of root",
			Summary:  "does not exist: root cannot log in",
			Evidence: []trap.Evidence{trap.Ev("/etc/passwd", "%s", root.Shell), trap.Ev(root.Shell, "does not exist")},
			ByHand:   "install the shell again, or: usermod --shell /bin/sh root, while somebody still has root's rights"})
	default:
		r.Clear("root's shell", "exists", trap.Ev("/etc/passwd", "%s", root.Shell))
	}
	return nil
}
