package netboot

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fettle/cli/app"
	"fettle/host"
	"fettle/host/format/accounts"
	"fettle/internal/ui"
	"fettle/tools/netboot/serve"
)

const (
	dnsmasq = "/usr/sbin/dnsmasq"
	// quiet is how long a client may be silent on its way before that is told.
	quiet = 30 * time.Second
)

// stageFolder is where stages are made: a file system in memory, gone with a boot.
const stageFolder = "/run"

func runServe(ctx context.Context, a *app.App, o *serveOptions) error {
	link, conf, err := o.network()
	if err != nil {
		return app.Usagef("%w", err)
	}
	if !o.show {
		if err := possible(ctx, a, o, link, conf); err != nil {
			return err
		}
	}
	src, err := a.OpenLive()
	if err != nil {
		return err
	}
	defer src.Close()
	dir := stageFolder
	if o.show {
		dir = os.TempDir()
	}
	if err := serve.Sweep(dir); err != nil {
		return app.Failf("%w", err)
	}
	stage, err := serve.Make(ctx, host.New(src), dir, o.source, conf.Address.Addr().String(), conf.Hosts, o.console, o.parts()...)
	if err != nil {
		return app.Usagef("%w", err)
	}
	defer stage.Close()
	conf.Root, conf.Loaders = stage.Root, stage.Loaders
	if err := conf.Check(); err != nil {
		return app.Usagef("%w", err)
	}
	if err := o.openHTTP(a, &conf); err != nil {
		return err
	}
	if !o.show {
		firewalled(ctx, a, conf)
	}
	if l := conf.Loaders; conf.Proxy && (l.EFI64 != "" || l.EFIArm64 != "") {
		a.Warn(
			fmt.Sprintf(
				"clients with UEFI stop at GRUB's prompt unless the DHCP server names %s as its next server: GRUB does not take it from a proxy",
				conf.Address.Addr(),
			),
		)
	}
	fmt.Fprintf(a.Stdout, "dnsmasq's configuration:\n\n%s\n", indent(conf.Text()))
	if o.show {
		return nil
	}
	err = supervise(ctx, a, o, conf)
	if cerr := stage.Close(); err == nil && cerr != nil {
		err = app.Failf("removing the folder that was served: %w", cerr)
	}
	return err
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}

// possible looks for what would keep clients from being served, before anything is made.
func possible(ctx context.Context, a *app.App, o *serveOptions, link *net.Interface, conf serve.Conf) error {
	if os.Geteuid() != 0 {
		return app.Usagef("serving needs root: DHCP and TFTP have ports below 1024")
	}
	if _, err := os.Stat(dnsmasq); err != nil {
		return app.Failf("%s is not there: apt-get install dnsmasq-base", dnsmasq)
	}
	for _, p := range conf.Ports() {
		if p.Proto == "tcp" {
			continue // opened for good later
		}
		address := conf.Address.Addr().String()
		if p.Number == 67 {
			address = "0.0.0.0"
		}
		pc, err := net.ListenPacket("udp4", fmt.Sprintf("%s:%d", address, p.Number))
		if errors.Is(err, syscall.EADDRINUSE) {
			return app.Usagef("%s is taken by another server: ss -ulnp sport = %d tells which; stop it while fettle serves", p, p.Number)
		}
		if err != nil {
			return app.Failf("opening %s: %w", p, err)
		}
		pc.Close()
	}
	if conf.Proxy || o.force || o.probe == 0 {
		return nil
	}
	servers, err := serve.Probe(ctx, link.Name, link.HardwareAddr, o.probe)
	if err != nil {
		return app.Failf("%w", err)
	}
	if len(servers) > 0 {
		return app.Failf(
			"a DHCP server answers on %s already: %s. Two of them give the same "+
				"addresses to different hosts. Use --proxy to serve beside it, or --force",
			link.Name,
			join(servers),
		)
	}
	return nil
}

func join(addrs []netip.Addr) string {
	var out []string
	for _, ad := range addrs {
		out = append(out, ad.String())
	}
	return strings.Join(out, ", ")
}

// firewalled tells of ports that clients cannot reach. It warns and goes on: the
// admin may open them while it serves.
func firewalled(ctx context.Context, a *app.App, conf serve.Conf) {
	nft, nerr := ask(ctx, "nft", "-j", "list", "ruleset")
	ipt, ierr := ask(ctx, "iptables", "-S")
	for _, p := range conf.Ports() {
		dropped := false
		if nerr == nil {
			fate, err := serve.NFT(nft, conf.Interface, p)
			dropped = err == nil && fate == serve.Dropped
		}
		if ierr == nil && serve.IPTables(string(ipt), conf.Interface, p) == serve.Dropped {
			dropped = true
		}
		if dropped {
			a.Warn(
				fmt.Sprintf(
					"the firewall of this host drops %s on %s: let it in, as with one of\n  ufw allow in on %[2]s proto %[3]s to any port %[4]d\n  "+
						"firewall-cmd --add-port=%[4]d/%[3]s\n  nft insert rule inet filter input iifname %[2]s %[3]s dport %[4]d accept",
					p,
					conf.Interface,
					p.Proto,
					p.Number,
				),
			)
		}
	}
}

