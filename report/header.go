package report

import (
	"strings"

	"fettle/host"
	"fettle/internal/ui"
	"fettle/internal/units"
)

// made is what the host is read from: "capture", "sosreport", "supportconfig".
func made(m *Meta) string {
	if m.Identity.Collector != "" {
		return m.Identity.Collector
	}
	return string(m.Kind)
}

// header says in a line what was checked: "web1: Debian 12, Linux 6.1.0,
// KVM guest, up 12 days, 4 Docker containers".
func header(m *Meta) string {
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	switch m.Kind {
	case host.KindLive:
	case host.KindRoot:
		add("a root folder, not running")
	default:
		of := made(m)
		if !m.Identity.Time.IsZero() {
			of += " of " + m.Identity.Time.UTC().Format("2006-01-02 15:04 UTC")
		}
		add(of)
	}
	add(m.Machine.Distribution)
	if m.Identity.Release != "" {
		add(strings.TrimSpace(m.Identity.Sysname + " " + m.Identity.Release))
	}
	add(m.Machine.Kind)
	if m.Machine.Up > 0 {
		add("up " + units.Duration(m.Machine.Up))
	}
	for _, c := range m.Machine.Containers {
		if strings.HasSuffix(c.Engine, "guests") || strings.HasSuffix(c.Engine, "pods") {
			add(units.Count(c.Count, strings.TrimSuffix(c.Engine, "s"), c.Engine))
			continue
		}
		add(units.Count(c.Count, c.Engine+" container", c.Engine+" containers"))
	}
	if m.Identity.EUID > 0 {
		add("checked without root")
	}
	if len(parts) == 0 {
		return ui.Visible(m.Host)
	}
	return ui.Visible(m.Host + ": " + strings.Join(parts, ", "))
}
