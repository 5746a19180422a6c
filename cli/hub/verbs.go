package hub

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/fleet/hub"
	"fettle/fleet/hub/bus"
	"fettle/fleet/hub/store"
	"fettle/internal/units"
)

func (p *program) inviteCmd() *cobra.Command {
	in := hub.Inviting{}
	var host string
	c := &cobra.Command{
		Use: "invite", Args: cobra.NoArgs,
		Short: "Print the line with which a host joins",
		Long: `Prints a line with a one-time token, for fettle-agent join LINE on the host.

With --host, a reinstalled host keeps its entry and history, and the credentials
of the old installation are revoked. --ssh prints a line without a secret, for
hosts whose ssh host keys are listed in the file of fettle-hub serve
--known-hosts.`,
		Example: `  fettle-hub invite
  fettle-hub invite --group web --uses 20 --for 24h
  fettle-hub invite --host web1`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			known, db, err := p.open(cmd.Context())
			if err != nil {
				return err
			}
			defer db.Close()
			if in.Uses < 1 || in.Life <= 0 {
				return app.Usagef("--uses and --for must be above zero")
			}
			if err := checkPlace(in.Group, in.Labels); err != nil {
				return err
			}
			if host != "" {
				h, err := find(cmd.Context(), db, host)
				if err != nil {
					return err
				}
				in.Replace, in.Uses = h.Agent, 1
			}
			line, err := hub.Invite(cmd.Context(), p.dir, known, db, in)
			if err != nil {
				return app.Failf("%w", err)
			}
			if err := record(cmd.Context(), db, "invite", "invite", in.Replace, invited(in)); err != nil {
				return err
			}
			fmt.Fprintln(p.Stdout, "fettle-agent join "+line)
			return nil
		},
	}
	f := c.Flags()
	f.IntVar(&in.Uses, "uses", 1, "number of hosts that may join with it")
	f.DurationVar(&in.Life, "for", time.Hour, "validity of the invitation")
	f.StringVar(&in.Group, "group", "", "the `GROUP` that the hosts belong to")
	f.StringToStringVar(&in.Labels, "label", nil, "a label of the hosts, `NAME=VALUE`; may be repeated")
	f.StringVar(&host, "host", "", "the `HOST` that was reinstalled, by its name or ID")
	f.BoolVar(&in.SSH, "ssh", false, "for hosts that join by ssh host key")
	f.StringVar(&in.Note, "note", "", "`TEXT`: what it is for")
	c.MarkFlagsMutuallyExclusive("ssh", "host")
	c.MarkFlagsMutuallyExclusive("host", "group") // the host keeps its own
	c.MarkFlagsMutuallyExclusive("host", "label")
	return c
}

// invited is what the audit log says of an invitation.
func invited(in hub.Inviting) string {
	switch {
	case in.SSH:
		return "by ssh host key"
	case in.Replace != "":
		return "a reinstalled host, for " + in.Life.String()
	}
	s := units.Count(in.Uses, "host", "hosts") + ", for " + in.Life.String()
	if in.Group != "" {
		s += ", group " + in.Group
	}
	if in.Note != "" {
		s += ": " + in.Note
	}
	return s
}

func (p *program) hostsCmd() *cobra.Command {
	var from string
	var which filter
	c := &cobra.Command{
		Use: "hosts [NAME]", Args: cobra.MaximumNArgs(1),
		Short:   "List hosts whose names begin with NAME, and their findings",
		Example: `  fettle-hub hosts --group web --label env=prod`,
		RunE: p.withDB(func(cmd *cobra.Command, args []string, db *store.DB) error {
			in, err := which.scope()
			if err != nil {
				return err
			}
			hosts, err := db.HostsFrom(cmd.Context(), in, app.First(args), from, listed+1)
			if err != nil {
				return err
			}
			if len(hosts) > listed {
				hosts = hosts[:listed]
				fmt.Fprintf(p.Stderr, "the first %d are listed; begin after them: fettle-hub hosts --from NAME\n", listed)
			}
			var rows [][]string
			for _, h := range hosts {
				row := []string{h.Agent, h.Name, h.Group}
				for _, n := range []int{h.Counts.Critical, h.Counts.Warning, h.Counts.Notice, h.Counts.Unknown} {
					row = append(row, strconv.Itoa(n))
				}
				rows = append(rows, append(row, ago(h.Seen), labelsOf(h.Labels), remarks(h)))
			}
			p.list("ID NAME GROUP CRITICAL WARNING NOTICE UNKNOWN SEEN LABELS REMARKS", rows)
			return nil
		}),
	}
	c.Flags().StringVar(&from, "from", "", "begin the list at this `NAME`")
	which.flags(c)
	return c
}

