//go:build !linux

package proving

import (
	"io"

	"github.com/spf13/cobra"

	"fettle/cli/app"
)

func (a program) labCmd() *cobra.Command {
	return &cobra.Command{Use: "lab", Short: "Show a trap, and its fix, on a real kernel in a throwaway machine", RunE: needsLinux}
}

func (a program) bootCmd() *cobra.Command {
	return &cobra.Command{Use: "boot", Short: "Run a command on a throwaway machine, under any kernel", RunE: needsLinux}
}

func needsLinux(c *cobra.Command, _ []string) error {
	return app.Failf("%s needs Linux", c.CommandPath())
}

// role is of Linux alone.
func role([]string, io.Reader, io.Writer, io.Writer) (int, bool) { return 0, false }
