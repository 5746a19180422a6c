// Package openpgpkeyservers finds OpenPGP keyservers that are no more, in the
// configuration of gpg and dirmngr and in scripts, and keys that apt trusts and
// that are expired, revoked, weak, or in a form that apt ignores.
package openpgpkeyservers

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/keyservers"
)

//go:embed lore.md
var lore trap.Lore

// Trap is openpgp-keyservers. Its subjects are files.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Talks: true, Limit: time.Minute, Check: check, Plan: plan, Choices: []trap.Choice{
	{Name: "keyserver", About: "the keyserver to use instead", Default: "hkps://keyserver.ubuntu.com"},
}}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	var a *asker
	if trap.MayTalk(ctx) {
		within, stop := context.WithTimeout(ctx, askLimit)
		defer stop()
		a = &asker{h: h, ctx: within}
	}
	any := named(ctx, h, r, a, "gpg", "gpg's configuration", keyservers.Configured)
	any = named(ctx, h, r, a, "a script", "scripts", keyservers.Scripts) || any
	any = aptKeys(ctx, h, r, a) || any
	if !any {
		r.NotApplicable("", "no keyserver is configured, and apt has no keys of its own")
	}
	return nil
}

// named judges files that name keyservers.
func named(
	ctx context.Context,
	h *host.Host,
	r *trap.Report,
	a *asker,
	kind, about string,
	read func(context.Context, *host.Host, func(error)) []keyservers.File,
) bool {
	closed := unread{about: about}
	files := read(ctx, h, closed.add)
	for _, f := range files {
		judgeNames(r, a, f, kind)
	}
	return closed.tell(r) || len(files) > 0
}

// facts are what the remedy needs of a finding.
type facts struct {
	Gone []string `json:"gone"` // keyservers whose names do not exist, as DNS says
}

// judgeNames reports on the keyservers that one file names.
func judgeNames(r *trap.Report, a *asker, f keyservers.File, kind string) {
	if len(f.Mentions) > keyservers.MaxMentions {
		r.Unknown(f.Path, fmt.Errorf("it names more than %d keyservers: %w", keyservers.MaxMentions, host.ErrTooBig))
		return
	}
	var dead []string
	var evidence []trap.Evidence
	for _, m := range f.Mentions {
		evidence = append(evidence, trap.Ev(fmt.Sprintf("%s:%d", f.Path, m.Line), "%s", m.Text))
		if m.Dead && !slices.Contains(dead, m.Host) {
			dead = append(dead, m.Host)
		}
	}
	finding := trap.Finding{Subject: f.Path, Severity: trap.Warning,
		Detail: "Keys are neither found nor refreshed: revocations and new expiry dates never arrive."}
	if len(dead) > 0 {
		finding.Summary, finding.Evidence = fmt.Sprintf(
			"%s uses a keyserver that no longer exists: %s",
			kind,
			strings.Join(dead, ", "),
		), evidence
		r.Found(finding)
		return
	}
	if a == nil {
		r.Clear(f.Path, "names no keyserver that is known to be dead", evidence...)
		return
	}
	said := a.keyservers(f.Mentions)
	evidence = append(evidence, said.evidence...)
	switch {
	case len(said.gone) > 0:
		finding.Summary, finding.Evidence = fmt.Sprintf(
			"%s uses a keyserver whose name does not exist: %s",
			kind,
			strings.Join(said.gone, ", "),
		), evidence
		finding.Facts = trap.FactsOf(facts{said.gone})
		r.Found(finding)
	case len(said.unknown) > 0:
		// The file is not to blame, and its remedy no failure, where nobody can be asked.
		r.Clear(f.Path, "names no keyserver that is known to be dead", evidence...)
		for _, u := range said.unknown {
			a.tell(r, u)
		}
	default:
		r.Clear(f.Path, "the keyservers that it names answer", evidence...)
	}
}

// unread collects what could not be read, to tell of it once.
type unread struct {
	about string
	first error
	more  int
}

func (u *unread) add(err error) {
	switch {
	case host.IsAbsent(err):
	case u.first == nil:
		u.first = err
	default:
		u.more++
	}
}

func (u *unread) tell(r *trap.Report) bool {
	switch {
	case u.first == nil:
		return false
	case u.more > 0:
		r.Unknown(u.about, fmt.Errorf("%w; and %d more", u.first, u.more))
	default:
		r.Unknown(u.about, u.first)
	}
	return true
}
