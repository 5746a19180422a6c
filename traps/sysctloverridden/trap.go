// Package sysctloverridden finds kernel settings that are not what the files
// of sysctl.d say, and lines that another file undoes.
package sysctloverridden

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/container"
	"fettle/host/format/sysctlconf"
)

//go:embed lore.md
var lore trap.Lore

// Trap is sysctl-overridden.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check, Plan: plan}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	c, err := read(ctx, h)
	if err != nil {
		return err
	}
	found := c.notRead(ctx, h, r)
	keys := c.keys()
	for _, key := range keys {
		f, ok, err := c.judge(ctx, h, key)
		if err != nil {
			r.Unknown(sysctlconf.Dotted(key), err)
		} else if ok {
			r.Found(f)
		}
		found = found || ok || err != nil
	}
	switch {
	case len(c.Unread) > 0:
		r.Unknown("", c.Unread[0])
	case found:
	case len(keys) == 0:
		r.Clear("", "no file of an admin sets kernel parameters")
	default:
		r.Clear("", "the kernel's parameters are what the files say", trap.Ev("sysctl.d", "%d parameters in files of admins", len(keys)))
	}
	return nil
}

// config is what the files say, and which of them packages brought.
type config struct {
	*sysctlconf.Config
	ufw       *sysctlconf.Config
	conffiles map[string]bool
	container bool
}

func read(ctx context.Context, h *host.Host) (*config, error) {
	c, err := sysctlconf.Read(ctx, h, sysctlconf.Installed(ctx, h))
	if err != nil {
		return nil, err
	}
	out := &config{Config: c, container: container.Of(ctx, h) != ""}
	out.ufw, _ = sysctlconf.ReadUfw(ctx, h)
	if b, err := h.ReadFile(ctx, host.DpkgStatus); err == nil {
		out.conffiles = conffiles(b)
	}
	return out, nil
}

// conffiles are the files in /etc/sysctl.d that are packages' own, by dpkg's
// status file: a megabyte or more, which is neither copied nor read by lines.
func conffiles(status []byte) map[string]bool {
	folder := []byte("\n /etc/sysctl.d/")
	out := map[string]bool{}
	for _, rest, ok := bytes.Cut(status, folder); ok; _, rest, ok = bytes.Cut(rest, folder) {
		name := rest
		if i := bytes.IndexAny(rest, " \n"); i >= 0 {
			name = rest[:i]
		}
		out["/etc/sysctl.d/"+string(name)] = true
	}
	return out
}

// brought are files in /etc/sysctl.d that packages of Debian, Ubuntu, Raspberry Pi OS, and the
// images of Amazon and Google bring, for hosts whose dpkg status is not seen whole, or that use rpm.
var brought = []string{
	"10-bufferbloat.conf",
	"10-console-messages.conf",
	"10-ipv6-privacy.conf",
	"10-kernel-hardening.conf",
	"10-link-restrictions.conf",
	"10-lxd-inotify.conf",
	"10-magic-sysrq.conf",
	"10-map-count.conf",
	"10-network-security.conf",
	"10-ptrace.conf",
	"10-zeropage.conf",
	"30-postgresql-shm.conf",
	"98-rpi.conf",
	"99-cloudimg-ipv6.conf",
	"99-amazon.conf",
	"60-gce-network-security.conf",
	"protect-links.conf",
}

// admins tells whether an admin wrote the file.
func (c *config) admins(file string) bool {
	if !strings.HasPrefix(file, "/etc/") && !strings.HasPrefix(file, "/usr/local/") && !strings.HasPrefix(file, "/run/") {
		return false
	}
	return !c.conffiles[file] && !slices.Contains(brought, path.Base(file))
}

