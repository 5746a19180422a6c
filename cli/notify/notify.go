// Package notify is fettle notify.
package notify

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/config"
	"fettle/internal/ui"
	"fettle/report"
	"fettle/report/notify"
)

// Cmd is fettle notify.
func Cmd(a *app.App) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "notify",
		Short: "Send a test message through each channel of the configuration",
		Long: `Send a test message through each channel of the configuration (notify: in
` + config.File + `) and show which of them work. What changed is sent
by fettle check --notify.

Exit status:
  0  every channel worked
  2  usage error, or a mistake in the configuration
  3  a channel failed`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := a.Config(file)
			if err != nil {
				return err
			}
			if len(conf.Notify) == 0 {
				return app.Usagef("no channel is configured: add one under notify: in %s", config.File)
			}
			host, _ := os.Hostname()
			failed := 0
			notify.System().Test(cmd.Context(), conf.Notify, report.Meta{Host: host, Started: time.Now()}, func(title string, err error) {
				if err != nil {
					failed++
					fmt.Fprintf(a.Stdout, "failed  %s: %s\n", ui.Visible(title), ui.Visible(err.Error()))
					return
				}
				fmt.Fprintf(a.Stdout, "ok      %s\n", ui.Visible(title))
			})
			if failed > 0 {
				return app.Exit(app.ExitFailed, nil)
			}
			return nil
		},
	}
	c.Flags().StringVar(&file, "config", "", "take the configuration from `FILE` (default: "+config.File+")")
	c.MarkFlagFilename("config", "yaml")
	return c
}
