package sosreport

import (
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	"fettle/host"
	"fettle/host/archive"
)

// manifest is what sos_reports/manifest.json (sos 4.0 and later) says of what
// sos went to collect.
type manifest struct {
	Start    string // local time of the host
	specs    [][]string
	commands map[string]command // by the file in the report
	byExec   map[string]command
	gone     map[string]bool // files that were looked for without success
	copied   []string        // files that were taken along, sorted
}

// command is one that sos ran.
type command struct {
	Exec string `json:"exec"`
	File string `json:"filepath"`
	Code int    `json:"return_code"`
}

// usable tells that the output is whole: 124 is what sos notes for a command
// that it cut off, 126 and 127 for one that could not be started.
func (c command) usable() bool { return c.File != "" && (c.Code < 124 || c.Code > 127) }

func readManifest(t *archive.Tree) manifest {
	m := manifest{commands: map[string]command{}, byExec: map[string]command{}}
	b, err := t.ReadFile("/sos_reports/manifest.json", 4*host.ReadLimit)
	if err != nil {
		m.plugins3(t) // before sos 4.0 there was none
		return m
	}
	m.parse(b)
	return m
}

// plugins3 takes from a report of sos 3.5 to 3.9 which plugins ran to their end: its
// version.txt names those that were loaded, a plugin that failed left its backtrace beside
// the logs, and one that took too long was told in them (collect_plugin and
// collect in sos/sosreport.py).
func (m *manifest) plugins3(t *archive.Tree) {
	read := func(name string) string {
		b, _ := t.ReadFile(name, host.ReadLimit)
		return string(b)
	}
	first, plugins, _ := strings.Cut(read("/version.txt"), "\n")
	minor, ok := strings.CutPrefix(strings.TrimSpace(first), "sosreport: 3.")
	if !ok || minor == "" || minor[0] < '5' || minor[0] > '9' { // also 3.9.1
		return
	}
	logs := read("/sos_logs/sos.log") + read("/sos_logs/ui.log")
	whole := func(plugin string) bool {
		_, err := t.Stat("/sos_logs/"+plugin+"-plugin-errors.txt", false)
		return strings.Contains("\n"+plugins, "\n"+plugin+": ") && host.IsAbsent(err) && !strings.Contains(logs, "Plugin "+plugin+" timed out")
	}
	for plugin, specs := range always3 {
		if whole(plugin) {
			m.addSpecs(specs...)
		}
	}
	if !whole("dpkg") {
		return
	}
	for plugin, specs := range alwaysDebian3 {
		if whole(plugin) {
			m.addSpecs(specs...)
		}
	}
}

func (m *manifest) parse(b []byte) {
	var raw struct {
		StartTime  string `json:"start_time"`
		Cmdline    string
		Policy     string
		Version    string
		Components struct {
			Report struct {
				Sysroot string
				Plugins map[string]struct {
					TimeoutHit bool `json:"timeout_hit"`
					Commands   []command
					Files      []struct {
						Specification string
						Copied        []string `json:"files_copied"` // sos 4.2 and later
					}
				}
			}
		}
	}
	if json.Unmarshal(b, &raw) != nil {
		return
	}
	m.Start = raw.StartTime
	// Told to leave files out, or looking at another root, sos says nothing sure.
	partly := strings.Contains(raw.Cmdline, "--skip-files") || strings.Contains(raw.Cmdline, "-F ") ||
		raw.Components.Report.Sysroot != "" && raw.Components.Report.Sysroot != "/"
	for name, p := range raw.Components.Report.Plugins {
		for _, c := range p.Commands {
			m.commands[c.File] = c
			m.byExec[c.Exec] = c
		}
		for _, f := range p.Files {
			for _, name := range f.Copied {
				m.copied = append(m.copied, path.Clean("/"+name))
			}
		}
		if p.TimeoutHit || partly {
			continue // cut off: what it lacks may be there
		}
		m.addSpecs(always[name]...)
		if name == "ssh" && followsIncludes(raw.Version) {
			m.addSpecs("/etc/ssh/ssh_config.d/*.conf", "/etc/ssh/sshd_config.d/*.conf")
		}
		if raw.Policy == "Debian" || raw.Policy == "Ubuntu" {
			m.addSpecs(alwaysDebian[name]...)
		}
		for _, f := range p.Files {
			m.addSpecs(f.Specification)
		}
	}
	slices.Sort(m.copied)
}

