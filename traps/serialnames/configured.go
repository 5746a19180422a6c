package serialnames

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/lazy"
	"fettle/tools/serialname"
)

// files are configurations that name serial devices.
var files = []struct{ path, of string }{
	{"/etc/nut/ups.conf", "NUT"},
	{"/etc/default/gpsd", "gpsd"},
	{"/etc/apcupsd/apcupsd.conf", "apcupsd"},
	{"/etc/ser2net.conf", "ser2net"},
	{"/etc/ser2net.yaml", "ser2net"},
	{"/opt/zigbee2mqtt/data/configuration.yaml", "zigbee2mqtt"},
	{"/var/lib/zigbee2mqtt/configuration.yaml", "zigbee2mqtt"},
	{"/usr/share/hassio/homeassistant/configuration.yaml", "Home Assistant"},
	{"/var/lib/homeassistant/configuration.yaml", "Home Assistant"},
}

// wants are folders with links to units that start at boot.
var wants = []string{"/etc/systemd/system/getty.target.wants", "/etc/systemd/system/multi-user.target.wants"}

// config is a file, or a getty, and the devices that it names.
type config struct {
	path, of string
	getty    bool
	lines    []line
}

// line is where a device is named.
type line struct {
	n   int // from 1; 0 for a getty
	dev string
}

func (c config) uses(dev string) bool {
	return slices.ContainsFunc(c.lines, func(l line) bool { return l.dev == dev })
}

// device finds the names of USB serial devices.
var device = lazy.Regexp(`/dev/(?:tty(?:USB|ACM)[0-9]+|serial/by-id/[^\s"',;:#]+[^\s"',;#]*)`)

// getty finds the port in the name of a unit's instance.
var getty = lazy.Regexp(`^serial-getty@(tty(?:USB|ACM)[0-9]+)\.service$`)

func configurations(ctx context.Context, h *host.Host) ([]config, error) {
	var out []config
	var errs []error
	for _, f := range files {
		b, err := h.ReadFile(ctx, f.path)
		if err != nil {
			if !host.IsAbsent(err) {
				errs = append(errs, err)
			}
			continue
		}
		if lines := named(b); len(lines) > 0 {
			out = append(out, config{path: f.path, of: f.of, lines: lines})
		}
	}
	for _, dir := range wants {
		units, err := h.Glob(ctx, dir, "serial-getty@*")
		errs = append(errs, err)
		for _, u := range units {
			if m := getty().FindStringSubmatch(path.Base(u)); m != nil {
				out = append(out, config{path: u, of: "a login on the serial port", getty: true, lines: []line{{dev: "/dev/" + m[1]}}})
			}
		}
	}
	return out, errors.Join(errs...)
}

// named lists the devices in a file's lines, but for comments.
func named(b []byte) (out []line) {
	n := 0
	for text := range strings.Lines(string(b)) {
		n++
		if strings.HasPrefix(strings.TrimSpace(text), "#") {
			continue
		}
		for _, dev := range device().FindAllString(text, -1) {
			out = append(out, line{n, dev})
		}
	}
	return out
}

// configuration judges a file: a number says nothing of the device, and a name
// by-id says too little where two devices have it.
func (l *looked) configuration(c config) {
	var bad, shared []string
	var ev []trap.Evidence
	for _, at := range c.lines {
		where := c.path
		if at.n > 0 {
			where = fmt.Sprintf("%s:%d", c.path, at.n)
		}
		switch {
		case !strings.HasPrefix(at.dev, "/dev/serial/"):
			bad = append(bad, at.dev)
		case l.sharing(at.dev) > 1:
			shared = append(shared, at.dev)
		default:
			continue
		}
		ev = append(ev, trap.Ev(where, "%s", at.dev))
	}
	bad, shared = slices.Compact(bad), slices.Compact(shared)
	switch {
	case len(shared) > 0:
		l.r.Found(trap.Finding{Subject: c.path, Severity: trap.Warning, Evidence: ev,
			Summary: c.of + " uses a name that two devices share: which one it gets depends on the order in which they are found",
			ByHand:  "give the device a name of its own (fettle serialname set) and use that"})
	case len(bad) > 0:
		f := trap.Finding{Subject: c.path, Severity: trap.Notice, Evidence: ev, Facts: trap.FactsOf(facts{}),
			Summary: c.of + " names " + strings.Join(bad, ", ") + ": that number may be another device's after the next replug or boot"}
		if len(l.survey.Devices) > 1 {
			f.Severity = trap.Warning
		}
		if c.getty {
			f.ByHand = "name the port (fettle serialname set console --for " + bad[0] + ") and enable serial-getty@console.service instead"
		}
		l.r.Found(f)
	default:
		l.r.Clear(c.path, "names its serial devices by what they are", trap.Ev(c.path, "%s", c.lines[0].dev))
	}
}

// sharing counts the devices that get a name.
func (l *looked) sharing(dev string) (n int) {
	for _, o := range l.survey.Outcomes {
		for _, g := range o.Links {
			if "/dev/"+g.Name == dev && !g.Maybe {
				n++
				break
			}
		}
	}
	return n
}

// stable is a name of the device that does not change: of the admin's own, by
// serial number, or by port.
func (l *looked) stable(dev string) (name, why string) {
	i := slices.IndexFunc(l.survey.Devices, func(d serialname.Device) bool { return d.Dev() == dev })
	if i < 0 {
		return "", ""
	}
	d := &l.survey.Devices[i]
	best := -1
	for _, g := range l.survey.Outcomes[i].Links {
		rank := -1
		switch {
		case g.Maybe || l.sharing("/dev/"+g.Name) > 1:
		case serialname.Own(g.Rule):
			rank = 2
		case strings.HasPrefix(g.Name, "serial/by-id/") && d.Serial != "":
			rank = 1
		case strings.HasPrefix(g.Name, "serial/by-path/"):
			rank = 0
		}
		if rank > best {
			best, name = rank, "/dev/"+g.Name
			why = []string{"by the port it is plugged into now, " +
				"because it has no serial number of its own", "by its serial number", "by its own name"}[rank]
		}
	}
	return name, why
}
