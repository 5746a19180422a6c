// Package tftpd reads which folders the TFTP servers of a host serve: dnsmasq,
// tftpd-hpa and atftpd, started by Debian's scripts, by systemd or by inetd.
package tftpd

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/host"
	"fettle/host/format/osrelease"
)

// Root is one folder that is served.
type Root struct {
	Path   string
	Server string // "dnsmasq", "tftpd-hpa", "atftpd"
	From   string // "/etc/default/tftpd-hpa:6"
}

// Roots are the folders that configurations name, each once. The error joins
// nothing: unread tells what nobody could look at.
func Roots(ctx context.Context, h *host.Host) (roots []Root, unread []error) {
	r := &reader{ctx: ctx, h: h}
	r.dnsmasq()
	r.variable("/etc/default/tftpd-hpa", "TFTP_DIRECTORY", "tftpd-hpa")
	r.variable("/etc/default/atftpd", "OPTIONS", "atftpd")
	for _, f := range []string{"/etc/inetd.conf", "/etc/xinetd.d/tftp", "/etc/systemd/system/tftp.service",
		"/usr/lib/systemd/system/tftp.service", "/lib/systemd/system/tftp.service"} {
		r.commandLines(f)
	}
	return r.roots, r.unread
}

type reader struct {
	ctx    context.Context
	h      *host.Host
	roots  []Root
	unread []error
}

func (r *reader) add(dir, server, from string) {
	dir = path.Clean(dir)
	if !path.IsAbs(dir) || dir == "/" || slices.ContainsFunc(r.roots, func(o Root) bool { return o.Path == dir }) {
		return
	}
	r.roots = append(r.roots, Root{dir, server, from})
}

// lines reads a file; one that is absent has none.
func (r *reader) lines(name string) []string {
	b, err := r.h.ReadFile(r.ctx, name)
	if err != nil && !host.IsAbsent(err) {
		r.unread = append(r.unread, err)
	}
	return strings.Split(string(b), "\n")
}

// variable takes the folder of a file that the shell reads: the value itself,
// or the last word of options that is a path.
func (r *reader) variable(file, name, server string) {
	lines := r.lines(file)
	value := osrelease.Parse(strings.Join(lines, "\n"))[name]
	line := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), name+"=") })
	if dir := lastPath(strings.Fields(value)); dir != "" {
		r.add(dir, server, fmt.Sprintf("%s:%d", file, line+1))
	}
}

// commandLines takes the folder from a server's command line in a table of inetd or in a unit.
func (r *reader) commandLines(file string) {
	for i, l := range r.lines(file) {
		l = strings.TrimSpace(l)
		server := ""
		switch {
		case strings.HasPrefix(l, "#"):
		case strings.Contains(l, "in.tftpd"), strings.HasPrefix(l, "server_args"):
			server = "tftpd-hpa"
		case strings.Contains(l, "atftpd"):
			server = "atftpd"
		}
		if dir := lastPath(strings.Fields(l)); server != "" && dir != "" && !strings.Contains(path.Base(dir), "tftpd") {
			r.add(dir, server, fmt.Sprintf("%s:%d", file, i+1))
		}
	}
}

// lastPath is the last word, where that is an absolute path.
func lastPath(words []string) string {
	if n := len(words); n > 0 && strings.HasPrefix(words[n-1], "/") {
		return words[n-1]
	}
	return ""
}

// option is one line of a configuration of dnsmasq's.
type option struct{ name, value, from string }

// dnsmasq reads what dnsmasq(8) reads, as Debian starts it: dnsmasq.conf, the
// folder of CONFIG_DIR, and what these include; and the files that libvirt
// writes for its networks.
func (r *reader) dnsmasq() {
	var all []option
	seen := map[string]bool{}
	r.dnsmasqFile("/etc/dnsmasq.conf", seen, &all)
	dir := osrelease.Parse(strings.Join(r.lines("/etc/default/dnsmasq"), "\n"))["CONFIG_DIR"]
	if dir == "" {
		dir = "/etc/dnsmasq.d,.dpkg-dist,.dpkg-old,.dpkg-new" // /usr/share/dnsmasq/init-system-common of Debian 12
	}
	r.dnsmasqDir(dir, seen, &all)
	r.served(all)
	networks, err := r.h.Glob(r.ctx, "/var/lib/libvirt/dnsmasq", "*.conf")
	if err != nil {
		r.unread = append(r.unread, err)
	}
	for _, f := range networks { // each is a server of its own
		var own []option
		r.dnsmasqFile(f, map[string]bool{}, &own)
		r.served(own)
	}
}

// served are the roots of one server, if it serves TFTP at all.
func (r *reader) served(all []option) {
	if !slices.ContainsFunc(all, func(o option) bool { return o.name == "enable-tftp" }) {
		return
	}
	for _, o := range all {
		if o.name == "tftp-root" {
			dir, _, _ := strings.Cut(o.value, ",")
			r.add(dir, "dnsmasq", o.from)
		}
	}
}

func (r *reader) dnsmasqFile(name string, seen map[string]bool, all *[]option) {
	if seen[name] || len(seen) > 500 {
		return
	}
	seen[name] = true
	for i, l := range r.lines(name) {
		o, ok := parseOption(l)
		if !ok {
			continue
		}
		o.from = fmt.Sprintf("%s:%d", name, i+1)
		*all = append(*all, o)
		switch o.name {
		case "conf-file":
			r.dnsmasqFile(o.value, seen, all)
		case "conf-dir":
			r.dnsmasqDir(o.value, seen, all)
		}
	}
}

// parseOption reads "name=value" or "name"; a "#" begins a comment at the
// beginning of a line and behind white space (dnsmasq 2.90, option.c, read_file).
func parseOption(l string) (option, bool) {
	quoted := false
	for i := range len(l) {
		if l[i] == '"' {
			quoted = !quoted
		}
		if l[i] == '#' && !quoted && (i == 0 || l[i-1] == ' ' || l[i-1] == '\t') {
			l = l[:i]
			break
		}
	}
	name, value, _ := strings.Cut(l, "=")
	o := option{name: strings.TrimSpace(name), value: strings.ReplaceAll(strings.TrimSpace(value), `"`, "")}
	return o, o.name != ""
}

// dnsmasqDir reads a folder as --conf-dir has it: "DIR,.suffix" leaves files
// with the suffix out, "DIR,*.suffix" takes only these.
func (r *reader) dnsmasqDir(value string, seen map[string]bool, all *[]option) {
	words := strings.Split(value, ",")
	es, err := r.h.ReadDir(r.ctx, words[0])
	if err != nil {
		if !host.IsAbsent(err) {
			r.unread = append(r.unread, err)
		}
		return
	}
	for _, e := range es {
		if !e.Type.IsDir() && dnsmasqTakes(e.Name, words[1:]) {
			r.dnsmasqFile(path.Join(words[0], e.Name), seen, all)
		}
	}
}

func dnsmasqTakes(name string, suffixes []string) bool {
	if strings.HasSuffix(name, "~") || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#") {
		return false
	}
	only, taken := false, false
	for _, s := range suffixes {
		if want, ok := strings.CutPrefix(s, "*"); ok {
			only = true
			taken = taken || strings.HasSuffix(name, want)
		} else if s != "" && strings.HasSuffix(name, s) {
			return false
		}
	}
	return taken || !only
}
