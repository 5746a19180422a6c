// Package serialnames finds USB serial devices whose names change, are given
// twice, or are taken away, and what names them by a number.
package serialnames

import (
	"context"
	_ "embed"
	"path"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/udev"
	"fettle/tools/serialname"
)

//go:embed lore.md
var lore trap.Lore

// Trap is serial-names. fettle serialname set asks for its plan, too.
var Trap = trap.Trap{
	Lore:  lore,
	Cost:  trap.Instant,
	Check: check,
	Plan:  plan,
	Setup: &trap.Setup{Name: "serialname", Finding: trap.Finding{Summary: "give a serial device a name", Facts: trap.FactsOf(facts{})}},
	Choices: []trap.Choice{
		{Name: "device", About: "which device gets the name: its kernel name, as ttyUSB0"},
		{
			Name:   "by",
			About:  "what identifies it: its serial number, the port it is plugged into, or its answer to a probe",
			Values: []string{"serial", "port", "probe"},
		},
		{Name: "profile", About: "by which profile a probe recognises it: fettle serialname probe --list shows them"},
		{Name: "modem", About: "whether ModemManager may use the port", Values: []string{"yes", "no"}, Default: "no"},
	},
}

// facts are what the plan needs to know beyond the subject.
type facts struct {
	Trigger string // the device that udev has to apply its rules to
	Ignore  string // the device that ModemManager shall leave alone
	// Rule is the file of a rule that runs Command.
	Rule, Command string
}

// looked is what the check saw.
type looked struct {
	h       *host.Host
	r       *trap.Report
	survey  *serialname.Survey
	names   []serialname.Name
	configs []config
}

func look(ctx context.Context, h *host.Host) (*looked, error) {
	l := &looked{h: h}
	var devices []serialname.Device
	if h.Running() {
		var err error
		if devices, err = serialname.List(ctx, h); err != nil {
			return nil, err
		}
	}
	// The hundred files of packages are about devices. Where there is none, only
	// brltty's tell of something: what it has taken.
	rules := udev.ReadSome(ctx, h, func(file string) bool {
		return len(devices) > 0 || serialname.OwnFile(file) || strings.Contains(path.Base(file), "brltty")
	})
	if rules.Err != nil {
		return nil, rules.Err // one rule that was not read may give or take any name
	}
	l.survey = serialname.NewSurvey(devices, rules)
	l.names = l.survey.Names()
	var err error
	l.configs, err = configurations(ctx, h)
	return l, err
}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	l, err := look(ctx, h)
	if l == nil {
		return err
	}
	l.r = r
	said := l.programs(ctx)
	if h.Running() {
		for _, n := range l.names {
			l.name(ctx, n)
			said = true
		}
		said = l.modemManager(ctx) || said
		said = l.brltty(ctx) || said
	}
	for _, c := range l.configs {
		l.configuration(c)
		said = true
	}
	if err != nil {
		return err
	}
	switch {
	case said:
	case len(l.survey.Devices) > 0:
		r.Clear("", "no configuration that fettle knows names a USB serial device by its number")
	default:
		r.NotApplicable("", "there is no USB serial device, and nothing names one")
	}
	return nil
}
