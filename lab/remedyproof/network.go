package remedyproof

import (
	"time"

	"fettle/lab"
)

var netNeeds = lab.Needs{Systemd: true, Modules: []string{"veth", "ipv6"}, Tools: []string{"cat", "ls", "systemctl", "env"}}

const (
	raFile = "/etc/sysctl.d/60-router.conf"
	raConf = "net.ipv6.conf.all.forwarding=1\nnet.ipv6.conf.eth0.accept_ra=1\n"
)

// netUnit makes eth0 at each boot, before the sysctls are set, as an
// interface of hardware would be there.
const netUnit = `[Unit]
DefaultDependencies=no
Before=systemd-sysctl.service sysinit.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/sbin/ip link add eth0 type veth peer name far
ExecStart=/usr/sbin/ip link set eth0 up
ExecStart=/usr/sbin/ip link set far up
ExecStart=/usr/sbin/ip address add 2001:db8::1/64 dev eth0 nodad
`

// raTrap is a router that is configured to take advertisements in a way that
// forwarding makes void.
var raTrap = []lab.Act{
	{Write: &lab.File{Path: "/etc/systemd/system/lab-net.service", Content: netUnit}},
	{Run: []string{"systemctl", "daemon-reload"}},
	{Run: []string{"systemctl", "add-wants", "basic.target", "lab-net.service"}},
	{Run: []string{"systemctl", "start", "lab-net.service"}},
	{Write: &lab.File{Path: raFile, Content: raConf}},
	{Run: []string{"systemctl", "restart", "systemd-sysctl.service"}},
	expect(0, "", "systemctl", "status", "lab-net.service"),
	raFound(5 * time.Second),
}

func raFound(d time.Duration) lab.Act {
	a := lab.Checked("ipv6-ra-forwarding", map[string]string{"*": "found"})
	a.Expect.Within = d
	return a
}

var powerCut = lab.Step{Name: "power cut", Acts: []lab.Act{{Restart: lab.PowerCut},
	within(10*time.Second, 0, "restarted before anybody confirmed", "fettle", "changes")}}

// asBefore: the file is whole, and systemd-sysctl has read it only then.
var asBefore = lab.Step{Name: "as before", Acts: []lab.Act{
	expect(0, raConf, "cat", raFile),
	expect(0, "1\n", "cat", "/proc/sys/net/ipv6/conf/eth0/accept_ra"),
	raFound(0),
}}

// bootGuardsGone: what had been wanted at this boot stays in systemd's memory
// until it reads its files again.
var bootGuardsGone = lab.Step{Name: "guards gone", Acts: append([]lab.Act{
	expect(0, "Result=success", "systemctl", "show", "--property=Result", "fettle-undo-0001-boot.service"),
	{Run: []string{"systemctl", "daemon-reload"}},
}, guardsGone...)}
