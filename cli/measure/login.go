package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/fleet/ssh"
	"fettle/internal/chart"
	"fettle/internal/ui"
	"fettle/tools/measure/login"
	"fettle/tools/measure/login/cause"
	"fettle/tools/measure/render"
)

// loginFlags are what fettle measure login was asked for.
type loginFlags struct {
	n                  int
	limit              time.Duration
	config, format     string
	svg, png           string
	explain, control   bool
	serverSide, server string
	port               int
	user, sshdConfig   string
	binaryDir          string
}

// LoginCmd is fettle measure login.
func LoginCmd(a *app.App) *cobra.Command {
	var f loginFlags
	c := &cobra.Command{
		Use:   "login HOST",
		Short: "Show where an SSH login spends its time, and why",
		Long: `Logs in to HOST repeatedly and shows how long each phase takes: name resolution,
connection, key exchange, each authentication method, opening the session, first
output. It runs ssh itself, so your ssh configuration, keys, agent, known hosts
and jump hosts apply. It never prompts, accepts no new host key, and changes
nothing; if ssh would prompt, it stops.

--explain finds the causes by experiment, with the seconds each one costs. On
the client: each source of host names, a login without GSSAPI, without
host-based authentication. On HOST, where it needs root (as root@HOST, or
through sudo -n) and to which it copies fettle, as check --host does: it logs in
repeatedly through a private sshd that does not listen on the network, each time
without one thing: looking up the client's name, each PAM module, the shell.
This opens about twenty real sessions of the user, one after another.

--server-side runs the same experiments on this host, as root, for a client at
ADDRESS.

Exit status:
  0  measured
  2  usage error
  3  no login, or not measured`,
		Example: `  fettle measure login web1
  fettle measure login -n 20 --svg login.svg admin@web1
  fettle measure login --explain web1
  fettle measure login --control web1
  fettle measure login --server-side 192.0.2.7 --user anna`,
		Args: func(c *cobra.Command, args []string) error {
			switch {
			case f.serverSide != "" && len(args) > 0:
				return app.Usagef("--server-side is for this host: leave out %s", args[0])
			case f.serverSide == "" && len(args) != 1:
				return app.Usagef("which host? %s HOST takes one, not %d", c.CommandPath(), len(args))
			}
			return nil
		},
	}
	fl := c.Flags()
	fl.IntVarP(&f.n, "logins", "n", 5, "`NUMBER` of logins")
	fl.DurationVar(&f.limit, "limit", login.DefaultLimit, "give up on one login after this `TIME`")
	fl.StringVar(&f.config, "ssh-config", "", "give ssh this configuration `FILE` instead of ~/.ssh/config")
	fl.BoolVar(&f.explain, "explain", false, "find the causes of slow phases by experiment, on the host too")
	fl.BoolVar(&f.control, "control", false, "measure logins over a shared connection as well (ControlMaster)")
	fl.StringVar(&f.svg, "svg", "", "draw the phases into this `FILE`")
	fl.StringVar(&f.png, "png", "", "draw the phases into this `FILE`")
	fl.StringVar(&f.serverSide, "server-side", "", "run the experiments here, for a client at this `ADDRESS`")
	fl.StringVar(&f.user, "user", "root", "with --server-side: log in as this `USER`")
	fl.StringVar(&f.sshdConfig, "sshd-config", "", "with --server-side: sshd's configuration `FILE`")
	fl.StringVar(&f.server, "server-addr", "", "with --server-side: the `ADDRESS` that the client connects to")
	fl.IntVar(&f.port, "server-port", 22, "with --server-side: the port")
	fl.StringVar(&f.binaryDir, "binary-dir", "", "with --explain: find fettle-linux-ARCH for hosts of other architectures in `DIR`")
	app.FormatFlag(c, &f.format, render.Formats()...)
	for _, name := range []string{"ssh-config", "svg", "png", "sshd-config"} {
		c.MarkFlagFilename(name)
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.valid(); err != nil {
			return err
		}
		if f.serverSide != "" {
			return loginServerSide(cmd.Context(), a, f)
		}
		return measureLogin(cmd.Context(), a, args[0], f)
	}
	return c
}

func (f *loginFlags) valid() error {
	switch {
	case f.n < 1:
		return app.Usagef("-n %d: expected 1 or more", f.n)
	case f.limit < time.Second:
		return app.Usagef("--limit %s: expected a second or more", f.limit)
	case f.port < 1 || f.port > 65535:
		return app.Usagef("--server-port %d: expected 1 to 65535", f.port)
	case f.serverSide != "" && (f.explain || f.control || f.svg != "" || f.png != "" || f.config != ""):
		return app.Usagef(
			"--server-side makes no login from outside: it cannot be used with --explain, --control, --svg, --png or --ssh-config",
		)
	}
	return nil
}

