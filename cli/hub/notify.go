package hub

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/fleet/hub/notify"
	"fettle/internal/config"
	"fettle/internal/ui"
	"fettle/report"
	deliver "fettle/report/notify"
)

func (p *program) notifyCmd() *cobra.Command {
	return &cobra.Command{
		Use: "notify FILE", Args: cobra.ExactArgs(1),
		Short: "Send a test message through each channel of a configuration",
		Long: `Sends a test message through each channel of FILE, the --notify-config of
fettle-hub serve, and shows which of them work.

Exit status:
  0  every channel worked
  2  usage error, or a mistake in FILE
  3  a channel failed`,
		Example: `  fettle-hub notify /etc/fettle-hub/notify.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := notify.Read(args[0])
			if err != nil {
				return app.Usagef("%w", err)
			}
			if len(s.Channels) == 0 {
				return app.Usagef("%s: no channel is configured", args[0])
			}
			var channels []config.Channel
			for i := range s.Channels {
				channels = append(channels, s.Channels[i].Channel)
			}
			host, _ := os.Hostname()
			failed := false
			deliver.System().Test(cmd.Context(), channels, report.Meta{Host: host, Started: time.Now()}, func(title string, err error) {
				if err != nil {
					failed = true
					fmt.Fprintf(p.Stdout, "failed  %s: %s\n", ui.Visible(title), ui.Visible(err.Error()))
					return
				}
				fmt.Fprintf(p.Stdout, "ok      %s\n", ui.Visible(title))
			})
			if failed {
				return app.Exit(app.ExitFailed, nil)
			}
			return nil
		},
	}
}