func (p *program) askCmd() *cobra.Command {
	var all, whole bool
	var within time.Duration
	var which filter
	c := &cobra.Command{
		Use: "ask [HOST]", Args: cobra.MaximumNArgs(1),
		Short: "Ask agents to check now",
		Long: `Asks one host, by its name or ID, those of a group or label, or all hosts to
check now. An agent answers a few such requests an hour; the result is stored
like that of any other check.`,
		Example: `  fettle-hub ask web1
  fettle-hub ask --group web --label env=prod
  fettle-hub ask --all --within 5m`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if n := len(args) + count(all) + count(which.given()); n != 1 {
				return app.Usagef("ask one HOST, those of --group or --label, or --all")
			}
			known, db, err := p.open(cmd.Context())
			if err != nil {
				return err
			}
			defer db.Close()
			agents := []string{""}
			switch {
			case len(args) == 1:
				h, err := find(cmd.Context(), db, args[0])
				if err != nil {
					return err
				}
				agents = []string{h.Agent}
			case !all:
				if agents, err = which.agents(cmd.Context(), db); err != nil {
					return err
				}
			}
			id, err := hub.Ask(p.dir, known, agents, whole, within)
			if err != nil {
				return app.Failf("%w", err)
			}
			fmt.Fprintln(p.Stdout, id)
			on := "all hosts"
			switch {
			case len(args) == 1:
				on = agents[0]
			case !all:
				on = units.Count(len(agents), "host", "hosts")
			}
			return record(cmd.Context(), db, "ask", "ask for a run", on, "")
		},
	}
	f := c.Flags()
	f.BoolVar(&all, "all", false, "all hosts")
	which.flags(c)
	f.BoolVar(&whole, "whole", false, "complete reports, not only changes")
	f.DurationVar(&within, "within", 0, "spread the answers over this time")
	return c
}

func (p *program) retireCmd() *cobra.Command {
	var forget bool
	c := &cobra.Command{
		Use: "retire HOST", Args: cobra.ExactArgs(1),
		Short: "Remove a host: its agent is locked out, its history is kept",
		Long: `Removes a host: its agent is locked out, its findings and captures are deleted.
Its history is kept, and with --forget deleted, too, with all else that is known
of the host; only the fleet's totals by day, and the lock on its credentials,
remain. A host that was retired before is named by its ID.`,
		Example: `  fettle-hub retire web1
  fettle-hub retire web1 --forget`,
		RunE: p.withDB(func(cmd *cobra.Command, args []string, db *store.DB) error {
			h, err := find(cmd.Context(), db, args[0])
			switch {
			case err != nil:
				return err
			case forget:
				err = db.Forget(cmd.Context(), h.ID)
			case !h.Retired.IsZero():
				return app.Usagef("%s is retired already; --forget deletes its history", args[0])
			default:
				err = db.Retire(cmd.Context(), h.ID)
			}
			if err != nil {
				return err
			}
			what := "retire host"
			if forget {
				what = "forget host"
			}
			if err := record(cmd.Context(), db, "retire", what, h.Agent, h.Name); err != nil {
				return err
			}
			return hub.Remember(cmd.Context(), p.dir, db)
		}),
	}
	c.Flags().BoolVar(&forget, "forget", false, "also delete its history and all else that is known of it")
	return c
}

