package serialname

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/host"
	"fettle/internal/ui"
	"fettle/tools/serialname"
)

type probeOptions struct {
	profile, expect string
	write, quiet    bool
	list, force     bool
}

func probeCmd(a *app.App) *cobra.Command {
	var o probeOptions
	c := &cobra.Command{
		Use:   "probe [DEVICE...]",
		Short: "Find out what is at the other end of a serial line",
		Long: `Listens to serial devices (default: all USB ones) and reports what it
recognises. It sends nothing: profiles that send something are tried only with
--write, or if --profile names one. Opening a line raises DTR, which resets some
boards. Devices that another process has open are skipped, unless --force is
given.

Profiles are text files, listed by --list; your own are
` + serialname.Folder + `/NAME.profile.

Exit status:
  0  recognised
  1  not recognised
  2  usage error
  3  a device could not be probed`,
		Example: `  fettle serialname probe
  fettle serialname probe --profile modbus-rtu /dev/ttyUSB1
  fettle serialname probe --profile banner --expect 'radish v[0-9]' /dev/ttyACM0`,
		PreRunE: app.NoEmptyFlags,
		RunE:    func(cmd *cobra.Command, args []string) error { return probe(cmd.Context(), a, args, o) },
	}
	f := c.Flags()
	f.StringVar(&o.profile, "profile", "", "only this `PROFILE`")
	f.StringVar(&o.expect, "expect", "", "with --profile: `REGEXP` that the answer must match, instead of the profile's")
	f.BoolVar(&o.write, "write", false, "also try profiles that send something")
	f.BoolVar(&o.quiet, "quiet", false, "print only errors, as udev's rules need it")
	f.BoolVar(&o.force, "force", false, "also probe devices that another process has open")
	f.BoolVar(&o.list, "list", false, "list the profiles")
	return c
}

func probe(ctx context.Context, a *app.App, args []string, o probeOptions) error {
	if o.expect != "" && o.profile == "" {
		return app.Usagef("--expect goes with --profile")
	}
	src, err := a.OpenLive()
	if err != nil {
		return err
	}
	defer src.Close()
	h := host.New(src)
	all, err := serialname.Profiles(ctx, h)
	if err != nil {
		a.Warn("profiles: " + ui.Visible(err.Error()))
	}
	if o.list {
		return listProfiles(a, all)
	}
	chosen, err := o.choose(all)
	if err != nil {
		return err
	}
	devices, err := serialname.List(ctx, h)
	if err != nil && len(args) == 0 {
		return app.Failf("listing serial devices: %w", err)
	}
	if len(args) == 0 {
		for i := range devices {
			args = append(args, devices[i].Dev())
		}
		if len(args) == 0 {
			return app.Exit(app.ExitFound, errors.New("there is no USB serial device"))
		}
	}
	var held map[string][]serialname.Holder
	if !o.quiet && !o.force {
		held, _ = serialname.Holders(ctx, h, devices)
	}
	return ask(ctx, a, args, chosen, held, o)
}

// choose is the profiles to try: the one that was named, or those that only
// listen, and with --write all but the banner's, which anything matches.
func (o probeOptions) choose(all []serialname.Profile) ([]serialname.Profile, error) {
	var out []serialname.Profile
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
		if p.Name == o.profile || o.profile == "" && p.Name != "banner" && (o.write || !p.Writes()) {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil, app.Usagef("there is no profile %q: expected one of %s", o.profile, strings.Join(names, ", "))
	}
	if o.expect != "" {
		if err := out[0].SetExpect(o.expect); err != nil {
			return nil, app.Usagef("--expect: %w", err)
		}
	}
	return out, nil
}

func ask(
	ctx context.Context,
	a *app.App,
	devices []string,
	profiles []serialname.Profile,
	held map[string][]serialname.Holder,
	o probeOptions,
) error {
	recognised := 0
	var failed error
	for _, dev := range devices {
		if !strings.Contains(dev, "/") {
			dev = "/dev/" + dev
		}
		if who := held[strings.TrimPrefix(dev, "/dev/")]; len(who) > 0 {
			fmt.Fprintf(a.Stdout, "%s: in use by %s (%d); --force probes it nevertheless\n", ui.Visible(dev), ui.Visible(who[0].Name), who[0].PID)
			continue
		}
		heard, p, err := askAll(ctx, dev, profiles)
		switch {
		case err == nil:
			recognised++
			if !o.quiet {
				fmt.Fprintf(
					a.Stdout,
					"%s: %s, at %d baud: %s\n  %s\n",
					ui.Visible(dev),
					heard.Profile,
					heard.Speed,
					p.About,
					ui.Cut(fmt.Sprintf("%q", heard.Said), ui.Width(a.Stdout)-2),
				)
			}
		case errors.Is(err, serialname.ErrNoAnswer):
			if !o.quiet {
				fmt.Fprintf(a.Stdout, "%s: not recognised\n", ui.Visible(dev))
			}
		default:
			failed = errors.Join(failed, err)
		}
	}
	switch {
	case failed != nil:
		return app.Exit(app.ExitFailed, failed)
	case recognised == 0:
		return app.Exit(app.ExitFound, nil)
	}
	return nil
}

// askAll asks by one profile after another. A device whose driver hangs is
// given up on after the profile's limit and a little more.
func askAll(ctx context.Context, dev string, profiles []serialname.Profile) (serialname.Heard, serialname.Profile, error) {
	for _, p := range profiles {
		type answer struct {
			heard serialname.Heard
			err   error
		}
		got := make(chan answer, 1)
		go func() {
			heard, err := serialname.Probe(ctx, dev, &p)
			got <- answer{heard, err}
		}()
		select {
		case r := <-got:
			if !errors.Is(r.err, serialname.ErrNoAnswer) {
				return r.heard, p, r.err
			}
		case <-time.After(p.Limit() + 2*time.Second):
			return serialname.Heard{}, p, fmt.Errorf("probing %s: its driver does not answer", ui.Visible(dev))
		}
	}
	return serialname.Heard{}, serialname.Profile{}, serialname.ErrNoAnswer
}

func listProfiles(a *app.App, all []serialname.Profile) error {
	var b strings.Builder
	for _, p := range all {
		how := "listens"
		if p.Writes() {
			how = "sends"
		}
		b.WriteString(
			ui.Wrap(fmt.Sprintf("%s (%s, up to %s): %s", p.Name, how, p.Limit(), ui.Visible(p.About)), ui.Width(a.Stdout), "", "    "),
		)
	}
	_, err := fmt.Fprint(a.Stdout, b.String())
	return err
}
