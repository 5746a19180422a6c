package proving

import (
	"fmt"
	"strings"
	"time"

	"fettle/internal/ui"
	"fettle/internal/units"
	"fettle/tools/bisect"
	"fettle/tools/bisect/belief"
)

// readingLine tells of one run on a line of its own.
func readingLine(p bisect.Progress) string {
	c := p.History.Commits[p.Last.At]
	if p.Last.Skipped != "" {
		return fmt.Sprintf("%3d  %s  skipped: %s (%s)  %s", p.Runs, c.Short(), ui.Visible(p.Last.Skipped), p.Last.Log, ui.Visible(c.Subject))
	}
	return fmt.Sprintf("%3d  %s  %.6g  %s", p.Runs, c.Short(), p.Last.Figure, ui.Visible(c.Subject))
}

// beliefLine is the belief over the history, and what is left to do.
func beliefLine(p bisect.Progress, width int) string {
	tail := fmt.Sprintf(" run %d, %.0f %% sure", p.Runs, 100*p.Verdict.Confidence)
	if p.Left > 0 {
		tail += fmt.Sprintf(", about %d more (%s)", p.Left, (time.Duration(p.Left) * p.Each).Round(time.Second))
	}
	if p.Gaps == nil {
		return tail[1:]
	}
	return "[" + bisect.Bar(p.Gaps, len(p.History.Commits)-1, max(10, width-len(tail)-4), !ui.UTF8()) + "]" + tail
}

// bisectText is the report for people.
func bisectText(h *bisect.Hunt, r *bisect.Result, width int) string {
	var b strings.Builder
	commits := h.History.Commits
	if len(r.Verdict.Changes) == 0 {
		fmt.Fprintf(&b, "No commit between %s and %s moved the figure, as far as %s tell (%.0f %% sure).\n",
			commits[0].Short(), commits[len(commits)-1].Short(), units.Count(r.Total, "run", "runs"), 100*r.Verdict.Confidence)
		return b.String()
	}
	changesText(&b, h, h.History, r, "")
	b.WriteString("\n" + ui.Wrap(endsText(h, r), width, "", ""))
	fmt.Fprintf(
		&b,
		"%.1f %% sure, after %s over %s",
		100*r.Confidence(),
		units.Count(r.Total, "run", "runs"),
		units.Count(len(commits)-1, "commit", "commits"),
	)
	if r.Scale > 0 {
		fmt.Fprintf(&b, "; noise of one run: %.3g", r.Scale)
	}
	b.WriteString("\n")
	if !r.Sure && r.Total >= h.MaxRuns {
		b.WriteString(ui.Wrap("This is less than requested: to continue, run the same command with a larger --max-runs.", width, "", ""))
	}
	if !r.Sure && r.Total < h.MaxRuns {
		b.WriteString(
			ui.Wrap(
				"This is less than requested, and more runs would hardly change it: some difference is too small to distinguish from noise.",
				width,
				"",
				"",
			),
		)
	}
	if r.Drifted {
		b.WriteString(
			ui.Wrap("The machine drifted while this ran; the drift, seen at commits that were run again, is taken out.", width, "", ""),
		)
	}
	if n := len(r.Skipped); n > 0 {
		fmt.Fprintf(&b, "Skipped %s that gave no figure; their logs are in %s.\n", units.Count(n, "commit", "commits"), h.Logs())
	}
	return b.String()
}

// endsText is what the ends differ by, and whether the changes explain it.
func endsText(h *bisect.Hunt, r *bisect.Result) string {
	was, is := r.Ends[0].Mean, r.Ends[1].Mean
	says := fmt.Sprintf("From %s to %s the figure went from %.4g to %.4g.", h.Terms.Good, h.Terms.Bad, was, is)
	if h.Command.Kind == belief.Tests {
		says = fmt.Sprintf("From %s to %s the failures went from %.0f %% to %.0f %% of runs.", h.Terms.Good, h.Terms.Bad, 100*was, 100*is)
	}
	if !r.Partial() {
		return says
	}
	says += " What is named above explains only a part of it: other commits moved the figure too."
	if h.Prior.Extra < belief.Several.Extra {
		says += " To find them, run the same command with --several."
	}
	return says
}

// changesText names the changes of a line, and what is known of those inside
// merges behind them.
func changesText(b *strings.Builder, h *bisect.Hunt, line *bisect.History, r *bisect.Result, indent string) {
	for _, c := range r.Verdict.Changes {
		b.WriteString(changeText(h, line.Commits, c, indent))
		silent := 0
		for _, branch := range r.Brought[c.Last] {
			switch {
			case branch.Why != "":
				fmt.Fprintf(b, "%s    its merged commits could not be searched: %s\n", indent, ui.Visible(branch.Why))
			case len(branch.Result.Verdict.Changes) == 0:
				silent++
			default:
				fmt.Fprintf(b, "%s    of its merged commits:\n", indent)
				changesText(b, h, branch.History, branch.Result, indent+"        ")
			}
		}
		if silent > 0 && silent == len(r.Brought[c.Last]) {
			fmt.Fprintf(b, "%s    no commit that it merged did so alone: it is the merge, or both sides together\n", indent)
		}
	}
}

// changeText names one change.
func changeText(h *bisect.Hunt, commits []bisect.Commit, c belief.Change, indent string) string {
	name := commits[c.Last].Short() + "  " + ui.Visible(commits[c.Last].Subject)
	if c.First != c.Last {
		name = fmt.Sprintf("one of %d commits, %s to %s", c.Last-c.First+1, commits[c.First].Short(), commits[c.Last].Short())
	}
	if h.Command.Kind == belief.Tests {
		return fmt.Sprintf(
			"%s%s\n%s    fails in %.0f %% of runs before, %.0f %% after\n",
			indent,
			name,
			indent,
			100*c.Before.Mean,
			100*c.After.Mean,
		)
	}
	by, err := bisect.Effect(c)
	share := ""
	if c.Before.Mean != 0 {
		share = fmt.Sprintf(" (%+.1f %%)", 100*by/c.Before.Mean)
	}
	unit, means := "", ""
	if h.Figure != nil {
		unit, means = " "+h.Figure.Unit, ", "+h.Figure.Judge(by)
	}
	return fmt.Sprintf(
		"%s%s\n%s    %.6g%s before, %.6g after: %+.4g%s, give or take %.2g%s\n",
		indent,
		name,
		indent,
		c.Before.Mean,
		unit,
		c.After.Mean,
		by,
		share,
		1.96*err,
		means,
	)
}
