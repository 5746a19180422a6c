package serve

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"fettle/internal/lazy"
)

// Progress makes of dnsmasq's log what a person wants to know of each client:
// who asked, what it was sent, how far it came, and what went wrong.
type Progress struct {
	Conf Conf
	// Tell is given a line at a time.
	Tell    func(string)
	clients []*client
	xid     map[string]*client // by the number of a DHCP exchange
	archs   map[string]string  // of exchanges whose client is not told yet
	read    map[string]int64   // how far files that are being sent were read
}

// client is one card that asked.
type client struct {
	mac, name, ip string
	arch          string
	pxe           bool // its last exchange was of a boot ROM
	sent          []string
	missing       []string
	stage         stage
	last          time.Time
	spoken        time.Time // when it was last told of
	warned        bool
}

type stage int

const (
	asked stage = iota
	addressed
	loading // was sent a boot loader
	kernel
	initrd
	running // the installer asked for an address by itself
)

func (c *client) title() string {
	if c.name != "" {
		return c.name + " (" + c.mac + ")"
	}
	return c.mac
}

var (
	logVendor = lazy.Regexp(`dnsmasq-dhcp(?:\[\d+\])?: (\d+) vendor class: (\S+)`)
	logDHCP   = lazy.Regexp(
		`dnsmasq-dhcp(?:\[\d+\])?: (?:(\d+) )?(DHCPDISCOVER|DHCPOFFER|DHCPREQUEST|DHCPACK|DHCPNAK|DHCPDECLINE|PXE)\(\S+?\) (.*)$`,
	)
	logSent    = lazy.Regexp(`dnsmasq-tftp(?:\[\d+\])?: sent (.+) to (\S+)$`)
	logMissing = lazy.Regexp(`dnsmasq-tftp(?:\[\d+\])?: file (.+) not found(?: for (\S+))?$`)
	logError   = lazy.Regexp(`dnsmasq-tftp(?:\[\d+\])?: error (\d+) (.*) received from (\S+)$`)
	logFailed  = lazy.Regexp(`dnsmasq-tftp(?:\[\d+\])?: failed sending (.+) to (\S+)$`)
	logHTTP    = lazy.Regexp(`^fettle-http: (sent|refused) (\S+) (/.*?)(?:: (.+))?$`)
	mac        = lazy.Regexp(`\b[0-9a-f]{2}(?::[0-9a-f]{2}){5}\b`)
	address    = lazy.Regexp(`\b\d{1,3}(?:\.\d{1,3}){3}\b`)
	pxeClient  = lazy.Regexp(`^(?:PXE|HTTP)Client:Arch:(\d+)`)
)

// maxClients bounds what a flood of made-up cards can take.
const maxClients = 1000

// Line takes one line of the log.
func (p *Progress) Line(line string, now time.Time) {
	if p.xid == nil {
		p.xid, p.archs = map[string]*client{}, map[string]string{}
	}
	switch {
	case logVendor().MatchString(line):
		m := logVendor().FindStringSubmatch(line)
		p.vendor(m[1], m[2])
	case logDHCP().MatchString(line):
		m := logDHCP().FindStringSubmatch(line)
		p.dhcp(m[1], m[2], m[3], now)
	case logSent().MatchString(line):
		m := logSent().FindStringSubmatch(line)
		p.sent(m[1], m[2], now)
	case logHTTP().MatchString(line):
		p.http(logHTTP().FindStringSubmatch(line), now)
	case logMissing().MatchString(line):
		m := logMissing().FindStringSubmatch(line)
		p.missing(m[1], m[2], now)
	case logError().MatchString(line):
		m := logError().FindStringSubmatch(line)
		if c := p.byIP(m[3]); c != nil && m[1] != "8" && m[1] != "0" { // 8 and 0: it asked for a size only
			p.say(c, now, "gave up a transfer: %s", m[2])
		}
	case logFailed().MatchString(line):
		m := logFailed().FindStringSubmatch(line)
		if c := p.byIP(m[2]); c != nil {
			p.say(c, now, "stopped answering while it was sent %s", path.Base(m[1]))
		}
	}
}

func (p *Progress) say(c *client, now time.Time, format string, args ...any) {
	c.last, c.spoken = now, now
	p.Tell(fmt.Sprintf("%s  %s: %s", now.Format("15:04:05"), c.title(), fmt.Sprintf(format, args...)))
}

