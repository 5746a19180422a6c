package snapshot

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/mount"
	"fettle/host/fact/netstart"
	"fettle/host/fact/startup"
	"fettle/host/format/mdstat"
	"fettle/host/format/nameservice"
	"fettle/host/format/sysctlconf"
	"fettle/internal/sorted"
)

// Question is what the confined child is asked by.
const Question = "snapshot"

// Answer takes the state of a host for whoever asks.
func Answer(ctx context.Context, h *host.Host, _ json.RawMessage) (any, error) {
	if !h.Running() {
		return nil, host.ErrNotRunning
	}
	return Take(ctx, h), nil
}

// Probe is no trap: a capture that runs it holds what a snapshot needs.
var Probe = &trap.Trap{
	Lore: "---\nid: snapshot\ntitle: What a snapshot of the host needs\n---\n# What happens\n",
	Check: func(ctx context.Context, h *host.Host, r *trap.Report) error {
		if !h.Running() {
			return host.ErrNotRunning
		}
		Take(ctx, h)
		r.Clear("", "read")
		return nil
	},
}

// Take reads the state of a host. What could not be read is told in Unread.
func Take(ctx context.Context, h *host.Host) *State {
	id := h.Identity()
	s := &State{Host: cmp.Or(id.Hostname, h.Name()), Time: id.Time, BootID: id.BootID, Release: id.Release, Unread: map[Area]string{}}
	for area, read := range map[Area]func(context.Context, *host.Host, *State) error{
		Units: activeUnits, Listeners: listeners, Mounts: mounts, Links: links, Routes: routes, Firewall: firewall,
		Sysctls: sysctls, Arrays: arrays, Containers: containers, Names: names,
	} {
		if err := read(ctx, h, s); err != nil {
			s.Unread[area] = host.Reason(err)
		}
	}
	return s
}

// kinds are the units that are compared.
var kinds = []string{"service", "socket", "timer", "path", "mount", "automount", "swap"}

func activeUnits(ctx context.Context, h *host.Host, s *State) error {
	us, err := startup.Units(ctx, h)
	if startup.WithoutManager(ctx, h, err) {
		return nil
	}
	if err != nil {
		return err
	}
	if out, err := h.Run(ctx, "systemctl", "show", "--property=NJobs"); err == nil {
		s.Jobs, _ = strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(string(out.Stdout), "NJobs=")))
	}
	s.Units = map[string]Unit{}
	for i := range us {
		u := &us[i]
		if !slices.Contains(kinds, u.Kind()) || u.ActiveState == "inactive" {
			continue
		}
		var limits startup.Limits
		if u.Kind() == "service" && u.MainPID > 0 {
			limits, _ = startup.LimitsOf(ctx, h, u.MainPID) // it may end meanwhile
		}
		s.Units[u.ID] = Unit{Active: u.ActiveState, Sub: u.SubState, File: u.UnitFileState, Type: u.Type, Started: len(u.By) > 0,
			Transient: u.Transient, TriggeredBy: u.TriggeredBy, Runtime: runtime(u.DropIns), Limits: limits}
	}
	return nil
}

// runtime are the drop-ins that somebody put into /run; generators' are made at each start.
func runtime(dropIns []string) (out []string) {
	for _, d := range dropIns {
		if strings.HasPrefix(d, "/run/systemd/system/") || strings.HasPrefix(d, "/run/systemd/system.control/") {
			out = append(out, d)
		}
	}
	return out
}

func mounts(ctx context.Context, h *host.Host, s *State) error {
	b, err := h.ReadFile(ctx, "/proc/self/mountinfo")
	if err != nil {
		return err
	}
	s.Mounts = map[string]Mount{}
	auto := mount.Automounts(string(b))
	for _, m := range host.ParseMountinfo(string(b)) {
		if mount.Passing(m) || mount.Automounted(m, auto) {
			continue
		}
		s.Mounts[m.Point] = Mount{m.Device, m.Type, slices.Contains(strings.Split(m.Options, ","), "ro")}
	}
	return nil
}

func links(ctx context.Context, h *host.Host, s *State) error {
	all, err := h.Links(ctx)
	if err != nil {
		return err
	}
	s.Links = map[string]Link{}
	for _, l := range all {
		if netstart.OfDaemon(l) || l.Info.Kind == "veth" {
			continue
		}
		v := Link{Up: l.Has("UP") && l.Has("LOWER_UP"), MTU: l.MTU, Master: l.Master, Kind: l.Info.Kind}
		for _, a := range l.Addrs {
			switch {
			case a.Scope != "global", strings.HasPrefix(a.Local, "127."), a.Local == "::1":
			case a.Dynamic:
				if !slices.Contains(v.Dynamic, a.Family) {
					v.Dynamic = append(v.Dynamic, a.Family)
				}
			default:
				v.Addrs = append(v.Addrs, fmt.Sprintf("%s/%d", a.Local, a.PrefixLen))
			}
		}
		s.Links[l.Name] = v
	}
	return nil
}

func routes(ctx context.Context, h *host.Host, s *State) error {
	for family, read := range map[string]func(context.Context) ([]host.Route, error){"inet": h.Routes4, "inet6": h.Routes6} {
		all, err := read(ctx)
		if err != nil {
			return err
		}
		for _, r := range all {
			// A default route that a router advertises counts; its other ones come and go.
			if r.Table == "local" || r.Protocol == "kernel" || r.Protocol == "ra" && r.Dst != "default" || strings.HasPrefix(r.Dst, "fe80") ||
				r.Type == "multicast" || netstart.OfDaemon(host.Link{Name: r.Dev}) {
				continue
			}
			s.Routes = append(s.Routes, Route{family, r})
		}
	}
	// Metrics are left out: DHCP clients count anew.
	sorted.By(s.Routes, func(a, b Route) int { return strings.Compare(a.Text(), b.Text()) })
	return nil
}

