// Package sshslowlogin finds what makes SSH logins wait, as far as the
// configuration shows it: reverse lookups, name services, PAM session modules,
// GSSAPI, host-based authentication, a systemd-logind that does not answer.
// It opens no session and asks no resolver; fettle measure login does.
package sshslowlogin

import (
	"context"
	_ "embed"

	"fettle/engine/trap"
	"fettle/host"
)

//go:embed lore.md
var lore trap.Lore

// Trap is the trap ssh-slow-login. Its subjects are the names of causes that
// fettle measure login uses too.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Units: logindUnits, Check: check, Plan: plan}

// Subjects.
const (
	reverseDNS = "reverse-dns"
	gssapi     = "gssapi"
	hostbased  = "hostbased"
	logind     = "logind"
	nssPrefix  = "nss:" // and the name of the source
	pamPrefix  = "pam:" // and the module's name
)

// measure is where a finding that only may delay leads.
const measure = "Whether it does here, and for how long: fettle measure login HOST."

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	f := gather(ctx, h)
	if host.IsAbsent(f.sshdErr) {
		r.NotApplicable("", "there is no "+mainFile+": this host accepts no SSH logins")
		return nil
	}
	f.reverse(ctx, r)
	f.gss(ctx, r)
	f.hosts(ctx, r)
	f.sources(ctx, r)
	f.modules(ctx, r)
	f.logind(ctx, r)
	return nil
}

// find reports a finding.
func find(r *trap.Report, subject string, sev trap.Severity, summary, detail string, ev ...trap.Evidence) {
	r.Found(trap.Finding{Subject: subject, Severity: sev, Summary: summary, Detail: trap.Lines(detail), Evidence: ev})
}

// findByHand reports a finding that the remedy does not serve.
func findByHand(r *trap.Report, subject string, sev trap.Severity, summary, detail, byHand string, ev ...trap.Evidence) {
	r.Found(trap.Finding{Subject: subject, Severity: sev, Summary: summary, Detail: trap.Lines(detail), ByHand: byHand, Evidence: ev})
}
