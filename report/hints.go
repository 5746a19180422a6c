package report

import (
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/ui"
)

// Command is what an admin runs next for an outcome: the fix, or the
// explanation where fettle has no remedy to apply.
func Command(o *trap.Outcome) string {
	if !o.Fixable {
		return "fettle explain " + ui.Quote(o.Trap)
	}
	c := "fettle fix " + ui.Quote(o.Trap)
	switch {
	case o.Subject == "":
	case strings.HasPrefix(o.Subject, "-"):
		c += " --on=" + ui.Quote(o.Subject)
	default:
		c += " --on " + ui.Quote(o.Subject)
	}
	return c
}

// next is what introduces Command: where a host is looked at from elsewhere, the
// command is not for this one.
func next(m *Meta, o *trap.Outcome) string {
	switch {
	case !o.Fixable:
		return "more: "
	case m.Kind == host.KindRoot:
		return "fix, once it runs: "
	case m.Kind != host.KindLive:
		return "fix, on the host: "
	}
	return "fix: "
}

// hint says what to do about an unknown outcome; empty where nothing general helps.
func hint(m *Meta, o *trap.Outcome) string {
	again := "fettle check " + ui.Quote(o.Trap)
	if o.Trap == trap.NotLoaded {
		again = "fettle check"
	}
	is := func(err error) bool { return strings.Contains(o.Reason, err.Error()) }
	live := m.Kind == host.KindLive
	if limit, ok := trap.TookTooLong(o.Reason); ok {
		hint := "give it longer: " + again + " --limit " + limit
		if live {
			hint += "; if it still does not end, look whether the machine or a mount hangs"
		}
		return hint
	}
	switch {
	case is(host.ErrNotCollected) && m.Kind == host.KindSosreport:
		return "the " + made(m) + " does not have it; on the host itself: " + again
	case is(host.ErrNotCollected):
		return "capture again on the host, as root: sudo fettle capture"
	case is(host.ErrDenied) && m.Kind == host.KindRoot && m.Identity.EUID != 0:
		return "run as root: sudo " + again + " --root " + ui.Quote(m.Host)
	case is(host.ErrDenied) && live && m.Identity.EUID != 0:
		return "run as root: sudo " + again
	case is(host.ErrDenied) && (live || m.Kind == host.KindRoot):
		return "root itself was refused: a container or a security module hides it"
	case is(host.ErrDenied):
		return "the capture was made without the right to read it; capture again as root"
	case is(host.ErrTimeout) && live:
		return "look whether the machine or a mount hangs, then: " + again
	case is(host.ErrNoCommand) && live:
		return "install the command, then: " + again
	}
	return ""
}
