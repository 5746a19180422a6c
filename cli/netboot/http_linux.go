package netboot

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/ui"
	"fettle/tools/netboot/httpd"
	"fettle/tools/netboot/serve"
)

// httpVerb is what serve runs as a user without rights: the listening socket is its
// descriptor 3.
const httpVerb = "http"

func httpCmd() *cobra.Command {
	return &cobra.Command{
		Use:    httpVerb + " ROOT",
		Short:  "Hand out a folder over HTTP, for fettle netboot serve",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := os.NewFile(3, "listener")
			l, err := net.FileListener(file)
			if err != nil || os.Geteuid() == 0 {
				return app.Usagef("this verb is for fettle netboot serve alone")
			}
			file.Close()
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
			defer stop()
			s := httpd.Server{Root: args[0], Sent: func(client, name, trouble string) {
				fmt.Fprintln(os.Stderr, ui.Visible(serve.HTTPLine(client, name, trouble)))
			}}
			return s.Serve(ctx, l)
		},
	}
}

// openHTTP opens port 80 where clients could boot by HTTP. When it is another
// server's, they go without.
func (o *serveOptions) openHTTP(a *app.App, conf *serve.Conf) error {
	switch l := conf.Loaders; {
	case conf.Proxy: // dnsmasq's proxy answers PXE clients alone
		return nil
	case !l.HTTP64 && !l.HTTPArm64:
		if l.EFI64 != "" || l.EFIArm64 != "" {
			fmt.Fprintln(a.Stdout, "GRUB in this tree cannot fetch by HTTP: UEFI clients boot by PXE")
		}
		return nil
	}
	if conf.HTTP = true; o.show {
		return nil
	}
	address := conf.Address.Addr().String() + ":80"
	l, err := net.Listen("tcp4", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		a.Warn("TCP 80 is taken by another server: clients that boot by HTTP are not served (ss -tlnp sport = 80 tells which it is)")
		conf.HTTP = false
		return nil
	}
	if err != nil {
		return app.Failf("opening %s: %w", address, err)
	}
	o.http = l.(*net.TCPListener)
	return nil
}

// serveHTTP starts the HTTP server, where there is one.
func (o *serveOptions) serveHTTP(ctx context.Context, conf serve.Conf) (lines <-chan string, done <-chan error, err error) {
	if o.http == nil {
		return nil, nil, nil
	}
	file, err := o.http.File()
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	// Its own path may lie where nobody may go.
	c := exec.CommandContext(ctx, "/proc/self/exe", "netboot", httpVerb, conf.Root)
	c.ExtraFiles = []*os.File{file}
	lines, done, err = start(ctx, c)
	o.http.Close()
	if err == nil {
		o.httpPID = c.Process.Pid
	}
	return lines, done, err
}

// ownCmds are verbs for fettle itself.
func ownCmds() []*cobra.Command { return []*cobra.Command{httpCmd()} }
