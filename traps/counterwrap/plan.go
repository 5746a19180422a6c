package counterwrap

import (
	"context"
	"fmt"
	"strings"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/osrelease"
)

// facts are what the check tells the plan of a poller's configuration.
type facts struct {
	Poller string `json:"poller"` // "MRTG", "Munin", …
}

func plan(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
	if f.Subject == netback {
		return remedy.Plan{}, refuseNetback(ctx, h)
	}
	told, err := trap.FactsIn[facts](f)
	if err != nil {
		return remedy.Plan{}, err
	}
	switch told.Poller {
	case "MRTG":
		return planMRTG(ctx, h, f.Subject)
	case "Munin":
		return planMunin(ctx, h, f.Subject)
	case "Telegraf":
		return remedy.Plan{}, remedy.Refuse(
			"the 64-bit counters are different fields, and dashboards and alerts name the old ones. In %s ask for IF-MIB::ifHCInOctets and"+
				" ifHCOutOctets (or the table IF-MIB::ifXTable), with version = 2 or 3, then change what reads the data; or poll every 30s",
			f.Subject,
		)
	case "Prometheus":
		return remedy.Plan{}, remedy.Refuse(
			"the 64-bit counters are different metrics, and dashboards and alerts name the old ones. Ask for module if_mib, or have the generator"+
				" walk IF-MIB::ifXTable for the module in %s, with SNMP version 2 or 3; then change rate(ifInOctets...) to rate(ifHCInOctets...) "+
				"in what reads the data",
			f.Subject,
		)
	case "collectd":
		return remedy.Plan{}, remedy.Refuse(
			"in the <Data> block of %s name \"IF-MIB::ifHCInOctets\" \"IF-MIB::ifHCOutOctets\" in Values, with Version 2 or 3 in the <Host> block,"+
				" and restart collectd; the type if_octets and its files are not changed. Or poll every 30 seconds",
			f.Subject,
		)
	}
	return remedy.Plan{}, remedy.Refuse("fettle has no remedy for %s", f.Subject)
}

// refuseNetback: another kernel is nobody's to install but the admin's.
func refuseNetback(ctx context.Context, h *host.Host) error {
	how := "boot kernel 4.10 or newer"
	release, _ := osrelease.Read(ctx, h) // it only makes the advice more exact
	switch release.ID() {
	case "debian":
		how = "boot a linux-image 4.10 or newer: Debian 10 and later have one, Debian 9 in stretch-backports"
	case "ubuntu":
		how = "boot a linux-image 4.10 or newer: Ubuntu 16.04 has one in linux-generic-hwe-16.04, later releases have one"
	}
	if m := h.Identity().Machine; m != "" && strings.Contains(" "+strings.Join(words32, " ")+" ", " "+m+" ") {
		how = "boot a 64-bit kernel 4.10 or newer"
	}
	return remedy.Refuse("%s. Until then poll each vif every 15 seconds or so from the host itself: 32 bits last 34 s at 1 Gbit/s;"+
		" at 1-minute polls rates above 573 Mbit/s are wrong; or take the figures from inside the guests, whose counters have 64 bits", how)
}

// planMRTG makes targets ask by SNMP version 2.
func planMRTG(ctx context.Context, h *host.Host, file string) (remedy.Plan, error) {
	was, err := h.ReadFile(ctx, file)
	if err != nil {
		return remedy.Plan{}, err
	}
	c := parseMRTG(was)
	lines := strings.SplitAfter(string(was), "\n")
	p := remedy.Plan{Title: "have MRTG poll 64-bit counters"}
	var left []string
	changed := 0
	for _, t := range c.targets {
		yes, sure, port := c.asks32(t)
		if !yes || !tooRare(c.speed(t.name), c.every) {
			continue
		}
		numbers := port.oids && !strings.Contains(port.before, "Octets")
		if !sure || numbers || t.line != t.last || port.version() != "1" && !port.oids {
			left = append(left, fmt.Sprintf("Target[%s] in line %d", t.name, t.line))
			continue
		}
		line := lines[t.line-1]
		at := strings.LastIndex(line, t.text)
		lines[t.line-1] = line[:at] + port.speaks2() + line[at+len(t.text):]
		p.Notes = append(
			p.Notes,
			fmt.Sprintf(
				"Line %d: Target[%s] asks %s by SNMP version 2, in which MRTG reads ifHCInOctets and ifHCOutOctets.",
				t.line,
				t.name,
				port.host,
			),
		)
		changed++
	}
	if changed == 0 {
		return p, remedy.Refuse(
			"fettle cannot change these: %s in %s. Let them ask by SNMP version 2 (\":::::2\" after the host), without noHC,"+
				" and for ifHCInOctets where objects are named",
			strings.Join(left, ", "),
			file,
		)
	}
	if len(left) > 0 {
		return p, remedy.Refuse(
			"fettle cannot change all of %s: %s. Let them ask by SNMP version 2 "+
				"(\":::::2\" after the host), without noHC, and for ifHCInOctets where"+
				" objects are named; then fettle does the other %d",
			file,
			strings.Join(left, ", "),
			changed,
		)
	}
	p.Notes = append(
		p.Notes,
		"An agent that speaks only version 1 will no longer answer: test each one first, `snmpget -v2c HOST IF-MIB::ifHCInOctets.1`.",
		"The lines contain communities, so no diff is shown. MRTG reads the file again at each run from cron; a daemon must be restarted.",
	)
	p.Steps = []step.Step{step.File{Path: file, Content: []byte(strings.Join(lines, "")), Was: was, Secret: true}}
	return p, nil
}

// planMunin makes Munin's plugins ask by SNMP version 2.
func planMunin(ctx context.Context, h *host.Host, file string) (remedy.Plan, error) {
	was, err := h.ReadFile(ctx, file)
	if err != nil {
		return remedy.Plan{}, err
	}
	versions, _ := muninLines(was)
	p := remedy.Plan{Title: "have Munin poll 64-bit counters"}
	lines := strings.SplitAfter(string(was), "\n")
	for i, line := range lines {
		if versions[i+1] != "1" {
			continue
		}
		text := strings.TrimRight(line, "\r\n")
		lines[i] = muninVersion().ReplaceAllString(text, "${1}2${3}") + line[len(text):]
		p.Notes = append(p.Notes, fmt.Sprintf("Line %d: env.version 1 becomes 2.", i+1))
	}
	p.Notes = append(
		p.Notes,
		"An agent that speaks only version 1 will no longer answer: test each one first, `snmpget -v2c HOST IF-MIB::ifHCInOctets.1`.",
		"The file contains communities, so no diff is shown. Restart munin-node afterwards: it reads the file when it starts.",
	)
	p.Steps = []step.Step{step.File{Path: file, Content: []byte(strings.Join(lines, "")), Was: was, Secret: true}}
	return p, nil
}
