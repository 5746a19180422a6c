package snapshot

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host/fact/startup"
	"fettle/host/format/nftables"
	"fettle/internal/sorted"
	"fettle/internal/units"
)

// Difference is one thing that is not as it was, named by its cause: what it took with it
// is told beside it.
type Difference struct {
	Area     Area          `json:"area"`
	Subject  string        `json:"subject"`
	Severity trap.Severity `json:"severity"`
	// Summary says what happened to the subject, How what to do or to look at.
	Summary string `json:"summary"`
	How     string `json:"how,omitempty"`
	// With is what is missing because of it.
	With []string `json:"with,omitempty"`
}

// Comparison is what two states of a host differ in.
type Comparison struct {
	// Restarted: the host started anew between them.
	Restarted bool         `json:"restarted"`
	Lost      []Difference `json:"lost"`
	// New is what was not there before: it is told, and is no fault.
	New []Difference `json:"new,omitempty"`
	// NotCompared says, of each area that one of the two could not read, why.
	NotCompared map[Area]string `json:"not_compared,omitempty"`
}

// comparer finds what was lost from was to now.
type comparer struct {
	was, now *State
	out      []Difference
}

// Compare tells what now lacks of was. What follows from something else is reported with it.
func Compare(was, now *State) Comparison {
	c := &comparer{was: was, now: now, out: []Difference{}}
	out := Comparison{Restarted: was.BootID != now.BootID, NotCompared: map[Area]string{}}
	for _, a := range Areas {
		if why := cmp.Or(was.Unread[a], now.Unread[a]); why != "" {
			out.NotCompared[a] = why
		}
	}
	for _, a := range Areas {
		if compare := areas[a]; out.NotCompared[a] == "" {
			compare(c)
		}
	}
	out.Lost = c.out
	sorted.By(out.Lost, func(a, b Difference) int { return cmp.Compare(b.Severity, a.Severity) })
	if out.NotCompared[Listeners] == "" {
		out.New = appeared(was, now)
	}
	return out
}

var areas = map[Area]func(*comparer){
	Routes: (*comparer).routes, Links: (*comparer).links, Mounts: (*comparer).mounts, Arrays: (*comparer).arrays, Units: (*comparer).units,
	Containers: (*comparer).containers, Listeners: (*comparer).listeners, Firewall: (*comparer).firewall, Sysctls: (*comparer).sysctls,
	Names: (*comparer).names,
}

func (c *comparer) lost(a Area, s trap.Severity, subject, summary, how string) {
	c.out = append(c.out, Difference{Area: a, Subject: subject, Severity: s, Summary: summary, How: how})
}

