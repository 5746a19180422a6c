package netbootserial

import (
	"fmt"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/tools/netboot/menu"
)

// use is how the lines of a folder's menus talk to serial consoles.
type use struct {
	lines   int
	talk    int // to a serial console, the installer's side
	half    []menu.Line
	silent  []menu.Line
	count   map[menu.Console]int
	loaders []menu.Loader
}

func survey(m *menu.Menus) use {
	u := use{count: map[menu.Console]int{}, loaders: m.Loaders()}
	for _, l := range m.Lines() {
		u.lines++
		installer, installed, two := l.Sides()
		if installer == nil {
			u.silent = append(u.silent, l)
			continue
		}
		u.talk++
		u.count[*installer]++
		if two && installed == nil {
			u.half = append(u.half, l)
		}
		if installed != nil && *installed != *installer {
			u.count[*installed]++
		}
	}
	for _, l := range u.loaders {
		u.count[l.Console] += 0
	}
	return u
}

// served judges the menus of one folder. That a folder is silent is a fault
// only where something wants it to talk: other entries, or this host's own BMC.
func served(r *trap.Report, m *menu.Menus, known bool, untold error) {
	u := survey(m)
	f := trap.Finding{Subject: m.Root}
	say := func(sev trap.Severity, summary, detail string, at []menu.Line) {
		f.Severity, f.Summary, f.Detail = sev, summary, trap.Lines(detail)
		for _, l := range at[:min(len(at), 5)] {
			f.Evidence = append(f.Evidence, trap.Ev(fmt.Sprintf("%s:%d", l.File, l.Number), "%s", strings.Join(l.Words, " ")))
		}
		r.Found(f)
	}
	switch {
	case u.lines == 0:
		r.NotApplicable(m.Root, "its boot menus start no kernel")
	case u.talk > 0 && len(u.silent) > 0:
		say(trap.Warning, "some boot entries are silent on the serial console that others use",
			fmt.Sprintf("%d of %d entries name no serial console after their last console=.", len(u.silent), u.lines), u.silent)
	case len(u.count) > 1:
		for _, l := range u.loaders {
			f.Evidence = append(f.Evidence, trap.Ev(fmt.Sprintf("%s:%d", l.File, l.Number), "%s", l.Console))
		}
		say(
			trap.Warning,
			"boot loaders and kernels use different serial consoles: at some stage of the boot the screen goes dark or shows garbage",
			"In use: "+consoles(u.count)+".",
			nil,
		)
	case len(u.half) > 0:
		say(trap.Notice, "the installer talks to a serial console, and the system that it installs will not",
			"Parameters before --- are the installer's, those after it go to the installed system.", u.half)
	case u.talk > 0:
		c, _ := m.Most()
		r.Clear(m.Root, "every boot entry talks to "+c.String())
	case known:
		say(
			trap.Notice,
			"its boot menus are silent on serial consoles, though this host's own firmware offers one",
			"Hosts of the same make offer theirs through the BMC; fettle netboot serial rewrites the menus.",
			u.silent,
		)
	case untold != nil:
		r.Unknown(m.Root, untold)
	default:
		r.NotApplicable(m.Root, "no boot entry uses a serial console, and nothing shows that one is wanted")
	}
}

func consoles(count map[menu.Console]int) string {
	var out []string
	for c := range count {
		out = append(out, c.String())
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
