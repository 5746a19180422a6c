package render

import (
	"fmt"
	"strings"
	"time"

	"fettle/internal/jsondoc"
	"fettle/internal/ui"
	"fettle/internal/units"
	"fettle/tools/measure/installer"
)

// Installer is what fettle measure installer read: a run a log.
type Installer []installer.Timings

// Text is a table with a column a log.
func (runs Installer) Text(t Terminal) string {
	table := ui.Table{Header: []string{"Phase"}, Right: []bool{false}}
	packages := []string{"packages (tasksel)"}
	for _, r := range runs {
		name := r.Log
		if i := strings.LastIndexByte(name, '/'); i >= 0 && len(runs) > 1 {
			name = name[i+1:]
		}
		table.Header, table.Right = append(table.Header, ui.Visible(name)), append(table.Right, true)
		packages = append(packages, timingCell(r.Packages))
	}
	for _, name := range runs.names() {
		row := []string{ui.Visible(name)}
		for _, r := range runs {
			row = append(row, timingCell(named(r.Phases, name)))
		}
		table.Rows = append(table.Rows, row)
	}
	table.Rows = append(table.Rows, packages)
	return table.Text(t.Width, "", ui.Painter(false))
}

// names are those of all runs' phases, in the order in which they came.
func (runs Installer) names() (out []string) {
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

func named(phases []installer.Timing, name string) *installer.Timing {
	for i := range phases {
		if phases[i].Name == name {
			return &phases[i]
		}
	}
	return nil
}

func timingCell(t *installer.Timing) string {
	if t == nil {
		return "-"
	}
	if why := t.Untimed(); why != "" {
		return why
	}
	s := units.Duration(t.Took)
	if t.Took < time.Second { // the log's times are in seconds
		s = "under 1 s"
	}
	switch {
	case !t.Compared:
		return s
	case t.Saved < 0:
		return fmt.Sprintf("%s (%.0f %% more)", s, -100*t.Saved)
	}
	return fmt.Sprintf("%s (%.0f %% less)", s, 100*t.Saved)
}

type installerDocument struct {
	jsondoc.Envelope
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

// Document is fettle measure installer --format json.
func (runs Installer) Document() any {
	doc := installerDocument{Envelope: jsondoc.New("installer")}
	for _, r := range runs {
		run := installerRun{Log: r.Log, Phases: []installerPhase{}}
		for _, p := range r.Phases {
			run.Phases = append(run.Phases, phaseDocument(p))
		}
		if r.Packages != nil {
			run.Packages = new(phaseDocument(*r.Packages))
		}
		doc.Runs = append(doc.Runs, run)
	}
	return doc
}

func phaseDocument(t installer.Timing) installerPhase {
	out := installerPhase{Name: t.Name, Why: t.Untimed()}
	if out.Why == "" {
		out.Seconds = new(t.Took.Seconds())
	}
	if t.Compared {
		out.Saved = &t.Saved
	}
	return out
}
