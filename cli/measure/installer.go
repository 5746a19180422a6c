package measure

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/files"
	"fettle/internal/ui"
	"fettle/internal/units"
	"fettle/measure/installer"
	"fettle/report"
)

// installerDocument is fettle measure installer --format json.
type installerDocument struct {
	report.Envelope
	Runs []installerRun `json:"runs"`
}

type installerRun struct {
	Log    string           `json:"log"`
	Phases []installerPhase `json:"phases"`
	// Packages is from "pkgsel: starting tasksel" to "pkgsel: finishing up".
	Packages *installerPhase `json:"packages,omitempty"`
}

type installerPhase struct {
	Name    string   `json:"name"`
	Seconds *float64 `json:"seconds"` // null: not timed
	Why     string   `json:"why,omitempty"`
	// Saved is the share of the first log's time that this one took less; negative: more.
	Saved *float64 `json:"saved,omitempty"`
}

// InstallerCmd is fettle measure installer.
func InstallerCmd(a *app.App) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "installer LOG...",
		Short: "How long the phases of Debian's installer took, from its log",
		Long: `Reads the syslog of Debian's installer (/var/log/installer/syslog on an
installed system), and shows the duration of each menu item and of the package
installation: from "pkgsel: starting tasksel" to "pkgsel: finishing up". Further
logs are compared with the first.

Menu items that ask something include the time until the answer. Phases during
which the clock was set, and phases without an end in the log, are not timed.`,
		Example: `  fettle measure installer /var/log/installer/syslog
  fettle measure installer plain.log hooks.log`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return app.Usagef("which log? fettle measure installer /var/log/installer/syslog")
			case len(args) > 8:
				return app.Usagef("%d logs: eight at most are compared", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return measureInstaller(a, args, format) },
	}
	app.FormatFlag(c, &format, "text", "json")
	return c
}

func measureInstaller(a *app.App, names []string, format string) error {
	var runs []installer.Run
	for _, name := range names {
		r, err := readInstallerLog(a, name)
		if err != nil {
			return app.Usagef("%w", err)
		}
		runs = append(runs, r)
	}
	doc := installerDocument{Envelope: report.NewEnvelope("installer")}
	for i := range runs {
		doc.Runs = append(doc.Runs, describeRun(&runs[i], &runs[0]))
	}
	if format == "json" {
		return a.JSON(doc)
	}
	_, err := fmt.Fprint(a.Stdout, installerText(doc, ui.Width(a.Stdout)))
	return err
}

func readInstallerLog(a *app.App, name string) (installer.Run, error) {
	if name == "-" {
		return installer.Read("standard input", io.LimitReader(a.Stdin, installerLimit))
	}
	if files.Special(name) {
		return installer.Run{}, fmt.Errorf("%s is not a regular file: expected the syslog of Debian's installer", ui.Quote(name))
	}
	f, err := os.Open(name)
	if err != nil {
		return installer.Run{}, fmt.Errorf("reading the installer's log: %w", err)
	}
	defer f.Close()
	return installer.Read(name, io.LimitReader(f, installerLimit))
}

// installerLimit bounds a log, in bytes: those of whole installations have some MB.
const installerLimit = 1 << 30

// describeRun says what a run took, and saved against the first.
func describeRun(r, first *installer.Run) installerRun {
	out := installerRun{Log: r.Name, Phases: []installerPhase{}}
	before := first.Sums()
	for _, p := range r.Sums() {
		var was *installer.Phase
		for i := range before {
			if before[i].Name == p.Name && r != first {
				was = &before[i]
			}
		}
		out.Phases = append(out.Phases, describePhase(&p, was))
	}
	if r.Packages != nil {
		var was *installer.Phase
		if r != first {
			was = first.Packages
		}
		p := describePhase(r.Packages, was)
		out.Packages = &p
	}
	return out
}

func describePhase(p, was *installer.Phase) installerPhase {
	out := installerPhase{Name: p.Name}
	switch {
	case p.Jumped:
		out.Why = "the clock was set"
	case !p.Done:
		out.Why = "did not end"
	default:
		s := p.Took.Seconds()
		out.Seconds = &s
	}
	if share, ok := installer.Saved(was, p); ok {
		out.Saved = &share
	}
	return out
}

// installerText is a table with a column a log.
func installerText(doc installerDocument, width int) string {
	t := ui.Table{Header: []string{"Phase"}, Right: []bool{false}}
	for i := range doc.Runs {
		name := doc.Runs[i].Log
		if i := strings.LastIndexByte(name, '/'); i >= 0 && len(doc.Runs) > 1 {
			name = name[i+1:]
		}
		t.Header, t.Right = append(t.Header, ui.Visible(name)), append(t.Right, true)
	}
	for _, name := range phaseNames(doc.Runs) {
		row := []string{ui.Visible(name)}
		for _, r := range doc.Runs {
			row = append(row, phaseCell(r, name))
		}
		t.Rows = append(t.Rows, row)
	}
	row := []string{"packages (tasksel)"}
	for _, r := range doc.Runs {
		cell := "-"
		if r.Packages != nil {
			cell = cellOf(*r.Packages)
		}
		row = append(row, cell)
	}
	t.Rows = append(t.Rows, row)
	return t.Text(width, "", ui.Painter(false))
}

// phaseNames are those of all runs, in the order in which they came.
func phaseNames(runs []installerRun) (out []string) {
	seen := map[string]bool{}
	for _, r := range runs {
		for _, p := range r.Phases {
			if !seen[p.Name] {
				seen[p.Name] = true
				out = append(out, p.Name)
			}
		}
	}
	return out
}

func phaseCell(r installerRun, name string) string {
	for _, p := range r.Phases {
		if p.Name == name {
			return cellOf(p)
		}
	}
	return "-"
}

func cellOf(p installerPhase) string {
	if p.Seconds == nil {
		return p.Why
	}
	s := units.Duration(time.Duration(*p.Seconds * float64(time.Second)))
	switch {
	case p.Saved == nil:
		return s
	case *p.Saved < 0:
		return fmt.Sprintf("%s (%.0f %% more)", s, -100**p.Saved)
	}
	return fmt.Sprintf("%s (%.0f %% less)", s, 100**p.Saved)
}
