package netboot

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fettle/cli/app"
	"fettle/internal/ui"
	"fettle/internal/yamlfile"
	"fettle/netboot/menu"
	"fettle/netboot/serve"
)

type serveOptions struct {
	tree, release, arch  string
	link, addresses      string
	router               string
	hosts                []string
	hostsFile            string
	proxy, force, once   bool
	all, show            bool
	port                 string
	speed                int
	probe                time.Duration
	source               string           // of the tree, absolute
	http                 *net.TCPListener // port 80, until its server has it; nil: not served
	console              *menu.Console
	expected             []serve.Host
	from, to, routerAddr netip.Addr
}

func serveCmd(a *app.App) *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:   "serve (--tree FOLDER | --release NUMBER)",
		Short: "Serve an installer to hosts that boot over the network",
		Long: `Starts dnsmasq on one interface, as a user without rights but for the network's
ports, with a configuration that it shows. Hosts with BIOS get pxelinux, those
with UEFI shim and GRUB, by TFTP or by HTTP, as far as the tree has them. The
tree is not changed: its menus are rewritten in a copy where --serial or --host
want it.

It gives addresses by itself, and refuses to where a DHCP server answers: then
--proxy leaves the addresses to that and tells clients where to boot from.
It looks whether nftables or iptables (with ufw, firewalld) let clients in.

Each line of the output says who asked, what it was sent and how far it came.
--host (or a YAML file: hosts, a list of name, mac, ip, preseed) names who is
expected: others are left alone. --once ends when these run the installer.
An interrupt ends dnsmasq too, and so does the end of fettle however it comes;
a SIGKILL leaves a folder below /run, which the next start removes.

Exit status: 0 interrupted, or --once and all came; 2 usage error or input, or a
port is taken; 3 it could not be served, or another DHCP server answers.`,
		Example: `  fettle netboot serve --release 12 --interface eth1 --serial ttyS1
  fettle netboot serve --tree /srv/tftp --proxy
  fettle netboot serve --tree /srv/tftp --once \
      --host web1=0c:c4:7a:7c:28:40,192.0.2.10,web1.cfg`,
		Args:    cobra.NoArgs,
		PreRunE: app.NoEmptyFlags,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.idle(cmd.Flags()); err != nil {
				return app.Usagef("%w", err)
			}
			if err := o.read(); err != nil {
				return app.Usagef("%w", err)
			}
			return runServe(cmd.Context(), a, &o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.tree, "tree", "", "serve this `FOLDER`, an unpacked netboot.tar.gz")
	f.StringVar(&o.release, "release", "", "serve the tree of Debian `NUMBER` that package debian-installer-NUMBER-netboot-ARCH has")
	f.StringVar(&o.arch, "arch", "amd64", "with --release: the `ARCHITECTURE` of the clients")
	c.MarkFlagsMutuallyExclusive("tree", "release")
	f.StringVar(&o.link, "interface", "", "serve on this `INTERFACE` (default: the only one with an IPv4 address)")
	f.StringVar(&o.addresses, "range", "", "give out the addresses `FROM-TO` (default: up to 50 at the network's end)")
	f.StringVar(&o.router, "router", "", "tell clients this default gateway (an `ADDRESS`; default: none)")
	f.StringArrayVar(&o.hosts, "host", nil, "expect the host `NAME=MAC[,IP][,PRESEED]`; may be repeated")
	f.StringVar(&o.hostsFile, "hosts", "", "expect the hosts of this YAML `FILE`")
	f.BoolVar(&o.all, "all", false, "with --host or --hosts: serve others too")
	f.BoolVar(&o.proxy, "proxy", false, "leave the addresses to the network's DHCP server")
	f.BoolVar(&o.force, "force", false, "give addresses though another DHCP server answers")
	f.BoolVar(&o.once, "once", false, "end when the expected hosts (or any) run the installer")
	f.StringVar(&o.port, "serial", "", "send menus and installers to this serial `PORT`: ttyS0 to ttyS3")
	f.IntVar(&o.speed, "speed", 115200, "with --serial: its speed in `BITS` per second")
	f.BoolVar(&o.show, "show-config", false, "print dnsmasq's configuration and serve nothing")
	f.DurationVar(&o.probe, "probe", 6*time.Second, "wait this `TIME` for the answer of another DHCP server")
	return c
}

// idle refuses flags that would have no effect.
func (o *serveOptions) idle(f *pflag.FlagSet) error {
	for _, c := range []struct {
		flag   string
		effect bool
		needs  string
	}{
		{"arch", o.release != "", "--release"},
		{"speed", o.port != "", "--serial"},
		{"all", len(o.hosts) > 0 || o.hostsFile != "", "--host or --hosts"},
	} {
		if f.Changed(c.flag) && !c.effect {
			return fmt.Errorf("--%s has no effect without %s", c.flag, c.needs)
		}
	}
	for _, name := range []string{"range", "router", "force"} {
		if o.proxy && f.Changed(name) {
			return fmt.Errorf("--%s is about giving addresses, which --proxy leaves to the network's DHCP server", name)
		}
	}
	return nil
}