// always are parameters that admins set, and that change how a host works; those that its
// configuration names come to them.
var always = []string{"net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding", "net/ipv6/conf/all/disable_ipv6", "net/ipv4/ip_nonlocal_bind",
	"net/ipv4/conf/all/rp_filter", "net/ipv4/tcp_congestion_control", "net/core/default_qdisc", "net/core/somaxconn",
	"net/ipv4/tcp_tw_reuse", "net/ipv4/ip_local_port_range", "net/ipv4/tcp_syncookies", "net/ipv4/ip_unprivileged_port_start",
	"net/bridge/bridge-nf-call-iptables", "vm/swappiness", "vm/overcommit_memory", "vm/overcommit_ratio",
	"vm/max_map_count", "vm/nr_hugepages", "vm/dirty_ratio", "vm/dirty_background_ratio", "vm/dirty_bytes", "vm/dirty_background_bytes",
	"vm/panic_on_oom", "fs/aio-max-nr", "fs/inotify/max_user_watches", "fs/inotify/max_user_instances",
	"fs/protected_hardlinks", "fs/protected_symlinks", "fs/suid_dumpable", "kernel/pid_max", "kernel/core_pattern",
	"kernel/panic", "kernel/panic_on_oops", "kernel/sysrq", "kernel/randomize_va_space", "kernel/kptr_restrict", "kernel/dmesg_restrict",
	"kernel/unprivileged_userns_clone", "kernel/shmmax", "kernel/shmall", "kernel/sem", "kernel/msgmax", "kernel/perf_event_paranoid"}

// computed are set by the kernel from the memory it finds, and move with it.
var computed = []string{"vm/min_free_kbytes", "fs/file-max", "kernel/threads-max", "net/netfilter/nf_conntrack_max"}

func sysctls(ctx context.Context, h *host.Host, s *State) error {
	keys := slices.Clone(always)
	conf, err := sysctlconf.Read(ctx, h, sysctlconf.Installed(ctx, h))
	if err != nil {
		return err
	}
	for _, set := range conf.Settings {
		if !set.Glob() && !set.Exclude && !slices.Contains(keys, set.Key) {
			keys = append(keys, set.Key)
		}
	}
	s.Sysctls = map[string]string{}
	for _, k := range keys {
		v, err := h.ReadString(ctx, "/proc/sys/"+k)
		if err != nil {
			continue // not of this kernel, or not readable: tcp_fastopen_key
		}
		s.Sysctls[k] = strings.Join(strings.Fields(v), " ")
	}
	if len(s.Sysctls) == 0 {
		return fmt.Errorf("none could be read below /proc/sys")
	}
	return nil
}

func arrays(ctx context.Context, h *host.Host, s *State) error {
	all, err := mdstat.Read(ctx, h)
	if err != nil {
		return err
	}
	s.Arrays = map[string]Array{}
	for _, a := range all {
		if a.Active {
			s.Arrays[a.Name] = Array{a.Level, a.Missing}
		}
	}
	text, err := h.ReadString(ctx, "/proc/swaps")
	if err != nil && !host.IsAbsent(err) {
		return err
	}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 1 && f[0] != "Filename" && !strings.HasPrefix(f[0], "/dev/zram") {
			s.Swaps = append(s.Swaps, f[0])
		}
	}
	return nil
}

func containers(ctx context.Context, h *host.Host, s *State) error {
	ps, err := h.Processes(ctx)
	if err != nil {
		return err
	}
	s.Containers = map[string]Container{}
	first := map[string]int{}
	for _, p := range ps {
		if pid, known := first[p.Container]; p.Container != "" && (!known || p.PID < pid) {
			first[p.Container] = p.PID
			s.Containers[p.Container] = Container{p.Comm}
		}
	}
	return nil
}

func names(ctx context.Context, h *host.Host, s *State) error {
	if zone, err := h.Readlink(ctx, "/etc/localtime"); err == nil {
		_, s.Zone, _ = strings.Cut(zone, "/zoneinfo/")
	}
	r, err := nameservice.ReadResolver(ctx, h)
	if err != nil {
		return err
	}
	for _, server := range r.Servers {
		s.Resolvers = append(s.Resolvers, server.Addr)
	}
	return nil
}

func listeners(ctx context.Context, h *host.Host, s *State) error {
	all, err := h.Listeners(ctx)
	if err != nil {
		return err
	}
	low, high := 32768, 60999 // the kernel's default, net/ipv4/af_inet.c
	if r, err := h.ReadString(ctx, "/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		fmt.Sscan(r, &low, &high)
	}
	for _, o := range all {
		l := Listener{Proto: o.Proto, Address: o.Address, Port: o.Port, Program: o.Comm, Unit: o.Unit}
		rpc := strings.HasPrefix(l.Program, "rpc.") && l.Port != 111
		session := strings.HasPrefix(l.Unit, "session-") && strings.HasPrefix(l.Program, "sshd")
		l.Passing = l.Port >= low && l.Port <= high || rpc || session || strings.HasPrefix(l.Address, "fe80")
		s.Listeners = append(s.Listeners, l)
	}
	sorted.By(s.Listeners, func(a, b Listener) int { return strings.Compare(a.id(), b.id()) })
	s.Listeners = slices.CompactFunc(s.Listeners, func(a, b Listener) bool { return a.id() == b.id() })
	return nil
}

// id is what tells listeners apart.
func (l *Listener) id() string {
	return l.Proto + " " + net.JoinHostPort(l.Address, strconv.Itoa(l.Port))
}