// ask runs a program that only reads.
func ask(ctx context.Context, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, dir := range []string{"/usr/sbin/", "/sbin/"} {
		if _, err := os.Stat(dir + name); err == nil {
			c := exec.CommandContext(ctx, dir+name, args...)
			c.Env = []string{"LC_ALL=C"}
			return c.Output()
		}
	}
	return nil, exec.ErrNotFound
}

// supervise runs dnsmasq and tells what its log says, until ctx ends, dnsmasq
// does, or all expected hosts came.
func supervise(ctx context.Context, a *app.App, o *serveOptions, conf serve.Conf) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tftp := dnsmasqCmd(ctx, conf.Text())
	lines, done, err := start(ctx, tftp)
	if err != nil {
		return app.Failf("starting dnsmasq: %w", err)
	}
	web, webDone, err := o.serveHTTP(ctx, conf)
	if err != nil {
		return app.Failf("serving by HTTP: %w", err)
	}
	defer func() { // both have ended and left their ports when this returns
		cancel()
		for range lines {
		}
		if web != nil {
			for range web {
			}
		}
	}()
	told := func(s string) { fmt.Fprintln(a.Stdout, ui.Visible(s)) }
	p := serve.Progress{Conf: conf, Tell: told}
	told(fmt.Sprintf("serving on %s, %s; clients must reach %s. End with Ctrl-C.", conf.Interface, conf.Address.Addr(), portList(conf)))
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	var last []string // of the log, for the case that dnsmasq gives up
	came := false
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				err := <-done
				switch {
				case came || ctx.Err() != nil:
					return nil
				case err == nil:
					err = errors.New("it exited")
				}
				return app.Failf("dnsmasq: %w: %s", err, strings.Join(last, "; "))
			}
			if last = append(last, line); len(last) > 3 {
				last = last[1:]
			}
			p.Line(line, time.Now())
			if o.once && p.Booted() && !came {
				came = true
				told("all came: done")
				cancel()
			}
		case line, ok := <-web:
			switch {
			case ok:
				p.Line(line, time.Now())
			case ctx.Err() == nil:
				return app.Failf("the HTTP server ended: %w: %s", <-webDone, strings.Join(last, "; "))
			default:
				web = nil
			}
		case now := <-tick.C:
			p.Under(append(serve.Transfers(tftp.Process.Pid), serve.Transfers(o.httpPID)...), now)
			p.Quiet(now, quiet)
		}
	}
}

func portList(c serve.Conf) string {
	var out []string
	for _, p := range c.Ports() {
		out = append(out, p.String())
	}
	return strings.Join(out, ", ")
}

// dnsmasqCmd is dnsmasq with a configuration.
func dnsmasqCmd(ctx context.Context, conf string) *exec.Cmd {
	c := exec.CommandContext(ctx, dnsmasq, "--keep-in-foreground", "--conf-file=-", "--log-facility=-", "--pid-file")
	c.Stdin = strings.NewReader(conf)
	c.SysProcAttr = &syscall.SysProcAttr{AmbientCaps: []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_NET_BIND_SERVICE}}
	return c
}

// start starts a server so that it ends with this process, however that ends:
// the kernel tells a child of its parent's death as long as the child's rights
// stay the same (prctl(2), PR_SET_PDEATHSIG), so that it begins with the few it
// needs. The thread that started it must live as long.
func start(ctx context.Context, c *exec.Cmd) (lines <-chan string, done <-chan error, err error) {
	c.Env = []string{"LC_ALL=C"}
	c.Dir = "/"
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 3 * time.Second
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.SysProcAttr.Setpgid, c.SysProcAttr.Pdeathsig = true, syscall.SIGTERM
	c.SysProcAttr.Credential = &syscall.Credential{
		Uid: accounts.Nobody,
		Gid: accounts.Nobody,
	} // dnsmasq gets capabilities for the network and owns nothing
	log, err := c.StderrPipe()
	if err != nil {
		return nil, nil, err
	}
	out, ended, began := make(chan string, 100), make(chan error, 1), make(chan error)
	go func() {
		runtime.LockOSThread()
		if err := c.Start(); err != nil {
			began <- err
			return
		}
		began <- nil
		read(log, out)
		ended <- c.Wait()
		close(out)
	}()
	return out, ended, <-began
}

// read hands on lines, each cut at 1000 bytes.
func read(log io.Reader, out chan<- string) {
	r := bufio.NewReaderSize(log, 4096)
	for {
		line, err := r.ReadSlice('\n')
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			out <- string(line[:min(len(line), 1000)])
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}
