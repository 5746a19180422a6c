package snapshot

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/startup"
	"fettle/host/hosttest"
)

// aHost has of everything what is kept, and what is nobody's loss.
var aHost = `hostname: web1
release: 6.12.0
-- stat/run/systemd/system --
type dir
-- command/systemctl ` + strings.Join(startup.Question, " ") + ` --
Id=nginx.service
LoadState=loaded
ActiveState=active
SubState=running
UnitFileState=enabled
WantedBy=multi-user.target
DropInPaths=/etc/systemd/system/nginx.service.d/a.conf /run/systemd/system/nginx.service.d/b.conf /run/systemd/system.control/nginx.service.d/c.conf /run/systemd/generator/d.conf
Type=notify
MainPID=7

Id=ended.service
LoadState=loaded
ActiveState=active
SubState=exited
Type=oneshot
MainPID=0

Id=not.service
LoadState=loaded
ActiveState=inactive
SubState=dead

Id=late.socket
LoadState=loaded
ActiveState=active
SubState=listening

Id=a.slice
LoadState=loaded
ActiveState=active
SubState=active
-- command/systemctl show --property=NJobs --
NJobs=3
-- root/proc/7/limits --
Limit                     Soft Limit           Hard Limit           Units
Max open files            1024                 65536                files
-- root/proc/self/mountinfo --
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 8:2 / /srv ro,relatime shared:1 - xfs /dev/sdb1 rw
24 22 0:5 / /proc rw - proc proc rw
25 22 0:50 / /net rw - autofs /etc/auto.net rw
26 25 0:51 / /net/nas rw - nfs4 nas:/x rw
27 22 0:52 / /backup rw - autofs systemd-1 rw,direct
28 27 8:3 / /backup rw - ext4 /dev/sdc1 rw
-- table/links --
[{"ifindex":1,"ifname":"lo","mtu":65536,"flags":["UP","LOWER_UP"],"link_type":"loopback","addr_info":[{"family":"inet","local":"127.0.0.1","prefixlen":8,"scope":"host"},
{"family":"inet","local":"127.0.0.53","prefixlen":8,"scope":"global"},{"family":"inet6","local":"::1","prefixlen":128,"scope":"global"}]},
{"ifindex":2,"ifname":"eth0","mtu":1500,"master":"br0","flags":["UP","LOWER_UP"],"link_type":"ether","addr_info":[{"family":"inet","local":"192.0.2.7","prefixlen":24,"scope":"global"},
{"family":"inet6","local":"fe80::1","prefixlen":64,"scope":"link"},{"family":"inet6","local":"2001:db8::1","prefixlen":64,"scope":"global","dynamic":true},
{"family":"inet6","local":"2001:db8::2","prefixlen":64,"scope":"global","dynamic":true},{"family":"inet","local":"198.51.100.1","prefixlen":25,"scope":"global"}]},
{"ifindex":3,"ifname":"eth1","mtu":9000,"flags":["UP"],"link_type":"ether","addr_info":[]},
{"ifindex":4,"ifname":"v1","mtu":1500,"flags":["UP"],"linkinfo":{"info_kind":"veth"},"link_type":"ether","addr_info":[]},
{"ifindex":5,"ifname":"docker0","mtu":1500,"flags":["UP"],"linkinfo":{"info_kind":"bridge"},"link_type":"ether","addr_info":[]}]
-- table/routes4 --
[{"dst":"default","gateway":"192.0.2.1","dev":"eth0","protocol":"dhcp","metric":100},{"dst":"192.0.2.0/24","dev":"eth0","protocol":"kernel"},
{"dst":"192.0.2.7","dev":"eth0","table":"local","protocol":"boot"},{"dst":"172.17.0.0/16","dev":"docker0","protocol":"boot"},{"dst":"10.0.0.0/8","dev":"eth0","protocol":"static"}]
-- table/routes6 --
[{"dst":"default","gateway":"fe80::2","dev":"eth0","protocol":"ra"},{"dst":"2001:db8::/64","dev":"eth0","protocol":"ra"},{"dst":"fe80::/64","dev":"eth0","protocol":"boot"},
{"dst":"ff00::/8","dev":"eth0","type":"multicast","protocol":"boot"}]
-- table/listeners --
[{"proto":"tcp","address":"::","port":80,"pid":7,"comm":"nginx","unit":"nginx.service"},{"proto":"tcp","address":"::","port":80,"pid":8,"comm":"nginx","unit":"nginx.service"},
{"proto":"tcp","address":"0.0.0.0","port":111,"comm":"rpc.rpcbind"},{"proto":"udp","address":"0.0.0.0","port":900,"comm":"rpc.statd"},
{"proto":"tcp","address":"0.0.0.0","port":20000,"comm":"low"},{"proto":"tcp","address":"0.0.0.0","port":19999,"comm":"below"},{"proto":"tcp","address":"0.0.0.0","port":30000,"comm":"high"},
{"proto":"tcp","address":"0.0.0.0","port":30001,"comm":"above"},{"proto":"tcp","address":"127.0.0.1","port":6010,"comm":"sshd","unit":"session-1.scope"},
{"proto":"tcp","address":"0.0.0.0","port":8000,"comm":"python3","unit":"session-1.scope"},{"proto":"tcp","address":"0.0.0.0","port":22,"comm":"sshd","unit":"ssh.service"},
{"proto":"udp","address":"fe80::1","port":546,"comm":"dhclient"}]
-- root/proc/sys/net/ipv4/ip_local_port_range --
20000	30000
-- table/processes --
[{"pid":30,"comm":"worker","container":"docker/0123"},{"pid":20,"comm":"postgres","container":"docker/0123"},{"pid":40,"comm":"helper","container":"docker/0123"},{"pid":7,"comm":"nginx"}]
-- root/proc/mdstat --
Personalities : [raid1]
md0 : active raid1 sda1[0]
      1000 blocks super 1.2 [2/1] [U_]

md1 : inactive sdb1[0](S)
      1000 blocks super 1.2

unused devices: <none>
-- root/proc/swaps --
Filename				Type		Size		Used		Priority
/dev/sda2                               partition	1000		0		-2
/dev/zram0                              partition	1000		0		100
-- root/etc/sysctl.d/a.conf --
vm.swappiness = 10
kernel.odd = 1
net.ipv4.conf.*.rp_filter = 1
-- root/proc/sys/vm/swappiness --
10
-- root/proc/sys/kernel/odd --
1	2
-- root/proc/sys/kernel/other --
7
-- link/etc/localtime --
/usr/share/zoneinfo/Europe/Berlin
-- root/etc/resolv.conf --
nameserver 192.0.2.53
nameserver 192.0.2.54
-- command/nft -s list ruleset --
table inet filter {
	chain input {
		type filter hook input priority filter; policy drop;
		tcp dport 22 accept
	}
}
`

