// Package mcp is fettle-mcp's command line.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"fettle/assistant"
	"fettle/cli/app"
	"fettle/internal/files"
)

// Name is the program's.
const Name = "fettle-mcp"

// tokenLeast is how long a token must be at least, in bytes.
const tokenLeast = 32

type program struct {
	*app.App
	conf                   assistant.Config
	hubToken, token, audit string // files
	listen                 string
}

// Main runs one command line and returns the exit status.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{App: &app.App{Program: app.CalledAs(Name), Stdin: stdin, Stdout: stdout, Stderr: stderr}}
	ctx, stop := app.Interruptible(context.Background())
	defer stop()
	return p.Execute(ctx, args, p.root)
}

func (p *program) root() *cobra.Command {
	c := &cobra.Command{
		Use:   Name,
		Short: "Serve fettle to an assistant, which may look and change nothing",
		Long: `fettle-mcp is a server of the Model Context Protocol. An assistant that starts
it may run fettle's checks on this host, read evidence, articles and plans, and
measure. It changes nothing: for a fix it gets the plan, and the command for a
person to type.

It speaks on standard input and output. With --listen it serves HTTP on the
loopback, for clients with the token. Other hosts, captures and folders only
where --allow-host and --allow-path permit. Each call is a line of JSON in the
audit, on standard error unless --audit names a file.`,
		Example: `  fettle-mcp
  fettle-mcp --allow-host root@web1,root@web2 --allow-path /var/captures
  fettle-mcp --listen 127.0.0.1:7411 --token-file ~/.config/fettle/mcp-token`,
		Args:              cobra.NoArgs,
		PersistentPreRunE: app.NoEmptyFlags,
		RunE:              func(cmd *cobra.Command, _ []string) error { return p.serve(cmd.Context()) },
	}
	f := c.Flags()
	f.StringVar(&p.conf.Fettle, "fettle", "", "run this `FILE` (default: fettle beside this program, or in PATH)")
	f.StringSliceVar(&p.conf.Hosts, "allow-host", nil, "also look at these `HOSTS` over ssh")
	f.StringSliceVar(&p.conf.Paths, "allow-path", nil, "also read captures, sosreports and root folders in these `FOLDERS`")
	f.StringVar(&p.conf.Hub, "hub", "", "also ask the hub whose page is at this `URL`")
	f.StringVar(&p.hubToken, "hub-token-file", "", "the `FILE` with the hub's API token")
	f.StringVar(&p.listen, "listen", "", "serve HTTP on this `ADDRESS` of the loopback instead of standard input")
	f.StringVar(&p.token, "token-file", "", "the `FILE` with the token that clients of --listen send")
	f.StringVar(&p.audit, "audit", "", "write the audit to the end of `FILE`")
	return app.Grow(c)
}

func (p *program) serve(ctx context.Context) error {
	if err := p.configure(); err != nil {
		return err
	}
	p.conf.Audit, p.conf.Transport = p.Stderr, "stdio"
	if p.audit != "" {
		f, err := files.Append(p.audit, 0o600)
		if err != nil {
			return app.Usagef("--audit: %w", err)
		}
		defer f.Close()
		p.conf.Audit = f
	}
	if p.listen != "" {
		return p.serveHTTP(ctx)
	}
	if p.token != "" {
		return app.Usagef("--token-file is for --listen: on standard input there is one client, who started this program")
	}
	alive, gone := context.WithCancel(ctx)
	defer gone()
	p.conf.Alive = alive
	err := assistant.New(p.conf).Run(ctx, &sdk.IOTransport{Reader: &reader{p.Stdin, gone}, Writer: nopCloser{p.Stdout}})
	if err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return app.Failf("%w", err)
	}
	return nil
}

// reader tells when the client has closed its end.
type reader struct {
	io.Reader
	gone func()
}

func (r *reader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err != nil {
		r.gone()
	}
	return n, err
}

func (*reader) Close() error { return nil }

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// configure checks everything that can be wrong with the flags.
func (p *program) configure() (err error) {
	if p.conf.Fettle, err = app.FindFettle(p.conf.Fettle); err != nil {
		return app.Usagef("expected the program fettle (--fettle FILE): %w", err)
	}
	if st, err := os.Stat(p.conf.Fettle); err != nil || !st.Mode().IsRegular() || st.Mode()&0o111 == 0 {
		return app.Usagef("--fettle %s: expected the program fettle", p.conf.Fettle)
	}
	for _, h := range p.conf.Hosts {
		if h == "" || strings.HasPrefix(h, "-") || strings.ContainsAny(h, " \t\n,*") {
			return app.Usagef("--allow-host %q: expected the name of a host as ssh takes it, such as root@web1", h)
		}
	}
	for _, d := range p.conf.Paths {
		if st, err := os.Stat(d); !filepath.IsAbs(d) || err != nil || !st.IsDir() && !st.Mode().IsRegular() {
			return app.Usagef("--allow-path %q: expected the absolute path of a folder or file that is there", d)
		}
	}
	if (p.conf.Hub == "") != (p.hubToken == "") {
		return app.Usagef("--hub and --hub-token-file belong together")
	}
	if p.conf.Hub != "" {
		if p.conf.Token, err = secret("--hub-token-file", p.hubToken, 1); err != nil {
			return err
		}
		if !strings.HasPrefix(p.conf.Hub, "https://") && !strings.HasPrefix(p.conf.Hub, "http://127.0.0.1:") &&
			!strings.HasPrefix(p.conf.Hub, "http://[::1]:") && !strings.HasPrefix(p.conf.Hub, "http://localhost:") {
			return app.Usagef("--hub %q: expected https://…: the token would go over the network in the clear", p.conf.Hub)
		}
		p.conf.Hub = strings.TrimRight(p.conf.Hub, "/")
	}
	return nil
}

// secret reads a token of a file that only its owner can read.
func secret(flag, name string, least int) (string, error) {
	f, err := files.Hold(name)
	if err != nil {
		return "", app.Usagef("%s: %w", flag, err)
	}
	defer f.Close()
	if f.Info.Mode().Perm()&0o077 != 0 {
		return "", app.Usagef("%s %s: others may read it: chmod 600 %s", flag, name, name)
	}
	b, err := files.AtMost(f, name, 4<<10)
	if err != nil {
		return "", app.Usagef("%s: %w", flag, err)
	}
	token := strings.TrimSpace(string(b))
	if len(token) < least || strings.ContainsAny(token, " \t\r\n") {
		return "", app.Usagef("%s %s: expected one word of at least %d characters: openssl rand -hex 32 > %s", flag, name, least, name)
	}
	return token, nil
}

func (p *program) serveHTTP(ctx context.Context) error {
	host, _, err := net.SplitHostPort(p.listen)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return app.Usagef("--listen %q: expected an address of the loopback with a port, such as 127.0.0.1:7411; from elsewhere use ssh -L",
			p.listen)
	}
	if p.token == "" {
		return app.Usagef("--listen needs --token-file: any program on this host can connect")
	}
	token, err := secret("--token-file", p.token, tokenLeast)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", p.listen)
	if err != nil {
		return app.Failf("%w", err)
	}
	p.conf.Transport = "http"
	s := assistant.Server(assistant.Handler(assistant.New(p.conf), token))
	context.AfterFunc(ctx, func() { s.Close() })
	fmt.Fprintf(p.Stderr, "%s: serving http://%s/\n", Name, l.Addr())
	if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return app.Failf("%w", err)
	}
	return nil
}
