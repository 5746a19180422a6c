package check

import (
	"slices"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/engine/trap"
	"fettle/internal/config"
)

// configure takes from the configuration what the flags leave open. It is this
// host's: other hosts have their own, and captures and root folders none.
func (o *checkOptions) configure(a *app.App, flags *cobra.Command) error {
	o.conf = &config.Config{}
	if o.Root != "" || o.From != "" || o.fleet.Asked() {
		if o.config != "" {
			return app.Usagef("--config is for this host only: it cannot be used with --root, --from or --host")
		}
		return nil
	}
	var err error
	if o.conf, err = a.Config(o.config); err != nil {
		return err
	}
	if !flags.Flags().Changed("network") {
		o.network = o.conf.Check.Network
	}
	if !flags.Flags().Changed("sample") {
		o.sample = o.conf.Check.Interval()
	}
	if o.out.accepted == "" {
		o.out.accepted = o.conf.Accepted
	}
	o.out.unknownOK = append(o.out.unknownOK, o.conf.Check.UnknownOK...)
	o.out.conf = o.conf
	return nil
}

// configured leaves out what the configuration does not want checked; traps
// that the command line names are checked.
func (o *checkOptions) configured(traps []*trap.Trap) []*trap.Trap {
	only, skip := o.conf.Check.Only, o.conf.Check.Skip
	return slices.DeleteFunc(traps, func(t *trap.Trap) bool {
		return len(only) > 0 && !slices.Contains(only, t.ID()) || slices.Contains(skip, t.ID())
	})
}