// with notes what is missing because something else is lost; false: that is not.
func (c *comparer) with(a Area, subject, what string) bool {
	for i := len(c.out) - 1; i >= 0; i-- { // the last that was said of it
		if d := &c.out[i]; d.Area == a && d.Subject == subject {
			if !slices.Contains(d.With, what) {
				d.With = append(d.With, what)
			}
			return true
		}
	}
	return false
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (c *comparer) units() {
	for _, name := range keys(c.was.Units) {
		was, now := c.was.Units[name], c.now.Units[name]
		if was.Active != "active" && was.Active != "reloading" || now.Active == "active" || now.Active == "reloading" || c.needless(name, was) {
			c.dropIns(name, was, now)
			c.limits(name, was, now)
			continue
		}
		c.unit(name, was, now)
	}
	for _, name := range keys(c.now.Units) {
		if was := c.was.Units[name]; c.now.Units[name].Active == "failed" && was.Active != "failed" && was.Active != "active" &&
			!c.now.Units[name].Transient {
			c.lost(Units, trap.Warning, name, "failed at this start; it had not failed before", "journalctl -b -u "+name)
		}
	}
}

// seldom are services of systemd's that do something at a system's very first start alone
// (ConditionFirstBoot=, a machine-id that is mounted), or at the first one after an update
// (ConditionNeedsUpdate=, systemd.unit(5); systemd 252 and 257, units/).
var seldom = []string{"systemd-machine-id-commit.service", "systemd-firstboot.service", "systemd-homed-firstboot.service",
	"ldconfig.service", "systemd-hwdb-update.service", "systemd-journal-catalog-update.service", "systemd-sysusers.service",
	"systemd-update-done.service"}

// needless: it is started when somebody needs it, or belongs to a session, or had done its work.
func (c *comparer) needless(name string, was Unit) bool {
	switch kind := name[strings.LastIndexByte(name, '.')+1:]; {
	case strings.HasPrefix(name, "user@"), strings.HasPrefix(name, "user-runtime-dir@"), strings.HasPrefix(name, "session-"):
		return true
	case slices.Contains(seldom, name):
		return true
	case kind == "mount" || kind == "swap":
		return true // compared as what they are
	case kind == "service" && was.Type == "oneshot" && was.Sub != "exited":
		return true
	case was.File == "static" && !was.Started:
		return true // by D-Bus, by udev or by another program
	}
	return slices.ContainsFunc(was.TriggeredBy, func(t string) bool { return c.now.Units[t].Active == "active" })
}

func (c *comparer) unit(name string, was, now Unit) {
	see := "journalctl -b -u " + name
	switch {
	case now.Active == "failed":
		c.lost(Units, trap.Warning, name, "failed at this start", see)
	case now.Active == "activating":
		c.lost(Units, trap.Notice, name, "is still starting", "systemctl list-jobs")
	case was.Transient:
		c.lost(Units, trap.Warning, name, "is gone: it had been started by systemd-run", "write a unit file, and enable it")
	case !was.Started && (was.File == "disabled" || was.File == "linked" || was.File == "enabled-runtime"):
		c.lost(Units, trap.Warning, name, "does not run: it had been started by hand, and is not enabled", "systemctl enable --now "+name)
	case was.File == "masked" || was.File == "masked-runtime":
		c.lost(Units, trap.Warning, name, "does not run: it is masked, and had run on since", "systemctl unmask "+name)
	default:
		c.lost(Units, trap.Warning, name, "does not run, and has not failed: nothing started it, a condition was not met, or it has ended",
			"systemctl status "+name)
	}
	if sshd(name) {
		c.out[len(c.out)-1].Severity = trap.Critical
	}
}

func sshd(unit string) bool {
	return slices.Contains([]string{"ssh.service", "sshd.service", "ssh.socket", "sshd.socket"}, unit)
}

// dropIns reports what systemctl set-property --runtime or systemctl edit --runtime had set.
func (c *comparer) dropIns(name string, was, now Unit) {
	for _, d := range was.Runtime {
		if now.Active == "active" && !slices.Contains(now.Runtime, d) {
			c.lost(Units, trap.Warning, name, "runs without "+d+", which was set until the next start only",
				"systemctl edit "+name+", or systemctl set-property without --runtime")
			return
		}
	}
}

// limits reports hard limits that are lower than they were. Those of processes differ by the
// memory that the kernel found.
func (c *comparer) limits(name string, was, now Unit) {
	for _, l := range startup.LimitNames {
		had, ok := was.Limits[l]
		if has, still := now.Limits[l]; ok && still && has < had && l != "LimitNPROC" && now.Active == "active" {
			c.lost(Units, trap.Warning, name, fmt.Sprintf("runs with %s=%s; it was %s", l, has, had), "systemctl edit "+name)
			return
		}
	}
}

func (c *comparer) mounts() {
	for _, point := range keys(c.was.Mounts) {
		was := c.was.Mounts[point]
		now, there := c.now.Mounts[point]
		switch {
		case !there:
			s := trap.Warning
			if was.Type == "tmpfs" {
				s = trap.Notice
			}
			c.lost(Mounts, s, point, fmt.Sprintf("is not mounted: it was %s from %s", was.Type, was.Device), "findmnt --verify; systemctl --failed")
		case now.ReadOnly && !was.ReadOnly:
			c.lost(Mounts, trap.Critical, point, "is mounted read-only; it was writable", "dmesg; its line in /etc/fstab")
		case now.Type != was.Type:
			c.lost(Mounts, trap.Warning, point, fmt.Sprintf("has another file system: %s from %s, it was %s from %s", now.Type, now.Device,
				was.Type, was.Device), "its line in /etc/fstab")
		}
	}
}

func (c *comparer) arrays() {
	for _, name := range keys(c.was.Arrays) {
		was := c.was.Arrays[name]
		now, there := c.now.Arrays[name]
		switch {
		case !there && c.renamed(name):
			c.lost(Arrays, trap.Notice, name, "is not there; an array of the same level is, by another number",
				"compare mdadm.conf with the one in the initramfs: update-initramfs -u")
		case !there:
			c.lost(Arrays, trap.Critical, name, "was not assembled", "cat /proc/mdstat; mdadm --assemble --scan --verbose")
		case now.Missing > was.Missing:
			c.lost(Arrays, trap.Critical, name, fmt.Sprintf("came back without %d of its members", now.Missing-was.Missing), "cat /proc/mdstat")
		}
	}
	for _, s := range c.was.Swaps {
		if !slices.Contains(c.now.Swaps, s) {
			c.lost(Arrays, trap.Warning, s, "is no swap any more", "swapon --show; its line in /etc/fstab")
		}
	}
}

func (c *comparer) renamed(name string) bool {
	for _, other := range keys(c.now.Arrays) {
		if _, known := c.was.Arrays[other]; !known && c.now.Arrays[other].Level == c.was.Arrays[name].Level {
			return true
		}
	}
	return false
}

func (c *comparer) containers() {
	for _, id := range keys(c.was.Containers) {
		if _, there := c.now.Containers[id]; !there {
			was := c.was.Containers[id]
			c.lost(Containers, trap.Warning, id, "does not run ("+was.Program+")", "its restart policy: docker inspect, podman inspect")
		}
	}
}

func (c *comparer) listeners() {
	for i := range c.was.Listeners {
		l := &c.was.Listeners[i]
		if l.Passing || slices.ContainsFunc(c.now.Listeners, func(o Listener) bool { return o.id() == l.id() }) {
			continue
		}
		if c.with(Units, l.Unit, l.id()) || c.withAddress(l) || c.ofNeedless(l) {
			continue
		}
		s, how := trap.Warning, "systemctl status "+l.Unit
		summary := "nobody listens; it was " + cmp.Or(l.Program, "an unknown program")
		if l.Unit == "" || strings.HasPrefix(l.Unit, "session-") {
			how = "if it is wanted, give it a unit of its own"
			summary += ", which no unit had started"
		}
		if sshd(l.Unit) {
			s = trap.Critical
		}
		c.lost(Listeners, s, l.id(), summary, how)
	}
}

// withAddress tells whether the address is gone, with which the listener is told.
func (c *comparer) withAddress(l *Listener) bool {
	for _, d := range c.out {
		if d.Area == Links && slices.ContainsFunc(append(d.With, d.Subject), func(s string) bool {
			return strings.HasPrefix(s, l.Address+"/") || strings.HasPrefix(s, l.Address+" ")
		}) {
			return c.with(Links, d.Subject, l.id())
		}
	}
	return false
}

// ofNeedless: what is started when needed listens when it runs.
func (c *comparer) ofNeedless(l *Listener) bool {
	u, known := c.was.Units[l.Unit]
	return known && c.now.Units[l.Unit].Active != "active" && c.needless(l.Unit, u)
}

func (c *comparer) firewall() {
	lost := map[string][2]int{} // by table: chains gone, rules gone
	for _, chain := range keys(c.was.Chains) {
		was := c.was.Chains[chain]
		now, there := c.now.Chains[chain]
		table := chain[:strings.LastIndexByte(chain, ' ')]
		n := lost[table]
		switch {
		case !there && len(was) > 0:
			lost[table] = [2]int{n[0] + 1, n[1] + missing(was, nil)}
		case there && !ofProgram(chain):
			n[1] += missing(was, now)
			lost[table] = n
			if hooks(was) != hooks(now) {
				c.lost(Firewall, trap.Warning, tables(chain), "has another policy, hook or priority", rulesAt)
			}
		}
	}
	for _, table := range keys(lost) {
		n := lost[table]
		if n[1] == 0 && n[0] == 0 {
			continue
		}
		var lacks []string
		if n[1] > 0 {
			lacks = append(lacks, units.Count(n[1], "rule", "rules"))
		}
		if n[0] > 0 {
			lacks = append(lacks, units.Count(n[0], "chain", "chains"))
		}
		what := "lacks " + strings.Join(lacks, " and ")
		if !slices.ContainsFunc(keys(c.now.Chains), func(k string) bool { return strings.HasPrefix(k, table+" ") }) {
			what = "is gone, with " + strings.Join(lacks, " and ")
		}
		c.lost(Firewall, trap.Warning, tables(table), what, rulesAt)
	}
}

// tables names a table, or a chain of it, after what shows it.
func tables(of string) string {
	if strings.HasPrefix(of, nftables.Legacy+" ") || strings.HasPrefix(of, nftables.Legacy6+" ") {
		return of
	}
	return "nftables " + of
}

const rulesAt = "nft list ruleset; /etc/nftables.conf; netfilter-persistent, ufw, firewalld"

// hooks is the mark of a chain's own line.
func hooks(marks []string) string {
	for _, m := range marks {
		if strings.HasPrefix(m, hook) {
			return m
		}
	}
	return ""
}

// ofProgram: chains into which programs write as things happen.
func ofProgram(chain string) bool {
	name := chain[strings.LastIndexByte(chain, ' ')+1:]
	for _, p := range []string{"f2b-", "DOCKER", "KUBE-", "cali-", "LIBVIRT_", "guest_", "CNI-", "NETAVARK", "ts-", "sshguard", "blocklist"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// missing is how many rules of was are not in now.
func missing(was, now []string) (n int) {
	left := map[string]int{}
	for _, m := range now {
		left[m]++
	}
	for _, m := range was {
		if left[m]--; left[m] < 0 && !strings.HasPrefix(m, hook) {
			n++
		}
	}
	return n
}

func (c *comparer) sysctls() {
	for _, key := range keys(c.was.Sysctls) {
		was := c.was.Sysctls[key]
		now, there := c.now.Sysctls[key]
		if !there || now == was || slices.Contains(computed, key) || c.follows(key) {
			continue
		}
		name := strings.ReplaceAll(key, "/", ".")
		c.lost(Sysctls, trap.Warning, name, fmt.Sprintf("is %s; it was %s", now, was), "set it in a file of /etc/sysctl.d")
	}
}

// follows: writing ip_forward resets the redirects and forwarding of every interface
// (net/ipv4/devinet.c, inet_forward_change), as all/forwarding does for IPv6.
func (c *comparer) follows(key string) bool {
	for cause, parts := range map[string][]string{
		"net/ipv4/ip_forward":          {"net/ipv4/conf/", "accept_redirects,send_redirects,forwarding"},
		"net/ipv6/conf/all/forwarding": {"net/ipv6/conf/", "accept_redirects,accept_ra,forwarding"},
	} {
		last := key[strings.LastIndexByte(key, '/')+1:]
		if key != cause && c.was.Sysctls[cause] != c.now.Sysctls[cause] && strings.HasPrefix(key, parts[0]) &&
			slices.Contains(strings.Split(parts[1], ","), last) {
			return true
		}
	}
	return false
}

func (c *comparer) names() {
	if c.was.Host != c.now.Host {
		c.lost(Names, trap.Warning, c.was.Host, "is called "+c.now.Host+" now: its name had been set until the next start only",
			"hostnamectl set-hostname "+c.was.Host)
	}
	if c.was.Zone != c.now.Zone && c.was.Zone != "" {
		c.lost(Names, trap.Warning, c.was.Zone, "is not the time zone any more; it is "+cmp.Or(c.now.Zone, "UTC"), "timedatectl set-timezone")
	}
	if len(c.was.Resolvers) > 0 && !slices.ContainsFunc(c.was.Resolvers, func(r string) bool { return slices.Contains(c.now.Resolvers, r) }) {
		c.lost(Names, trap.Warning, "name servers", fmt.Sprintf("are %s; they were %s", cmp.Or(strings.Join(c.now.Resolvers, ", "), "none"),
			strings.Join(c.was.Resolvers, ", ")), "what writes /etc/resolv.conf: ls -l /etc/resolv.conf")
	}
}

// appeared are listeners that were not there before.
func appeared(was, now *State) (out []Difference) {
	for i := range now.Listeners {
		l := &now.Listeners[i]
		if !l.Passing && !slices.ContainsFunc(was.Listeners, func(o Listener) bool { return o.id() == l.id() }) {
			out = append(out, Difference{Area: Listeners, Subject: l.id(), Severity: trap.Notice,
				Summary: "listens, and did not before (" + cmp.Or(l.Program, "an unknown program") + ")"})
		}
	}
	return out
}