// read judges the flags that need nothing of the host but files.
func (o *serveOptions) read() (err error) {
	if err = o.findTree(); err != nil {
		return err
	}
	if o.port != "" {
		c, err := menu.Parse(o.port, o.speed)
		if err != nil {
			return err
		}
		o.console = &c
	}
	for _, text := range o.hosts {
		h, err := serve.ParseHost(text)
		if err != nil {
			return fmt.Errorf("--host: %w", err)
		}
		o.expected = append(o.expected, h)
	}
	if o.hostsFile != "" {
		b, err := yamlfile.Read(o.hostsFile)
		if err == nil && len(b) == 0 {
			err = fmt.Errorf("%s: no such file, or an empty one", o.hostsFile)
		}
		if err != nil {
			return fmt.Errorf("--hosts: %w", err)
		}
		hosts, err := serve.ParseHosts(b, filepath.Dir(o.hostsFile))
		if err != nil {
			return fmt.Errorf("--hosts: %w", yamlfile.Located(o.hostsFile, err))
		}
		if len(hosts) == 0 {
			return fmt.Errorf("--hosts: %s names no host: expected hosts, a list of name, mac, ip, preseed", o.hostsFile)
		}
		o.expected = append(o.expected, hosts...)
	}
	if o.router != "" {
		if o.routerAddr, err = netip.ParseAddr(o.router); err != nil || !o.routerAddr.Is4() {
			return fmt.Errorf("--router %s: expected an IPv4 address", o.router)
		}
	}
	if o.addresses != "" {
		from, to, _ := strings.Cut(o.addresses, "-")
		var err1, err2 error
		o.from, err1 = netip.ParseAddr(from)
		o.to, err2 = netip.ParseAddr(to)
		if err1 != nil || err2 != nil || !o.from.Is4() || !o.to.Is4() {
			return fmt.Errorf("--range %s: expected two IPv4 addresses, as 192.0.2.50-192.0.2.99", o.addresses)
		}
	}
	if o.probe < 0 {
		return fmt.Errorf("--probe %s: must not be negative", o.probe)
	}
	return serve.Distinct(o.expected)
}

// findTree finds the folder that is to be served.
func (o *serveOptions) findTree() (err error) {
	switch {
	case o.tree != "":
		o.source, err = filepath.Abs(o.tree)
	case o.release != "":
		for flag, v := range map[string]string{"--release": o.release, "--arch": o.arch} {
			if !word().MatchString(v) {
				return fmt.Errorf("%s %s: expected a number as 12, an architecture as amd64", flag, ui.Quote(v))
			}
		}
		o.source = filepath.Join("/usr/lib/debian-installer/images", o.release, o.arch, "text")
		if _, serr := os.Stat(o.source); serr != nil {
			return fmt.Errorf("--release %s: %s is not there: apt-get install debian-installer-%s-netboot-%s", o.release, o.source, o.release, o.arch)
		}
	default:
		return fmt.Errorf("what to serve? --tree FOLDER or --release NUMBER")
	}
	if err != nil {
		return err
	}
	if err := expectFolder(o.source, "that holds an unpacked netboot.tar.gz"); err != nil {
		return err
	}
	o.source, err = filepath.EvalSymlinks(o.source)
	return err
}

// network finds the interface and what is served on it.
func (o *serveOptions) network() (*net.Interface, serve.Conf, error) {
	link, address, err := o.choose()
	if err != nil {
		return nil, serve.Conf{}, err
	}
	c := serve.Conf{Interface: link.Name, Address: address, Proxy: o.proxy, From: o.from, To: o.to, Router: o.routerAddr,
		Hosts: o.expected, All: o.all || len(o.expected) == 0}
	if !o.proxy && !o.from.IsValid() {
		if c.From, c.To, err = serve.Range(address); err != nil {
			return nil, c, err
		}
	}
	return link, c, nil
}

// choose is the interface that was named, or the only one that could be meant.
func (o *serveOptions) choose() (*net.Interface, netip.Prefix, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, netip.Prefix{}, err
	}
	var names []string
	var best *net.Interface
	var address netip.Prefix
	for i := range all {
		l := &all[i]
		if o.link != "" && l.Name != o.link || o.link == "" && l.Flags&net.FlagLoopback != 0 || l.Flags&net.FlagUp == 0 {
			continue
		}
		addrs, _ := l.Addrs()
		for _, ad := range addrs {
			if p, err := netip.ParsePrefix(ad.String()); err == nil && p.Addr().Is4() {
				names = append(names, l.Name)
				best, address = l, p
				break
			}
		}
	}
	switch {
	case len(names) == 1:
		return best, address, nil
	case len(names) > 1:
		return nil, address, fmt.Errorf("on which interface? --interface %s", strings.Join(names, " or --interface "))
	case o.link != "":
		return nil, address, fmt.Errorf("--interface %s: is not there, is down, or has no IPv4 address", o.link)
	}
	return nil, address, fmt.Errorf("no interface is up with an IPv4 address: give one an address first (ip addr add 192.0.2.1/24 dev …)")
}
