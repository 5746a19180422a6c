package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/fleet/hub"
	"fettle/fleet/hub/bus"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/web"
	"fettle/fleet/hub/web/login"
	"fettle/traps"
)

// page is the web page of a hub that serves.
type page struct {
	listen, file string
	insecure     bool
	silent       time.Duration
	settings     *web.Settings
	login        login.Config
	listener     net.Listener
}

func (p *page) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.listen, "web", "127.0.0.1:8422", "`HOST:PORT` of the web page, or none")
	f.StringVar(&p.file, "web-config", "", "`FILE` with who may log in, and the page's certificate")
	f.BoolVar(&p.insecure, "insecure-web", false, "serve the page by HTTP on other addresses than the loopback: passwords travel readable")
	f.DurationVar(&p.silent, "silent-after", 3*time.Hour, "a host that has sent nothing for this long is silent")
	_ = cmd.MarkFlagFilename("web-config", "yaml")
}

// read reads the settings, and takes the address: what is wrong with them is
// said before anything is started.
func (p *page) read(state string) (err error) {
	if p.listen == "none" {
		p.listen = ""
		return nil
	}
	if p.silent <= 0 {
		return app.Usagef("--silent-after must be above zero")
	}
	if p.settings, err = web.ReadSettings(p.file); err != nil {
		return app.Usagef("--web-config: %w", err)
	}
	if p.login, err = p.settings.Login(); err != nil {
		return app.Usagef("--web-config: %s: %w", p.file, err)
	}
	conf, err := p.settings.Certificates(state, bus.Reloading)
	if err != nil {
		return app.Usagef("--web-config: %s: %w", p.file, err)
	}
	if p.listener, err = listen(p.listen); err != nil {
		return app.Usagef("--web %s: %w", p.listen, err)
	}
	if conf != nil {
		p.listener = tls.NewListener(p.listener, conf)
	}
	if !p.login.Secure && !p.insecure && !loopback(p.listener.Addr()) {
		return errors.Join(app.Usagef(`--web %s: this is HTTP on an address that others reach: passwords, tokens and session cookies could be read on the way.
Set tls or url: https://… (of the proxy in front) in --web-config, listen on 127.0.0.1, or confirm with --insecure-web`, p.listen),
			p.listener.Close())
	}
	return nil
}

// loopback tells whether an address is reached from this machine alone.
func loopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}

// url is where the page is.
func (p *page) url() string {
	if p.settings.URL != "" {
		return p.settings.URL
	}
	scheme := "http"
	if p.login.Secure {
		scheme = "https"
	}
	return scheme + "://" + p.listener.Addr().String()
}

// asker asks hosts over the bus.
type asker struct{ h *hub.Hub }

// spread is the time over which the answers of a whole fleet come.
const spread = time.Minute

func (a asker) Ask(_ context.Context, agents []string) error {
	within := spread
	switch len(agents) {
	case 0:
		agents = []string{""} // all
	case 1:
		within = 0
	}
	for _, agent := range agents {
		if _, err := a.h.Ask(agent, false, within); err != nil {
			return err
		}
	}
	return nil
}

// serve serves the page until ctx ends.
func (p *page) serve(ctx context.Context, h *hub.Hub) error {
	handler, err := web.New(
		ctx,
		web.Config{DB: h.DB, Traps: traps.All(), Asker: asker{h}, Login: p.login, URL: p.url(), SilentAfter: p.silent,
			Storing: h.Storing, Queue: h.Queue},
	)
	if err != nil {
		return err
	}
	return web.Serve(ctx, p.listener, handler)
}

// hint says how the first user is made, where nobody could log in.
func (p *page) hint(ctx context.Context, db *store.DB) string {
	users, err := db.Users(ctx)
	if err != nil || len(users) > 0 || p.login.NoPasswords || p.login.OIDC != nil || p.login.Proxy != nil {
		return ""
	}
	return "nobody can log in yet: " + Name + " users add NAME --role operator"
}

// run runs the hub with its page; when one ends, the other does.
func (p *page) run(ctx context.Context, h *hub.Hub, say func(string)) error {
	if p.listen == "" {
		return h.Run(ctx)
	}
	say("the page is at " + p.url())
	if s := p.hint(ctx, h.DB); s != "" {
		say(s)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		defer stop()
		ended <- p.serve(ctx, h)
	}()
	err := h.Run(ctx)
	stop()
	if werr := <-ended; werr != nil && err == nil {
		err = fmt.Errorf("the web page: %w", werr)
	}
	return err
}
