package watch

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/host"
	"fettle/internal/files"
	"fettle/internal/ui"
	"fettle/tools/watch"
)

type watchOptions struct {
	interval         time.Duration
	listen, textfile string
}

// Cmd is fettle watch.
func Cmd(a *app.App) *cobra.Command {
	var o watchOptions
	c := &cobra.Command{
		Use:         "watch",
		Annotations: app.NoRules,
		Short:       "Report new bad blocks of MD arrays, until interrupted",
		Long: `Reads the bad blocks lists of all members of running MD arrays every interval
and prints a line for each new entry: mdadm sends no mail about these, and
/proc/mdstat does not show them. It reads sysfs only and needs no privileges.
Metrics in Prometheus' text format go to a file for node_exporter's
textfile collector, to an address of this host's loopback, or both.

Exit status:
  0  interrupted
  2  usage error
  3  the metrics could not be written`,
		Example: `  fettle watch
  fettle watch --interval 30s \
      --textfile /var/lib/prometheus/node-exporter/fettle.prom
  fettle watch --listen 127.0.0.1:9797`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return start(cmd.Context(), a, o) },
	}
	f := c.Flags()
	f.DurationVar(&o.interval, "interval", time.Minute, "`TIME` between two readings, at least 1s")
	f.StringVar(&o.listen, "listen", "", "serve /metrics at this `ADDRESS` of the loopback (127.0.0.1:PORT or [::1]:PORT)")
	f.StringVar(&o.textfile, "textfile", "", "write the metrics to this `FILE` after each reading")
	return c
}

func start(ctx context.Context, a *app.App, o watchOptions) error {
	if o.interval < time.Second {
		return app.Usagef("--interval %s: expected at least 1s", o.interval)
	}
	if err := app.Textfile(o.textfile); err != nil {
		return err
	}
	src, err := a.OpenLive()
	if err != nil {
		return err
	}
	defer src.Close()
	var metrics atomic.Value
	if o.listen != "" {
		stop, err := app.ServeMetrics(o.listen, &metrics)
		if err != nil {
			return err
		}
		defer stop()
	}
	w := &watch.Watcher{Host: func() *host.Host { return host.New(src) },
		Tell: func(l string) {
			fmt.Fprintf(a.Stdout, "%s %s\n", time.Now().UTC().Format(time.RFC3339), ui.Visible(l))
		},
		Publish: func(b []byte) error {
			metrics.Store(b)
			if o.textfile == "" {
				return nil
			}
			if err := files.WriteFile(o.textfile, b, 0o644); err != nil {
				return app.Failf("writing the metrics: %w", err)
			}
			return nil
		}}
	return w.Run(ctx, o.interval)
}
