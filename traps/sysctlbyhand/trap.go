// Package sysctlbyhand finds kernel parameters that somebody set by hand.
package sysctlbyhand

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/container"
	"fettle/host/fact/netstart"
	"fettle/host/format/sysctlconf"
)

//go:embed lore.md
var lore trap.Lore

// Trap is sysctl-by-hand.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check}

// parameter is one whose value at boot is the same on every host.
type parameter struct {
	key string
	// at are the values that kernels start with.
	at []string
	// by are programs that set it when they start.
	by []string
}

// parameters are those that admins set (Linux 3.10 to 6.12, Documentation/admin-guide/sysctl and
// networking/ip-sysctl.rst, and the initial values in the source). What the kernel computes from
// the host's memory is not here.
var parameters = []parameter{
	{"net/ipv4/ip_forward", []string{"0"}, forwarders},
	{"net/ipv6/conf/all/forwarding", []string{"0"}, forwarders},
	{"net/ipv4/ip_nonlocal_bind", []string{"0"}, []string{"keepalived", "haproxy", "pacemakerd"}},
	{"net/ipv6/ip_nonlocal_bind", []string{"0"}, []string{"keepalived", "haproxy", "pacemakerd"}},
	{"net/ipv4/ip_unprivileged_port_start", []string{"1024"}, nil},
	{"net/ipv4/tcp_syncookies", []string{"1"}, nil},
	{"net/core/somaxconn", []string{"128", "4096"}, nil}, // 4096 from 5.4 on
	{"vm/swappiness", []string{"60"}, nil},
	{"vm/overcommit_memory", []string{"0"}, []string{"kubelet", "k3s-server", "k3s-agent"}},
	{"vm/overcommit_ratio", []string{"50"}, nil},
	{"vm/max_map_count", []string{"65530"}, nil},
	{"vm/dirty_ratio", []string{"20", "0"}, nil}, // 0: dirty_bytes counts instead
	{"vm/dirty_background_ratio", []string{"10", "0"}, nil},
	{"vm/dirty_bytes", []string{"0"}, nil},
	{"vm/dirty_background_bytes", []string{"0"}, nil},
	{"vm/panic_on_oom", []string{"0"}, []string{"kubelet", "k3s-server", "k3s-agent"}},
	{"fs/inotify/max_user_instances", []string{"128"}, nil},
}

// forwarders are programs that turn forwarding on when they start.
var forwarders = []string{"dockerd", "containerd", "libvirtd", "virtnetworkd", "lxd", "incusd", "kubelet", "k3s-server", "k3s-agent",
	"cilium-agent", "flanneld", "calico-node", "tailscaled", "zebra", "bird", "watchfrr", "connmand", "firewalld", "openvpn", "charon",
	"aardvark-dns", "conmon", "NetworkManager", "systemd-network", "systemd-nspawn"}

// tuners set parameters by their own profiles.
var tuners = []string{"tuned", "tlp", "throttled", "pve-ha-lrm", "pvedaemon", "vzlogger"}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if !h.Running() {
		return host.ErrNotRunning
	}
	if container.Of(ctx, h) != "" {
		r.NotApplicable("", "a container has its host's kernel")
		return nil
	}
	s, err := netstart.Read(ctx, h)
	if err != nil {
		return err
	}
	for _, t := range tuners {
		if s.Runs(t) {
			r.NotApplicable("", t+" sets kernel parameters by its own profile")
			return nil
		}
	}
	conf, err := settings(ctx, h)
	if err != nil {
		return err
	}
	forwards, err := forwarding(ctx, h)
	if err != nil {
		return err
	}
	found := false
	for _, p := range parameters {
		now, err := h.ReadString(ctx, "/proc/sys/"+p.key)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return err
		}
		now = strings.Join(strings.Fields(now), " ")
		if slices.Contains(p.at, now) || p.set(conf, s) || forwards && strings.Contains(p.key, "forward") {
			continue
		}
		found = true
		if f := p.finding(now); s.Unread != nil {
			r.Unknown(f.Subject, fmt.Errorf("is %s; what sets it at boot is not known: %w", now, s.Unread), f.Evidence...)
		} else {
			r.Found(f)
		}
	}
	if !found {
		r.Clear("", "what is not as the kernel starts with, a file sets")
	}
	return nil
}

// settings are the files of sysctl.d and ufw's own.
func settings(ctx context.Context, h *host.Host) ([]*sysctlconf.Config, error) {
	c, err := sysctlconf.Read(ctx, h, sysctlconf.Installed(ctx, h))
	if err != nil {
		return nil, err
	}
	if len(c.Unread) > 0 {
		return nil, c.Unread[0]
	}
	ufw, err := sysctlconf.ReadUfw(ctx, h)
	if err != nil || ufw == nil {
		return []*sysctlconf.Config{c}, err
	}
	if len(ufw.Unread) > 0 {
		return nil, ufw.Unread[0]
	}
	return []*sysctlconf.Config{c, ufw}, nil
}

// set tells whether something sets the parameter at boot, to whatever value: another value is
// another trap.
func (p *parameter) set(conf []*sysctlconf.Config, s *netstart.Start) bool {
	for _, c := range conf {
		if _, ok := c.Lookup(p.key).Value(); ok {
			return true
		}
	}
	dotted := strings.ReplaceAll(p.key, "/", ".")
	for _, word := range []string{dotted, p.key, "/proc/sys/" + p.key, "sysctl." + dotted, "sysctl." + p.key} {
		if s.Mentions(word) != "" {
			return true
		}
	}
	return slices.ContainsFunc(p.by, s.Runs)
}

func (p *parameter) finding(now string) trap.Finding {
	name := strings.ReplaceAll(p.key, "/", ".")
	at := p.at[len(p.at)-1]
	if len(p.at) > 1 && p.at[1] == "0" {
		at = p.at[0]
	}
	return trap.Finding{
		Subject: name, Severity: trap.Warning, Lost: fmt.Sprintf("%s = %s", name, now),
		Summary:  fmt.Sprintf("is %s, and nothing sets it at boot: after a restart it is %s", now, at),
		ByHand:   fmt.Sprintf("if it is wanted, add the line %s = %s to a file of /etc/sysctl.d", name, now),
		Evidence: []trap.Evidence{trap.Ev("/proc/sys/"+p.key, "%s", now)},
	}
}
