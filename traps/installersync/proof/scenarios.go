// Package proof shows installer-sync on throwaway machines.
package proof

import "fettle/lab"

var needs = lab.Needs{
	Tools: []string{"dpkg", "dpkg-divert", "sh", "rm", "ln", "mv", "sync", "test", "head", "grep", "mkdir", "chmod", "cp"},
}

// database is an empty one of dpkg's, as debootstrap begins with.
var database = []lab.Act{
	{Run: []string{"mkdir", "-p", "/var/lib/dpkg/updates", "/var/lib/dpkg/info", "/etc/dpkg"}},
	{
		Write: &lab.File{
			Path:    "/var/lib/dpkg/status",
			Content: "Package: dpkg\nStatus: install ok installed\nVersion: 1.21.22\nArchitecture: amd64\nMaintainer: x\nDescription: x\n",
		},
	},
	{Write: &lab.File{Path: "/var/lib/dpkg/diversions"}},
}

// divert is what an installer does to dpkg, with a wrapper's text.
func divert(wrapper string) []lab.Act {
	return append(database[:len(database):len(database)],
		lab.Act{Run: []string{"dpkg-divert", "--quiet", "--local", "--rename", "--divert", "/usr/bin/dpkg.distrib", "--add", "/usr/bin/dpkg"}},
		lab.Act{Write: &lab.File{Path: "/usr/bin/dpkg", Content: wrapper, Mode: 0o755}})
}

const (
	noteWrapper  = "#!/bin/sh\neatmydata dpkg.distrib \"$@\"\n"
	otherWrapper = "#!/bin/sh\nexec dpkg.distrib --log=/var/log/mine \"$@\"\n"
)

// diverted asks dpkg-divert, and the program itself, how it stands.
var (
	diverted = lab.Probe{
		Name: "dpkg-divert",
		Run:  []string{"sh", "-c", "dpkg-divert --listpackage /usr/bin/dpkg | grep . || echo none"},
		Want: []string{"LOCAL", "none", "LOCAL"},
	}
	runs = lab.Probe{
		Name: "/usr/bin/dpkg begins with",
		Run:  []string{"sh", "-c", "head -c 4 /usr/bin/dpkg 2>/dev/null | grep -ao -e '#!' -e ELF || echo nothing"},
		Want: []string{"#!", "ELF", "#!"},
	}
	works = lab.Probe{
		Name: "dpkg --version",
		Run:  []string{"sh", "-c", "dpkg --version | head -1"},
		Want: []string{"", "Debian 'dpkg'.*", ""},
	}
)

// beside is what is left of the wrapper.
var beside = lab.Probe{Name: "beside it", Run: []string{"sh", "-c", "cd /usr/bin && echo dpkg.*"},
	Want: []string{`dpkg\.distrib`, `dpkg\.\*`, `dpkg\.distrib`}}

// synced are slips that a power cut alone would show: no sync, and the last step after it.
func synced(last string) map[string]string {
	const why = "what is not on the disk yet is lost in a power cut alone"
	return map[string]string{"left out: run /bin/sync": why, "too late: " + last: why}
}

// leftBehind are such, and one that only a failure between two steps would show.
func leftBehind() map[string]string {
	slips := synced("delete /usr/bin/dpkg.eatmydata")
	slips["too late: "+undivert("--rename")] = "the other step, once both are done, deletes the wrapper that was moved away"
	return slips
}

func undivert(rename string) string {
	return "run /usr/bin/dpkg-divert --quiet " + rename + " --local --divert /usr/bin/dpkg.distrib --remove /usr/bin/dpkg"
}

var Scenarios = []lab.Scenario{
	{
		Name: "left-behind", About: "dpkg is a wrapper with eatmydata since the installation", Needs: needs, Subject: "/usr/bin/dpkg",
		Prepare: divert(noteWrapper), Probes: []lab.Probe{diverted, runs, works, beside}, Vanishes: true, Harmless: leftBehind(),
	},
	{
		Name: "link", About: "the wrapper is a link, as Debian Edu makes it", Needs: needs, Subject: "/usr/bin/dpkg",
		Prepare: append(
			divert(noteWrapper),
			lab.Act{Run: []string{"mv", "/usr/bin/dpkg", "/usr/bin/dpkg.edu"}},
			lab.Act{Run: []string{"ln", "-s", "./dpkg.edu", "/usr/bin/dpkg"}},
		),
		Probes: []lab.Probe{diverted, runs, works}, Vanishes: true, Harmless: synced(undivert("--rename")),
	},
	{
		Name: "nothing-in-its-place", About: "dpkg was moved away, and the installation ended there", Needs: needs, Subject: "/usr/bin/dpkg",
		Prepare:  append(divert(noteWrapper), lab.Act{Run: []string{"rm", "/usr/bin/dpkg"}}),
		Probes:   []lab.Probe{diverted, {Name: runs.Name, Run: runs.Run, Want: []string{"nothing", "ELF", "nothing"}}, works},
		Vanishes: true, Harmless: synced(undivert("--rename")),
	},
	{
		Name: "diversion-alone", About: "dpkg is back, and its diversion is still there", Needs: needs, Subject: "/usr/bin/dpkg",
		Prepare: append(divert(noteWrapper), lab.Act{Run: []string{"mv", "-f", "/usr/bin/dpkg.distrib", "/usr/bin/dpkg"}}),
		Probes:  []lab.Probe{diverted, works}, Vanishes: true, Harmless: synced(undivert("--no-rename")),
	},
	{
		Name: "somebody-elses", About: "dpkg is wrapped for another reason", Needs: needs, Innocent: true,
		Prepare: divert(otherWrapper),
	},
}
