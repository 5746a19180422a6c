package netstart

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"fettle/host"
)

// files are those that may name addresses, links and routes, beside what the managers of
// networks read themselves: what managers run, what daemons of their own set up, what servers
// and the kernel's command line gave. Patterns are of one folder.
var files = []string{
	"/etc/network/if-pre-up.d/*", "/etc/network/if-up.d/*", "/etc/networkd-dispatcher/*.d/*",
	"/etc/NetworkManager/dispatcher.d/*", "/etc/NetworkManager/dispatcher.d/pre-up.d/*",
	"/etc/rc.local", "/etc/rc.d/rc.local", "/etc/dhcpcd.conf", "/etc/crontab", "/etc/cron.d/*",
	"/etc/keepalived/*.conf", "/etc/keepalived/conf.d/*", "/etc/ucarp/*", "/etc/bird/*.conf", "/etc/bird.conf", "/etc/frr/*.conf",
	"/etc/containers/networks/*.json", "/etc/default/*", "/etc/cloud/cloud.cfg.d/*",
	"/etc/systemd/system/*.service", "/etc/systemd/system/*.service.d/*.conf", "/etc/libvirt/qemu/networks/*.xml",
	"/etc/modules-load.d/*", "/etc/modules",
	"/var/lib/dhcp/*.leases", "/run/systemd/netif/leases/*", "/var/lib/NetworkManager/*.lease", "/run/net-*.conf", "/proc/cmdline",
}

// maxScripts is how many programs that files name are read, at most, and maxScript how long one
// may be: a longer one is no script that somebody wrote for a network.
const (
	maxScripts = 100
	maxScript  = 256 << 10
)

func (s *Start) readFiles(ctx context.Context, h *host.Host) error {
	var failed error
	for _, f := range s.conf.Files {
		if b, err := h.ReadFile(ctx, f); err == nil {
			s.take(f, string(b))
		}
	}
	seen := map[string]bool{}
	for _, pattern := range files {
		names, err := expand(ctx, h, pattern)
		for _, name := range names {
			text, textErr := h.ReadShort(ctx, name, maxScript)
			err = cmp.Or(err, textErr)
			s.take(name, text)
			if runsPrograms(name) {
				err = cmp.Or(err, s.scripts(ctx, h, text, seen))
			}
		}
		failed = cmp.Or(failed, err)
		if !addressesOnly(pattern) {
			s.Unread = cmp.Or(s.Unread, err)
		}
	}
	return failed
}

// addressesOnly reports whether files name links and addresses, and can neither run nor set anything.
func addressesOnly(name string) bool {
	return slices.ContainsFunc([]string{"/var/lib/", "/run/", "/etc/libvirt/", "/etc/containers/", "/etc/bird", "/etc/frr/"},
		func(dir string) bool { return strings.HasPrefix(name, dir) })
}

// expand lists the files of a pattern whose last two parts may have wildcards.
func expand(ctx context.Context, h *host.Host, pattern string) ([]string, error) {
	dir, base := path.Split(pattern)
	dirs := []string{path.Clean(dir)}
	if strings.Contains(dir, "*") {
		above, sub := path.Split(path.Clean(dir))
		var err error
		if dirs, err = h.Glob(ctx, path.Clean(above), sub); err != nil {
			return nil, err
		}
	}
	var out []string
	for _, d := range dirs {
		if !strings.Contains(base, "*") {
			out = append(out, path.Join(d, base))
			continue
		}
		names, err := h.Glob(ctx, d, base)
		if err != nil && !host.IsAbsent(err) {
			return nil, err
		}
		out = append(out, names...)
	}
	return out, nil
}

// runsPrograms reports whether a file names programs that run at boot.
func runsPrograms(name string) bool {
	return strings.HasSuffix(name, ".service") || strings.Contains(name, ".service.d/") ||
		strings.HasPrefix(name, "/etc/cron") || strings.HasSuffix(name, "/rc.local") ||
		strings.HasPrefix(name, "/etc/network/") || strings.HasPrefix(name, "/etc/NetworkManager/dispatcher.d/")
}

// scriptFolders are where admins keep their own programs.
var scriptFolders = []string{"/usr/local/", "/etc/", "/opt/", "/root/", "/srv/"}

// scripts reads the programs of admins that a text names.
func (s *Start) scripts(ctx context.Context, h *host.Host, text string, seen map[string]bool) error {
	for w := range strings.FieldsFuncSeq(text, separates) {
		w = path.Clean(strings.TrimLeft(w, "-@:+!"))
		if !ours(w) || seen[w] || len(seen) >= maxScripts {
			continue
		}
		seen[w] = true
		text, err := h.ReadShort(ctx, w, maxScript)
		if err != nil {
			return err
		}
		s.take(w, text)
	}
	return nil
}

func ours(name string) bool {
	for _, dir := range scriptFolders {
		if strings.HasPrefix(name, dir) {
			return true
		}
	}
	return false
}

// Mentions is the file that has the word, among those that are read here; empty if none has.
func (s *Start) Mentions(word string) string { return s.words[word] }

// Runs reports whether one of the host's own processes has the name (comm).
func (s *Start) Runs(comm string) bool { return s.runs[comm] }

// wireguard notes the links that wg-quick(8) makes at boot. What it gives them is beside their keys, in files that are not read.
func (s *Start) wireguard(ctx context.Context, h *host.Host) error {
	if !slices.ContainsFunc(s.Links, func(l host.Link) bool { return l.Info.Kind == "wireguard" }) {
		return nil
	}
	units, err := expand(ctx, h, "/etc/systemd/system/*.wants/wg-quick@*.service")
	for _, u := range units {
		name := strings.TrimSuffix(strings.TrimPrefix(path.Base(u), "wg-quick@"), ".service")
		s.words[name], s.quick[name] = u, true
	}
	return err
}
