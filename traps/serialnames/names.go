package serialnames

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/units"
	"fettle/tools/serialname"
)

// name judges one name that the admin's rules give.
func (l *looked) name(ctx context.Context, n serialname.Name) {
	subject := "/dev/" + n.Name
	ev := []trap.Evidence{trap.Ev(n.Rule.At(), "gives %s", subject)}
	for _, d := range n.Devices {
		ev = append(ev, deviceEvidence(d))
	}
	led, err := l.leads(ctx, subject)
	if err != nil {
		l.r.Unknown(subject, err, ev...)
		return
	}
	switch {
	case len(n.Devices) > 1:
		l.r.Found(trap.Finding{Subject: subject, Severity: trap.Warning, Evidence: ev, Facts: trap.FactsOf(facts{}),
			Summary: subject + " is given to " + units.Count(
				len(n.Devices),
				"device",
				"devices",
			) + " at once: which one it leads to depends on the order in which they are found",
			Detail: trap.Lines(fmt.Sprintf("To name one of them: fettle serialname set %s --for %s", n.Name, n.Devices[0].Dev()))})
	case len(n.Devices) == 1:
		l.one(n, subject, led, ev)
	case len(n.Maybe) > 0:
		if i := slices.IndexFunc(n.Maybe, func(d *serialname.Device) bool { return d.Dev() == led }); i >= 0 {
			l.r.Clear(subject, "leads to the device that its program recognised", append(ev, deviceEvidence(n.Maybe[i]))...)
			return
		}
		l.r.NotApplicable(subject, "no device that is plugged in was recognised by the program that its rule asks", ev...)
	default:
		l.nowhere(n, subject, ev)
	}
}

// one is a name that one device gets.
func (l *looked) one(n serialname.Name, subject, led string, ev []trap.Evidence) {
	d := n.Devices[0]
	switch {
	case led == d.Dev():
		l.r.Clear(subject, "leads to the one device that its rule matches", ev...)
	case slices.ContainsFunc(n.Maybe, func(m *serialname.Device) bool { return m.Dev() == led }):
		l.r.Clear(subject, "leads to a device that a program recognised", ev...)
	case led == "":
		l.r.Found(trap.Finding{Subject: subject, Severity: trap.Warning, Evidence: ev, Facts: trap.FactsOf(facts{Trigger: d.Kernel}),
			Summary: subject + " is missing, although its rule matches a device: udev has not applied the rule since it was written"})
	default:
		l.r.Found(
			trap.Finding{
				Subject:  subject,
				Severity: trap.Warning,
				Evidence: append(ev, trap.Ev(subject, "leads to %s", led)),
				Facts:    trap.FactsOf(facts{Trigger: d.Kernel}),
				Summary:  subject + " leads to a device other than its rule says",
			},
		)
	}
}

// nowhere is a name that no device gets.
func (l *looked) nowhere(n serialname.Name, subject string, ev []trap.Evidence) {
	moved := l.survey.Elsewhere(n)
	if len(moved) == 0 {
		l.r.NotApplicable(subject, "its device is not plugged in", ev...)
		return
	}
	for _, d := range moved {
		ev = append(ev, deviceEvidence(d))
	}
	l.r.Found(trap.Finding{Subject: subject, Severity: trap.Warning, Evidence: ev, Facts: trap.FactsOf(facts{}),
		Summary: subject + " leads nowhere: its rule names a port, and a device of that kind is plugged into another one",
		Detail: trap.Lines(
			fmt.Sprintf("Plug it back, or name it where it is now: fettle serialname set %s --for %s", n.Name, moved[0].Dev()),
		)})
}

// leads is where a name below /dev leads; empty where there is none.
func (l *looked) leads(ctx context.Context, name string) (string, error) {
	to, err := l.h.Readlink(ctx, name)
	switch {
	case host.IsAbsent(err):
		return "", nil
	case errors.Is(err, host.ErrNotRunning):
		return "", err
	case err != nil:
		return "", err
	case !path.IsAbs(to):
		to = path.Join(path.Dir(name), to)
	}
	return path.Clean(to), nil
}

func deviceEvidence(d *serialname.Device) trap.Evidence {
	serial := d.Serial
	if serial == "" {
		serial = "no serial number"
	}
	return trap.Ev(d.Dev(), "%s, %s, port %s, interface %s", d.IDs(), serial, d.Port, d.Interface)
}
