package hub

import (
	"fmt"
	"log"
	"net"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/fleet/hub"
	"fettle/fleet/hub/notify"
	"fettle/internal/folded"
	"fettle/internal/units"
	"fettle/report"
	"fettle/traps"
)

// day is the unit of --keep.
const day = 24 * time.Hour

func (p *program) serveCmd() *cobra.Command {
	var c hub.Config
	var pg page
	var keep, gib int
	var notifyFile string
	cmd := &cobra.Command{
		Use: "serve", Args: cobra.NoArgs,
		Short: "Serve agents, until stopped",
		Long: `Serves agents until SIGTERM or Ctrl-C. The embedded NATS server listens on the
loopback unless --listen is given; it uses TLS with a certificate of the hub's
own authority, which each invitation names, or with that of --tls-cert.

With --nats, messages go through an external NATS cluster (2.9 or later, with
JetStream, configured with the output of fettle-hub nats-config); with
--database, they are stored in a PostgreSQL server. Several hubs may then serve
in parallel: one processes messages, and another takes over when it ends.

The web page is also on the loopback unless --web is given. fettle-hub users
sets who may log in; docs/hub-web.md describes --web-config.
docs/hub.md describes --notify-config, which fettle-hub notify tests.`,
		Example: `  fettle-hub serve
  fettle-hub serve --listen :4222 --name hub.example.org`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.Dir, c.Keep, c.MaxStore = p.dir, time.Duration(keep)*day, int64(gib)<<30
			if err := credentials(&c.Cert, &c.Key, &c.CA, &notifyFile, &pg.file); err != nil {
				return err
			}
			if (c.Cert == "") != (c.Key == "") {
				return app.Usagef("--tls-cert and --tls-key go together")
			}
			if _, _, err := net.SplitHostPort(c.Listen); err != nil {
				return app.Usagef("--listen %s: HOST:PORT is expected, or :PORT for all addresses", c.Listen)
			}
			if keep < 1 || gib < 1 {
				return app.Usagef("--keep and --nats-store are at least 1")
			}
			c.Traps = []string{report.NotAsBefore.ID()}
			for _, t := range traps.All() {
				c.Traps = append(c.Traps, t.ID())
			}
			if err := pg.read(p.dir); err != nil {
				return err
			}
			c.Silent = pg.silent
			if notifyFile != "" {
				var err error
				if c.Notify, err = notify.Read(notifyFile); err != nil {
					return app.Usagef("--notify-config: %w", err)
				}
			}
			if pg.listen != "" {
				c.Page = pg.url()
			}
			lines := log.New(p.Stderr, "", 0)
			c.Log = func(s string) { lines.Print(folded.Line(s)) }
			// Connections cost memory that is not garbage: half of it on top is enough.
			debug.SetGCPercent(50)
			h, err := hub.Start(cmd.Context(), c)
			if err != nil {
				return app.Failf("%w", err)
			}
			for _, u := range h.URLs() {
				fmt.Fprintf(p.Stderr, "agents connect to %s\n", u)
			}
			if err := ready(); err != nil {
				c.Log("telling systemd: " + err.Error())
			}
			err = pg.run(cmd.Context(), h, c.Log)
			if cerr := h.Close(); err == nil {
				err = cerr
			}
			if err != nil {
				return app.Failf("%w", err)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.Listen, "listen", "127.0.0.1:4222", "`HOST:PORT` where agents connect")
	f.StringSliceVar(&c.Names, "name", nil, "the `HOST` name under which agents reach the hub; may be repeated")
	f.StringVar(&c.NATS, "nats", "", "use the NATS cluster at these `URLS` instead, with commas between")
	f.IntVar(&c.Replicas, "nats-replicas", 1, "number of copies of each message in the cluster")
	f.StringVar(&c.CA, "nats-ca", "", "`FILE` with the authority of the NATS server's certificate, where hosts do not know it")
	f.IntVar(&gib, "nats-store", 4, "space for queued messages, in `GIB`")
	f.StringVar(&c.Database, "database", "", "PostgreSQL's `URL`, postgres://…, instead of a file in --state")
	f.StringVar(&c.Cert, "tls-cert", "", "certificate for agents: a PEM `FILE`, read again when it changes")
	f.StringVar(&c.Key, "tls-key", "", "its key: a PEM `FILE`")
	f.StringVar(&c.KnownHosts, "known-hosts", "", "let hosts join by the ssh host keys in `FILE`")
	f.StringVar(&c.Group, "known-hosts-group", "", "the `GROUP` of hosts that join by ssh host key")
	f.StringVar(&notifyFile, "notify-config", "", "`FILE` with who is notified, and when")
	f.IntVar(&keep, "keep", 400, "`DAYS` for which changes and charts are kept")
	pg.flags(cmd)
	for _, name := range []string{"nats-ca", "tls-cert", "tls-key", "known-hosts", "notify-config"} {
		_ = cmd.MarkFlagFilename(name)
	}
	return cmd
}

// ago is how long ago something was, for people.
func ago(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	if d := time.Since(t).Round(time.Second); d > 0 {
		return units.Duration(d) + " ago"
	}
	return "just now"
}