// keys are those that admins set, sorted.
func (c *config) keys() []string {
	var out []string
	for _, s := range c.Settings {
		if c.admins(s.Path) && !s.Glob() && !s.Exclude {
			out = append(out, s.Key)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// same compares values as the kernel does: the number of blanks does not count, nor what
// follows numbers as a comment, and numbers may be octal or hexadecimal (kernel/sysctl.c, proc_get_long()).
func same(a, b string) bool {
	return slices.EqualFunc(strings.Fields(sysctlconf.Taken(a)), strings.Fields(sysctlconf.Taken(b)), func(a, b string) bool {
		x, err1 := strconv.ParseInt(a, 0, 64)
		y, err2 := strconv.ParseInt(b, 0, 64)
		return a == b || err1 == nil && err2 == nil && x == y
	})
}

func at(s *sysctlconf.Setting) string { return fmt.Sprintf("%s:%d", s.Path, s.Line) }

// judge looks at one key that an admin sets.
func (c *config) judge(ctx context.Context, h *host.Host, key string) (trap.Finding, bool, error) {
	res := c.Lookup(key)
	win := res.Winner
	f := trap.Finding{Subject: sysctlconf.Dotted(key)}
	if win == nil {
		return f, false, nil // excluded on purpose
	}
	f.Evidence = append(f.Evidence, trap.Ev(at(win)+" (decides)", "%s", win.Value))
	if lost := c.loser(res); lost != nil {
		f.Severity = trap.Notice
		if !c.admins(win.Path) {
			f.Severity = trap.Warning
		}
		f.Summary = fmt.Sprintf("%s sets %s, but %s overrides it with %s", lost.Path, brief(lost.Value), win.Path, brief(win.Value))
		f.ByHand = "remove the line that is wrong: " + at(lost) + " or " + at(win)
		f.Evidence = append(f.Evidence, trap.Ev(at(lost), "%s", lost.Value))
	}
	if text, comment := sysctlconf.MeantAsComment(key, win.Value); comment != "" && f.Severity == 0 && c.admins(win.Path) {
		f.Severity = trap.Warning
		f.Summary = fmt.Sprintf("%s has a comment after the value %s, which the kernel takes for a part of it", win.Path, brief(text))
		f.Detail = trap.Prose("After text, the whole rest of the line is the value; the kernel uses it as it is or refuses it.")
		f.ByHand = "put the comment on a line of its own: " + at(win)
		if now, err := h.ReadString(ctx, "/proc/sys/"+key); err == nil && h.Running() {
			f.Evidence = append(f.Evidence, trap.Ev("/proc/sys/"+key, "%s", now))
		}
		return f, true, nil
	}
	if !h.Running() || skipped(key) || c.container && !container.Has(key) {
		return f, f.Severity > 0, nil
	}
	now, err := h.ReadString(ctx, "/proc/sys/"+key)
	switch {
	case host.IsAbsent(err): // its module is not loaded
		return f, f.Severity > 0, nil
	case err != nil:
		return f, false, err
	case same(now, win.Value) || !c.admins(win.Path):
		return f, f.Severity > 0, nil
	}
	f.Evidence = append(f.Evidence, trap.Ev("/proc/sys/"+key, "%s", now))
	if f.Severity > 0 { // what the files say is not certain: no plan
		f.Detail = trap.Prose("the running value differs")
		return f, true, nil
	}
	f.Severity = trap.Notice
	by := ""
	if c.ufw != nil {
		if u := c.ufw.Lookup(key).Winner; u != nil && same(u.Value, now) {
			by = " by ufw (" + u.Path + ")"
			f.ByHand = "set it in " + u.Path + ", which ufw applies after the boot's files"
		}
	}
	if forwards(key) && now == "1" && f.ByHand == "" {
		f.ByHand = "Docker, libvirt, Kubernetes and VPNs turn it on when they start, and their guests need it: if one of them runs here, set " +
			"it to 1 in " + at(
			win,
		)
	}
	f.Summary = fmt.Sprintf("is %s%s, though %s sets %s", brief(now), by, win.Path, brief(win.Value))
	f.Facts = trap.FactsOf(facts{Key: key, Value: win.Value})
	return f, true, nil
}

// loser is the last line of an admin that sets another value without success.
func (c *config) loser(res sysctlconf.Result) *sysctlconf.Setting {
	for i := len(res.Losers) - 1; i >= 0; i-- {
		l := &res.Losers[i]
		if !l.Glob() && !l.Exclude && c.admins(l.Path) && !same(l.Value, res.Winner.Value) {
			return l
		}
	}
	return nil
}

func brief(v string) string {
	v = strings.Join(strings.Fields(v), " ")
	if len(v) > 40 {
		return v[:37] + "..."
	}
	return v
}

// skipped are keys whose running value programs change on healthy hosts: the
// console's log level, crash handlers, pages that memory did not suffice for, perf's rate, and what network managers
// set for each link.
func skipped(key string) bool {
	switch key {
	case "kernel/printk",
		"kernel/core_pattern",
		"kernel/core_pipe_limit",
		"kernel/hostname",
		"kernel/domainname",
		"vm/nr_hugepages",
		"vm/drop_caches",
		"net/ipv4/route/flush",
		"kernel/perf_event_max_sample_rate",
		"net/ipv4/ip_local_reserved_ports": // sorted and joined to ranges
		return true
	}
	p := strings.Split(key, "/")
	return len(p) == 5 && p[1] == "ipv6" && p[2] == "conf" && p[3] != "all" && p[3] != "default"
}

// forwards tells whether a key makes the host a router.
func forwards(key string) bool {
	return key == "net/ipv4/ip_forward" || key == "net/ipv4/conf/all/forwarding" || key == "net/ipv6/conf/all/forwarding"
}

// notRead speaks of the lines of /etc/sysctl.conf where nobody reads it.
func (c *config) notRead(ctx context.Context, h *host.Host, r *trap.Report) bool {
	f := trap.Finding{
		Subject:  sysctlconf.MainFile,
		Severity: trap.Warning,
		Summary:  "systemd does not read it at boot, and no file of sysctl.d sets what it sets",
		ByHand:   "move its lines to /etc/sysctl.d/99-local.conf, then systemctl restart systemd-sysctl",
	}
	for i := range c.NotRead {
		s := &c.NotRead[i]
		if s.Exclude || s.Glob() {
			continue
		}
		if v, ok := c.Lookup(s.Key).Value(); ok && same(v, s.Value) {
			continue
		}
		if _, err := h.Stat(ctx, "/proc/sys/"+s.Key); host.IsAbsent(err) {
			continue // its module is not loaded
		}
		f.Evidence = append(f.Evidence, trap.Ev(at(s), "%s = %s", sysctlconf.Dotted(s.Key), s.Value))
	}
	if err := cmp.Or(append(slices.Clip(c.Unread), sysctlconf.Unsure(ctx, h))...); err != nil && len(f.Evidence) > 0 {
		r.Unknown(f.Subject, fmt.Errorf("whether what it sets is set at boot is not known: %w", err), f.Evidence...)
		return true
	}
	if len(f.Evidence) > 0 {
		r.Found(f)
		return true
	}
	if _, err := h.ReadFile(ctx, sysctlconf.MainFile); err != nil && !host.IsAbsent(err) {
		r.Unknown(sysctlconf.MainFile, err)
		return true
	}
	return false
}
