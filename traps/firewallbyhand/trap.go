// Package firewallbyhand finds rules of the packet filter that nothing loads at boot.
package firewallbyhand

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/container"
	"fettle/host/fact/netstart"
	"fettle/host/format/nftables"
	"fettle/internal/lazy"
	"fettle/internal/units"
)

//go:embed lore.md
var lore trap.Lore

// Trap is firewall-by-hand.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check}

// loaders are units that load rules at boot, from files of their own.
var loaders = []string{"nftables.service", "netfilter-persistent.service", "iptables.service", "ip6tables.service", "ufw.service",
	"firewalld.service", "shorewall.service", "shorewall6.service", "ferm.service", "ipset.service", "firehol.service",
	"pve-firewall.service", "arno-iptables-firewall.service", "csf.service", "apf.service", "vuurmuur.service"}

// makers are programs that write rules of their own when they start.
var makers = []string{"dockerd", "containerd", "conmon", "libvirtd", "virtnetworkd", "lxd", "incusd", "kubelet", "k3s-server", "k3s-agent",
	"kube-proxy", "calico-node", "cilium-agent", "flanneld", "kube-router", "fail2ban-server", "f2b/server", "sshguard", "sshg-fw-nft-set",
	"crowdsec-firewa", "tailscaled", "netbird", "openvpn", "charon", "charon-systemd", "miniupnpd", "lfd",
	"opensnitchd", "mullvad-daemon", "nordvpnd"}

// ofPrograms begin the names of tables of programs that do not run on: wg-quick(8), NetworkManager,
// networkd, libvirt, podman.
var ofPrograms = []string{"wg-quick-", "nm-shared-", "io.systemd.", "libvirt_network", "netavark"}

// ofServices are tables that a service makes when it starts, by their whole names: lxc-net (LXC 5.0, config/init/common/lxc-net.in),
// Azure's agent (WALinuxAgent 2.13, ga/firewall_manager.py).
var ofServices = []string{"lxc", "walinuxagent"}

// azure is the file of Azure's agent, which writes rules into the table security of iptables (the same file).
const azure = "/etc/waagent.conf"

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if !h.Running() {
		return host.ErrNotRunning
	}
	if container.NetworkGiven(ctx, h) {
		r.NotApplicable("", "the container engine sets up its packet filter")
		return nil
	}
	chains, err := nftables.Read(ctx, h)
	if err != nil {
		return err
	}
	tables, err := guarded(ctx, h, count(chains))
	if err != nil {
		return err
	}
	if len(tables) == 0 {
		r.NotApplicable("", "the packet filter has no rules")
		return nil
	}
	us, err := h.Units(ctx, loaders...)
	if err != nil {
		return err
	}
	s, err := netstart.Read(ctx, h)
	if err != nil {
		return err
	}
	return judge(ctx, h, r, tables, us, s)
}

// table is one with rules.
type table struct {
	family, name  string
	chains, rules int
}

// count sums up the tables that hold a rule, or a chain that drops.
func count(chains []nftables.Chain) (out []table) {
	for _, c := range chains {
		n := len(c.Rules)
		if strings.Contains(c.Hook, "policy drop") {
			n++
		}
		i := slices.IndexFunc(out, func(t table) bool { return t.family == c.Family && t.name == c.Table })
		if i < 0 {
			i = len(out)
			out = append(out, table{family: c.Family, name: c.Table})
		}
		out[i].chains++
		out[i].rules += n
	}
	return slices.DeleteFunc(out, func(t table) bool {
		return t.rules == 0 || slices.Contains(ofServices, t.name) ||
			slices.ContainsFunc(ofPrograms, func(p string) bool { return strings.HasPrefix(t.name, p) })
	})
}

// guarded leaves out the table of Azure's agent.
func guarded(ctx context.Context, h *host.Host, tables []table) ([]table, error) {
	security := func(t table) bool { return t.name == "security" && (t.family == "ip" || t.family == nftables.Legacy) }
	if !slices.ContainsFunc(tables, security) {
		return tables, nil
	}
	there, err := h.Exists(ctx, azure)
	if err != nil || !there {
		return tables, err
	}
	return slices.DeleteFunc(tables, security), nil
}

