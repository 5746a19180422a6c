package raforwarding

import (
	"context"
	"os"
	"time"

	"fettle/lab"
)

var experiments = []lab.Experiment{{
	Name: "table", About: "accept_ra against forwarding, set in either order, with a real radvd",
	Needs: lab.Needs{Modules: needs.Modules, Tools: needs.Tools, Limit: 3 * time.Minute},
	Run: func(_ context.Context, b *lab.Bench) error {
		a := arena{b.Run}
		if err := a.build(); err != nil {
			return err
		}
		const conf = "/etc/radvd.conf"
		if err := os.WriteFile(conf, []byte(fastRadvd), 0o644); err != nil {
			return err
		}
		_, stop, err := b.Spawn(radvdArgs(conf))
		if err != nil {
			return err
		}
		defer stop()
		yes := map[bool]string{true: "yes", false: "no"}
		b.Columns("accept_ra", "forwarding", "Set first", "Default route", "Address")
		err = a.table(func(r tableRow) {
			b.Row(r.acceptRA, r.forwarding, r.first, yes[r.route], yes[r.address])
			if r.route != r.want() || r.address != r.want() {
				b.Note("accept_ra %s with forwarding %s, %s first: the kernel's documentation says %s.", r.acceptRA, r.forwarding, r.first, yes[r.want()])
			}
		})
		b.Note("Both are set on the interface alone. Three advertisements went by before a \"no\".")
		return err
	},
}}
