package hub

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/fleet/hub/api"
	"fettle/fleet/hub/store"
)

// filter is --group and --label, which say which hosts are meant.
type filter struct{ group, label string }

func (f *filter) flags(c *cobra.Command) {
	c.Flags().StringVar(&f.group, "group", "", "hosts of this `GROUP`; - is no group")
	c.Flags().StringVar(&f.label, "label", "", "hosts with these `LABELS`: NAME=VALUE or NAME, with commas between")
}

func (f *filter) given() bool { return f.group != "" || f.label != "" }

func (f *filter) scope() (store.Scope, error) {
	labels, err := store.ParseLabels(f.label)
	if err != nil {
		return store.Scope{}, app.Usagef("--label: %w", err)
	}
	return store.AllGroups.Scope(groupOf(f.group), labels), nil
}

// groupOf is a group as an argument names it; nil: none is named.
func groupOf(s string) *string {
	switch s {
	case "":
		return nil
	case "-":
		s = ""
	}
	return &s
}

// agentsAtOnce is how many hosts one command is for.
const agentsAtOnce = 1_000_000

// agents are those of the hosts that are meant.
func (f *filter) agents(ctx context.Context, db *store.DB) ([]string, error) {
	in, err := f.scope()
	if err != nil {
		return nil, err
	}
	list, err := db.Agents(ctx, in, agentsAtOnce)
	if err != nil {
		return nil, app.Failf("%w", err)
	}
	if len(list) == 0 {
		return nil, app.Usagef("there is no such host")
	}
	return list, nil
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// labelsOf writes labels in one cell of a table.
func labelsOf(m map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, name+"="+m[name])
	}
	return strings.Join(out, ",")
}

// checkPlace refuses a group or labels that no host can have.
func checkPlace(group string, labels map[string]string) error {
	if err := store.CheckGroup(group); err != nil {
		return app.Usagef("--group: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if err := store.CheckLabel(name, labels[name]); err != nil {
			return app.Usagef("--label: %w", err)
		}
	}
	return nil
}

func (p *program) hostCmd() *cobra.Command {
	c := &cobra.Command{
		Use: "host", Args: cobra.NoArgs,
		Short: "Manage groups, names and labels of hosts",
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(p.hostSetCmd())
	return c
}

func (p *program) hostSetCmd() *cobra.Command {
	var q api.SetQuery
	var labels, remove []string
	c := &cobra.Command{
		Use: "set HOST...", Args: cobra.MinimumNArgs(1),
		Short: "Set the group, name and labels of hosts",
		Long: `Sets the group, the name and labels of hosts, named by their names or IDs: of
all of them, or of none. Findings and sums follow a host to its group; days that
are over stay with its former group.

A host has the name that it calls itself, and another one when its host name
changes, unless --name gives it one; --own-name takes that back.`,
		Example: `  fettle-hub host set web1 web2 --group web --label env=prod
  fettle-hub host set h4kq2 --name web1.ams
  fettle-hub host set web1 --own-name --remove-label env`,
		RunE: p.withAPI("host set", func(ctx context.Context, args []string, a *api.API) error {
			var agents []string
			for _, arg := range args {
				h, err := find(ctx, a.DB, arg)
				if err != nil {
					return err
				}
				if !h.Retired.IsZero() {
					return app.Usagef("%s is retired", arg)
				}
				agents = append(agents, h.Agent)
			}
			q.Hosts, q.Label, q.Remove = strings.Join(agents, ","), strings.Join(labels, ","), strings.Join(remove, ",")
			_, err := a.SetHosts(ctx, q)
			if err == nil && len(agents) > 1 {
				fmt.Fprintln(p.Stdout, len(agents), "hosts were set")
			}
			return err
		}),
	}
	f := c.Flags()
	f.StringVar(&q.Group, "group", "", "their `GROUP`; - is no group")
	f.StringVar(&q.Name, "name", "", "the `NAME` of one host, kept whatever it calls itself")
	f.BoolVar(&q.OwnName, "own-name", false, "the name that the host calls itself again")
	f.StringArrayVar(&labels, "label", nil, "a label, `NAME=VALUE`; may be repeated")
	f.StringArrayVar(&remove, "remove-label", nil, "remove the label `NAME`; may be repeated")
	c.MarkFlagsMutuallyExclusive("name", "own-name")
	return c
}