func (p *program) rekeyCmd() *cobra.Command {
	var life time.Duration
	c := &cobra.Command{
		Use: "rekey HOST", Args: cobra.ExactArgs(1),
		Short: "Revoke a host's key, and print the line with which it gets another",
		Long: `Revokes the key of a host, whoever uses it, and prints a line with a
one-time token, for fettle-agent join LINE on the real host. Use it when two
machines use one key: a clone, or a thief. The host keeps its entry and history.
A clone that is to be a host of its own joins with fettle-hub invite.`,
		Example: `  fettle-hub rekey web1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			known, db, err := p.open(cmd.Context())
			if err != nil {
				return err
			}
			defer db.Close()
			if life <= 0 {
				return app.Usagef("--for must be above zero")
			}
			h, err := find(cmd.Context(), db, args[0])
			if err != nil {
				return err
			}
			if !h.Retired.IsZero() {
				return app.Usagef("%s is retired: fettle-hub invite --host %s lets it in again", args[0], h.Agent)
			}
			line, err := hub.Rekey(cmd.Context(), p.dir, known, db, h, life)
			if err != nil {
				return app.Failf("%w", err)
			}
			if err := record(cmd.Context(), db, "rekey", "rekey host", h.Agent, ""); err != nil {
				return err
			}
			fmt.Fprintln(p.Stdout, "fettle-agent join "+line)
			return nil
		},
	}
	c.Flags().DurationVar(&life, "for", time.Hour, "validity of the token")
	return c
}

func (p *program) backupCmd() *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Args: cobra.ExactArgs(1),
		Short: "Write the hub to a file, while it serves",
		Long: `Writes a snapshot of the database, the keys and the certificate authority to
FILE, a tar archive compressed with zstd, mode 0600. Protect it like a password
file. For a hub with --database, also back up that database with pg_dump.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			known, err := hub.ReadKnown(p.dir)
			if err != nil {
				return app.Usagef("%w", err)
			}
			if err := hub.Backup(cmd.Context(), p.dir, known, args[0]); err != nil {
				return app.Failf("%w", err)
			}
			return nil
		},
	}
}

func (p *program) restoreCmd() *cobra.Command {
	var revoked string
	var rejoin bool
	c := &cobra.Command{
		Use: "restore FILE", Args: cobra.ExactArgs(1),
		Short: "Make a hub of a backup, in an empty folder",
		Long: `Creates the folder --state from a backup. The backup does not know which hosts
were retired or got another key after it was made. So give one of:

--revoked LIST  the newest revoked.txt of the lost hub's folder, or your copy of
                it: who is in it stays out. All other agents connect as before,
                and send what the hub lacks, also those that joined after the
                backup. /dev/null: nothing was revoked since.
--rejoin        there is no such list: all credentials end, and each host joins
                again, with fettle-hub invite --host or by its ssh host key.`,
		Example: `  fettle-hub restore hub.backup --revoked /var/lib/fettle-hub.lost/revoked.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if (revoked == "") != rejoin {
				return app.Usagef("give --revoked LIST or --rejoin: hosts that were retired after the backup must stay out")
			}
			if err := hub.Restore(p.dir, args[0], revoked); err != nil {
				return app.Failf("%w", err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&revoked, "revoked", "", "the `LIST` of keys that were revoked: revoked.txt")
	c.Flags().BoolVar(&rejoin, "rejoin", false, "end the credentials of all agents")
	_ = c.MarkFlagFilename("revoked", "txt")
	return c
}

func (p *program) natsConfigCmd() *cobra.Command {
	return &cobra.Command{
		Use: "nats-config", Args: cobra.NoArgs,
		Short: "Print what a NATS cluster's configuration needs for this hub",
		Long: `Prints the operator, the accounts and their keys' public halves, for
nats-server's configuration: include it in each server of the cluster, beside
jetstream, tls and cluster.`,
		RunE: func(*cobra.Command, []string) error {
			if err := hub.OpenDir(p.dir); err != nil {
				return app.Failf("%w", err)
			}
			k, err := bus.LoadKeys(p.dir)
			if err != nil {
				return app.Failf("%w", err)
			}
			fmt.Fprint(p.Stdout, k.ServerConfig())
			return nil
		},
	}
}
