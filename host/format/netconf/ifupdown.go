package netconf

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"fettle/host"
	"fettle/internal/lazy"
)

// interfacesFile is where ifupdown starts to read (interfaces(5)).
const interfacesFile = "/etc/network/interfaces"

// maxIncludes is how many files "source" lines may add up to.
const maxIncludes = 1000

// maxInherits is how long a chain of "inherits" may be.
const maxInherits = 16

// stanza is one "iface" stanza.
type stanza struct {
	Source
	name, family, method, inherits string
	options                        []option
}

// option is one line of a stanza.
type option struct {
	Source
	name, value string
}

// interfaces is what all the files of ifupdown say.
type interfaces struct {
	stanzas []*stanza
	auto    map[string]brought // by name or pattern
	open    []string           // the files being read, each named by the one before
	files   int                // how many were read
}

// brought is a line that has interfaces brought up: auto, allow-auto, allow-hotplug, …
type brought struct {
	Source
	key string
}

func (r *reader) ifupdown() {
	in := &interfaces{auto: map[string]brought{}}
	r.c.interfaces = in
	r.interfaces(in, interfacesFile)
	for _, s := range in.stanzas {
		r.stanza(in, s)
	}
}

// interfaces reads one file and those that it names.
func (r *reader) interfaces(in *interfaces, file string) {
	bad := func(line int, format string, args ...any) {
		r.problem(Ifupdown, &host.SyntaxError{Path: file, Line: line, Msg: fmt.Sprintf(format, args...)})
	}
	if in.files++; in.files > maxIncludes {
		if in.files == maxIncludes+1 {
			bad(0, "\"source\" lines name more than %d files", maxIncludes)
		}
		return
	}
	if slices.Contains(in.open, file) {
		bad(0, "names itself in its \"source\" lines, by way of %s", in.open[len(in.open)-1])
		return
	}
	in.open = append(in.open, file)
	defer func() { in.open = in.open[:len(in.open)-1] }()
	var cur *stanza
	for _, l := range interfacesLines(string(r.file(Ifupdown, file))) {
		src := Source{file, l.line}
		key, rest, _ := strings.Cut(l.text, " ")
		rest = strings.TrimSpace(rest)
		f := strings.Fields(rest)
		switch {
		case key == "iface":
			if len(f) == 0 {
				bad(l.line, "iface without a name")
				cur = &stanza{}
				continue
			}
			cur = &stanza{Source: src, name: f[0]}
			if len(f) >= 3 && f[1] != "inherits" {
				cur.family, cur.method = f[1], f[2]
				f = f[2:]
			}
			if len(f) >= 3 && f[1] == "inherits" {
				cur.inherits = f[2]
			}
			in.stanzas = append(in.stanzas, cur)
		case key == "auto" || strings.HasPrefix(key, "allow-"):
			if key == "allow-auto" { // interfaces(5): the same
				key = "auto"
			}
			for _, n := range f {
				if was, ok := in.auto[n]; !ok || was.key != "auto" && key == "auto" {
					in.auto[n] = brought{src, key}
				}
			}
			cur = nil
		case key == "source" || key == "source-directory":
			cur = nil
			if rest == "" {
				bad(l.line, "%s without a path", key)
				continue
			}
			for _, inc := range r.included(file, key, f) {
				r.interfaces(in, inc)
			}
		case key == "mapping" || key == "rename" || key == "no-auto-down" || key == "no-scripts" || key == "template":
			cur = &stanza{} // its lines say nothing of interest here
		case cur == nil:
			bad(l.line, "an option outside of any stanza")
		default:
			cur.options = append(cur.options, option{src, key, rest})
		}
	}
}

type numbered struct {
	line int
	text string
}

