package raforwarding

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host/hosttest"
)

// carryOut does to an archive what a plan's steps do to a host.
func carryOut(t *testing.T, archive string, p remedy.Plan) string {
	t.Helper()
	ar := txtar.Parse([]byte(archive))
	put := func(name string, content []byte) {
		for i := range ar.Files {
			if ar.Files[i].Name == name {
				ar.Files[i].Data = content
				return
			}
		}
		ar.Files = append(ar.Files, txtar.File{Name: name, Data: content})
	}
	for _, s := range p.Steps {
		switch s := s.(type) {
		case step.File:
			put("root"+s.Path, s.Content)
		case step.Sysctl:
			put("root/proc/sys/"+s.Key, []byte(s.Value+"\n"))
		case step.SolicitRouter, step.Unit:
		default:
			t.Fatalf("unexpected step %T", s)
		}
	}
	return string(txtar.Format(ar))
}

// asks tells whether a plan makes the kernel listen now, and whether it asks a router.
func asks(p remedy.Plan) (listens, asked bool) {
	for _, s := range p.Steps {
		switch s.(type) {
		case step.Sysctl:
			listens = true
		case step.SolicitRouter:
			asked = true
		}
	}
	return listens, asked
}

// TestPlansOfGoldenHosts makes a plan for every finding of every golden host,
// carries it out on the archive, and wants the finding gone.
func TestPlansOfGoldenHosts(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	plans := 0
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		h := hosttest.New(t, string(b))
		for _, o := range traptest.Run(t, &Trap, h) {
			if o.Status != trap.Found {
				continue
			}
			p, err := plan(t.Context(), h, o)
			if err != nil {
				t.Errorf("%s: %s: %v", f, o.Subject, err)
				continue
			}
			plans++
			if set, asked := asks(p); set && !asked {
				t.Errorf("%s: %s listens from now on, and no router is asked: its next word may be 30 minutes away (RFC 4861, 6.2.1)", f, o.Subject)
			}
			mended := carryOut(t, string(b), p)
			for _, after := range traptest.Run(t, &Trap, hosttest.New(t, mended)) {
				if after.Subject == o.Subject && (after.Status == trap.Found || after.Status == trap.Unknown) {
					t.Errorf("%s: after the plan for %s the check says: %s %s%s\n%s", f, o.Subject, after.Status, after.Summary, after.Reason, mended)
				}
			}
		}
	}
	if plans < 7 {
		t.Errorf("only %d plans were tried", plans)
	}
}

const runs = `-- table/routes6 --
[]
-- stat/usr/lib/systemd/systemd-sysctl --
mode 0755
-- root/proc/sys/net/ipv6/conf/all/forwarding --
1
-- root/proc/sys/net/ipv6/conf/IF/forwarding --
1
-- root/proc/sys/net/ipv6/conf/IF/accept_ra --
1
-- root/proc/net/dev_snmp6/IF --
Icmp6InRouterAdvertisements 5
-- table/links --
[{"ifindex":2,"ifname":"IF","flags":["UP"],"mtu":1500,"link_type":"ether","addr_info":[]}]
`