// took reports whether sos copied a file, or any below a folder, though the report may
// lack it by now: whoever passed it on had cut it down.
func (m *manifest) took(name string) bool {
	_, found := slices.BinarySearch(m.copied, name)
	return found || m.below(name)
}

// below reports whether any copied file lies in a folder.
func (m *manifest) below(name string) bool {
	i, _ := slices.BinarySearch(m.copied, name+"/")
	return i < len(m.copied) && strings.HasPrefix(m.copied[i], name+"/")
}

// lacks reports whether a folder as the report has it lacks any name that sos copied.
func (m *manifest) lacks(dir string, has []host.Entry) bool {
	dir = strings.TrimSuffix(dir, "/") + "/"
	i, _ := slices.BinarySearch(m.copied, dir)
	last := ""
	for ; i < len(m.copied) && strings.HasPrefix(m.copied[i], dir); i++ {
		name, _, _ := strings.Cut(m.copied[i][len(dir):], "/")
		if name == last {
			continue
		}
		last = name
		if !slices.ContainsFunc(has, func(e host.Entry) bool { return e.Name == name }) {
			return true
		}
	}
	return false
}

// followsIncludes: sos 4.9 takes what ssh_config and sshd_config include, and 4.0
// did not; of those between nothing is taken for sure.
func followsIncludes(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	return err1 == nil && err2 == nil && (a > 4 || a == 4 && b >= 9)
}

func (m *manifest) addSpecs(specs ...string) {
	for _, s := range specs {
		if strings.HasPrefix(s, "/") {
			m.specs = append(m.specs, split(path.Clean(s)))
		}
	}
}

// mergeUsr has a specification below /lib count below /usr/lib too, where the
// one is a link to the other.
func (m *manifest) mergeUsr() {
	for _, s := range m.specs {
		switch {
		case s[0] == "lib":
			m.specs = append(m.specs, append([]string{"usr"}, s...))
		case len(s) > 1 && s[0] == "usr" && s[1] == "lib":
			m.specs = append(m.specs, s[1:])
		}
	}
}

// The manifest leaves out a specification that met nothing, so it cannot show
// that a folder was looked for without success. These are specifications that a plugin
// has without condition in every sos from 4.0 to 4.9 (sos/report/plugins):
// where the plugin ran to its end, it looked for them.
var (
	always = map[string][]string{
		"kernel":     {"/etc/modprobe.conf", "/etc/modprobe.d", "/etc/sysctl.conf", "/etc/sysctl.d", "/lib/sysctl.d", "/proc/cmdline"},
		"ldap":       {"/etc/ldap.conf"},
		"memory":     {"/proc/meminfo", "/proc/vmstat", "/proc/swaps", "/sys/kernel/mm/ksm"},
		"networking": {"/etc/host*", "/etc/network*", "/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/iproute2"},
		"sssd":       {"/etc/sssd/sssd.conf", "/etc/sssd/conf.d/*.conf"},
		"systemd":    {"/etc/systemd", "/lib/systemd/system", "/lib/systemd/user", "/etc/modules-load.d/*.conf"},
	}
	alwaysDebian = map[string][]string{
		"ldap": {"/etc/ldap/ldap.conf"},
		"networking": {
			"/etc/network/interfaces",
			"/etc/network/interfaces.d",
			"/etc/netplan/*.yaml",
			"/lib/netplan/*.yaml",
			"/run/netplan/*.yaml",
			"/run/systemd/network",
		},
	}
)

