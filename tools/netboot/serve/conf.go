package serve

import (
	"fmt"
	"net/netip"
	"strings"
)

// Conf is what dnsmasq is to do.
type Conf struct {
	Interface string
	Address   netip.Prefix // of this host on the interface
	// Proxy: another server gives addresses, and this one tells where to boot from.
	Proxy    bool
	From, To netip.Addr // the range of addresses that are given out; unused with Proxy
	Router   netip.Addr // told to clients; the zero address: none
	Root     string     // served by TFTP
	// HTTP: it is served by HTTP too, on port 80.
	HTTP    bool
	Loaders Loaders
	Hosts   []Host
	// All: hosts that are not in Hosts are served too.
	All bool
}

// Loaders are the boot loaders of a tree by the kind of firmware; empty: none.
type Loaders struct {
	BIOS, EFI64, EFIArm64 string // paths below the root
	// HTTP64 and HTTPArm64: there the GRUB fetches by HTTP too.
	HTTP64, HTTPArm64 bool
}

// kinds are client system architecture types (RFC 4578, section 2.1, and IANA's
// processor architecture types): x86 BIOS, x64 UEFI (7 is what UEFI sends,
// 9 what the RFC says), arm64 UEFI.
var kinds = []struct {
	tag, service string
	arch         int
	loader       func(Loaders) string
}{
	{"bios", "x86PC", 0, func(l Loaders) string { return l.BIOS }},
	{"efi64", "X86-64_EFI", 9, func(l Loaders) string { return l.EFI64 }},
	{"efi64", "BC_EFI", 7, func(l Loaders) string { return l.EFI64 }},
	{"efiarm64", "ARM64_EFI", 11, func(l Loaders) string { return l.EFIArm64 }},
}

// httpKinds are those that boot by HTTP (UEFI specification 2.10, section 24.7): they
// take an answer only when it calls itself HTTPClient, and a URL for a file.
var httpKinds = []struct {
	tag    string
	arch   int
	loader func(Loaders) (string, bool)
}{
	{"http64", 16, func(l Loaders) (string, bool) { return l.EFI64, l.HTTP64 }},
	{"httparm64", 19, func(l Loaders) (string, bool) { return l.EFIArm64, l.HTTPArm64 }},
}

// Text is the configuration, as dnsmasq reads it from its standard input.
// Nothing in it needs quoting: names were checked when they were parsed.
func (c Conf) Text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# no DNS, no files of its own, this interface alone")
	line("port=0")
	line("no-hosts\nno-resolv")
	line("interface=%s", c.Interface)
	line("except-interface=lo")
	line("bind-interfaces")
	line("leasefile-ro")
	line("log-dhcp")
	line("enable-tftp")
	line("tftp-root=%s", c.Root)
	if c.Proxy {
		line("# another server gives addresses: this one tells where to boot from")
		line("dhcp-range=%s,proxy", c.Address.Masked().Addr())
	} else {
		line("dhcp-range=%s,%s,%s,12h", c.From, c.To, netmask(c.Address))
		line("dhcp-authoritative")
		if c.Router.IsValid() {
			line("dhcp-option=option:router,%s", c.Router)
		} else {
			line("dhcp-option=option:router")
		}
	}
	line("# shim takes the folder of its second part from the file field alone (not from option 67)")
	line("dhcp-no-override")
	for _, k := range kinds {
		loader := k.loader(c.Loaders)
		if loader == "" {
			continue
		}
		if c.Proxy {
			line("pxe-service=%s,\"Install\",%s", k.service, loader)
		}
		line("dhcp-match=set:%s,option:client-arch,%d", k.tag, k.arch)
	}
	for _, k := range kinds {
		if loader := k.loader(c.Loaders); loader != "" && k.arch != 7 {
			line("dhcp-boot=tag:%s,%s", k.tag, loader)
		}
	}
	for _, k := range httpKinds {
		if loader, ok := k.loader(c.Loaders); ok && c.HTTP && !c.Proxy {
			line("dhcp-match=set:%s,option:client-arch,%d", k.tag, k.arch)
			line("dhcp-option-force=tag:%s,60,HTTPClient", k.tag)
			line("dhcp-boot=tag:%s,http://%s/%s", k.tag, c.Address.Addr(), loader)
		}
	}
	for _, h := range c.Hosts {
		ip := ""
		if h.IP.IsValid() && !c.Proxy {
			ip = "," + h.IP.String()
		}
		line("dhcp-host=%s,set:known%s,%s", h.MAC, ip, h.Name)
	}
	if !c.All {
		line("dhcp-ignore=tag:!known")
	}
	return b.String()
}

// netmask is a prefix's length as dnsmasq wants it.
func netmask(p netip.Prefix) string {
	n := uint32(0xffffffff) << (32 - p.Bits())
	if p.Bits() == 0 {
		n = 0
	}
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}).String()
}

// Check refuses what cannot work.
func (c Conf) Check() error {
	if c.Loaders == (Loaders{}) {
		return fmt.Errorf("the tree contains no network boot loader: expected pxelinux.0, bootnetx64.efi, grubx64.efi or bootnetaa64.efi")
	}
	for _, loader := range []string{c.Loaders.BIOS, c.Loaders.EFI64, c.Loaders.EFIArm64} {
		if strings.ContainsAny(loader, " ,\"\n#") {
			return fmt.Errorf("the boot loader %q: its path holds what dnsmasq's configuration cannot", loader)
		}
	}
	if err := Distinct(c.Hosts); err != nil {
		return err
	}
	for _, h := range c.Hosts {
		if h.IP.IsValid() && (!c.Address.Contains(h.IP) || h.IP == c.Address.Addr()) {
			return fmt.Errorf("host %s: %s is not an address in %s that a client can have", h.Name, h.IP, c.Address.Masked())
		}
	}
	if !c.Proxy && (!c.Address.Contains(c.From) || !c.Address.Contains(c.To) || c.To.Less(c.From)) {
		return fmt.Errorf("the range %s to %s is not within %s", c.From, c.To, c.Address.Masked())
	}
	return nil
}

// Range is a range of up to 50 addresses at the end of a network, without the
// server's own: what is given out where nobody says another.
func Range(p netip.Prefix) (from, to netip.Addr, err error) {
	if !p.Addr().Is4() || p.Bits() > 29 {
		return from, to, fmt.Errorf("%s has no room for a range of addresses; give one with --range", p)
	}
	last := p.Masked().Addr().As4()
	hosts := uint32(1) << (32 - p.Bits())
	base := uint32(last[0])<<24 | uint32(last[1])<<16 | uint32(last[2])<<8 | uint32(last[3])
	addr := func(n uint32) netip.Addr {
		n += base
		return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
	}
	end := hosts - 2
	begin := end - min(49, hosts-4)
	own := p.Addr().As4()
	at := (uint32(own[0])<<24 | uint32(own[1])<<16 | uint32(own[2])<<8 | uint32(own[3])) - base
	switch { // the larger side of the server's own address
	case at >= begin && at <= end && at-begin >= end-at:
		end = at - 1
	case at >= begin && at <= end:
		begin = at + 1
	}
	return addr(begin), addr(end), nil
}
