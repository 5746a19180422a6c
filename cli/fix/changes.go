package fix

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/engine/remedy"
	"fettle/internal/ui"
)

// ChangesCmd is fettle changes.
func ChangesCmd(a *app.App) *cobra.Command {
	var flags app.HostFlags
	c := &cobra.Command{
		Use:               "changes [ID]",
		Annotations:       app.NoRules,
		Short:             "List what fettle changed on this host, or show one change",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeChanges,
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.Asked() {
				return Status(changesElsewhere(cmd.Context(), a, app.First(args), &flags))
			}
			return Status(listChanges(a, app.First(args)))
		},
	}
	flags.Flags(c)
	return c
}

func listChanges(a *app.App, id string) error {
	store, err := remedy.OpenStore()
	if err != nil {
		return fmt.Errorf("listing changes: %w", err)
	}
	if id != "" {
		c, err := store.Change(id)
		if err != nil {
			return err
		}
		showChange(a, c)
		return nil
	}
	all, err := store.Changes()
	if len(all) == 0 && err == nil {
		fmt.Fprintln(a.Stdout, "fettle has changed nothing on this host.")
	}
	t := ui.Table{}
	for _, c := range all {
		what := c.Trap
		if c.Subject != "" {
			what += " on " + c.Subject
		}
		t.Rows = append(t.Rows, []string{c.ID, c.Created.Local().Format("2006-01-02 15:04"), ui.Visible(what + ": " + standing(c))})
	}
	a.Table(&t)
	return err
}

// standing says in a few words where a change stands.
func standing(c *remedy.Change) string {
	s := string(c.Phase())
	switch c.Phase() {
	case remedy.Applying:
		return "being applied, or interrupted meanwhile (fettle resume, fettle undo)"
	case remedy.Undoing:
		return "being rolled back, or interrupted meanwhile (fettle resume)"
	case remedy.TakenBack:
		if c.Why() != "" {
			s += ": " + strings.ReplaceAll(c.Why(), "\n", " ")
		}
		if n := len(c.Left()); n > 0 {
			s += fmt.Sprintf("; %d of its steps left as they stood (fettle changes %s)", n, c.ID)
		}
	}
	if deadline, due := c.Unconfirmed(); due {
		s += fmt.Sprintf(", undone at %s unless confirmed", deadline.Local().Format(time.TimeOnly))
	}
	return s
}

func showChange(a *app.App, c *remedy.Change) {
	w := ui.Width(a.Stdout)
	fmt.Fprintf(a.Stdout, "Change %s of %s, by fettle %s\n", c.ID, c.Created.Local().Format(time.DateTime), ui.Visible(c.Version))
	fmt.Fprint(a.Stdout, ui.Wrap(ui.Visible("For "+c.Trap+" on "+c.Subject+": "+c.Summary), w, "", "  "))
	fmt.Fprint(a.Stdout, ui.Wrap(ui.Visible("Now: "+standing(c)), w, "", "  "), "\n")
	fmt.Fprint(a.Stdout, remedy.Text(c.Plan, remedy.TextOptions{Width: w, Now: c.Before}))
	for _, l := range c.Left() {
		fmt.Fprint(a.Stdout, ui.Wrap(ui.Visible("Left: "+l), w, "", "  "))
	}
}