func (f *loginFlags) pictures() app.Pictures { return app.Pictures{"svg": f.svg, "png": f.png} }

func measureLogin(ctx context.Context, a *app.App, host string, f loginFlags) error {
	if err := login.CheckHost(host); err != nil {
		return app.Usagef("%w", err)
	}
	if err := f.pictures().Writable(); err != nil {
		return err
	}
	progress := ui.NewProgress(a.Stderr)
	defer progress.End()
	say := progress.Show
	o := login.Options{Host: host, N: f.n, Limit: f.limit, Config: f.config,
		Tell: func(done, all int) { say(fmt.Sprintf("login %d of %d", done, all)) }}
	say("first login")
	r, err := login.Measure(ctx, o)
	var ce *login.ConfigError
	switch {
	case errors.As(err, &ce):
		return app.Usagef("%w", err)
	case err != nil:
		return app.Failf("%w", err)
	}
	result := render.Login{Result: r}
	if f.control {
		say("a connection to share")
		st, err := login.Control(ctx, o)
		if err != nil {
			return app.Failf("%w", err)
		}
		result.Control = &st
		if u, err := user.Current(); err == nil {
			result.LocalUser = u.Username
		}
	}
	if f.explain {
		server := func(ctx context.Context, l *login.Login) (*cause.Report, error) {
			say("experiments on " + host)
			return onServer(ctx, host, l, f)
		}
		if result.Explanation, err = login.Explain(ctx, o, r, server); err != nil {
			return app.Failf("%w", err)
		}
	}
	say("")
	bars := result.Bars()
	return draw(a, f.format, result, f.pictures(), chart.Picture{Bars: &bars})
}

// onServer runs fettle measure login --server-side on the host, as root.
func onServer(ctx context.Context, host string, l *login.Login, f loginFlags) (*cause.Report, error) {
	if l.Conn.ClientAddr == "" {
		return nil, errors.New(
			"the server does not set SSH_CONNECTION, so the client's address is unknown; run fettle measure login --server-side there",
		)
	}
	const most = 30 * time.Minute
	fl, err := ssh.Open(ssh.Options{Config: f.config, Sudo: l.User != "root", Limit: most, Connect: f.limit, BinaryDir: f.binaryDir})
	if err != nil {
		return nil, err
	}
	defer fl.Close()
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	var out bytes.Buffer
	exit, errs, err := fl.Run(ctx, host, []string{"measure", "login", "--format=json", "--server-side=" + l.Conn.ClientAddr,
		"--server-addr=" + l.Conn.ServerAddr, "--server-port=" + l.Conn.ServerPort, "--user=" + l.User, "--limit=" + f.limit.String()}, &out)
	if err != nil {
		return nil, err
	}
	if exit != 0 {
		return nil, fmt.Errorf("fettle there ended with status %d: %s", exit, ui.Visible(lastLine(errs)))
	}
	var rep cause.Report
	if err := json.Unmarshal(out.Bytes(), &rep); err != nil {
		return nil, fmt.Errorf("reading what fettle there found: %w", err)
	}
	return &rep, nil
}

// lastLine is the last line that says something.
func lastLine(s string) string {
	last := ""
	for _, line := range bytes.Split([]byte(s), []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			last = string(line)
		}
	}
	return last
}

func loginServerSide(ctx context.Context, a *app.App, f loginFlags) error {
	client, err := netip.ParseAddr(f.serverSide)
	if err != nil {
		return app.Usagef("--server-side: %q is no IP address", f.serverSide)
	}
	progress := ui.NewProgress(a.Stderr)
	defer progress.End()
	say := progress.Show
	o := cause.Options{User: f.user, Client: client, Limit: f.limit, Config: f.sshdConfig, Tell: say}
	if f.server != "" {
		addr, err := netip.ParseAddr(f.server)
		if err != nil {
			return app.Usagef("--server-addr: %q is no IP address", f.server)
		}
		o.Server = netip.AddrPortFrom(addr, uint16(f.port))
	}
	if err := o.Check(); err != nil {
		return app.Usagef("%w", err)
	}
	if os.Geteuid() != 0 {
		return app.Failf("the experiments on the server must run as root")
	}
	rep, err := cause.Run(ctx, o)
	if err != nil {
		return app.Failf("%w", err)
	}
	say("")
	return write(a, f.format, render.LoginServer{Report: rep})
}
