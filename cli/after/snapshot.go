package after

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"fettle/before/snapshot"
	"fettle/cli/app"
	"fettle/internal/jsondoc"
	"fettle/internal/records"
	"fettle/internal/ui"
	"fettle/internal/units"
)

// SnapshotCmd is fettle snapshot.
func SnapshotCmd(a *app.App) *cobra.Command {
	var list bool
	var format string
	c := &cobra.Command{
		Use:   "snapshot",
		Short: "Save what this host does, to compare it after a restart",
		Long: fmt.Sprintf(`Saves what this host does now: units, listeners, mounts, addresses, routes,
firewall rules, sysctls, arrays, containers. fettle after tells later what is
missing. fettle before reboot saves one by itself.

Snapshots are root's, in /var/lib/fettle/snapshots; the newest %d are kept. They
hold no contents of files and no secrets.`, snapshot.Keep),
		Example: `  sudo fettle snapshot
  sudo fettle snapshot --list`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if os.Geteuid() != 0 {
				return app.Usagef("snapshots are root's, and only root sees all: run it with sudo")
			}
			if list {
				return listSnapshots(a, format)
			}
			name, st, err := a.Snapshot(cmd.Context())
			if err != nil {
				return err
			}
			if format == "json" {
				return a.JSON(saved{jsondoc.New("snapshot-saved"), name, st.Unread})
			}
			fmt.Fprintf(a.Stdout, "saved snapshot %s: %s, %s, %s\n", name, units.Count(len(st.Units), "unit", "units"),
				units.Count(len(st.Listeners), "listener", "listeners"), units.Count(len(st.Mounts), "mount", "mounts"))
			for _, area := range snapshot.Areas {
				if why := st.Unread[area]; why != "" {
					fmt.Fprint(a.Stdout, ui.Wrap(string(area)+" could not be read: "+ui.Visible(why), ui.Width(a.Stdout), "", "  "))
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&list, "list", false, "list the snapshots that are kept, the newest first")
	app.FormatFlag(c, &format, "text", "json")
	return c
}

// saved is fettle snapshot --format json.
type saved struct {
	jsondoc.Envelope
	Name   string                   `json:"name"`
	Unread map[snapshot.Area]string `json:"unread,omitempty"`
}

// listed is fettle snapshot --list --format json.
type listed struct {
	jsondoc.Envelope
	Snapshots []string `json:"snapshots"` // the newest first
}

func listSnapshots(a *app.App, format string) error {
	s, err := app.Snapshots()
	if err != nil {
		return err
	}
	names, err := s.Names()
	if err != nil {
		return app.Failf("listing snapshots: %w", err)
	}
	if format == "json" {
		return a.JSON(listed{jsondoc.New("snapshots"), append([]string{}, names...)})
	}
	if len(names) == 0 {
		fmt.Fprintln(a.Stdout, "No snapshot is saved. To save one: fettle snapshot, or fettle before reboot")
		return nil
	}
	t := ui.Table{Header: []string{"", "taken", "name"}, Right: []bool{true, false, false}}
	for i, n := range names {
		at, _ := time.Parse(records.Layout, n)
		t.Rows = append(t.Rows, []string{fmt.Sprint(i + 1), at.Local().Format("2006-01-02 15:04"), n})
	}
	a.Table(&t)
	return nil
}