// TestTaken: what is kept of a host, and what comes and goes by itself is not.
func TestTaken(t *testing.T) {
	s := Take(t.Context(), hosttest.New(t, aHost))
	if len(s.Unread) > 0 || s.Host != "web1" || s.Release != "6.12.0" || s.Jobs != 3 {
		t.Errorf("%+v", s)
	}
	if got := slices.Sorted(maps.Keys(s.Units)); !slices.Equal(got, []string{"ended.service", "late.socket", "nginx.service"}) {
		t.Errorf("units %q", got)
	}
	if u := s.Units["nginx.service"]; !u.Started || u.Limits["LimitNOFILE"] != 65536 || s.Units["ended.service"].Started ||
		!slices.Equal(u.Runtime, []string{"/run/systemd/system/nginx.service.d/b.conf", "/run/systemd/system.control/nginx.service.d/c.conf"}) {
		t.Errorf("%+v", u)
	}
	for what, c := range map[string]struct{ got, want any }{
		"mounts": {s.Mounts, map[string]Mount{"/": {"/dev/sda1", "ext4", false}, "/srv": {"/dev/sdb1", "xfs", true}}},
		"links": {s.Links, map[string]Link{"lo": {Up: true, MTU: 65536}, "eth0": {Up: true, MTU: 1500, Master: "br0",
			Addrs:   []string{"192.0.2.7/24", "198.51.100.1/25"},
			Dynamic: []string{"inet6"}}, "eth1": {MTU: 9000}}},
		"arrays":     {s.Arrays, map[string]Array{"md0": {"raid1", 1}}},
		"swaps":      {s.Swaps, []string{"/dev/sda2"}},
		"containers": {s.Containers, map[string]Container{"docker/0123": {"postgres"}}},
		"sysctls":    {s.Sysctls, map[string]string{"vm/swappiness": "10", "kernel/odd": "1 2", "net/ipv4/ip_local_port_range": "20000 30000"}},
		"zone":       {s.Zone, "Europe/Berlin"},
		"resolvers":  {s.Resolvers, []string{"192.0.2.53", "192.0.2.54"}},
		"chains":     {len(s.Chains["inet filter input"]), 2},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: %+v, want %+v", what, c.got, c.want)
		}
	}
	var routes, listeners, passing []string
	for i := range s.Routes {
		routes = append(routes, s.Routes[i].Family+" "+s.Routes[i].Text())
	}
	for i := range s.Listeners {
		if l := &s.Listeners[i]; l.Passing {
			passing = append(passing, l.Program)
		} else {
			listeners = append(listeners, l.id())
		}
	}
	if want := "inet 10.0.0.0/8 dev eth0; inet default via 192.0.2.1 dev eth0; inet6 default via fe80::2 dev eth0"; strings.Join(routes,
		"; ") != want {
		t.Errorf("routes %q, want %s", routes, want)
	}
	slices.Sort(passing)
	if want := "dhclient high low rpc.statd sshd"; strings.Join(passing, " ") != want {
		t.Errorf("passing %q, want %s", passing, want)
	}
	if want := "tcp 0.0.0.0:111; tcp 0.0.0.0:19999; tcp 0.0.0.0:22; tcp 0.0.0.0:30001; tcp 0.0.0.0:8000; tcp " +
		"[::]:80"; strings.Join(listeners, "; ") != want {
		t.Errorf("listeners %q, want %s", listeners, want)
	}
}

