package proving

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"time"

	"fettle/internal/junit"
	"fettle/internal/ui"
	"fettle/lab"
)

// labText writes how one scenario went. Long shows every stage and the
// figures before and after; short is one line.
func (a program) labText(o lab.Outcome, long, verbose bool) {
	v := o.Verdict
	if o.Err != nil {
		fmt.Fprintf(a.Stdout, "%s: %s: %s\n", o.Job.Name(), labWord(o), ui.Visible(o.Err.Error()))
		return
	}
	fmt.Fprintf(a.Stdout, "%s: %s (%s, kernel %s, booted in %.1f s, %.1f s in all)\n", o.Job.Name(), labWord(o),
		v.Engine, ui.Visible(v.Kernel), v.Boot.Seconds(), v.Took.Seconds())
	if v.Retries > 0 {
		fmt.Fprintf(a.Stdout, "  booted again %d times: the emulated kernel died or hung before its init\n", v.Retries)
	}
	if !long && v.OK {
		return
	}
	if about := o.Job.About(); about != "" {
		fmt.Fprint(a.Stdout, ui.Wrap(about, tableWidth, "  ", "  "))
	}
	for _, s := range v.Stages {
		if s.OK && o.Job.Experiment != nil {
			continue // its table says it all
		}
		mark := "ok"
		if !s.OK {
			mark = "FAILED"
		}
		said := s.Said
		if !verbose && s.OK {
			said = headline(said)
		}
		fmt.Fprintf(a.Stdout, "  %-11s %-6s %5.1f s  %s\n", ui.Visible(s.Name), mark, s.Took.Seconds(), folded(said, 30, verbose))
	}
	if v.Table != nil && len(v.Table.Columns) > 0 {
		writeTable(a.Stdout, v.Table)
	}
	labFigures(a.Stdout, v)
	// A stage that failed has said why.
	if failed := slices.ContainsFunc(v.Stages, func(s lab.Stage) bool { return !s.OK }); !v.OK && v.Why != "" && !failed {
		fmt.Fprintf(a.Stdout, "  why: %s\n", visibleLines(v.Why, 4))
	}
	if v.Console != "" {
		fmt.Fprintf(a.Stdout, "  the machine's last words:\n    %s\n", visibleLines(v.Console, 4))
	}
}

// headline is the first line of what fettle said in the guest, with the lines
// that it was wrapped into.
func headline(said string) string {
	head, rest, _ := strings.Cut(said, "\n")
	last := head
	for line := range strings.Lines(rest) {
		line = strings.TrimRight(line, "\n")
		text, ok := strings.CutPrefix(line, "  ")
		word, _, _ := strings.Cut(text, " ")
		if !ok || word == "" || len(last)+1+len(word) <= tableWidth-2 { // it had room
			break
		}
		head, last = head+" "+text, line
	}
	return head
}

// labWord is how it went.
func labWord(o lab.Outcome) string {
	switch {
	case o.Err != nil:
		return "NOT BUILT"
	case !o.Verdict.OK && o.Job.Experiment != nil:
		return "FAILED"
	case !o.Verdict.OK:
		return "NOT PROVED"
	case o.Job.Experiment != nil:
		return "done"
	case o.Job.Scenario.Innocent:
		return "no false positive"
	}
	return "proved"
}

// labWhy is why it did not go well; "" where it did.
func labWhy(o lab.Outcome) string {
	if o.Err != nil {
		return o.Err.Error()
	}
	return o.Verdict.Why
}

// visibleLines makes what a guest said safe on a terminal, and indents all
// lines but the first.
func visibleLines(s string, indent int) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = ui.Visible(l)
	}
	return strings.Join(lines, "\n"+strings.Repeat(" ", indent))
}

// folded is visibleLines with the lines that are longer than a console's wrapped,
// unless they are to be shown as they are.
func folded(s string, indent int, as bool) string {
	if as {
		return visibleLines(s, indent)
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		text := strings.TrimLeft(l, " ")
		lead := l[:len(l)-len(text)]
		if len(l) > tableWidth-indent && len(lead) < tableWidth/4 {
			lines[i] = strings.TrimSuffix(ui.Wrap(text, tableWidth-indent, lead, lead+"  "), "\n")
		}
	}
	return visibleLines(strings.Join(lines, "\n"), indent)
}

func (a program) listLab(j *lab.Job) {
	long := ""
	if j.Long() {
		long = " (long)"
	}
	if j.Experiment != nil {
		long += " (table)"
	}
	fmt.Fprintf(a.Stdout, "%s\n%s", j.Name(), ui.Wrap(j.About()+long, 80, "    ", "    "))
}

// labFigures is the table of before and after.
func labFigures(w io.Writer, v lab.Verdict) {
	heads := map[string]string{"check": "trapped", "recheck": "fixed", "after-undo": "undone"}
	var stages []lab.Stage
	for _, s := range v.Stages {
		if len(s.Probes) > 0 {
			stages = append(stages, s)
		}
	}
	if len(stages) == 0 {
		return
	}
	row := func(name string, cell func(lab.Stage) string) {
		line := fmt.Sprintf("  %-28s", name)
		for _, s := range stages {
			line += fmt.Sprintf(" %-15s", cell(s))
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	row("", func(s lab.Stage) string { return heads[s.Name] })
	for _, name := range sortedKeys(stages[0].Probes) {
		row(name, func(s lab.Stage) string {
			if s.Probes[name] == "" {
				return "-"
			}
			return ui.Cut(ui.Visible(s.Probes[name]), 15)
		})
	}
}

// labJUnit writes outcomes as JUnit XML: a failure is a scenario that failed, an
// error a machine that could not be built.
func labJUnit(w io.Writer, all []lab.Outcome) error {
	s := junit.Suite{Name: "fettle lab"}
	var took time.Duration
	for _, o := range all {
		c := junit.Case{Class: "fettle.lab." + o.Job.Trap, Name: o.Job.Scenario.Name, Time: junit.Seconds(o.Verdict.Took)}
		took += o.Verdict.Took
		switch {
		case o.Err != nil:
			c.Error = &junit.Message{Message: "the machine could not be built", Text: o.Err.Error()}
		case !o.Verdict.OK:
			c.Failure = &junit.Message{Message: "failed", Text: o.Verdict.Why + "\n" + o.Verdict.Console}
		}
		s.Add(c)
	}
	s.Time = junit.Seconds(took)
	doc := junit.Suites{Name: "fettle lab", Time: s.Time}
	doc.Add(s)
	return doc.Write(w)
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
