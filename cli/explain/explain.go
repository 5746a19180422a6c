package explain

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/engine/trap"
	"fettle/internal/jsondoc"
	"fettle/internal/ui"
	"fettle/report"
)

// Cmd is fettle explain.
func Cmd(a *app.App) *cobra.Command {
	var format string
	var all bool
	c := &cobra.Command{
		Use:   "explain TRAP",
		Short: "Explain a trap: what happens, how bad it is, what to do",
		Long: `Explains a trap in short: what happens, how bad it is, and what to do. --all
shows the whole article, with symptoms, causes, versions and references; on a
terminal it goes through $PAGER, or less.

--format md prints the article as it was written, --format json an object.`,
		Args:              app.OneTrap,
		ValidArgsFunction: a.CompleteTraps,
		RunE: func(_ *cobra.Command, args []string) error {
			traps, err := find(a, args)
			if err != nil {
				return err
			}
			art, err := traps[0].Lore.Article()
			if err != nil {
				return app.Failf("the article of %s cannot be read: %w", args[0], err)
			}
			p := page{a: a, t: traps[0], art: art, width: ui.Width(a.Stdout), paint: ui.Painter(ui.Colour(a.Stdout))}
			switch {
			case format == "md":
				_, err := fmt.Fprint(a.Stdout, string(traps[0].Lore))
				return err
			case format == "json":
				return a.JSON(document{jsondoc.New("article"), report.Infos(traps)[0], art.Seen(), art.Tags, art.Since, art.Refs, art.Body})
			case all:
				return ui.Page(a.Stdout, p.long())
			}
			_, err = fmt.Fprint(a.Stdout, p.short())
			return err
		},
	}
	c.Flags().BoolVar(&all, "all", false, "show the whole article")
	app.FormatFlag(c, &format, "text", "md", "json")
	return c
}

// find is the trap that is meant: also the one that agents report after a restart.
func find(a *app.App, args []string) ([]*trap.Trap, error) {
	if args[0] == report.NotAsBefore.ID() {
		return []*trap.Trap{report.NotAsBefore}, nil
	}
	return a.Find(args)
}

// document is an article as JSON.
type document struct {
	jsondoc.Envelope
	report.TrapInfo
	Symptoms []string `json:"symptoms"`
	Tags     []string `json:"tags"`
	Since    string   `json:"since"`
	Refs     []string `json:"refs"`
	Body     string   `json:"body"` // Markdown
}

// page is an article being written for a reader.
type page struct {
	a     *app.App
	t     *trap.Trap
	art   *trap.Article
	width int
	paint ui.Painter
	b     strings.Builder
}

// short is what a reader needs first.
func (p *page) short() string {
	p.title()
	p.b.WriteString(ui.Markdown(short(p.art, p.t.Plan != nil), p.width, p.paint))
	p.section("Try", append(p.commands(), "fettle explain --all "+p.art.ID))
	return p.b.String()
}

// long is all of it.
func (p *page) long() string {
	p.title()
	p.b.WriteString(ui.Markdown(p.art.Body, p.width, p.paint))
	p.section("Seen as", p.art.Seen())
	if p.art.Since != "" {
		p.b.WriteString("\n" + p.paint.Paint(ui.Bold, "Since") + "\n\n" + ui.Wrap(ui.Visible(p.art.Since), p.width, "  ", "  "))
	}
	var choices []string
	for _, c := range p.t.Choices {
		choices = append(choices, choiceText(c))
	}
	p.section("Options (fettle fix "+p.art.ID+" --with NAME=VALUE)", choices)
	p.section("Try", p.commands())
	p.section("References", p.art.Refs)
	return p.b.String()
}

func (p *page) title() {
	p.b.WriteString(ui.Wrap(p.paint.Paint(ui.Bold, p.art.ID)+": "+ui.Visible(p.art.Title), p.width, "", "  ") + "\n")
}

func (p *page) commands() []string {
	if p.t.Check == nil { // report.NotAsBefore
		return []string{"sudo fettle after"}
	}
	out := []string{"fettle check " + p.art.ID}
	if p.t.Plan != nil {
		out = append(out, "fettle fix "+p.art.ID+" --plan")
	}
	return out
}

func (p *page) section(name string, lines []string) {
	if len(lines) == 0 {
		return
	}
	p.b.WriteString("\n" + p.paint.Paint(ui.Bold, name) + "\n\n")
	for _, l := range lines {
		p.b.WriteString(ui.Wrap(ui.Visible(l), p.width, "  - ", "    "))
	}
}

// choiceText words what an admin may decide about a remedy.
func choiceText(c trap.Choice) string {
	s := c.Name + ": " + c.About
	if c.Values != nil {
		s += " (" + strings.Join(c.Values, ", ") + ")"
	}
	if c.Default != "" {
		s += "; default: " + c.Default
	}
	return s
}