func (p *Progress) vendor(xid, class string) {
	if len(p.archs) > maxClients {
		clear(p.archs)
	}
	p.archs[xid] = class
	if c := p.xid[xid]; c != nil {
		p.identify(c, class)
	}
}

// identify takes what kind of client asks.
func (p *Progress) identify(c *client, class string) {
	m := pxeClient().FindStringSubmatch(class)
	if c.pxe = m != nil; c.pxe {
		c.arch = map[string]string{"00000": "BIOS", "00007": "UEFI, x86-64", "00009": "UEFI, x86-64", "00011": "UEFI, arm64",
			"00006": "UEFI, 32 bits",
			"00016": "UEFI by HTTP, x86-64", "00019": "UEFI by HTTP, arm64"}[m[1]]
	}
}

func (p *Progress) client(mac string) *client {
	for _, c := range p.clients {
		if c.mac == mac {
			return c
		}
	}
	c := &client{mac: mac, stage: -1}
	for _, h := range p.Conf.Hosts {
		if h.MAC == mac {
			c.name = h.Name
		}
	}
	if len(p.clients) >= maxClients && c.name == "" { // those that are expected have a place
		return nil
	}
	p.clients = append(p.clients, c)
	return c
}

func (p *Progress) byIP(ip string) *client {
	i := slices.IndexFunc(p.clients, func(c *client) bool { return ip != "" && c.ip == ip })
	if i < 0 {
		return nil
	}
	return p.clients[i]
}

func (p *Progress) dhcp(xid, what, rest string, now time.Time) {
	c := p.client(mac().FindString(rest))
	if c == nil || c.mac == "" {
		return
	}
	if len(p.xid) > maxClients {
		clear(p.xid)
	}
	p.xid[xid] = c
	if class, ok := p.archs[xid]; ok {
		p.identify(c, class)
	} else if what == "DHCPDISCOVER" {
		c.pxe = false
	}
	switch what {
	case "DHCPDISCOVER":
		p.discovered(c, rest, now)
	case "DHCPACK", "PXE":
		p.acked(c, what, address().FindString(rest), now)
	case "DHCPNAK":
		p.say(c, now, "asked for an address that it cannot have, and must ask again")
	case "DHCPDECLINE":
		p.say(c, now, "says that %s is somebody else's: look for a second server or a fixed address", address().FindString(rest))
	}
}

func (p *Progress) discovered(c *client, rest string, now time.Time) {
	switch {
	case strings.Contains(rest, "ignored"):
		if c.stage < asked {
			c.stage = asked
			p.say(c, now, "asks, and is not expected: it is left alone (--host NAME=%s)", c.mac)
		}
	case c.stage < asked || c.pxe && c.stage >= kernel: // also when it starts again
		c.stage, c.sent, c.missing, c.warned = asked, nil, nil, false
		kind := c.arch
		if kind == "" {
			kind = "not to boot"
		}
		p.say(c, now, "asks for an address (%s)", kind)
	}
}

func (p *Progress) acked(c *client, what, ip string, now time.Time) {
	if ip != "" {
		for _, o := range p.clients { // who had the address before
			if o != c && o.ip == ip {
				o.ip = ""
			}
		}
		c.ip = ip
	}
	switch {
	case c.stage >= initrd && !c.pxe && what == "DHCPACK" && c.stage != running:
		c.stage = running
		p.say(c, now, "the installer runs, and has the address %s", ip)
	case c.stage < addressed:
		c.stage = addressed
		if ip != "" {
			p.say(c, now, "has the address %s", ip)
		} else {
			p.say(c, now, "gets the address of its boot loader")
		}
	}
}

// sent tells of a file that arrived whole.
func (p *Progress) sent(file, ip string, now time.Time) {
	c := p.byIP(ip)
	if c == nil { // a proxy does not see addresses being given
		c = p.client(ip)
		if c == nil {
			return
		}
		c.ip = ip
	}
	name := path.Base(file)
	c.sent = append(c.sent, name)
	if len(c.sent) > 1000 {
		c.sent = c.sent[500:]
	}
	at := stageOf(name)
	c.stage = max(at, c.stage)
	switch at {
	case loading:
		p.say(c, now, "was sent the boot loader %s", name)
	case kernel:
		p.say(c, now, "was sent the kernel")
	case initrd:
		p.say(c, now, "was sent the initrd")
	default:
		c.last = now
		if strings.HasSuffix(path.Dir(file), "/"+preseedFolder) {
			p.say(c, now, "was sent its preseed file")
		}
	}
}

