package proof

import "fettle/lab"

var needs = lab.Needs{Tools: []string{"grep"}}

const (
	mrtgFile  = "/etc/mrtg.cfg"
	muninFile = "/etc/munin/plugin-conf.d/snmp"
	// muninRest is what else such a file has; its last line has no end.
	muninRest = "env.community secret\n\n# the printers answer to nobody else\n[snmp_printer_*]\nenv.version 3\n  env.v3username " +
		"admin\nhost_name printers"
)

// No kernel that Debian still ships has the bug of xen-netback, and none of
// the lab's engines runs Xen: those counters are proven in tools/measure/counters, by a
// real snmpd that is fed through 32-bit registers.
var Scenarios = []lab.Scenario{
	{
		Name: "mrtg-version-1", About: "MRTG that polls a gigabit port by SNMP version 1 every 5 minutes",
		Needs: needs, Subject: mrtgFile,
		Probes: []lab.Probe{{Name: "targets of version 2", Run: []string{"grep", "-c", ":::::2$", mrtgFile}, Want: []string{"0", "1", "0"}}},
		Prepare: []lab.Act{{Write: &lab.File{Path: mrtgFile, Mode: 0o600, Content: "WorkDir: /var/www/mrtg\n" +
			"Target[uplink]: 2:secret@switch1\nMaxBytes[uplink]: 125000000\n" +
			"Target[slow]: 3:secret@switch1\nMaxBytes[slow]: 1250000\n"}}},
		Files: map[string]string{mrtgFile: "WorkDir: /var/www/mrtg\n" +
			"Target[uplink]: 2:secret@switch1:::::2\nMaxBytes[uplink]: 125000000\n" +
			"Target[slow]: 3:secret@switch1\nMaxBytes[slow]: 1250000\n"},
	},
	{
		Name: "munin-version-1", Files: map[string]string{muninFile: "[snmp_switch1_*]\nenv.version 2\n" + muninRest},
		About: "Munin that polls a port by SNMP version 1",
		Needs: needs, Subject: muninFile,
		Probes: []lab.Probe{
			{
				Name: "version",
				Run:  []string{"grep", "-m1", "version", muninFile},
				Want: []string{"env.version 1", "env.version 2", "env.version 1"},
			},
		},
		Prepare: []lab.Act{
			{Write: &lab.File{Path: "/etc/munin/plugins/snmp_switch1_if_2", Content: "#!/bin/sh\n", Mode: 0o755}},
			{Write: &lab.File{Path: muninFile, Mode: 0o640, Content: "[snmp_switch1_*]\nenv.version 1\n" + muninRest}},
		},
	},
	{
		Name: "mrtg-version-2", About: "The same by version 2", Needs: needs, Innocent: true,
		Prepare: []lab.Act{
			{Write: &lab.File{Path: mrtgFile, Mode: 0o600, Content: "Target[uplink]: 2:secret@switch1:::::2\nMaxBytes[uplink]: 125000000\n"}},
		},
	},
	{
		Name: "mrtg-every-minute-100M", About: "Version 1, but ports of 100 Mbit/s every minute", Needs: needs, Innocent: true,
		Prepare: []lab.Act{
			{Write: &lab.File{Path: mrtgFile, Mode: 0o600, Content: "Interval: 1\nTarget[a]: 2:secret@switch1\nMaxBytes[a]: 12500000\n"}},
		},
	},
}
