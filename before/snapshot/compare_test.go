package snapshot

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/fact/startup"
)

// healthy is a host that has of everything something.
func healthy() *State {
	return &State{
		Host: "web1", BootID: "a",
		Units: map[string]Unit{
			"nginx.service": {Active: "active", Sub: "running", File: "enabled", Started: true,
				Limits: startup.Limits{"LimitNOFILE": 65536, "LimitNPROC": 15432}},
			"ssh.service":    {Active: "active", Sub: "running", File: "enabled", Started: true},
			"hand.service":   {Active: "active", Sub: "running", File: "disabled"},
			"run-u1.service": {Active: "active", Sub: "running", Transient: true},
			"once.service":   {Active: "active", Sub: "exited", File: "enabled", Type: "oneshot", Started: true},
			"busy.service":   {Active: "activating", Sub: "start", File: "static", Type: "oneshot"},
			"dbus1.service":  {Active: "active", Sub: "running", File: "static", Type: "dbus"},
			"late.service":   {Active: "active", Sub: "running", File: "disabled", TriggeredBy: []string{"late.socket"}},
			"late.socket":    {Active: "active", Sub: "listening", File: "enabled", Started: true},
			"cron.service": {Active: "active", Sub: "running", File: "enabled", Started: true,
				Runtime: []string{"/run/systemd/system.control/cron.service.d/50-MemoryMax.conf"}},
			"user@0.service":                    {Active: "active", Sub: "running", File: "static"},
			"systemd-machine-id-commit.service": {Active: "active", Sub: "exited", File: "static", Type: "oneshot", Started: true},
			"ldconfig.service":                  {Active: "active", Sub: "exited", File: "static", Type: "oneshot", Started: true},
		},
		Listeners: []Listener{
			{Proto: "tcp", Address: "0.0.0.0", Port: 80, Program: "nginx", Unit: "nginx.service"},
			{Proto: "tcp", Address: "10.9.9.9", Port: 53, Program: "named", Unit: "named.service"},
			{Proto: "tcp", Address: "::", Port: 8099, Program: "python3", Unit: "session-3.scope"},
			{Proto: "udp", Address: "0.0.0.0", Port: 41234, Program: "rpc.statd", Passing: true},
			{Proto: "tcp", Address: "127.0.0.1", Port: 631, Program: "late", Unit: "late.service"},
		},
		Mounts: map[string]Mount{"/": {"/dev/sda1", "ext4", false}, "/srv": {"/dev/sdb1", "xfs", false}, "/tmp": {"tmpfs", "tmpfs", false}},
		Links: map[string]Link{
			"eth0": {Up: true, MTU: 1500, Addrs: []string{"192.0.2.7/24", "10.9.9.9/24"}, Dynamic: []string{"inet6"}},
			"br9":  {Up: true, MTU: 1500, Kind: "bridge", Addrs: []string{"10.10.9.1/24"}},
		},
		Routes: []Route{
			{"inet", host.Route{Dst: "default", Gateway: "192.0.2.1", Dev: "eth0", Protocol: "static"}},
			{"inet", host.Route{Dst: "10.55.0.0/16", Gateway: "10.10.9.2", Dev: "br9", Protocol: "boot"}},
		},
		Chains: map[string][]string{"inet filter input": {hook + "1", "aa", "bb"}, "ip filter f2b-sshd": {"cc", "dd"}, "ip nat DOCKER": {"ee"},
			"iptables-legacy filter INPUT": {hook + "3", "gg"}},
		Sysctls: map[string]string{"net/ipv4/ip_forward": "1", "net/ipv4/conf/all/accept_redirects": "0", "vm/swappiness": "10",
			"fs/file-max": "100"},
		Arrays:     map[string]Array{"md0": {Level: "raid1"}, "md1": {Level: "raid5"}},
		Swaps:      []string{"/dev/sda2"},
		Containers: map[string]Container{"docker/0123456789ab": {"postgres"}},
		Zone:       "Europe/Berlin", Resolvers: []string{"192.0.2.53"},
		Unread: map[Area]string{},
	}
}

func copyOf(t *testing.T, s *State) *State {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	out := &State{}
	if err := json.Unmarshal(b, out); err != nil {
		t.Fatal(err)
	}
	out.BootID = "b"
	return out
}