func stageOf(name string) stage {
	switch {
	case strings.HasSuffix(name, ".efi") || strings.HasPrefix(name, "pxelinux."):
		return loading
	case strings.HasPrefix(name, "linux") || strings.HasPrefix(name, "vmlinu"):
		return kernel
	case strings.HasPrefix(name, "initrd") || strings.HasPrefix(name, "initramfs"):
		return initrd
	}
	return asked
}

// HTTPLine is how the HTTP server tells of a file that went out, or of trouble.
func HTTPLine(client, name, trouble string) string {
	if trouble != "" {
		return fmt.Sprintf("fettle-http: refused %s %s: %s", client, name, trouble)
	}
	return fmt.Sprintf("fettle-http: sent %s %s", client, name)
}

func (p *Progress) http(m []string, now time.Time) {
	client, name, trouble := m[2], m[3], m[4]
	switch {
	case m[1] == "sent":
		p.sent(p.Conf.Root+name, client, now)
	case strings.HasPrefix(trouble, "404"):
		p.missing(p.Conf.Root+name, client, now)
	default:
		if c := p.byIP(client); c != nil {
			p.say(c, now, "was not sent %s: %s", path.Base(name), trouble)
		}
	}
}

func (p *Progress) missing(file, ip string, now time.Time) {
	c := p.byIP(ip)
	if c == nil {
		return
	}
	c.last = now
	name := path.Base(file)
	c.missing = append(c.missing, name)
	if len(c.missing) > 100 {
		c.missing = c.missing[50:]
	}
	// Loaders ask for many names until one is there: only what must be there is told.
	if stageOf(name) >= loading && !strings.HasPrefix(name, "revocations") && !strings.HasPrefix(name, "shim_certificate") {
		p.say(c, now, "asked for %s, which the tree does not have", strings.TrimPrefix(file, p.Conf.Root+"/"))
	}
}

// Quiet tells of clients that stopped on the way, once each.
func (p *Progress) Quiet(now time.Time, after time.Duration) {
	for _, c := range p.clients {
		if why := c.stuck(); why != "" && !c.warned && now.Sub(c.last) >= after {
			last := c.last
			p.say(c, now, "%s", why)
			c.warned, c.last = true, last
		}
	}
}

// stuck says how far a client came and what keeps clients from there on.
func (c *client) stuck() string {
	switch c.stage {
	case asked:
		return "asked, and took no answer: another DHCP server was faster, or a firewall blocks UDP 67 or 68"
	case addressed:
		if !c.pxe {
			return ""
		}
		return "has an address, but did not ask for a boot loader: a firewall blocks UDP 69, or its firmware boots in another mode"
	case loading:
		last := c.sent[len(c.sent)-1]
		why := "it may be waiting at its boot menu"
		if n := len(c.missing); n > 0 {
			why = "the last file that it asked for and did not get is " + c.missing[n-1] + "; or it waits at its menu"
		}
		return fmt.Sprintf("was sent %s, and never asked for the kernel: %s", last, why)
	case kernel:
		return "was sent the kernel, and no initrd: is its memory too small?"
	}
	return ""
}

// Booted tells whether all expected hosts came as far as this server can see.
func (p *Progress) Booted() bool {
	if len(p.Conf.Hosts) == 0 {
		return slices.ContainsFunc(p.clients, func(c *client) bool { return p.done(c) })
	}
	for _, h := range p.Conf.Hosts {
		if !slices.ContainsFunc(p.clients, func(c *client) bool { return p.done(c) && (c.mac == h.MAC || p.Conf.Proxy) }) {
			return false
		}
	}
	return true
}

// done: the installer runs. Beside another server its own question for an
// address is not seen.
func (p *Progress) done(c *client) bool {
	if p.Conf.Proxy {
		return c.stage >= initrd
	}
	return c.stage == running
}
