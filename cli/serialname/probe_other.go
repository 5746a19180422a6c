//go:build !linux

package serialname

import (
	"github.com/spf13/cobra"

	"fettle/cli/app"
)

func probeCmd(*app.App) *cobra.Command {
	return &cobra.Command{Use: "probe", Short: "Find out which device it is", RunE: func(*cobra.Command, []string) error {
		return app.Failf("fettle serialname probe needs Linux")
	}}
}
