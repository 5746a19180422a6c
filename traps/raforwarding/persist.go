package raforwarding

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/host"
	"fettle/host/format/netconf"
	"fettle/host/format/sysctlconf"
)

// editor makes file steps out of what is on the host.
type editor struct {
	ctx context.Context
	h   *host.Host
}

// persist keeps accept_ra=2, where whoever comes last at boot reads it:
// ifupdown's stanza, if ifup writes accept_ra; otherwise sysctl.d, whose keys
// of one interface systemd applies again when the interface appears.
func (e editor) persist(c *config, i intent) (step.Step, error) {
	if s, ok := lastUpLine(i); ok {
		return nil, remedy.Refuse("%s runs %q after everything else: write 2 there yourself, then run fettle again", s.Source, s.Text)
	}
	if m := i.iface.Method6; m != nil && m.Manager == netconf.Ifupdown && i.iface.Manager == netconf.Ifupdown {
		switch m.Value {
		case "auto", "dhcp", "static": // the methods that know accept_ra, interfaces(5)
			return e.stanza(i, m)
		}
	}
	if c.ufw != nil {
		if s := c.ufw.ForInterface("ipv6", i.name, "accept_ra").Present; s != nil {
			return nil, remedy.Refuse(
				"%s:%d sets %s to %s whenever the firewall starts: write 2 there yourself, then run fettle again",
				s.Path,
				s.Line,
				s.Key,
				s.Value,
			)
		}
	}
	return e.sysctl(c, i.name, "accept_ra", "2")
}

// lastUpLine finds an up line of ifupdown that sets accept_ra after the stanza has.
func lastUpLine(i intent) (netconf.Statement, bool) {
	for _, s := range i.iface.Sysctls {
		key, v, _ := strings.Cut(s.Value, "=")
		if key == "net/ipv6/conf/"+i.name+"/accept_ra" && s.Phase != "pre-up" && v != "2" {
			return s, true
		}
	}
	return netconf.Statement{}, false
}

// stanza writes accept_ra 2 into the interface's inet6 stanza.
func (e editor) stanza(i intent, m *netconf.Statement) (step.Step, error) {
	if s := i.iface.AcceptRA; s != nil && s.Source != m.Source { // a line of its own
		return e.edit(s.Path, s.Line, func(old string) (string, bool) {
			f := strings.Fields(old)
			if len(f) != 2 || f[0] != "accept_ra" && f[0] != "accept-ra" {
				return "", false
			}
			return indent(old) + f[0] + " 2", true
		})
	}
	return e.edit(m.Path, m.Line, func(old string) (string, bool) {
		f := strings.Fields(old)
		if len(f) < 4 || f[0] != "iface" || strings.HasSuffix(old, `\`) {
			return "", false
		}
		return old + "\n" + indent(old) + "    accept_ra 2", true
	})
}

func indent(l string) string { return l[:len(l)-len(strings.TrimLeft(l, " \t"))] }

// sysctl sets a parameter of one interface in sysctl.d: in the line that wins
// now, if it is the administrator's, and otherwise in a file that comes after it.
func (e editor) sysctl(c *config, iface, param, value string) (step.Step, error) {
	key := "net/ipv6/conf/" + iface + "/" + param
	w := c.sysctl.Lookup(key).Winner
	if w != nil && !w.Glob() && strings.HasPrefix(w.Path, "/etc/") {
		return e.edit(w.Path, w.Line, func(old string) (string, bool) {
			k, v, ok := strings.Cut(old, "=")
			space := v[:len(v)-len(strings.TrimLeft(v, " \t"))]
			return k + "=" + space + value, ok
		})
	}
	name := "90-fettle-ra-" + iface + ".conf"
	if w != nil && !w.Glob() && path.Base(w.Path) > name { // a name beats every pattern
		name = "zz-fettle-ra-" + iface + ".conf"
	}
	return e.whole("/etc/sysctl.d/"+name, "# Made by fettle (ipv6-ra-forwarding): take router advertisements on\n# "+
		iface+" although this host forwards IPv6.\n"+written(key)+" = "+value+"\n")
}

// written is the key as people write it, with dots; with slashes where the
// interface's name has dots in it.
func written(key string) string {
	if strings.Contains(key, ".") {
		return key
	}
	return sysctlconf.Dotted(key)
}

// oldKernel keeps the interface's forwarding=0, which has to be written after all/forwarding=1.
func (e editor) oldKernel(c *config, iface string) (step.Step, error) {
	all := c.sysctl.Lookup("net/ipv6/conf/all/forwarding").Winner
	if c.sysctl.Lookup("net/ipv6/conf/"+iface+"/forwarding").Winner != nil || all == nil || all.Path != sysctlconf.MainFile {
		return e.sysctl(c, iface, "forwarding", "0")
	}
	// sysctl.conf is read last of all: a file in sysctl.d comes too early.
	return e.edit(all.Path, all.Line, func(old string) (string, bool) {
		return old + "\n" + written("net/ipv6/conf/"+iface+"/forwarding") + " = 0", true
	})
}

// whole is a step that writes a file, whether it is there or not.
func (e editor) whole(name, content string) (step.Step, error) {
	was, err := e.h.ReadFile(e.ctx, name)
	if err != nil && !host.IsAbsent(err) {
		return nil, fmt.Errorf("planning to write %s: %w", name, err)
	}
	return step.File{Path: name, Content: []byte(content), Was: was}, nil
}

// edit is a step that replaces one line of a file.
func (e editor) edit(name string, n int, change func(old string) (string, bool)) (step.Step, error) {
	was, err := e.h.ReadFile(e.ctx, name)
	if err != nil {
		return nil, fmt.Errorf("planning to edit %s: %w", name, err)
	}
	ls := bytes.SplitAfter(was, []byte("\n"))
	if n < 1 || n > len(ls) {
		return nil, fmt.Errorf("planning to edit %s: it has no line %d", name, n)
	}
	old := strings.TrimRight(string(ls[n-1]), "\r\n")
	ending := string(ls[n-1])[len(old):]
	text, ok := change(old)
	if !ok {
		return nil, remedy.Refuse(
			"%s:%d is not in a form that fettle edits (%q): make the setting there yourself",
			name,
			n,
			strings.TrimSpace(old),
		)
	}
	out := bytes.Join(ls[:n-1], nil)
	out = append(append(out, text...), ending...)
	out = append(out, bytes.Join(ls[n:], nil)...)
	return step.File{Path: name, Content: out, Was: was}, nil
}
