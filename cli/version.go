package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/host/confine"
	"fettle/internal/build"
)

func versionCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:         "version",
		Short:       "Show the version of fettle",
		Args:        cobra.NoArgs,
		Annotations: app.NoRules,
		RunE:        func(*cobra.Command, []string) error { return version(a) },
	}
}

func version(a *app.App) error {
	landlock := "none: checks are confined by a system call filter alone"
	if abi := confine.ABI(); abi > 0 {
		landlock = fmt.Sprintf("ABI %d", abi)
	}
	if runtime.GOOS != "linux" {
		landlock = "none: this fettle reads captures only"
	}
	_, err := fmt.Fprintf(a.Stdout, "%sLandlock  %s\n", build.Facts(), landlock)
	return err
}
