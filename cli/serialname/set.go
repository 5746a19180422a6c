package serialname

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/cli/fix"
	"fettle/tools/serialname"
)

func setCmd(a *app.App) *cobra.Command {
	var o fix.Options
	var device, by, profile string
	var modem bool
	c := &cobra.Command{
		Use:   "set NAME --for DEVICE",
		Short: "Give a USB serial device a name below /dev that stays; undoable",
		Long: `Writes a udev rule that gives the device a name: by its serial number if that is
unique, else by the port it is plugged into. --by selects; with --by probe, udev
probes each device of that kind (--profile). The plan is shown as a diff,
applied if you confirm it, and verified: the name must lead to the device.
fettle undo reverts it.

ModemManager then ignores the device, unless --modem is given.
` + fix.StatusHelp,
		Example: `  fettle serialname set meter --for /dev/ttyUSB0
  fettle serialname set heating --for ttyUSB1 --by port --plan
  fettle serialname set gps --for ttyUSB2 --by probe --profile nmea-gps`,
		Args:    cobra.ExactArgs(1),
		PreRunE: app.NoEmptyFlags,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := strings.TrimPrefix(args[0], "/dev/")
			if err := serialname.CheckName(name); err != nil {
				return app.Usagef("%w", err)
			}
			if device == "" {
				return app.Usagef("which device is %s? --for /dev/ttyUSB0; fettle serialname list shows them", name)
			}
			d, err := chosen(cmd.Context(), a, device)
			if err != nil {
				return err
			}
			o.Subject = "/dev/" + name
			o.With = []string{"device=" + d.Kernel}
			for _, kv := range [][2]string{{"by", by}, {"profile", profile}} {
				if kv[1] != "" {
					o.With = append(o.With, kv[0]+"="+kv[1])
				}
			}
			if modem {
				o.With = append(o.With, "modem=yes")
			}
			return fix.Status(set(cmd.Context(), a, o))
		},
	}
	f := c.Flags()
	f.StringVar(&device, "for", "", "`DEVICE` that gets the name: /dev/ttyUSB0, or a link to it")
	app.WordFlag(c, &by, "by", "identify the device by `WHAT`: serial, port or probe", "serial", "port", "probe")
	f.StringVar(&profile, "profile", "", "`PROFILE` by which a probe recognises it")
	f.BoolVar(&modem, "modem", false, "it is a modem: ModemManager may use it")
	f.BoolVar(&o.Plan, "plan", false, "show the plan and change nothing")
	f.BoolVar(&o.Yes, "yes", false, "do not ask")
	f.BoolVar(&o.Wait, "wait", false, "wait for another running fettle")
	return c
}

// chosen is the device of that name, where there is one.
func chosen(ctx context.Context, a *app.App, name string) (*serialname.Device, error) {
	s, _, done, err := survey(ctx, a)
	if err != nil {
		return nil, err
	}
	defer done()
	d, err := serialname.Choose(s.Devices, name)
	if err != nil {
		return nil, app.Usagef("--for: %w", err)
	}
	return d, nil
}

func set(ctx context.Context, a *app.App, o fix.Options) error {
	t, err := a.SetsUp("serialname")
	if err != nil {
		return err
	}
	return fix.SetUp(ctx, a, t, o)
}