func TestWhereThePlanPersists(t *testing.T) {
	const forward = "-- root/etc/sysctl.d/10-f.conf --\nnet.ipv6.conf.all.forwarding = 1\n"
	for _, tc := range []struct{ name, iface, files, path, content, refusal string }{
		{name: "no manager", files: forward, path: "/etc/sysctl.d/90-fettle-ra-IF.conf", content: "net.ipv6.conf.eth0.accept_ra = 2\n"},
		{name: "a VLAN's name has dots", iface: "eth0.7", files: forward, path: "/etc/sysctl.d/90-fettle-ra-IF.conf",
			content: "\nnet/ipv6/conf/eth0.7/accept_ra = 2\n"},
		{name: "the admin's own line", files: "-- root/etc/sysctl.d/50-a.conf --\n# mine\nnet.ipv6.conf.eth0.accept_ra=1  \nkernel.panic=3\n",
			path: "/etc/sysctl.d/50-a.conf", content: "# mine\nnet.ipv6.conf.eth0.accept_ra=2\nkernel.panic=3\n"},
		{name: "a vendor's line that comes late", files: "-- root/usr/lib/sysctl.d/99-v.conf --\nnet.ipv6.conf.eth0.accept_ra=1\n",
			path: "/etc/sysctl.d/zz-fettle-ra-IF.conf", content: "net.ipv6.conf.eth0.accept_ra = 2\n"},
		{name: "a vendor's pattern", files: "-- root/usr/lib/sysctl.d/99-v.conf --\nnet.ipv6.conf.*.accept_ra=1\n",
			path: "/etc/sysctl.d/90-fettle-ra-IF.conf", content: "net.ipv6.conf.eth0.accept_ra = 2\n"},
		{name: "ifupdown, dhcp", files: "-- root/etc/network/interfaces --\nauto eth0\niface eth0 inet6 dhcp\n\nauto eth1\n",
			path: "/etc/network/interfaces", content: "auto eth0\niface eth0 inet6 dhcp\n    accept_ra 2\n\nauto eth1\n"},
		{name: "ifupdown, a line of its own", files: "-- root/etc/network/interfaces.d/eth0 --\nauto eth0\niface eth0 inet6 " +
			"auto\n\taccept_ra 1\n\tprivext 2\n-- root/etc/network/interfaces --\nsource /etc/network/interfaces.d/*\n",
			path: "/etc/network/interfaces.d/eth0", content: "auto eth0\niface eth0 inet6 auto\n\taccept_ra 2\n\tprivext 2\n"},
		{name: "ifupdown, the recipe with pre-up lines", files: "-- root/etc/network/interfaces --\nauto eth0\niface eth0 inet6 static\n    " +
			"address 2001:db8::2/64\n    pre-up echo 1 > /proc/sys/net/ipv6/conf/$IFACE/accept_ra\n",
			path: "/etc/network/interfaces", content: "auto eth0\niface eth0 inet6 static\n    accept_ra 2\n    address 2001:db8::2/64\n    " +
				"pre-up echo 1 > /proc/sys/net/ipv6/conf/$IFACE/accept_ra\n"},
		{name: "ifupdown, an up line undoes it", files: "-- root/etc/network/interfaces --\nauto eth0\niface eth0 inet6 auto\n    up sysctl " +
			"-w net.ipv6.conf.$IFACE.accept_ra=1\n",
			refusal: "/etc/network/interfaces:3 runs"},
		{name: "ifupdown, IPv4 only", files: "-- root/etc/network/interfaces --\nauto eth0\niface eth0 inet dhcp\n",
			path: "/etc/sysctl.d/90-fettle-ra-IF.conf", content: "net.ipv6.conf.eth0.accept_ra = 2\n"},
		{name: "ufw sets it", files: "-- root/etc/ufw/ufw.conf --\nENABLED=yes\n-- root/etc/default/ufw " +
			"--\nIPT_SYSCTL=/etc/ufw/sysctl.conf\n-- root/etc/ufw/sysctl.conf --\nnet/ipv6/conf/eth0/accept_ra=1\n",
			refusal: "/etc/ufw/sysctl.conf:1 sets"},
		{name: "a name that is a pattern", iface: "e*", refusal: "rename the interface"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.iface == "" {
				tc.iface = "eth0"
			}
			archive := strings.ReplaceAll(runs, "IF", tc.iface) + tc.files
			h := hosttest.New(t, archive)
			out := traptest.Run(t, &Trap, h)
			if len(out) != 1 || out[0].Status != trap.Found {
				t.Fatalf("check says\n%s", traptest.Lines(out))
			}
			p, err := plan(t.Context(), h, out[0])
			var no *remedy.Refusal
			if tc.refusal != "" {
				if !errors.As(err, &no) || !strings.Contains(no.Why, tc.refusal) {
					t.Fatalf("plan says %v, want a refusal with %q", err, tc.refusal)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			f, ok := p.Steps[len(p.Steps)-1].(step.File)
			if want := strings.ReplaceAll(tc.path, "IF", tc.iface); !ok || f.Path != want || !strings.HasSuffix(string(f.Content), tc.content) {
				t.Fatalf("last step %+v\n%s\nwant %s ending in\n%s", p.Steps[len(p.Steps)-1], f.Content, want, tc.content)
			}
			after := traptest.Run(t, &Trap, hosttest.New(t, carryOut(t, archive, p)))
			if len(after) != 1 || after[0].Status != trap.Clear {
				t.Errorf("after the plan the check says\n%s", traptest.Lines(after))
			}
		})
	}
}

func TestPlanForNetworkd(t *testing.T) {
	b, err := os.ReadFile("testdata/trapped-networkd.txtar")
	if err != nil {
		t.Fatal(err)
	}
	h := hosttest.New(t, string(b))
	p, err := plan(t.Context(), h, traptest.Run(t, &Trap, h)[0])
	if err != nil {
		t.Fatal(err)
	}
	f, ok := p.Steps[0].(step.File)
	if !ok || f.Path != "/etc/systemd/network/20-eth0.network.d/90-fettle-ra.conf" ||
		!strings.HasSuffix(string(f.Content), "[Network]\nIPv6AcceptRA=yes\n") {
		t.Errorf("first step %+v", p.Steps[0])
	}
	if _, ok := p.Steps[1].(step.Unit); !ok || !p.CutsConnection {
		t.Errorf("reload of networkd, armed: %+v, %v", p.Steps[1], p.CutsConnection)
	}
}

func TestPlanForOldKernels(t *testing.T) {
	b, err := os.ReadFile("testdata/trapped-old-kernel.txtar")
	if err != nil {
		t.Fatal(err)
	}
	h := hosttest.New(t, string(b))
	p, err := plan(t.Context(), h, traptest.Run(t, &Trap, h)[0])
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := p.Steps[0].(step.Sysctl); !ok || s.Key != "net/ipv6/conf/eth0/forwarding" || s.Value != "0" {
		t.Errorf("first step %+v", p.Steps[0])
	}
	f, ok := p.Steps[2].(step.File)
	if !ok || f.Path != "/etc/sysctl.conf" ||
		!strings.HasPrefix(string(f.Content), "net.ipv6.conf.all.forwarding=1\nnet.ipv6.conf.eth0.forwarding = 0\n") {
		t.Errorf("last step %+v", p.Steps[2])
	}
}
