package fix

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/engine/remedy"
	"fettle/internal/jsondoc"
	"fettle/internal/ui"
)

// ChangesCmd is fettle changes.
func ChangesCmd(a *app.App) *cobra.Command {
	var flags app.HostFlags
	var format string
	c := &cobra.Command{
		Use:               "changes [ID]",
		Annotations:       app.NoRules,
		Short:             "List what fettle changed on this host, or show one change",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeChanges,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case format == "json" && (flags.Asked() || len(args) > 0):
				return app.Usagef("--format json lists all changes of this host: it takes no ID and no --host")
			case format == "json":
				return Status(changesDocument(a))
			}
			if flags.Asked() {
				return Status(changesElsewhere(cmd.Context(), a, app.First(args), &flags))
			}
			return Status(listChanges(a, app.First(args)))
		},
	}
	app.FormatFlag(c, &format, "text", "json")
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

// madeDocument is fettle changes --format json: what agents report to a hub.
type madeDocument struct {
	jsondoc.Envelope
	Changes []made `json:"changes"` // the oldest first
}

// made is one change.
type made struct {
	ID       string    `json:"id"`
	At       time.Time `json:"at"`
	By       string    `json:"by,omitempty"` // the user who ran fettle fix
	Trap     string    `json:"trap"`
	Subject  string    `json:"subject,omitempty"`
	Summary  string    `json:"summary,omitempty"` // of the finding
	Phase    string    `json:"phase"`             // applying, applied, undoing, rolled back
	Verified bool      `json:"verified"`          // the check did not find the trap afterwards
	Standing string    `json:"standing"`          // the phase in words, and why it was rolled back
	Undo     string    `json:"undo,omitempty"`    // the command that undoes it; empty: it cannot be, or was
}

func changesDocument(a *app.App) error {
	store, err := remedy.OpenStore()
	if err != nil {
		return fmt.Errorf("listing changes: %w", err)
	}
	all, err := store.Changes()
	d := madeDocument{jsondoc.New("made-changes"), []made{}}
	for _, c := range all {
		m := made{ID: c.ID, At: c.Created, By: c.By, Trap: c.Trap, Subject: c.Subject, Summary: c.Summary, Phase: string(c.Phase()),
			Verified: c.Phase() == remedy.Applied, Standing: standing(c)}
		if c.Phase() != remedy.TakenBack {
			m.Undo = "fettle undo " + c.ID
		}
		d.Changes = append(d.Changes, m)
	}
	return errors.Join(a.JSON(d), err)
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
			s += fmt.Sprintf("; %d of its steps left unchanged (fettle changes %s)", n, c.ID)
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
	what := c.Trap
	if c.Subject != "" {
		what += " on " + c.Subject
	}
	fmt.Fprint(a.Stdout, ui.Wrap(ui.Visible("For "+what+": "+c.Summary), w, "", "  "))
	fmt.Fprint(a.Stdout, ui.Wrap(ui.Visible("Now: "+standing(c)), w, "", "  "), "\n")
	fmt.Fprint(a.Stdout, remedy.Text(c.Plan, remedy.TextOptions{Width: w, Now: c.Before}))
	for _, l := range c.Left() {
		fmt.Fprint(a.Stdout, ui.Wrap(ui.Visible("Left: "+l), w, "", "  "))
	}
}
