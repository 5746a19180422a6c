package proof

import (
	"context"
	"os"
	"time"

	"fettle/lab"
	"fettle/traps/raforwarding/proof/arena"
)

var Experiments = []lab.Experiment{{
	Name: "table", About: "accept_ra against forwarding, set in either order, with a real radvd",
	Needs: lab.Needs{Modules: needs.Modules, Tools: needs.Tools, Limit: 3 * time.Minute},
	Run: func(_ context.Context, b *lab.Bench) error {
		a := arena.Arena{Run: b.Run}
		if err := a.Build(); err != nil {
			return err
		}
		const conf = "/etc/radvd.conf"
		if err := os.WriteFile(conf, []byte(arena.FastRadvd), 0o644); err != nil {
			return err
		}
		_, stop, err := b.Spawn(arena.RadvdArgs(conf))
		if err != nil {
			return err
		}
		defer stop()
		yes := map[bool]string{true: "yes", false: "no"}
		b.Columns("accept_ra", "forwarding", "Set first", "Default route", "Address")
		err = a.Table(func(r arena.Row) {
			b.Row(r.AcceptRA, r.Forwarding, r.First, yes[r.Route], yes[r.Address])
			if r.Route != r.Want() || r.Address != r.Want() {
				b.Note(
					"accept_ra %s with forwarding %s, %s first: the kernel's documentation says %s.",
					r.AcceptRA,
					r.Forwarding,
					r.First,
					yes[r.Want()],
				)
			}
		})
		b.Note("Both are set on the interface alone. Three advertisements went by before a \"no\".")
		return err
	},
}}
