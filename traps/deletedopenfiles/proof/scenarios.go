package proof

import "fettle/lab"

var needs = lab.Needs{Tools: []string{"mount", "df", "mkdir"}}

var data = []lab.Act{
	{Run: []string{"mkdir", "-p", "/data"}},
	{Run: []string{"mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", "/data"}},
}

// used is how many KiB the file system says are used.
func used(want []string) lab.Probe {
	return lab.Probe{Name: "KiB used of /data", Run: []string{"df", "--output=used", "/data"}, Find: `(\d+)\s*$`, Want: want}
}

var Scenarios = append([]lab.Scenario{
	{
		Name: "held-space", About: "A deleted file of 40 MiB that a process keeps open, on a file system of 64 MiB",
		Needs: needs, Subject: "/data", Unfixable: true,
		Probes:  []lab.Probe{used([]string{`4\d{4}`})},
		Prepare: append(data[:2:2], lab.Act{HoldDeleted: &lab.Held{Path: "/data/big", Bytes: 40 << 20}}),
	},
	{
		Name: "held-little", About: "A deleted file of 1 MiB, of the kind every daemon has, is worth no word",
		Needs: needs, Innocent: true,
		Prepare: append(data[:2:2], lab.Act{HoldDeleted: &lab.Held{Path: "/data/small", Bytes: 1 << 20}}),
	},
}, systemdProof...)