// TestUnread: what could not be read is told of its area, and takes no other with it.
func TestUnread(t *testing.T) {
	for closed, area := range map[string]Area{
		"command/systemctl " + strings.Join(startup.Question, " "): Units, "root/proc/self/mountinfo": Mounts, "table/links": Links,
		"table/routes4": Routes,
		"table/routes6": Routes, "table/listeners": Listeners, "table/processes": Containers, "root/proc/mdstat": Arrays,
		"root/proc/swaps":      Arrays,
		"root/etc/resolv.conf": Names, "command/nft -s list ruleset": Firewall,
	} {
		text := strings.Replace(aHost, "-- "+closed+" --\n", "-- denied/"+strings.TrimPrefix(closed, "root/")+" --\n-- root/x --\n", 1)
		if s := Take(t.Context(), hosttest.New(t, text)); len(s.Unread) != 1 || s.Unread[area] == "" {
			t.Errorf("%s: unread %v", closed, s.Unread)
		}
	}
	none := strings.NewReplacer("root/proc/sys/", "root/x/", "command/systemctl show --property=NJobs", "root/y").Replace(aHost)
	if s := Take(t.Context(), hosttest.New(t, none)); len(s.Unread) != 1 || s.Unread[Sysctls] == "" || s.Jobs != 0 {
		t.Errorf("no parameter: %v", s.Unread)
	}
}