// The same of sos 3.5 to 3.9 (sos/plugins).
var (
	always3 = map[string][]string{
		"kernel":     {"/etc/modprobe.conf", "/etc/modprobe.d", "/etc/sysctl.conf", "/etc/sysctl.d", "/lib/sysctl.d", "/proc/cmdline"},
		"ldap":       {"/etc/ldap.conf"},
		"memory":     {"/proc/meminfo", "/proc/vmstat"},
		"networking": {"/etc/host*", "/etc/network*", "/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/iproute2"},
		"sssd":       {"/etc/sssd/sssd.conf"},
		"systemd":    {"/etc/systemd", "/lib/systemd/system", "/lib/systemd/user"},
	}
	alwaysDebian3 = map[string][]string{
		"ldap":       {"/etc/ldap/ldap.conf"},
		"networking": {"/etc/network/interfaces", "/etc/network/interfaces.d"},
	}
)

// partial are places of which sos takes a part although a specification
// covers them: logs by size and age, and what plugins forbid for its secrets
// (add_forbidden_path in sos/report/plugins, 4.0 to 4.9).
var partial = []string{"/var/log", "/proc/net/rpc", "/proc/net/cdp", "/proc/fs", "/sys/net", "/sys/kernel/debug", "/etc/shadow",
	"/etc/gshadow", "/etc/ssl", "/etc/pki", "/etc/ssh", "/etc/wpa_supplicant", "/etc/sudoers", "/etc/pam_ldap.conf", "/etc/libvirt/secrets"}

// knownAbsent reports whether a path that is not in the report was not on the
// host either: a specification covers it, and nothing kept sos from it.
func (m *manifest) knownAbsent(name string) bool {
	return m.gone[name] || !m.took(name) && m.covered(name)
}

// covered reports whether a specification covers a path, and nothing kept sos from it.
func (m *manifest) covered(name string) bool {
	for _, p := range partial {
		if name == p || strings.HasPrefix(name, p+"/") {
			return false
		}
	}
	for _, suffix := range []string{".pyc", ".pyo", ".swp", ".key", ".pem"} {
		if strings.HasSuffix(name, suffix) {
			return false
		}
	}
	want := split(name)
	for _, spec := range m.specs {
		if covers(spec, want) {
			return true
		}
	}
	return false
}

func split(name string) []string { return strings.Split(strings.Trim(name, "/"), "/") }

// covers reports whether a specification matches a path or one of the folders
// above it. sos expands with Python's glob, whose * finds no hidden names,
// neither in the specification nor below it.
func covers(spec, name []string) bool {
	if len(name) < len(spec) {
		return false
	}
	for i, c := range name {
		if i >= len(spec) {
			if strings.HasPrefix(c, ".") {
				return false
			}
			continue
		}
		ok, err := path.Match(spec[i], c)
		if err != nil || !ok || strings.HasPrefix(c, ".") && !strings.HasPrefix(spec[i], ".") {
			return false
		}
	}
	return true
}

// listed reports whether the report's listing of a folder is whole: sos took
// the folder, or every name in it, or every name with the ending that
// programs read there (/etc/netplan/*.yaml).
func (m *manifest) listed(name string) bool {
	if m.covered(name) {
		return true
	}
	want := split(name)
	for _, spec := range m.specs {
		if len(spec) > len(want) && covers(spec[:len(want)], want) {
			if c := spec[len(want)]; c == "*" || len(spec) == len(want)+1 && strings.HasPrefix(c, "*.") && !strings.ContainsAny(c[1:], "*?[") {
				return true
			}
		}
	}
	return false
}

// missing is the error for a path that the report does not hold.
func (m *manifest) missing(op, name string) error {
	if m.knownAbsent(name) {
		return &pathError{Op: op, Path: name, Err: host.ErrAbsent}
	}
	return notCollected(op, name)
}