// What is lost is told once, by its cause; what flaps on healthy hosts is not.
func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*State)
		want   []string // severity, subject, and what is told with it
	}{
		"nothing": {func(*State) {}, nil},
		"what flaps": {func(s *State) {
			for _, u := range []string{"busy.service", "dbus1.service", "late.service", "user@0.service", "systemd-machine-id-commit.service",
				"ldconfig.service"} {
				delete(s.Units, u)
			}
			s.Listeners = slices.DeleteFunc(s.Listeners, func(l Listener) bool { return l.Port == 41234 || l.Port == 631 })
			s.Chains["ip filter f2b-sshd"], s.Chains["ip nat DOCKER"] = nil, []string{"ff"}
			s.Sysctls["fs/file-max"] = "99"
			s.Resolvers = []string{"192.0.2.54", "192.0.2.53"}
		}, nil},
		"a service with its port": {func(s *State) {
			s.Units["nginx.service"] = Unit{Active: "failed", Sub: "failed", File: "enabled", Started: true}
			s.Listeners = s.Listeners[1:]
		}, []string{"warning nginx.service: failed at this start [tcp 0.0.0.0:80]"}},
		"sshd is critical": {func(s *State) { delete(s.Units, "ssh.service") }, []string{
			"critical ssh.service: does not run, and has not failed: nothing started it, a condition was not met, or it has ended"}},
		"started by hand": {func(s *State) { delete(s.Units, "hand.service"); delete(s.Units, "run-u1.service") }, []string{
			"warning hand.service: does not run: it had been started by hand, and is not enabled",
			"warning run-u1.service: is gone: it had been started by systemd-run"}},
		"a oneshot that had ended well": {func(s *State) { delete(s.Units, "once.service") }, []string{
			"warning once.service: does not run, and has not failed: nothing started it, a condition was not met, or it has ended"}},
		"a drop-in of this start": {func(s *State) {
			u := s.Units["cron.service"]
			u.Runtime = nil
			s.Units["cron.service"] = u
		}, []string{"warning cron.service: runs without /run/systemd/system.control/cron.service.d/50-MemoryMax.conf, " +
			"which was set until the next start only"}},
		"limits that are lower": {func(s *State) {
			s.Units["nginx.service"].Limits["LimitNOFILE"] = 1024
		}, []string{"warning nginx.service: runs with LimitNOFILE=1024; it was 65536"}},
		"limits that are higher, by the memory of this start, or of nobody": {func(s *State) {
			s.Units["nginx.service"].Limits["LimitNOFILE"] = 100000
			s.Units["nginx.service"].Limits["LimitNPROC"] = 15000
		}, nil},
		"failed, and had not run": {func(s *State) { s.Units["new.service"] = Unit{Active: "failed", Sub: "failed"} }, []string{
			"warning new.service: failed at this start; it had not failed before"}},
		"a listener of a session": {func(s *State) { s.Listeners = slices.Delete(s.Listeners, 2, 3) }, []string{
			"warning tcp [::]:8099: nobody listens; it was python3, which no unit had started"}},
		"an address with its listener": {func(s *State) {
			l := s.Links["eth0"]
			l.Addrs = l.Addrs[:1]
			s.Links["eth0"] = l
			s.Listeners = slices.Delete(s.Listeners, 1, 2)
		}, []string{"warning 10.9.9.9/24 on eth0: is gone: the address had been added by hand, or its configuration was removed " +
			"[tcp 10.9.9.9:53]"}},
		"a bridge with what needs it": {func(s *State) { delete(s.Links, "br9"); s.Routes = s.Routes[:1] }, []string{
			"warning br9: is not there: the bridge had been made by hand, or its configuration was removed " +
				"[the route to 10.55.0.0/16 via 10.10.9.2 dev br9, 10.10.9.1/24]"}},
		"a route alone": {func(s *State) { s.Routes = s.Routes[:1] }, []string{
			"warning 10.55.0.0/16 via 10.10.9.2 dev br9: is gone: the route had been added by hand, or its configuration was removed"}},
		"the default route": {func(s *State) { s.Routes = s.Routes[1:] }, []string{
			"critical IPv4 default route: is gone; it was default via 192.0.2.1 dev eth0"}},
		"another default route": {func(s *State) { s.Routes[0].Gateway = "192.0.2.2" }, []string{
			"notice IPv4 default route: is default via 192.0.2.2 dev eth0; it was default via 192.0.2.1 dev eth0"}},
		"a device with another name": {func(s *State) { s.Links["ens3"] = s.Links["eth0"]; delete(s.Links, "eth0") }, []string{
			"warning eth0: is not there: the device is gone, or has another name [192.0.2.7/24, 10.9.9.9/24]"}},
		"down, and another MTU": {func(s *State) {
			l := s.Links["eth0"]
			l.Up = false
			s.Links["eth0"] = l
			m := s.Links["br9"]
			m.MTU = 9000
			s.Links["br9"] = m
		}, []string{"warning br9: has an MTU of 9000; it was 1500", "warning eth0: is down; it was up"}},
		"no address from the network": {func(s *State) {
			l := s.Links["eth0"]
			l.Dynamic = nil
			s.Links["eth0"] = l
		}, []string{"warning eth0: has no IPv6 address; it had one from the network"}},
		"mounts": {func(s *State) {
			delete(s.Mounts, "/srv")
			delete(s.Mounts, "/tmp")
			s.Mounts["/"] = Mount{"/dev/sda1", "ext4", true}
		}, []string{"critical /: is mounted read-only; it was writable", "warning /srv: is not mounted: it was xfs from /dev/sdb1",
			"notice /tmp: is not mounted: it was tmpfs from tmpfs"}},
		"arrays and swap": {func(s *State) {
			s.Arrays = map[string]Array{"md127": {Level: "raid1"}, "md1": {Level: "raid5", Missing: 1}}
			s.Swaps = nil
		}, []string{"critical md1: came back without 1 of its members", "warning /dev/sda2: is no swap any more",
			"notice md0: is not there; an array of the same level is, by another number"}},
		"an array":    {func(s *State) { delete(s.Arrays, "md0") }, []string{"critical md0: was not assembled"}},
		"a container": {func(s *State) { s.Containers = nil }, []string{"warning docker/0123456789ab: does not run (postgres)"}},
		"rules": {func(s *State) { s.Chains["inet filter input"] = []string{hook + "2", "bb"} }, []string{
			"warning nftables inet filter input: has another policy, hook or priority", "warning nftables inet filter: lacks 1 rule"}},
		"a table": {func(s *State) { delete(s.Chains, "inet filter input") }, []string{
			"warning nftables inet filter: is gone, with 2 rules and 1 chain"}},
		"rules of the old iptables": {func(s *State) { delete(s.Chains, "iptables-legacy filter INPUT") }, []string{
			"warning iptables-legacy filter: is gone, with 1 rule and 1 chain"}},
		"ip_forward and what it resets": {func(s *State) {
			s.Sysctls["net/ipv4/ip_forward"], s.Sysctls["net/ipv4/conf/all/accept_redirects"] = "0", "1"
		}, []string{"warning net.ipv4.ip_forward: is 0; it was 1"}},
		"names": {func(s *State) { s.Host, s.Zone, s.Resolvers = "localhost", "", nil }, []string{
			"warning web1: is called localhost now: its name had been set until the next start only",
			"warning Europe/Berlin: is not the time zone any more; it is UTC", "warning name servers: are none; they were 192.0.2.53"}},
	} {
		was := healthy()
		now := copyOf(t, was)
		c.change(now)
		out := Compare(was, now)
		var got []string
		for _, d := range out.Lost {
			line := d.Severity.String() + " " + d.Subject + ": " + d.Summary
			if len(d.With) > 0 {
				line += " [" + strings.Join(d.With, ", ") + "]"
			}
			got = append(got, line)
		}
		if !slices.Equal(got, c.want) || !out.Restarted {
			t.Errorf("%s:\ngot  %s\nwant %s", name, strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
		}
	}
}

// What one of the two could not read is not compared, and not lost.
func TestNotCompared(t *testing.T) {
	was, now := healthy(), &State{BootID: "b", Host: "web1", Unread: map[Area]string{}}
	for _, a := range Areas {
		now.Unread[a] = "permission denied"
	}
	out := Compare(was, now)
	if len(out.Lost) > 0 || len(out.NotCompared) != len(Areas) {
		t.Errorf("%+v", out)
	}
}

func TestAppeared(t *testing.T) {
	was := healthy()
	now := copyOf(t, was)
	now.Listeners = append(now.Listeners, Listener{Proto: "tcp", Address: "0.0.0.0", Port: 22, Program: "sshd"},
		Listener{Proto: "tcp", Address: "0.0.0.0", Port: 51111, Program: "x", Passing: true})
	if out := Compare(was, now); len(out.Lost) > 0 || len(out.New) != 1 || out.New[0].Subject != "tcp 0.0.0.0:22" {
		t.Errorf("%+v", out)
	}
}
