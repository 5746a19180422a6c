// Package proof shows netboot-serial on throwaway machines: one serves Debian's
// installer, and its firmware names ttyS1 as the serial console; the other boots it.
package proof

import (
	_ "embed"
	"encoding/binary"
	"slices"
	"time"

	"fettle/lab"
)

//go:embed boot.sh
var bootScript string

//go:embed menus.sh
var menusScript string

// images is Debian's own tree (package debian-installer-12-netboot-amd64).
const images = "/usr/lib/debian-installer/images/12/amd64/text"

// tree is where the admin serves a copy of it.
const tree = "/srv/tftp"

// conf is what an admin tells dnsmasq. shim takes the folder of its second part
// from the file field of the answer alone, hence dhcp-no-override.
const conf = `port=0
interface=eth0
bind-interfaces
log-dhcp
log-facility=/var/log/dnsmasq.log
dhcp-range=192.0.2.100,192.0.2.120,1h
dhcp-no-override
dhcp-match=set:efi,option:client-arch,7
dhcp-boot=tag:!efi,pxelinux.0
dhcp-boot=tag:efi,debian-installer/amd64/bootnetx64.efi
enable-tftp
tftp-root=` + tree + "\n"

var served = []lab.Act{
	{Run: []string{"mkdir", "-p", "/srv"}},
	{Run: []string{"cp", "-a", images, tree}},
	{Write: &lab.File{Path: "/etc/dnsmasq.conf", Content: conf}},
}

// needs is a machine that serves the tree to a client.
func needs(uefi bool) lab.Needs {
	return lab.Needs{Engine: "qemu", MemMiB: 768, Limit: 15 * time.Minute, Client: &lab.Client{UEFI: uefi}, ACPI: spcr(),
		Tools: []string{"mkdir", "cp", "dnsmasq", "sh", "cat", "grep", "kill", "sed", "tail"}, Files: []string{images}}
}

// booted has the client boot, and its serial port read by somebody else than fettle.
func booted(name, about string, uefi bool) lab.Scenario {
	return lab.Scenario{Name: name, About: about, Needs: needs(uefi), Subject: tree, Long: true,
		Files: map[string]string{tree + "/": lab.AnyContent}, // both probes judge Debian's menus
		Prepare: slices.Concat(served, []lab.Act{
			{Write: &lab.File{Path: "/usr/bin/boot-client", Content: bootScript, Mode: 0o755}},
			{Write: &lab.File{Path: "/usr/bin/menus", Content: menusScript, Mode: 0o755}},
			{Run: []string{"ip", "address", "add", "192.0.2.1/24", "dev", "eth0"}},
			{Run: []string{"ip", "link", "set", "eth0", "up"}},
			{Run: []string{"mkdir", "-p", "/var/lib/misc"}},
			{Start: []string{"dnsmasq", "--keep-in-foreground", "--pid-file", "--user=root"}},
		}),
		Probes: []lab.Probe{
			{
				Name: "menus",
				Run:  []string{"/usr/bin/menus"},
				Want: []string{"no entry names ttyS1", "all entries name ttyS1, 6 lines set it up", "no entry names ttyS1"},
			},
			{
				Name: "on the client's ttyS1",
				Run:  []string{"/usr/bin/boot-client"},
				Want: []string{"nothing", "the installer's first question", "nothing"},
				Slow: true,
			},
		},
	}
}

var Scenarios = []lab.Scenario{
	booted("bios", "Debian's installer, booted over the network by BIOS, on the serial port that a BMC shows", false),
	booted("uefi", "the same by UEFI", true),
	{
		Name: "rewritten", About: "menus that talk to the serial port", Innocent: true, Subject: tree,
		Needs: lab.Needs{MemMiB: 512, Tools: []string{"mkdir", "cp"}, Files: []string{images}},
		Prepare: append(
			served[:len(served):len(served)],
			lab.Act{Run: []string{"fettle", "netboot", "serial", tree, "--port", "ttyS1", "--yes"}},
		),
	},
}

// spcr is a firmware's table that names the second serial port, at 115200 (Serial
// Port Console Redirection Table, revision 2).
func spcr() []byte {
	b := make([]byte, 80)
	copy(b, "SPCR")
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)))
	b[8] = 2 // revision; the checksum at 9 is qemu's to set
	copy(b[10:], "FETTLELAB     \x01\x00\x00\x00LAB \x01\x00\x00\x00")
	b[40], b[41] = 1, 8 // in I/O space, eight bits wide
	binary.LittleEndian.PutUint64(b[44:], 0x2f8)
	b[58] = 7 // 115200
	return b
}
