// Package proof shows netboot-stale on throwaway machines: a TFTP server and a
// mirror on the loopback, signed with a key of its own.
package proof

import (
	_ "embed"
	"slices"
	"time"

	"fettle/lab"
)

//go:embed mirror.sh
var mirrorScript string

//go:embed offered.sh
var offeredScript string

const (
	// images is Debian's own tree (package debian-installer-12-netboot-amd64).
	images = "/usr/lib/debian-installer/images/12/amd64/text"
	tree   = "/srv/tftp"
)

var needs = lab.Needs{MemMiB: 1024, Limit: 4 * time.Minute, Files: []string{images},
	Tools: []string{
		"sh",
		"mkdir",
		"rm",
		"cp",
		"chmod",
		"cat",
		"grep",
		"head",
		"find",
		"sed",
		"date",
		"tar",
		"gzip",
		"xz",
		"cpio",
		"sha256sum",
		"gpg",
		"gpg-agent",
		"gpgv",
		"busybox",
		"dnsmasq",
		"test",
	}}

// served is a TFTP server and a mirror at work.
var served = []lab.Act{
	{Write: &lab.File{Path: "/usr/bin/make-mirror", Content: mirrorScript, Mode: 0o755}},
	{Write: &lab.File{Path: "/usr/bin/offered", Content: offeredScript, Mode: 0o755}},
	{
		Write: &lab.File{
			Path:    "/etc/dnsmasq.conf",
			Content: "port=0\nlisten-address=127.0.0.1\nbind-interfaces\nenable-tftp\ntftp-root=" + tree + "\n",
		},
	},
	{Write: &lab.File{Path: "/etc/apt/sources.list", Content: "deb http://127.0.0.1/debian bookworm main\n"}},
	{Run: []string{"make-mirror", images, tree}},
	{Start: []string{"busybox", "httpd", "-f", "-p", "127.0.0.1:80", "-h", "/srv/mirror"}},
	{Start: []string{"dnsmasq", "--keep-in-foreground", "--pid-file", "--user=root"}},
}

var Scenarios = []lab.Scenario{
	{
		Name: "point-release", About: "an installer whose kernel modules the mirror has dropped", Needs: needs,
		Subject: tree + "/debian-installer/amd64", CheckArgs: []string{"--network"}, FixArgs: []string{"--network"},
		Prepare: served, Files: map[string]string{"/srv/tftp/": lab.AnyContent}, // an installer of today's
		Probes: []lab.Probe{
			{Name: "udebs for the kernel that TFTP hands out", Run: []string{"/usr/bin/offered"}, Want: []string{"0", "3", "0"}},
		},
	},
	{
		Name: "of-today", About: "an installer as the mirror has it", Needs: needs, Innocent: true, CheckArgs: []string{"--network"},
		Prepare: slices.Concat(
			served,
			[]lab.Act{{Run: []string{"fettle", "netboot", "fetch", "/run/fetched", "--suite", "bookworm", "--mirror", "http://127.0.0.1/debian"}},
				{Run: []string{"cp", "-a", "/run/fetched/.", tree}}},
		),
	},
	renamed,
}
