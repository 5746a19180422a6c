package counterwrap

import "fettle/lab"

var needs = lab.Needs{Tools: []string{"grep"}}

const mrtgFile = "/etc/mrtg.cfg"

// No kernel that Debian still ships has the bug of xen-netback, and none of
// the lab's engines runs Xen: those counters are proven in measure/counters, by a
// real snmpd that is fed through 32-bit registers.
var proof = []lab.Scenario{
	{
		Name: "mrtg-version-1", About: "MRTG that polls a gigabit port by SNMP version 1 every 5 minutes",
		Needs: needs, Subject: mrtgFile,
		Probes: []lab.Probe{{Name: "targets of version 2", Run: []string{"grep", "-c", ":::::2$", mrtgFile}}},
		Prepare: []lab.Act{{Write: &lab.File{Path: mrtgFile, Mode: 0o600, Content: "WorkDir: /var/www/mrtg\n" +
			"Target[uplink]: 2:secret@switch1\nMaxBytes[uplink]: 125000000\n" +
			"Target[slow]: 3:secret@switch1\nMaxBytes[slow]: 1250000\n"}}},
	},
	{
		Name: "mrtg-version-2", About: "The same by version 2", Needs: needs, Innocent: true,
		Prepare: []lab.Act{{Write: &lab.File{Path: mrtgFile, Mode: 0o600, Content: "Target[uplink]: 2:secret@switch1:::::2\nMaxBytes[uplink]: 125000000\n"}}},
	},
	{
		Name: "mrtg-every-minute-100M", About: "Version 1, but ports of 100 Mbit/s every minute", Needs: needs, Innocent: true,
		Prepare: []lab.Act{{Write: &lab.File{Path: mrtgFile, Mode: 0o600, Content: "Interval: 1\nTarget[a]: 2:secret@switch1\nMaxBytes[a]: 12500000\n"}}},
	},
}
