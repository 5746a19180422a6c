package explain

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/ui"
	"fettle/report"
	"fettle/trap"
)

// Cmd is fettle explain.
func Cmd(a *app.App) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "explain TRAP",
		Short: "Say what a trap is, why it bites, and what to do",
		Long: `Say what a trap is: what happens, why, since which version, and what to do,
with references.

With --format md the article is printed as it was written, with --format json
as an object.`,
		Args:              app.OneTrap,
		ValidArgsFunction: a.CompleteTraps,
		RunE: func(_ *cobra.Command, args []string) error {
			traps, err := a.Find(args)
			if err != nil {
				return err
			}
			return explain(a, traps[0], format)
		},
	}
	app.FormatFlag(c, &format, "text", "md", "json")
	return c
}

func explain(a *app.App, t *trap.Trap, format string) error {
	art, err := t.Lore.Article()
	if err != nil {
		return app.Failf("the article of %s cannot be read: %w", t.ID(), err)
	}
	switch format {
	case "md":
		_, err := fmt.Fprint(a.Stdout, string(t.Lore))
		return err
	case "json":
		return a.JSON(struct {
			report.TrapInfo
			Symptoms []string `json:"symptoms"`
			Tags     []string `json:"tags"`
			Since    string   `json:"since"`
			Refs     []string `json:"refs"`
			Body     string   `json:"body"` // Markdown
		}{report.Infos([]*trap.Trap{t})[0], art.Symptoms, art.Tags, art.Since, art.Refs, art.Body})
	}
	width, paint := ui.Width(a.Stdout), ui.Painter(ui.Colour(a.Stdout))
	var b strings.Builder
	b.WriteString(ui.Wrap(art.ID+": "+ui.Visible(art.Title), width, "", "  ") + "\n")
	b.WriteString(ui.Markdown(art.Body, width, paint))
	section := func(name string, lines []string) {
		if len(lines) == 0 {
			return
		}
		b.WriteString("\n" + paint.Paint(ui.Bold, name) + "\n\n")
		for _, l := range lines {
			b.WriteString(ui.Wrap(ui.Visible(l), width, "  - ", "    "))
		}
	}
	section("Seen as", art.Symptoms)
	if art.Since != "" {
		b.WriteString("\n" + paint.Paint(ui.Bold, "Since") + "\n\n" + ui.Wrap(ui.Visible(art.Since), width, "  ", "  "))
	}
	next := []string{"fettle check " + art.ID}
	if t.Plan != nil {
		next = append(next, "fettle fix "+art.ID+" --plan")
	}
	var choices []string
	for _, c := range t.Choices {
		choices = append(choices, choiceText(c))
	}
	section("To choose (fettle fix "+art.ID+" --with NAME=VALUE)", choices)
	section("Try", next)
	section("References", art.Refs)
	_, err = fmt.Fprint(a.Stdout, b.String())
	return err
}

// choiceText words what an admin may decide about a remedy.
func choiceText(c trap.Choice) string {
	s := c.Name + ": " + c.About
	if c.Values != nil {
		s += " (" + strings.Join(c.Values, ", ") + ")"
	}
	if c.Default != "" {
		s += "; " + c.Default + " unless said otherwise"
	}
	return s
}