func judge(ctx context.Context, h *host.Host, r *trap.Report, tables []table, us map[string]host.Unit, s *netstart.Start) error {
	for _, m := range makers {
		if s.Runs(m) {
			r.NotApplicable("", m+" writes rules when it starts: which ones it brings back is not in any file")
			return nil
		}
	}
	for _, l := range s.Links {
		if l.Info.Kind == "wireguard" {
			r.NotApplicable("", "wg-quick's PostUp may add rules for "+l.Name+", whose configuration holds keys and is not read")
			return nil
		}
	}
	for _, l := range loaders[1:] {
		if u := us[l]; u.Active() || starts(u) {
			if off, err := switchedOff(ctx, h, l); err != nil {
				return err
			} else if off {
				continue
			}
			r.NotApplicable("", l+" loads rules at boot")
			return nil
		}
	}
	conf, err := configured(ctx, h)
	if err != nil {
		return err
	}
	for _, word := range []string{"iptables", "iptables-restore", "iptables-nft-restore", "/sbin/iptables", "/usr/sbin/iptables",
		"/sbin/iptables-restore", "/usr/sbin/iptables-restore", "nft", "/usr/sbin/nft", "/sbin/nft",
		"shared"} { // NetworkManager's method=shared
		if f := s.Mentions(word); f != "" && !strings.HasSuffix(f, "/nftables.service") {
			r.NotApplicable("", f+" calls "+word+": what it loads is not known")
			return nil
		}
	}
	for _, t := range tables {
		what := t.family + " " + t.name
		if named, boots := conf[what], starts(us["nftables.service"]); s.Unread != nil && !(named && boots) {
			r.Unknown(what, fmt.Errorf("whether something loads it at boot is not known: %w", s.Unread))
			continue
		}
		if t.family == nftables.Legacy || t.family == nftables.Legacy6 {
			f := t.finding(what, "was made by hand: nothing loads it at boot",
				"if it is wanted: netfilter-persistent save (Debian's package iptables-persistent), or the same rules in /etc/nftables.conf")
			f.Lost, f.Evidence[0].Source = "the rules of "+what, t.family+"-save"
			r.Found(f)
			continue
		}
		switch named, boots := conf[what], starts(us["nftables.service"]); {
		case named && boots:
			r.Clear(what, "nftables.service loads it at boot")
		case named:
			r.Found(t.finding(what, "was loaded from /etc/nftables.conf by hand: nftables.service, which does it at boot, is not enabled",
				"systemctl enable nftables.service"))
		default:
			r.Found(t.finding(what, "was made by hand: nothing loads it at boot",
				"if it is wanted, add it to /etc/nftables.conf (nft list table "+what+"), and systemctl enable nftables.service"))
		}
	}
	return nil
}

// ufwOn is what ufw-init looks for (ufw 0.36, src/ufw-init-functions): Ubuntu enables the unit everywhere, and ufw nowhere.
var ufwOn = lazy.Regexp(`(?im)^\s*ENABLED\s*=\s*["']?yes`)

// switchedOff reports whether a unit loads nothing although it is started.
func switchedOff(ctx context.Context, h *host.Host, unit string) (bool, error) {
	if unit != "ufw.service" {
		return false, nil
	}
	text, err := h.ReadString(ctx, "/etc/ufw/ufw.conf")
	if err != nil && !host.IsAbsent(err) {
		return false, err
	}
	return !ufwOn().MatchString(text), nil
}

// starts tells whether a unit is started at boot.
func starts(u host.Unit) bool {
	return u.UnitFileState == "enabled" || u.UnitFileState == "enabled-runtime" || u.UnitFileState == "generated" || u.UnitFileState == "alias"
}

func (t *table) finding(what, summary, byHand string) trap.Finding {
	return trap.Finding{
		Subject: what, Severity: trap.Warning, Lost: "the nftables table " + what, Summary: summary, ByHand: byHand,
		Evidence: []trap.Evidence{trap.Ev("nft list ruleset", "table %s: %s in %s", what, units.Count(t.rules, "rule", "rules"),
			units.Count(t.chains, "chain", "chains"))},
	}
}

// configured are the tables that nftables' own files name, by "family name".
func configured(ctx context.Context, h *host.Host) (map[string]bool, error) {
	out := map[string]bool{}
	files := []string{"/etc/nftables.conf", "/etc/sysconfig/nftables.conf"}
	for _, dir := range []string{"/etc/nftables.d", "/etc/nftables", "/etc/sysconfig/nftables"} {
		names, err := h.Glob(ctx, dir, "*")
		if err != nil && !host.IsAbsent(err) {
			return nil, err
		}
		files = append(files, names...)
	}
	for i := 0; i < len(files) && i < maxFiles; i++ {
		f := files[i]
		text, err := h.ReadString(ctx, f)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", f, err)
		}
		for line := range strings.Lines(text) {
			line, _, _ = strings.Cut(line, "#")
			more, err := included(ctx, h, line)
			if err != nil {
				return nil, err
			}
			for _, m := range more {
				if !slices.Contains(files, m) {
					files = append(files, m)
				}
			}
			w := strings.Fields(strings.ReplaceAll(line, "{", " { "))
			if i := slices.Index(w, "table"); i >= 0 && len(w) > i+1 { // table [FAMILY] NAME {; add table …
				if len(w) > i+2 && w[i+2] != "{" {
					out[w[i+1]+" "+strings.TrimSuffix(w[i+2], ";")] = true
				} else {
					out["ip "+w[i+1]] = true
				}
			}
		}
	}
	return out, nil
}

// maxFiles is how many files of nftables are read, at most.
const maxFiles = 500

// include is nft(8)'s statement; a path that is not absolute is one below /etc.
var include = lazy.Regexp(`^\s*include\s+["']([^"']+)["']`)

// included are the files that a line includes.
func included(ctx context.Context, h *host.Host, line string) ([]string, error) {
	m := include().FindStringSubmatch(line)
	if m == nil {
		return nil, nil
	}
	name := m[1]
	if !path.IsAbs(name) {
		name = path.Join("/etc", name)
	}
	if !strings.ContainsAny(name, "*?[") {
		return []string{name}, nil
	}
	names, err := h.Glob(ctx, path.Dir(name), path.Base(name))
	if host.IsAbsent(err) {
		return nil, nil
	}
	return names, err
}
