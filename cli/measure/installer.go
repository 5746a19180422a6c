package measure

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/files"
	"fettle/internal/ui"
	"fettle/tools/measure/installer"
	"fettle/tools/measure/render"
)

// InstallerCmd is fettle measure installer.
func InstallerCmd(a *app.App) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "installer LOG...",
		Short: "Time the phases of Debian's installer, from its log",
		Long: `Reads the syslog of Debian's installer (/var/log/installer/syslog on an
installed system), and shows the duration of each menu item and of the package
installation: from "pkgsel: starting tasksel" to "pkgsel: finishing up". Further
logs are compared with the first.

Menu items that ask something include the time until the answer. Phases during
which the clock was set, and phases without an end in the log, are not timed.`,
		Example: `  fettle measure installer /var/log/installer/syslog
  fettle measure installer plain.log hooks.log`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return app.Usagef("which log? fettle measure installer /var/log/installer/syslog")
			case len(args) > 8:
				return app.Usagef("%d logs: eight at most are compared", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return measureInstaller(a, args, format) },
	}
	app.FormatFlag(c, &format, render.Formats()...)
	return c
}

func measureInstaller(a *app.App, names []string, format string) error {
	var runs []installer.Run
	for _, name := range names {
		r, err := readInstallerLog(a, name)
		if err != nil {
			return app.Usagef("%w", err)
		}
		runs = append(runs, r)
	}
	return write(a, format, render.Installer(installer.Compare(runs)))
}

func readInstallerLog(a *app.App, name string) (installer.Run, error) {
	if name == "-" {
		return installer.Read("standard input", io.LimitReader(a.Stdin, installerLimit))
	}
	if files.Special(name) {
		return installer.Run{}, fmt.Errorf("%s is not a regular file: expected the syslog of Debian's installer", ui.Quote(name))
	}
	f, err := os.Open(name)
	if err != nil {
		return installer.Run{}, fmt.Errorf("reading the installer's log: %w", err)
	}
	defer f.Close()
	return installer.Read(name, io.LimitReader(f, installerLimit))
}

// installerLimit bounds a log, in bytes: those of whole installations have some MB.
const installerLimit = 1 << 30
