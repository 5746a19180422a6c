package proof

import (
	"context"
	"fmt"
	"os"
	"strings"

	"fettle/lab"
	"fettle/traps/bridgemtu/proof/pins"
)

var Experiments = []lab.Experiment{{
	Name: "what-pins", About: "Which act raises, lowers and pins a bridge's MTU on this kernel",
	Needs: needs,
	Run: func(_ context.Context, b *lab.Bench) error {
		run := func(commands ...string) error {
			const batch = "/run/ip.batch" // of ip(8): a process for each would take most of the time
			if err := os.WriteFile(batch, []byte(strings.Join(commands, "\n")+"\n"), 0o600); err != nil {
				return err
			}
			_, err := b.Run("ip", "-batch", batch)
			return err
		}
		mtu := func(link string) (n int, err error) {
			out, err := os.ReadFile("/sys/class/net/" + link + "/mtu")
			if err == nil {
				_, err = fmt.Sscan(string(out), &n)
			}
			return n, err
		}
		b.Columns("What is done", "MTU then", "Pinned", "ip link set dev ...")
		for _, c := range pins.Cases {
			got, pinned, err := c.Try(run, mtu)
			if err != nil {
				return fmt.Errorf("%s: %w", c.Name, err)
			}
			commands := c.Do
			if c.Create != nil {
				commands = append([]string{"(" + strings.Join(c.Create, " ") + ")"}, c.Do...)
			}
			b.Row(c.Name, fmt.Sprint(got), map[bool]string{true: "yes", false: "no"}[pinned], strings.Join(commands, "; "))
			if got != c.Want || pinned != c.Pinned {
				b.Note("%q is not as on Linux 4.17 to 6.18: there the MTU is %d, pinned %v.", c.Name, c.Want, c.Pinned)
			}
		}
		b.Note("The bridge br begins with 1500, the port big has 8950, small has 1400. Pinned: a further port of 1300 does not change it.")
		return nil
	},
}}
