package netconf

import (
	"testing"
	"time"

	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

// fuzzRead feeds data as one file to the whole reader, which must neither
// crash nor lose the other statements about br-sure.
func fuzzRead(f *testing.F, file string, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		defer func(start time.Time) {
			if took := time.Since(start); took > means.Patience {
				t.Errorf("took %s", took)
			}
		}(time.Now())
		src, _, err := hosttest.Parse([]byte(linksTable + `-- root/etc/libvirt/qemu/networks/sure.xml --
<network><bridge name='br-sure'/><mtu size='1300'/></network>
`))
		if err != nil {
			t.Fatal(err)
		}
		cfg, _ := Read(t.Context(), host.New(edited{src, Edit{Path: file, Content: data}}))
		for _, n := range append(cfg.Names(), "br0", "eth0") {
			i := cfg.Iface(n)
			for _, s := range i.All {
				if s.Path == "" || s.Manager == "" {
					t.Errorf("%s: a statement from nowhere: %#v", n, s)
				}
			}
			if e, err := cfg.SetMTU(n, 1492); err == nil && len(e.Content) == 0 {
				t.Errorf("%s: an edit that writes nothing: %+v", n, e)
			}
		}
		if i := cfg.Iface("br-sure"); i.MTU == nil || i.MTU.N != 1300 {
			t.Errorf("the other file is lost: %+v", i)
		}
	})
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzIfupdown(f *testing.F) {
	fuzzRead(
		f,
		"/etc/network/interfaces",
		"auto br0\niface br0 inet static\n\tbridge_ports eth0 regex e.* noregex\n\tmtu 1500\n\tup ip link set dev $IFACE mtu 9000\n",
		"source /etc/network/interfaces\nsource-directory /etc/*\niface a inherits a\niface eth0.1 inet6 auto\n",
		"iface\nmtu\\\n",
		"mapping eth*\n script x\n",
	)
}

func FuzzNetplan(f *testing.F) {
	fuzzRead(
		f,
		"/etc/netplan/a.yaml",
		"network:\n  version: 2\n  bridges:\n    br0:\n      interfaces: [eth0]\n      mtu: 1500 # c\n",
		"network: {ethernets: {a: {match: {name: 'e*'}, mtu: 1, set-name: b}}, renderer: NetworkManager}\n",
		"a: &a [*a]\n",
		"? x\n: y\n",
		"network:\n\tmtu: 1\n",
	)
}

func FuzzNetworkd(f *testing.F) {
	fuzzRead(
		f,
		"/etc/systemd/network/a.network",
		"[Match]\nName=br0 e*\nMACAddress=\n[Link]\nMTUBytes=1K\n[Network]\nBridge=br0\\\n;x\n1\nIPForward=kernel\n",
		"[",
		"[]\n=\n",
		"\ufeff[Match]\nName=!",
	)
}

func FuzzNetdev(f *testing.F) {
	fuzzRead(f, "/etc/systemd/network/a.netdev", "[NetDev]\nName=br0\nKind=bridge\nMTUBytes=99999999999G\n")
}

func FuzzKeyfile(f *testing.F) {
	fuzzRead(
		f,
		"/etc/NetworkManager/system-connections/a",
		"[connection]\nid=a\nuuid=b\nmaster=b\nslave-type=bridge\n[802-3-ethe"+
			"rnet]\nmtu=auto\nmac-address=52:54:00:00:00:01\n[ipv6]\nmethod=auto\n",
	)
}

func FuzzLibvirt(f *testing.F) {
	fuzzRead(
		f,
		"/etc/libvirt/qemu/networks/a.xml",
		"<network><bridge name='br0'/><mtu size='1'/></network>",
		"<a><mtu size='-1'/>",
		"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
	)
}
