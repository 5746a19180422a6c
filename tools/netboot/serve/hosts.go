// Package serve makes of a tree of installers a network boot server: what
// dnsmasq is told, what it hands out, and what its log says of each client.
package serve

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"

	"fettle/internal/lazy"
	"fettle/internal/yamlfile"
)

// Host is a client that is expected.
type Host struct {
	Name string
	MAC  string // "52:54:00:12:34:56"
	// IP is the address that it gets; the zero address: any of the range.
	IP netip.Addr
	// Preseed is a file that is served to it, or a URL; empty: the installer asks.
	Preseed string
}

var hostName = lazy.Regexp(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)

// ParseHost reads NAME=MAC[,IP][,PRESEED].
func ParseHost(text string) (Host, error) {
	name, rest, ok := strings.Cut(text, "=")
	parts := strings.SplitN(rest, ",", 3)
	if !ok || len(parts) == 0 {
		return Host{}, fmt.Errorf("%q: expected NAME=MAC, NAME=MAC,IP or NAME=MAC,IP,PRESEED", text)
	}
	ip, preseed := "", ""
	if len(parts) > 1 {
		ip = parts[1]
	}
	if len(parts) > 2 {
		preseed = parts[2]
	} else if _, err := netip.ParseAddr(ip); ip != "" && err != nil {
		ip, preseed = "", ip // NAME=MAC,PRESEED
	}
	return newHost(name, parts[0], ip, preseed)
}

func newHost(name, mac, ip, preseed string) (Host, error) {
	h := Host{Name: name, Preseed: preseed}
	if !hostName().MatchString(name) {
		return h, fmt.Errorf("host %q: a name has letters, digits and hyphens", name)
	}
	hw, err := net.ParseMAC(mac)
	if err != nil || len(hw) != 6 || hw[0]&1 != 0 {
		return h, fmt.Errorf("host %s: %q is no MAC address of a network card", name, mac)
	}
	h.MAC = hw.String()
	if ip != "" {
		if h.IP, err = netip.ParseAddr(ip); err != nil || !h.IP.Is4() {
			return h, fmt.Errorf("host %s: %q is no IPv4 address", name, ip)
		}
	}
	if strings.ContainsAny(preseed, " \t\n\"',#") {
		return h, fmt.Errorf("host %s: the preseed file's name holds a blank, a comma, a quote or a #, which boot menus cannot", name)
	}
	return h, nil
}

// ParseHosts reads the text of a YAML file of this name: hosts, a list of name, mac, ip and preseed.
// Names of preseed files are relative to the file's folder.
func ParseHosts(file string, b []byte) ([]Host, error) {
	var said struct {
		Hosts []struct{ Name, MAC, IP, Preseed string }
	}
	if err := yamlfile.Decode(file, b, &said); err != nil {
		return nil, err
	}
	var out []Host
	for _, e := range said.Hosts {
		if e.Preseed != "" && !isURL(e.Preseed) && !filepath.IsAbs(e.Preseed) {
			e.Preseed = filepath.Join(filepath.Dir(file), e.Preseed)
		}
		h, err := newHost(e.Name, e.MAC, e.IP, e.Preseed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		out = append(out, h)
	}
	return out, nil
}

func isURL(s string) bool { return strings.Contains(s, "://") }

// Distinct refuses hosts that share a name, a card or an address.
func Distinct(hosts []Host) error {
	seen := map[string]string{}
	for _, h := range hosts {
		keys := []string{"the name " + h.Name, "the MAC address " + h.MAC}
		if h.IP.IsValid() {
			keys = append(keys, "the address "+h.IP.String())
		}
		for _, k := range keys {
			if other, ok := seen[k]; ok {
				return fmt.Errorf("hosts %s and %s both have %s", other, h.Name, k)
			}
			seen[k] = h.Name
		}
	}
	return nil
}