// interfacesLines splits a file into lines: backslashes joined, comments and
// empty lines gone, white space single.
func interfacesLines(s string) []numbered {
	var out []numbered
	lines := strings.Split(s, "\n")
	for n := 0; n < len(lines); n++ {
		start, text := n+1, strings.TrimLeft(lines[n], " \t")
		if strings.HasPrefix(text, "#") {
			continue
		}
		for strings.HasSuffix(text, `\`) && n+1 < len(lines) {
			n++
			text = strings.TrimSuffix(text, `\`) + " " + lines[n]
		}
		text = strings.TrimFunc(text, isBlank)
		if text == "" {
			continue
		}
		key, rest := text, ""
		if i := strings.IndexFunc(text, isBlank); i > 0 {
			key, rest = text[:i], strings.TrimFunc(text[i:], isBlank)
		}
		out = append(out, numbered{start, strings.TrimSuffix(key+" "+rest, " ")})
	}
	return out
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' || r == '\r' }

// sourceDirName is what names in a source-directory must look like (interfaces(5)).
var sourceDirName = lazy.Regexp(`^[a-zA-Z0-9_-]+$`)

// included lists the files that a source or source-directory line names.
func (r *reader) included(from, key string, patterns []string) []string {
	var out []string
	for _, p := range patterns {
		if !path.IsAbs(p) {
			p = path.Join(path.Dir(from), p)
		}
		for _, f := range r.expand(path.Clean(p)) {
			i, err := r.h.Stat(r.ctx, f)
			if err != nil {
				r.problem(Ifupdown, err)
				continue
			}
			switch {
			case !i.Mode.IsDir():
				out = append(out, f)
			case key == "source-directory":
				names, err := r.h.ReadDir(r.ctx, f)
				r.problem(Ifupdown, err)
				for _, e := range names {
					if sourceDirName().MatchString(e.Name) && !e.Type.IsDir() {
						out = append(out, path.Join(f, e.Name))
					}
				}
			}
		}
	}
	return out
}

// expand expands the shell wildcards of a path, folder by folder.
func (r *reader) expand(pattern string) []string {
	paths := []string{"/"}
	for part := range strings.SplitSeq(strings.Trim(pattern, "/"), "/") {
		var next []string
		for _, p := range paths {
			if !strings.ContainsAny(part, "*?[") {
				next = append(next, path.Join(p, part))
				continue
			}
			names, err := r.h.Glob(r.ctx, p, part)
			r.problem(Ifupdown, err)
			for _, n := range names {
				if !strings.HasPrefix(path.Base(n), ".") || strings.HasPrefix(part, ".") {
					next = append(next, n)
				}
			}
		}
		paths = next
	}
	return paths
}

// stanza turns an iface stanza, and what it inherits, into statements.
func (r *reader) stanza(in *interfaces, s *stanza) {
	p := r.add(&profile{manager: Ifupdown, name: s.name, match: named(s.name), src: s.Source})
	if b, ok := in.auto[s.name]; ok {
		value := "yes"
		if b.key != "auto" { // allow-hotplug: when it is there
			value = "there"
		}
		p.say(b.Source, KeyAuto, value, b.key+" "+s.name)
	}
	if s.family == "inet6" {
		p.say(s.Source, KeyMethod6, s.method, "iface "+s.name+" inet6 "+s.method)
		// interfaces(5): accept_ra's default of the methods auto and dhcp.
		switch s.method {
		case "auto":
			p.say(s.Source, KeyAcceptRA, "2", "iface "+s.name+" inet6 auto (where accept_ra is 2 unless said otherwise)")
		case "dhcp":
			p.say(s.Source, KeyDHCP6, "yes", "iface "+s.name+" inet6 dhcp")
			p.say(s.Source, KeyAcceptRA, "1", "iface "+s.name+" inet6 dhcp (where accept_ra is 1 unless said otherwise)")
		}
	}
	opts := s.options
	for from, n := s.inherits, 0; from != "" && n < maxInherits; n++ {
		next := ""
		for _, o := range in.stanzas {
			if o.name == from && o != s {
				opts, next = append(o.options[:len(o.options):len(o.options)], opts...), o.inherits
			}
		}
		from = next
	}
	r.options(p, s, opts)
}

func (r *reader) options(p *profile, s *stanza, opts []option) {
	var ports []Statement
	mtu := option{}
	for _, o := range opts {
		text := o.name + " " + o.value
		switch strings.ReplaceAll(o.name, "-", "_") { // ifupdown-ng and ifupdown2 write bridge-ports
		case "mtu":
			n, err := strconv.ParseUint(o.value, 10, 31)
			if err != nil {
				r.problem(Ifupdown, &host.SyntaxError{Path: o.Path, Line: o.Line, Msg: "mtu: not a number of bytes"})
				continue
			}
			if mtu.Line != 0 {
				r.problem(
					Ifupdown,
					&host.SyntaxError{
						Path: o.Path,
						Line: o.Line,
						Msg:  fmt.Sprintf("mtu of %s is set here and at %s: ifupdown joins both into a command that fails", s.name, mtu.Source),
					},
				)
			}
			o.value, mtu = strconv.FormatUint(n, 10), o
			if bridgeStanza(opts) || s.setsMTU(int(n), r.c.mtuOf(s.name)) {
				p.say(o.Source, KeyMTU, mtu.value, text)
			}
		case "bridge_ports":
			p.kind = "bridge"
			for _, port := range r.bridgePorts(o.value) {
				st := Statement{Source: o.Source, Manager: Ifupdown, Key: KeyPort, Value: port, Text: text}
				ports = append(ports, st)
				p.st = append(p.st, st)
			}
		case "vlan_raw_device":
			p.kind = "vlan"
			p.say(o.Source, KeyParent, o.value, text)
		case "accept_ra":
			p.say(o.Source, KeyAcceptRA, o.value, text)
		case "pre_up", "up", "post_up":
			r.upLine(p, s.name, o)
		}
	}
	if base, _, ok := strings.Cut(s.name, "."); ok && p.kind == "" {
		p.kind = "vlan"
		p.say(s.Source, KeyParent, base, "iface "+s.name)
	}
	if mtu.Line == 0 {
		return
	}
	// Debian's bridge-utils gives each port the bridge's mtu before it adds it
	// (bridge-utils 1.7, /lib/bridge-utils/ifupdown.sh, IF_MTU).
	for _, port := range ports {
		w := r.add(&profile{manager: Ifupdown, name: port.Value, match: named(port.Value), src: mtu.Source, weak: true})
		w.say(mtu.Source, KeyMTU, mtu.value, "mtu "+mtu.value+" (of "+s.name+", given to its ports)")
		w.st[0].lent = true
	}
}
