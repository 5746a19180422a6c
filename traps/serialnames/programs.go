package serialnames

import (
	"context"
	"path"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/udev"
	"fettle/tools/serialname"
)

// limited are programs that end what they start in time: timeout(1), and fettle
// serialname probe by itself.
var limited = []string{"timeout", "fettle"}

// programs judges what the admin's rules for serial devices run to name them.
func (l *looked) programs(ctx context.Context) (said bool) {
	seen := map[string]bool{}
	for _, r := range l.survey.Rules.Rules {
		if !serialname.Own(r) {
			continue
		}
		for _, t := range r.Tokens {
			isProgram := t.Key == "PROGRAM" || t.Key == "IMPORT" && t.Attr == "program"
			if !isProgram || !talks(t.Value) || !l.forSerial(r) || seen[t.Value] {
				continue
			}
			seen[t.Value], said = true, true
			l.program(ctx, r, t)
		}
	}
	return said
}

// talks tells whether a program is told the device's file.
func talks(command string) bool {
	return slices.ContainsFunc(
		[]string{"$devnode", "$tempnode", "%N", "/dev/%k", "/dev/$kernel", "$root/%k", "%r/%k", "$name", "%D"},
		func(s string) bool { return strings.Contains(command, s) },
	)
}

// forSerial tells whether a rule is about serial devices, or matches one.
func (l *looked) forSerial(r udev.Rule) bool {
	if serialname.About(r) {
		return true
	}
	for _, o := range l.survey.Outcomes {
		if slices.ContainsFunc(o.Programs, func(p udev.Program) bool { return p.Rule.At() == r.At() }) {
			return true
		}
	}
	return false
}

func (l *looked) program(ctx context.Context, r udev.Rule, t udev.Token) {
	bin, _, _ := strings.Cut(strings.Trim(t.Value, "'"), " ")
	if !path.IsAbs(bin) {
		bin = path.Join("/usr/lib/udev", bin) // udev(7), PROGRAM
	}
	subject := bin
	ev := trap.Ev(r.At(), "%s", t.Value)
	switch _, err := l.h.Stat(ctx, bin); {
	case host.IsAbsent(err):
		l.r.Found(trap.Finding{Subject: subject, Severity: trap.Warning, Evidence: []trap.Evidence{ev},
			Summary: bin + " is missing, so the name that depends on it is never given",
			ByHand:  "install it, or give the device a permanent name: fettle serialname list, then fettle serialname set"})
	case err != nil:
		l.r.Unknown(subject, err, ev)
	case slices.Contains(limited, path.Base(bin)):
		l.r.Clear(subject, "has a time limit", ev)
	default:
		l.r.Found(trap.Finding{Subject: subject, Severity: trap.Warning, Evidence: []trap.Evidence{ev},
			Facts: trap.FactsOf(facts{Rule: r.Path, Command: t.Value}),
			Summary: bin + " probes serial devices without a time limit: at boot, a " +
				"device that does not answer delays everything that waits for udev",
			Detail: "udev ends it after three minutes (event_timeout in udev.conf)."})
	}
}
