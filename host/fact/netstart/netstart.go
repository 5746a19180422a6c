// Package netstart works out what the network will be at the next start: which addresses,
// links and routes that the host has now are named by some configuration, and which exist only
// because somebody created them by hand.
package netstart

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"fettle/host"
	"fettle/host/format/netconf"
)

// Start is what configuration says of the network. It is for one goroutine.
type Start struct {
	Links []host.Link
	// Unsure is why what no file names may be configured nevertheless; nil where the files that
	// were read are all there is.
	Unsure error
	// Unread is why what no file runs or sets at boot may be run or set nevertheless; nil where the files
	// that do so were read.
	Unread error

	conf  *netconf.Config
	addrs map[netip.Addr]string   // the file that names it
	nets  map[netip.Prefix]string // networks, masked
	words map[string]string       // links' names among others
	runs  map[string]bool         // names of running programs
	ra    map[string]bool         // links with a default route from router advertisements
	dhcp  map[string]string       // files that ask a DHCP server for an address, and their text
	quick map[string]bool         // links of wg-quick's units that are enabled
}

// Read reads the links and all configuration that may name what they have.
func Read(ctx context.Context, h *host.Host) (*Start, error) {
	links, err := h.Links(ctx)
	if err != nil {
		return nil, err
	}
	s := &Start{Links: links, addrs: map[netip.Addr]string{}, nets: map[netip.Prefix]string{}, words: map[string]string{},
		runs: map[string]bool{}, ra: map[string]bool{}, dhcp: map[string]string{}, quick: map[string]bool{}}
	ps, err := h.Processes(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range ps {
		s.runs[p.Comm] = s.runs[p.Comm] || p.Own()
	}
	conf, problems := netconf.Read(ctx, h)
	s.conf = conf
	if len(problems) > 0 {
		s.Unsure = problems[0]
	}
	if err := s.readFiles(ctx, h); err != nil && s.Unsure == nil {
		s.Unsure = err
	}
	if err := s.wireguard(ctx, h); err != nil && s.Unsure == nil {
		s.Unsure = err
	}
	s.managers(ctx, h)
	rs, err := h.Routes6(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range rs {
		if r.Protocol == "ra" {
			s.ra[r.Dev] = true
		}
	}
	return s, nil
}

// managers are the programs that carry out the configuration that is read here.
var managers = []netconf.Manager{netconf.Ifupdown, netconf.Networkd, netconf.NetworkManager}

// managers notes who sets up networks in a way that is not read here.
func (s *Start) managers(ctx context.Context, h *host.Host) {
	if s.Unsure != nil {
		return
	}
	for _, p := range []string{"pacemakerd", "connmand", "wickedd", "netctl", "ovs-vswitchd"} {
		if s.runs[p] {
			s.Unsure = fmt.Errorf("%s sets up addresses by its own configuration, which fettle does not read", p)
			return
		}
	}
	for _, m := range managers {
		if s.conf.Active(m) {
			return
		}
	}
	s.Unsure = fmt.Errorf("none of ifupdown, systemd-networkd and NetworkManager is active: what sets up the network is not known")
}

// take notes what a file names.
func (s *Start) take(file, text string) {
	if asksDHCP().MatchString(text) {
		s.dhcp[file] = text
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") || strings.HasPrefix(line, "//") {
			continue
		}
		for w := range strings.FieldsFuncSeq(line, separates) {
			s.word(file, w)
		}
	}
}

// separates reports whether a character ends an address or a name, in any of the formats.
func separates(r rune) bool {
	return r <= ' ' || strings.ContainsRune(`="'<>[](){},;|&`+"`", r)
}

func (s *Start) word(file, w string) {
	w = strings.TrimSuffix(w, ":") // a key of YAML
	if w == "" {
		return
	}
	if p, err := netip.ParsePrefix(w); err == nil {
		s.addrs[p.Addr()] = file
		s.nets[p.Masked()] = file
		return
	}
	if a, err := netip.ParseAddr(w); err == nil {
		s.addrs[a] = file
		return
	}
	s.words[w] = file
	if _, after, ok := strings.Cut(w, ":"); ok { // ip=10.0.0.2::10.0.0.1, v=1
		for part := range strings.SplitSeq(after, ":") {
			if a, err := netip.ParseAddr(part); err == nil {
				s.addrs[a] = file
			}
		}
	}
	if first, _, ok := strings.Cut(w, ":"); ok {
		if a, err := netip.ParseAddr(first); err == nil {
			s.addrs[a] = file
		}
	}
}
