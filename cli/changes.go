package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/internal/ui"
	"fettle/remedy"
)

func (a *app) changesCmd() *cobra.Command {
	return &cobra.Command{
		Use:               "changes [ID]",
		Short:             "List what fettle changed on this host, or show one change",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeChanges,
		RunE: func(cmd *cobra.Command, args []string) error {
			return fixError(a.listChanges(first(args)))
		},
	}
}

func (a *app) listChanges(id string) error {
	store, err := remedy.OpenStore()
	if err != nil {
		return fmt.Errorf("listing changes: %w", err)
	}
	if id != "" {
		c, err := store.Change(id)
		if err != nil {
			return err
		}
		a.showChange(c)
		return nil
	}
	all, err := store.Changes()
	if len(all) == 0 && err == nil {
		fmt.Fprintln(a.stdout, "fettle has changed nothing on this host.")
	}
	for _, c := range all {
		what := c.Trap
		if c.Subject != "" {
			what += " on " + c.Subject
		}
		line := ui.Visible(fmt.Sprintf("%s  %s  %s: %s", c.ID, c.Created.Local().Format("2006-01-02 15:04"), what, standing(c)))
		if ui.IsTerminal(a.stdout) {
			line = ui.Cut(line, ui.Width(a.stdout)) // fettle changes ID shows all
		}
		fmt.Fprintln(a.stdout, line)
	}
	return err
}

// standing says in a few words where a change stands.
func standing(c *remedy.Change) string {
	s := string(c.Phase())
	switch c.Phase() {
	case remedy.Applying:
		return "being applied, or cut off while at it (fettle resume, fettle undo)"
	case remedy.Undoing:
		return "being taken back, or cut off while at it (fettle resume)"
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

func (a *app) showChange(c *remedy.Change) {
	w := ui.Width(a.stdout)
	fmt.Fprintf(a.stdout, "Change %s of %s, by fettle %s\n", c.ID, c.Created.Local().Format(time.DateTime), ui.Visible(c.Version))
	fmt.Fprint(a.stdout, ui.Wrap(ui.Visible("For "+c.Trap+" on "+c.Subject+": "+c.Summary), w, "", "  "))
	fmt.Fprint(a.stdout, ui.Wrap(ui.Visible("Now: "+standing(c)), w, "", "  "), "\n")
	fmt.Fprint(a.stdout, remedy.Text(c.Plan, w))
	for _, l := range c.Left() {
		fmt.Fprint(a.stdout, ui.Wrap(ui.Visible("Left: "+l), w, "", "  "))
	}
}
