package netconf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fettle/host"
	"fettle/internal/lazy"
)

// Edit is a proposed change of one configuration file.
type Edit struct {
	Path    string
	Was     []byte // nil when the file is new
	Content []byte
	Secret  bool // the file holds passwords or keys: don't show it
}

// DropIn is the name of the drop-in files that edits make.
const DropIn = "90-fettle-mtu.conf"

// SetMTU proposes how the configuration is made to give an interface an MTU.
// An Edit with an empty Path means that it does already. The error says, for an
// admin, why fettle leaves this file alone and what to do instead.
func (c *Config) SetMTU(name string, mtu int) (Edit, error) {
	i := c.Iface(name)
	if i.MTU != nil && i.MTU.N == mtu && len(i.Claims) <= 1 {
		return Edit{}, nil
	}
	if len(i.Claims) > 1 {
		return Edit{}, fmt.Errorf(
			"%s is configured by %v: decide which of them keeps it, and set its MTU to %d there",
			name,
			i.Claims,
			mtu,
		)
	}
	var edit Edit
	var err error
	switch m := c.editor(i); m {
	case "":
		return Edit{}, fmt.Errorf("no configuration that fettle reads is about %s: whatever makes it must give it the MTU %d", name, mtu)
	case Ifupdown:
		edit, err = c.setIfupdown(i, mtu)
	case Netplan:
		edit, err = c.setNetplan(i, mtu)
	case Networkd:
		edit, err = c.setNetworkd(i, mtu)
	case NetworkManager:
		edit, err = c.setKeyfile(i, mtu)
	case Libvirt:
		return Edit{}, fmt.Errorf(
			"libvirt keeps %s's definition itself: set <mtu size='%d'/> with virsh net-edit, then net-destroy and net-start the network",
			name,
			mtu,
		)
	}
	if err != nil {
		return Edit{}, err
	}
	edit.Secret = holdsSecrets(edit.Was)
	return edit, c.proves(edit, name, mtu)
}

// editor is whose files an MTU of i belongs in: its manager's, or those of
// the bridge that lists it as a port.
func (c *Config) editor(i Iface) Manager {
	switch {
	case i.Manager != "":
		return i.Manager
	case i.MTU != nil:
		return i.MTU.Manager
	case i.Bridge != nil:
		return i.Bridge.Manager
	}
	return ""
}

// proves reads the whole configuration again as it will be, and refuses an
// edit that does not have its effect, or breaks the file.
func (c *Config) proves(e Edit, name string, mtu int) error {
	if c.source == nil {
		return nil
	}
	after := c.After(context.Background(), e)
	i := after.Iface(name)
	if i.MTU == nil || i.MTU.N != mtu || len(after.Problems) > len(c.Problems) {
		return fmt.Errorf("fettle does not understand %s well enough to change it: set the MTU of %s to %d there by hand", e.Path, name, mtu)
	}
	return nil
}

// After is the configuration as it will be when edits have been made.
func (c *Config) After(ctx context.Context, edits ...Edit) *Config {
	src := c.source
	for _, e := range edits {
		src = edited{src, e}
	}
	after, _ := Read(ctx, host.New(src))
	return after
}

// edited is a host with one file changed.
type edited struct {
	host.Source
	e Edit
}

func (s edited) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	if name == s.e.Path {
		return s.e.Content, nil
	}
	return s.Source.ReadFile(ctx, name, limit)
}

func (s edited) Stat(ctx context.Context, name string, follow bool) (host.Info, error) {
	i, err := s.Source.Stat(ctx, name, follow)
	if name == s.e.Path {
		i.Size = int64(len(s.e.Content))
		if err != nil {
			i.Mode, err = 0o644, nil
		}
	}
	return i, err
}

func (s edited) ReadDir(ctx context.Context, name string) ([]host.Entry, error) {
	es, err := s.Source.ReadDir(ctx, name)
	if name != path.Dir(s.e.Path) || err != nil && !host.IsAbsent(err) {
		return es, err
	}
	base := path.Base(s.e.Path)
	if slices.ContainsFunc(es, func(e host.Entry) bool { return e.Name == base }) {
		return es, err
	}
	return append(slices.Clip(es), host.Entry{Name: base}), nil
}

// secretKey finds settings of wireless, VPN, 802.1X and mobile connections
// whose values must not be shown. The section names cover keyfiles.
var secretKey = lazy.Regexp(`(?im)^[^#\n]*(psk|password|passwd|secret|private-?key|wep-|\bpin\b|\bkey\s*:)`)

func holdsSecrets(b []byte) bool { return secretKey().Match(b) }

// lines is a file cut into lines that keep their ends.
type lines []string

func cut(b []byte) lines { return strings.SplitAfter(string(b), "\n") }

func (l lines) bytes() []byte { return []byte(strings.Join(l, "")) }

// insert puts text, without its line end, before the line of that number (from 1).
func (l lines) insert(before int, text string) lines {
	before = min(max(before-1, 0), len(l))
	if before > 0 && !strings.HasSuffix(l[before-1], "\n") && l[before-1] != "" {
		l = slices.Clone(l)
		l[before-1] += "\n"
	}
	return slices.Insert(slices.Clone(l), before, text+"\n")
}

// replaceNumber replaces the one number on a line that pattern (with the
// number as its second group, and what is before it as its first) finds.
func (l lines) replaceNumber(line int, pattern *regexp.Regexp, n int) (lines, bool) {
	if line < 1 || line > len(l) || len(pattern.FindAllString(l[line-1], 2)) != 1 {
		return l, false
	}
	l = slices.Clone(l)
	l[line-1] = pattern.ReplaceAllString(l[line-1], "${1}"+strconv.Itoa(n))
	return l, true
}

// raw is a configuration file as it was read.
func (c *Config) raw(file string) ([]byte, error) {
	b, ok := c.files[file]
	if !ok {
		return nil, fmt.Errorf("%s was not read", file)
	}
	if bytes.ContainsRune(b, '\r') {
		return nil, fmt.Errorf("%s has Windows line ends: change it by hand", file)
	}
	return b, nil
}

// shipped reports whether a file belongs to a package or lasts only until the next boot.
func shipped(file string) bool { return !strings.HasPrefix(file, "/etc/") }

var errContinued = errors.New("the line is written in a way that fettle does not change")

// indent is the white space at the start of a line.
func indent(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }
