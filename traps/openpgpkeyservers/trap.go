// Package openpgpkeyservers finds OpenPGP keyservers that are no more, in the
// configuration of gpg and dirmngr and in scripts, and keys that apt trusts and
// that are expired, revoked, weak, or in a form that apt ignores.
package openpgpkeyservers

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"fettle/host"
	"fettle/trap"
)

//go:embed lore.md
var lore trap.Lore

// Trap is openpgp-keyservers. Its subjects are files.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check, Plan: plan, Choices: []trap.Choice{
	{Name: "keyserver", About: "the keyserver to use instead", Default: "hkps://keyserver.ubuntu.com"},
}}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	any := configurations(ctx, h, r)
	any = scripts(ctx, h, r) || any
	any = aptKeys(ctx, h, r) || any
	if !any {
		r.NotApplicable("", "no keyserver is configured, and apt has no keys of its own")
	}
	return nil
}

// judgeNames reports on the keyservers that one file names.
func judgeNames(r *trap.Report, file string, names []mention, kind string) {
	if len(names) > maxMentions {
		r.Unknown(file, fmt.Errorf("it names more than %d keyservers: %w", maxMentions, host.ErrTooBig))
		return
	}
	var dead []mention
	var evidence []trap.Evidence
	for _, n := range names {
		evidence = append(evidence, trap.Ev(fmt.Sprintf("%s:%d", file, n.line), "%s", n.text))
		if n.dead {
			dead = append(dead, n)
		}
	}
	if len(dead) == 0 {
		r.Clear(file, "names no keyserver that is known to be dead", evidence...)
		return
	}
	r.Found(trap.Finding{Subject: file, Severity: trap.Warning, Evidence: evidence,
		Summary: fmt.Sprintf("%s uses a keyserver that no longer exists: %s", kind, strings.Join(hosts(dead), ", ")),
		Detail:  "Keys are neither found nor refreshed: revocations and new expiry dates never arrive."})
}