// TestAsked: a running host is looked at, and another is not called empty.
func TestAsked(t *testing.T) {
	running, folder := hosttest.New(t, aHost), hosttest.New(t, "kind: root\n-- root/etc/hostname --\na\n")
	if s, err := Answer(t.Context(), running, nil); err != nil || s.(*State).Host != "web1" {
		t.Errorf("%v, %v", s, err)
	}
	if s, err := Answer(t.Context(), folder, nil); !errors.Is(err, host.ErrNotRunning) || s != nil {
		t.Errorf("%v, %v", s, err)
	}
	for h, want := range map[*host.Host]trap.Status{running: trap.Clear, folder: trap.NotApplicable} {
		trap.Run(context.Background(), h, []*trap.Trap{Probe}, trap.Options{}, func(r trap.Result) {
			if r.Outcomes[0].Status != want {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestLost: more of what restarts take, and do not.
func TestLost(t *testing.T) {
	for name, c := range map[string]struct {
		was, now func(*State) // what differs from a healthy host
		want     []string
	}{
		"still starting": {nil, func(s *State) { s.Units["nginx.service"] = Unit{Active: "activating"} },
			[]string{"notice nginx.service: is still starting"}},
		"reloading is running": {func(s *State) { s.Units["nginx.service"] = Unit{Active: "reloading"} }, nil, nil},
		"runs, and reloads":    {nil, func(s *State) { s.Units["nginx.service"] = Unit{Active: "reloading"} }, nil},
		"masked": {func(s *State) { s.Units["m.service"] = Unit{Active: "active", File: "masked", Started: true} }, nil,
			[]string{"warning m.service: does not run: it is masked, and had run on since"}},
		"masked until then": {func(s *State) { s.Units["m.service"] = Unit{Active: "active", File: "masked-runtime"} }, nil,
			[]string{"warning m.service: does not run: it is masked, and had run on since"}},
		"linked, and started by hand": {func(s *State) { s.Units["l.service"] = Unit{Active: "active", File: "linked"} }, nil,
			[]string{"warning l.service: does not run: it had been started by hand, and is not enabled"}},
		"a transient one that fails is nobody's": {nil, func(s *State) {
			s.Units["run-u2.service"] = Unit{Active: "failed",
				Transient: true}
		}, nil},
		"failed before": {func(s *State) { s.Units["f.service"] = Unit{Active: "failed"} },
			func(s *State) { s.Units["f.service"] = Unit{Active: "failed"} }, nil},
		"a session, a mount and a swap": {func(s *State) {
			for _, n := range []string{"session-3.scope", "user-runtime-dir@0.service", "srv.mount", "dev-sda2.swap"} {
				s.Units[n] = Unit{Active: "active", File: "enabled", Started: true}
			}
		}, nil, nil},
		"what no socket starts any more": {nil, func(s *State) {
			delete(s.Units,
				"late.service")
			s.Units["late.socket"] = Unit{Active: "inactive"}
		},
			[]string{"warning late.service: does not run: it had been started by hand, and is not enabled",
				"warning late.socket: does not run, and has not failed: nothing started it, a condition was not met, or it has ended"}},
		"sshd's port": {func(s *State) {
			s.Listeners = append(s.Listeners, Listener{Proto: "tcp", Address: "::", Port: 22, Program: "sshd", Unit: "ssh.service"})
		}, nil, []string{"critical tcp [::]:22: nobody listens; it was sshd"}},
		"nobody's port": {func(s *State) {
			s.Listeners = append(s.Listeners, Listener{Proto: "udp", Address: "::", Port: 99})
		}, nil, []string{"warning udp [::]:99: nobody listens; it was an unknown program, which no unit had started"}},
		"another file system": {nil, func(s *State) { s.Mounts["/srv"] = Mount{"/dev/sdc1", "ext4", false} },
			[]string{"warning /srv: has another file system: ext4 from /dev/sdc1, it was xfs from /dev/sdb1"}},
		"read-only before": {func(s *State) { s.Mounts["/"] = Mount{"/dev/sda1", "ext4", true} },
			func(s *State) { s.Mounts["/"] = Mount{"/dev/sda1", "ext4", true} }, nil},
		"writable now":                  {func(s *State) { s.Mounts["/"] = Mount{"/dev/sda1", "ext4", true} }, nil, nil},
		"an array that lacked one then": {func(s *State) { s.Arrays["md0"] = Array{"raid1", 1} }, nil, nil},
		"an array of another level": {nil, func(s *State) { delete(s.Arrays, "md0"); s.Arrays["md9"] = Array{Level: "raid6"} },
			[]string{"critical md0: was not assembled"}},
		"a port of no bridge": {func(s *State) { l := s.Links["eth0"]; l.Master = "br9"; s.Links["eth0"] = l }, nil,
			[]string{"warning eth0: is no port of br9 any more"}},
		"a port of what is gone": {func(s *State) { l := s.Links["eth0"]; l.Master = "br8"; s.Links["eth0"] = l }, nil, nil},
		"an address on another link": {nil, func(s *State) {
			a, b := s.Links["eth0"], s.Links["br9"]
			a.Addrs, b.Addrs = a.Addrs[:1], append(b.Addrs, a.Addrs[1])
			s.Links["eth0"], s.Links["br9"] = a, b
		}, nil},
		"an address from the network that is fixed now": {nil, func(s *State) {
			l := s.Links["eth0"]
			l.Dynamic, l.Addrs = nil, append(l.Addrs, "2001:db8::7/64")
			s.Links["eth0"] = l
		}, nil},
		"one of two default routes": {func(s *State) {
			s.Routes = append(s.Routes, Route{"inet", host.Route{Dst: "default", Gateway: "192.0.2.9", Dev: "eth0"}})
		}, nil, nil},
		"the default route of another table": {func(s *State) {
			s.Routes = append(s.Routes, Route{"inet", host.Route{Dst: "default", Gateway: "192.0.2.9", Dev: "eth0", Table: "5"}})
		}, nil, []string{"warning default via 192.0.2.9 dev eth0 table 5: is gone: the route had been added by hand, or its " +
			"configuration was removed"}},
		"the same route of the other family": {func(s *State) { s.Routes = append(s.Routes, Route{"inet6", host.Route{Dst: "x", Dev: "eth0"}}) },
			func(s *State) { s.Routes = append(s.Routes, Route{"inet", host.Route{Dst: "x", Dev: "eth0"}}) },
			[]string{"warning x dev eth0: is gone: the route had been added by hand, or its configuration was removed"}},
		"IPv6 too": {func(s *State) {
			s.Sysctls["net/ipv6/conf/all/forwarding"], s.Sysctls["net/ipv6/conf/a/accept_ra"] = "1", "2"
		},
			func(s *State) {
				s.Sysctls["net/ipv6/conf/all/forwarding"], s.Sysctls["net/ipv6/conf/a/accept_ra"] = "0", "1"
			},
			[]string{"warning net.ipv6.conf.all.forwarding: is 0; it was 1"}},
		"redirects alone": {nil, func(s *State) { s.Sysctls["net/ipv4/conf/all/accept_redirects"] = "1" },
			[]string{"warning net.ipv4.conf.all.accept_redirects: is 1; it was 0"}},
		"a parameter of no such kernel": {nil, func(s *State) { delete(s.Sysctls, "vm/swappiness") }, nil},
		"a zone, for the first time":    {func(s *State) { s.Zone = "" }, nil, nil},
		"a chain without rules":         {func(s *State) { s.Chains["ip x y"] = nil }, nil, nil},
		"two rules of the same words": {func(s *State) { s.Chains["inet filter input"] = []string{hook + "1", "aa", "aa", "bb"} }, nil,
			[]string{"warning nftables inet filter: lacks 1 rule"}},
		"a chain and rules of a table": {func(s *State) { s.Chains["inet filter output"] = []string{hook + "1", "zz"} },
			func(s *State) { s.Chains["inet filter input"] = []string{hook + "1"} },
			[]string{"warning nftables inet filter: lacks 3 rules and 1 chain"}},
	} {
		was := healthy()
		now := copyOf(t, was)
		if c.was != nil {
			c.was(was)
		}
		if c.now != nil {
			c.now(now)
		}
		var got []string
		for _, d := range Compare(was, now).Lost {
			got = append(got, d.Severity.String()+" "+d.Subject+": "+d.Summary)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", name, strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
		}
	}
	same := healthy()
	if c := Compare(same, same); c.Restarted || len(c.NotCompared) > 0 || len(c.New) > 0 {
		t.Errorf("%+v", c)
	}
	was, now := healthy(), healthy()
	now.Unread[Listeners], now.Listeners, was.Unread[Mounts], was.Mounts = "closed", nil, "shut", nil
	if c := Compare(was, now); len(c.Lost) > 0 || c.New != nil || !maps.Equal(c.NotCompared, map[Area]string{Listeners: "closed",
		Mounts: "shut"}) {
		t.Errorf("%+v", c)
	}
}
