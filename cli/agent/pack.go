package agent

import (
	"errors"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/fleet/agent"
	"fettle/internal/files"
)

func (p *program) packCmd() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use: "pack NAME", Args: cobra.ExactArgs(1),
		Short: "Fetch a pack that the hub offers",
		Long: `Fetches a pack that the hub offers, and writes it to standard output: as it was
signed, and not verified. fettle pack install hub:NAME calls this, and verifies
it with the keys that root pinned on this host. It works beside the agent that
runs, and needs no --packs there.`,
		Example: `  fettle-agent pack acme -o acme.pack`,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := agent.Fetch(cmd.Context(), p.dir, args[0])
			switch {
			case errors.Is(err, agent.ErrNotJoined), errors.Is(err, agent.ErrCopied), errors.Is(err, agent.ErrNoName):
				return app.Usagef("%w", err)
			case err == nil && out != "":
				err = files.WriteFile(out, b, 0o644)
			case err == nil:
				_, err = p.Stdout.Write(b)
			}
			if err != nil {
				return app.Failf("%w", err)
			}
			return nil
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "write the pack to `FILE`")
	return c
}
