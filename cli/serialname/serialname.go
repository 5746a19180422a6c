// Package serialname is fettle serialname: USB serial devices by name.
package serialname

import (
	"context"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/host"
	"fettle/host/format/udev"
	"fettle/tools/serialname"
)

// Cmd is fettle serialname.
func Cmd(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "serialname",
		Short: "Tell USB serial devices apart, and give them names that stay",
		Long: `The kernel numbers USB serial devices in the order in which it finds them: after
the next boot, ttyUSB0 may be another device. list shows what distinguishes
them, set gives one a permanent name, probe finds out which device it is.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.Usagef("what about serial devices? `fettle serialname --help` lists list, set and probe")
		},
	}
	c.AddCommand(listCmd(a), setCmd(a), probeCmd(a))
	return c
}

// survey reads this host's devices, and what its rules make of them.
func survey(ctx context.Context, a *app.App) (*serialname.Survey, *host.Host, func(), error) {
	src, err := a.OpenLive()
	if err != nil {
		return nil, nil, nil, err
	}
	h := host.New(src)
	devices, err := serialname.List(ctx, h)
	if err != nil {
		src.Close()
		return nil, nil, nil, app.Failf("listing serial devices: %w", err)
	}
	return serialname.NewSurvey(devices, udev.Read(ctx, h)), h, func() { src.Close() }, nil
}
