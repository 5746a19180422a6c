package hub

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/engine/pack"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/internal/files"
)

func (p *program) packCmd() *cobra.Command {
	c := &cobra.Command{
		Use: "pack", Args: cobra.NoArgs,
		Short: "Hand signed packs of rules on to hosts, in stages",
		Long: `Hands signed packs on to the hosts whose agents run with --packs: first to a
canary group, then to the others, twice as many at each step. It is stopped when
too many of the hosts that have it report findings or unknown outcomes of its
traps that they did not have before, or refuse it.

The hub only carries packs. Each host verifies them with its own pinned keys.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(p.packOfferCmd(), p.packListCmd(), p.packStopCmd(), p.packResumeCmd())
	return c
}

func (p *program) packOfferCmd() *cobra.Command {
	var o store.Pack
	keys := pack.Host()
	c := &cobra.Command{
		Use: "offer FILE --canary GROUP", Args: cobra.ExactArgs(1),
		Short: "Hand a pack on, first to the hosts of a canary group",
		Long: `Hands a pack on. It must be signed by a key in --keys, as on the hosts. The
hosts of --canary get it with their next report. The others get it when --wait
is over, half of the canaries have it, and not more than --stop-at per cent of
them report more than before.`,
		Example: `  fettle-hub pack offer acme-3.pack --canary test --wait 24h`,
		RunE: p.withDB(func(cmd *cobra.Command, args []string, db *store.DB) error {
			if o.Canary == "" {
				return app.Usagef("--canary GROUP: which hosts get it first?")
			}
			if err := stopAt(o.StopAt); err != nil {
				return err
			}
			if o.Wait < 0 {
				return app.Usagef("--wait %s: must not be negative", o.Wait)
			}
			file, err := files.ReadAtMost(args[0], pack.Limit)
			if err != nil {
				return app.Unread(err, "a pack")
			}
			k, err := keys.Verify(file)
			if err != nil {
				return app.Failf("%s: %w", args[0], err)
			}
			rules, err := k.Rules()
			if err != nil {
				return app.Failf("%s: %w", args[0], err)
			}
			for _, r := range rules {
				o.Traps = append(o.Traps, r.ID)
			}
			if o.File, err = message.NewPack(k.Name, k.Version, file).Pack(); err != nil {
				return app.Failf("%w", err)
			}
			o.Name, o.Version, o.Signer, o.Who = k.Name, k.Version, k.Signer, whoami()
			if err := someIn(cmd.Context(), db, o.Canary); err != nil {
				return app.Failf("%w", err)
			}
			if err := db.Offer(cmd.Context(), o); err != nil {
				return app.Failf("%w", err)
			}
			what := fmt.Sprintf("%s %d", o.Name, o.Version)
			return record(cmd.Context(), db, "pack offer", "offer pack", what, "canaries: group "+o.Canary+"; signed by "+o.Signer)
		}),
	}
	f := c.Flags()
	f.StringVar(&o.Canary, "canary", "", "the `GROUP` of hosts that get it first")
	f.DurationVar(&o.Wait, "wait", 24*time.Hour, "how long the others wait for the canaries")
	stopAtFlag(c, &o.StopAt)
	f.StringVar(&keys.Keys, "keys", keys.Keys, "verify with the keys in `FILE`")
	_ = c.MarkFlagFilename("keys")
	return c
}

// someIn is an error where no host is in a group: its name may be mistyped, and nobody would get the pack.
func someIn(ctx context.Context, db *store.DB, group string) error {
	groups, err := db.Groups(ctx, store.Everything)
	if err == nil && !slices.ContainsFunc(groups, func(g store.Group) bool { return g.Name == group }) {
		err = fmt.Errorf("no host is in the group %q: fettle-hub host set HOST --group %[1]s puts one there", group)
	}
	return err
}

func stopAtFlag(c *cobra.Command, into *int) {
	c.Flags().IntVar(into, "stop-at", 20, "stop when more than `N` per cent of its hosts report more than before")
}

func stopAt(n int) error {
	if n < 0 || n > 100 {
		return app.Usagef("--stop-at %d: expected 0 to 100; 100 never stops", n)
	}
	return nil
}

func (p *program) packListCmd() *cobra.Command {
	return &cobra.Command{
		Use: "list", Args: cobra.NoArgs,
		Short: "List the packs that are handed on, and how far they got",
		RunE: p.withDB(func(cmd *cobra.Command, _ []string, db *store.DB) error {
			list, err := db.Packs(cmd.Context())
			if err != nil {
				return err
			}
			var rows [][]string
			for _, k := range list {
				row := []string{k.Name, strconv.Itoa(k.Version), k.Signer, k.Canary, k.Stage}
				for _, n := range []int{k.Sent, k.Taken, k.Refused, k.Found, k.Unknown} {
					row = append(row, strconv.Itoa(n))
				}
				rows = append(rows, append(row, ago(k.Began), k.Standing(time.Now())))
			}
			p.list("PACK VERSION SIGNER CANARY STAGE SENT HAVE REFUSED FOUND UNKNOWN OFFERED STANDING", rows)
			return nil
		}),
	}
}

func (p *program) packStopCmd() *cobra.Command {
	return &cobra.Command{
		Use: "stop PACK", Args: cobra.ExactArgs(1),
		Short: "Hand a pack on to no more hosts",
		Long: `Hands a pack on to no more hosts. Those that have it keep it, until fettle pack
rollback there or a newer version replaces it.`,
		RunE: p.withDB(func(cmd *cobra.Command, args []string, db *store.DB) error {
			if err := db.StopPack(cmd.Context(), args[0], "by "+whoami()); err != nil {
				return app.Usagef("%w", err)
			}
			return record(cmd.Context(), db, "pack stop", "stop pack", args[0], "")
		}),
	}
}

func (p *program) packResumeCmd() *cobra.Command {
	var most int
	c := &cobra.Command{
		Use: "resume PACK", Args: cobra.ExactArgs(1),
		Short: "Hand a pack on to all hosts, without waiting any longer",
		Long: `Hands a pack that was stopped, or that still waits for its canaries, on to all
hosts. With the same --stop-at it is stopped again for the same reason: give one
above the share of hosts that report more, as fettle-hub pack list shows it.`,
		Example: `  fettle-hub pack resume acme --stop-at 60`,
		RunE: p.withDB(func(cmd *cobra.Command, args []string, db *store.DB) error {
			if err := stopAt(most); err != nil {
				return err
			}
			if err := db.ResumePack(cmd.Context(), args[0], most); err != nil {
				return app.Usagef("%w", err)
			}
			return record(cmd.Context(), db, "pack resume", "resume pack", args[0], fmt.Sprintf("stop at %d per cent", most))
		}),
	}
	stopAtFlag(c, &most)
	return c
}
