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
	"fettle/tools/netboot/hooks"
	"fettle/tools/netboot/menu"
	"fettle/tools/netboot/serve"
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
	hooks                string // all, or one part's name; empty: none
	speed                int
	probe                time.Duration
	source               string           // of the tree, absolute
	http                 *net.TCPListener // port 80, until its server has it; nil: not served
	httpPID              int              // of its server; 0: not served
	console              *menu.Console
	expected             []serve.Host
	from, to, routerAddr netip.Addr
}

func serveCmd(a *app.App) *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:   "serve (--tree FOLDER | --release NUMBER)",
		Short: "Serve an installer to hosts that boot over the network",
		Long: `Starts dnsmasq on one interface, as a user with no rights except for the network
ports, and prints its configuration. BIOS hosts get pxelinux, UEFI hosts shim
and GRUB, by TFTP or HTTP, if the tree has them. The tree is not changed: for
--serial, --host and --hooks, its menus and initrd are rewritten in a copy.

It assigns addresses itself, and refuses to if a DHCP server answers; with
--proxy, that server assigns addresses, and fettle tells clients where to boot
from. It checks that nftables or iptables (also ufw, firewalld) let clients in.
Each line of the output names the client, what it was sent and how far it got.
--host (or a YAML file: hosts, a list of name, mac, ip, preseed) names the hosts
to serve; others get no answer. --once exits when these run the installer.
dnsmasq always ends with fettle; a SIGKILL leaves a folder below /run, which the
next start removes.

Exit status:
  0  interrupted, or --once and all hosts were served
  2  usage error, bad input, or a port in use
  3  it could not serve, or another DHCP server answers`,
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
	f.StringVar(&o.release, "release", "", "serve the tree of Debian `NUMBER` from the package debian-installer-NUMBER-netboot-ARCH")
	f.StringVar(&o.arch, "arch", "amd64", "with --release: the `ARCHITECTURE` of the clients")
	c.MarkFlagsMutuallyExclusive("tree", "release")
	f.StringVar(&o.link, "interface", "", "serve on this `INTERFACE` (default: the only one with an IPv4 address)")
	f.StringVar(&o.addresses, "range", "", "assign the addresses `FROM-TO` (default: up to 50 at the end of the network)")
	f.StringVar(&o.router, "router", "", "`ADDRESS` of the clients' default gateway (default: none)")
	f.StringArrayVar(&o.hosts, "host", nil, "serve the host `NAME=MAC[,IP][,PRESEED]`; may be repeated")
	f.StringVar(&o.hostsFile, "hosts", "", "serve the hosts in this YAML `FILE`")
	f.BoolVar(&o.all, "all", false, "with --host or --hosts: serve others too")
	f.BoolVar(&o.proxy, "proxy", false, "let the network's DHCP server assign addresses")
	f.BoolVar(&o.force, "force", false, "assign addresses even if another DHCP server answers")
	f.BoolVar(&o.once, "once", false, "exit when the given hosts (or any) run the installer")
	f.StringVar(&o.port, "serial", "", "make menus and installers use this serial `PORT`: ttyS0 to ttyS3")
	app.WordFlag(c, &o.hooks, "hooks", "append fettle's hooks to the initrd that is served: `PARTS`, all, sync or bbl (see netboot hooks)",
		"all", string(hooks.Sync), string(hooks.BBL))
	f.IntVar(&o.speed, "speed", 115200, "with --serial: its speed in `BITS` per second")
	f.BoolVar(&o.show, "show-config", false, "print dnsmasq's configuration and serve nothing")
	f.DurationVar(&o.probe, "probe", 6*time.Second, "wait this `TIME` for an answer from another DHCP server")
	return c
}

// parts are those of the hooks that are asked for.
func (o *serveOptions) parts() []hooks.Part {
	switch o.hooks {
	case "":
		return nil
	case "all":
		return hooks.Parts
	}
	return []hooks.Part{hooks.Part(o.hooks)}
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
		hosts, err := serve.ParseHosts(o.hostsFile, b)
		if err != nil {
			return fmt.Errorf("--hosts: %w", err)
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
			return fmt.Errorf(
				"--release %s: %s is not there: apt-get install debian-installer-%s-netboot-%s",
				o.release,
				o.source,
				o.release,
				o.arch,
			)
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
