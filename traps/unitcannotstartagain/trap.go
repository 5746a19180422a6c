// Package unitcannotstartagain finds services that run, and that systemd could not start again:
// what their unit files name is gone.
package unitcannotstartagain

import (
	"context"
	_ "embed"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/startup"
)

//go:embed lore.md
var lore trap.Lore

// Trap is unit-cannot-start-again.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	all, err := startup.Units(ctx, h)
	if startup.WithoutManager(ctx, h, err) {
		r.NotApplicable("", startup.NoManager)
		return nil
	}
	if err != nil {
		return err
	}
	w := newWorld(ctx, h, all)
	for i := range all {
		if u := &all[i]; judged(u) {
			report(ctx, h, w, u, r)
		}
	}
	return nil
}

// report says what becomes of one unit.
func report(ctx context.Context, h *host.Host, w *world, u *startup.Unit, r *trap.Report) {
	text, err := startup.Read(ctx, h, u)
	if err != nil {
		r.Unknown(u.ID, err)
		return
	}
	if text.File == "" { // unit-not-started-at-boot tells of units without a file
		return
	}
	s := &service{Unit: u, Text: text, world: w}
	for _, look := range looks {
		f, err := look(ctx, h, s)
		switch {
		case err != nil:
			r.Unknown(u.ID, err)
			return
		case f != nil:
			r.Found(s.finding(f))
			return
		}
	}
	if u.NeedsReload {
		r.Found(trap.Finding{Subject: u.ID, Severity: trap.Notice, Start: trap.StartSame, ByHand: "systemctl daemon-reload",
			Summary:  "its unit file was edited after systemd read it: the next start uses the new text",
			Evidence: []trap.Evidence{trap.Ev("systemctl show "+u.ID, "NeedDaemonReload=yes")}})
		return
	}
	r.Clear(u.ID, "what its unit file names is there", trap.Ev(text.File, "%s", text.Value("Service", "ExecStart")))
}

// judged tells whether a unit is a service that starts by a file of the host's own, and that
// somebody may miss.
func judged(u *startup.Unit) bool {
	base, _, _ := strings.Cut(u.ID, "@")
	return u.Kind() == "service" && (u.ActiveState == "active" || u.ActiveState == "reloading") && !u.Transient && u.LoadState == "loaded" &&
		u.FragmentPath != "" && !startup.UntilRestart(u.FragmentPath) && !strings.HasPrefix(u.Slice, "user-") &&
		!slices.Contains(ofSessions, base)
}

// ofSessions are templates that logins and dumps make instances of.
var ofSessions = []string{"user", "user-runtime-dir", "systemd-coredump", "modprobe", "sshd", "ssh"}

// fault is why a unit cannot start.
type fault struct {
	says, byHand, source, value string
}

// logins are the services by which people log in from elsewhere.
var logins = []string{"ssh.service", "sshd.service"}

func (s *service) finding(f *fault) trap.Finding {
	out := trap.Finding{
		Subject: s.ID, Severity: trap.Warning, Summary: "runs, but cannot start again: " + f.says, ByHand: f.byHand,
		Evidence: []trap.Evidence{trap.Ev(f.source, "%s", f.value)},
	}
	if s.NeedsReload {
		out.Detail = "its unit file was edited after systemd read it; the next start uses the new text"
	}
	if slices.Contains(logins, s.ID) {
		out.Severity, out.Start = trap.Critical, trap.StartFails
		out.Summary = "runs, but cannot start again, and nobody will be able to log in over SSH: " + f.says
	}
	return out
}
