package netboot

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/cli/fix"
	"fettle/host"
	"fettle/internal/ui"
	"fettle/tools/netboot/menu"
)

type serialOptions struct {
	fix.Options
	port  string
	speed int
}

func serialCmd(a *app.App) *cobra.Command {
	var o serialOptions
	c := &cobra.Command{
		Use:   "serial FOLDER",
		Short: "Switch boot menus and what they boot to a serial console",
		Long: `Rewrites the boot menus of syslinux, pxelinux and GRUB below a folder, and every
file that they include, for a serial console: console= on both sides of "---",
the loader's own port, no vga= and no graphical terminal. Timeouts and defaults
are kept. Menus that include each other in a circle are refused. Running it
again changes nothing.

The default of --port is the port that most entries use, else the one named by
this host's firmware (ACPI table SPCR). The port of a BMC is often ttyS1; on the
host itself, "ipmitool sol info 1" and "dmidecode -t 8" show it.

The plan is shown as a diff, and applied if you confirm it; fettle undo reverts
it.
` + fix.StatusHelp,
		Example: `  fettle netboot serial /srv/tftp --port ttyS1 --plan
  fettle netboot serial /srv/tftp --port ttyS1 --speed 57600 --yes`,
		Args:    cobra.ExactArgs(1),
		PreRunE: app.NoEmptyFlags,
		RunE: func(cmd *cobra.Command, args []string) error {
			return fix.Status(serial(cmd.Context(), a, args[0], o))
		},
	}
	f := c.Flags()
	f.StringVar(&o.port, "port", "", "the serial `PORT` that the BMC shows: ttyS0, ttyS1, ttyS2 or ttyS3")
	f.IntVar(&o.speed, "speed", 0, "its speed in `BITS` per second (default: as found, else 115200)")
	f.BoolVar(&o.Plan, "plan", false, "show the plan and change nothing")
	f.BoolVar(&o.Yes, "yes", false, "do not ask")
	f.BoolVar(&o.Wait, "wait", false, "wait for another running fettle")
	return c
}

// already tells, and says so, when there is nothing to rewrite. A folder without
// menus, or with some that nobody could follow, is no input.
func already(ctx context.Context, a *app.App, o serialOptions) (bool, error) {
	if err := expectFolder(o.Subject, "that holds boot menus"); err != nil {
		return false, err
	}
	src, err := a.OpenLive()
	if err != nil {
		return false, err
	}
	defer src.Close()
	m, err := menu.Read(ctx, host.New(src), o.Subject)
	if errors.Is(err, menu.ErrNone) {
		return false, app.Usagef("%s %w", ui.Quote(o.Subject), err)
	}
	if err != nil {
		return false, app.Usagef("reading the boot menus: %w", err)
	}
	c, ok := m.Most()
	if o.port != "" {
		speed := 115200
		if ok {
			speed = c.Speed // as found, as the plan takes it
		}
		if c, err = menu.Parse(o.port, speed); err != nil {
			return false, nil
		}
		ok = true
	}
	if o.speed != 0 {
		c.Speed = o.speed
	}
	if !ok || len(m.Lines()) == 0 || len(m.Rewrite(c)) > 0 {
		return false, nil
	}
	fmt.Fprintf(a.Stdout, "Every boot entry of %s talks to %s already: nothing to do.\n", ui.Visible(o.Subject), c)
	return true, nil
}

func serial(ctx context.Context, a *app.App, folder string, o serialOptions) error {
	t, err := a.SetsUp("netboot-serial")
	if err != nil {
		return err
	}
	if o.Subject, err = filepath.Abs(folder); err != nil {
		return err
	}
	done, err := already(ctx, a, o)
	if err != nil || done {
		return err
	}
	if o.port != "" || o.speed != 0 {
		given := menu.Console{Speed: 115200}
		if o.speed != 0 {
			given.Speed = o.speed
		}
		port := o.port
		if port == "" {
			port = given.Device()
		}
		if _, err := menu.Parse(port, given.Speed); err != nil {
			return app.Usagef("%w", err)
		}
	}
	if o.port != "" {
		o.With = append(o.With, "port="+o.port)
	}
	if o.speed != 0 {
		o.With = append(o.With, "speed="+strconv.Itoa(o.speed))
	}
	return fix.SetUp(ctx, a, t, o.Options)
}
