package proving

import (
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/bisect"
	"fettle/bisect/belief"
	"fettle/chart/draw"
	"fettle/cli/app"
	"fettle/internal/ui"
	"fettle/internal/units"
)

// bisectFlags are what a hunt is asked for.
type bisectFlags struct {
	repo, good, bad, build, run, match string
	boot                               string
	termGood, termBad, format, plots   string
	tests, several, fresh              bool
	confidence, noise                  float64
	levels                             []string
	maxRuns, jobs                      int
	timeout                            time.Duration
}

func (a program) bisectCmd() *cobra.Command {
	var f bisectFlags
	c := &cobra.Command{
		Use:   "bisect --good REV --bad REV --run COMMAND",
		Short: "Find the commits that moved a figure, by the figure itself",
		Long: `bisect finds the commits that moved a figure: a time, a rate, a size. It reads
the figure that a command prints at some commits, runs a commit again only while
the evidence is thin, and stops when it is as sure as asked for. Outliers and a
machine that drifts are expected.

COMMAND is given to /bin/sh in a checkout of its own; your work tree is not
touched. It prints the figure as the last line that is a number, or --match finds
it. A commit whose build or run fails, hangs, or prints no figure is skipped: it
never counts for or against. With --tests, COMMAND passes or fails instead, as for
git bisect run, and may be flaky; 125 skips.

The history is followed along first parents: a change that a branch brought is
the merge. Interrupted or killed, the same command line goes on where it was.

Exit status: 0 sure, 1 not sure after --max-runs, 2 usage error, 3 failed.`,
		Example: `  fettle bisect --good v1.2 --bad main --build make --run ./bench
  fettle bisect --good v1.2 --bad main --run ./bench --match 'p99: ([0-9.]+) ms' --several
  fettle bisect --good v6.1 --bad v6.6 --build 'make -j8 ARCH=um' --boot 'linux --mem 512 --tool fio' --run "$(cat job)"
  fettle bisect --good HEAD~50 --bad HEAD --run 'go test -run TestFlaky ./net' --tests`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.bisect(cmd, f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.repo, "repo", ".", "the `FOLDER` of the repository")
	fl.StringVar(&f.good, "good", "", "the older end, `REV`")
	fl.StringVar(&f.bad, "bad", "", "the newer end, `REV`")
	fl.StringVar(&f.build, "build", "", "run this `COMMAND` first; a commit for which it fails is skipped")
	fl.StringVar(&f.run, "run", "", "the `COMMAND` that prints the figure")
	fl.StringVar(&f.boot, "boot", "", "run the command on a throwaway machine with this kernel of the checkout: its `FILE`, and flags of fettle-lab boot behind it")
	fl.StringVar(&f.match, "match", "", "find the figure by this `REGEXP` (its last group), in the last line it matches")
	fl.BoolVar(&f.tests, "tests", false, "the command passes or fails, and may be flaky")
	fl.BoolVar(&f.several, "several", false, "look for more than one change; costs more runs")
	fl.StringSliceVar(&f.levels, "levels", nil, "the figures at both ends, where they are known, `GOOD,BAD`; with --tests how often it fails there, as in 20%,80%: saves runs")
	fl.Float64Var(&f.noise, "noise", 0, "the standard deviation of one run, where it is known, in the figure's unit: saves runs")
	fl.Float64Var(&f.confidence, "confidence", 0.95, "stop at this probability of being right")
	fl.IntVar(&f.maxRuns, "max-runs", 500, "give up after so many runs")
	fl.IntVar(&f.jobs, "jobs", 1, "run so many commits side by side")
	fl.DurationVar(&f.timeout, "timeout", time.Hour, "end a build or a run that takes longer: the commit is skipped")
	fl.StringVar(&f.termGood, "term-good", "good", "your word for the older end")
	fl.StringVar(&f.termBad, "term-bad", "bad", "your word for the newer end")
	fl.BoolVar(&f.fresh, "fresh", false, "forget what an earlier hunt in this repository has read")
	fl.StringVar(&f.plots, "plots", "", "write the figure over the history as SVG and PNG into this `FOLDER`")
	app.FormatFlag(c, &f.format, "text", "json", "git-log")
	return c
}

// hunt is what the flags ask for.
func (f bisectFlags) hunt(cmd *cobra.Command) (*bisect.Hunt, error) {
	for flag, value := range map[string]string{"good": f.good, "bad": f.bad, "run": f.run} {
		if value == "" {
			return nil, app.Usagef("--%s is missing: a hunt needs --good, --bad and --run", flag)
		}
	}
	switch {
	case f.confidence <= 0.5 || f.confidence >= 1:
		return nil, app.Usagef("--confidence %v: it must be above 0.5 and below 1", f.confidence)
	case f.jobs < 1:
		return nil, app.Usagef("--jobs %d: at least one commit is run at a time", f.jobs)
	case f.maxRuns < 4:
		return nil, app.Usagef("--max-runs %d: the two ends alone take 4", f.maxRuns)
	case f.timeout <= 0:
		return nil, app.Usagef("--timeout %v must not be negative or zero", f.timeout)
	case f.noise < 0 || math.IsInf(f.noise, 0) || math.IsNaN(f.noise):
		return nil, app.Usagef("--noise %v: a standard deviation is above 0", f.noise)
	case f.tests && f.noise > 0:
		return nil, app.Usagef("--noise is of figures, and --tests reads none: give --levels instead")
	case f.tests && f.match != "":
		return nil, app.Usagef("--match finds a figure, and --tests reads none: use one of them")
	}
	if err := plotsFit(f.plots); err != nil {
		return nil, err
	}
	h := &bisect.Hunt{Confidence: f.confidence, MaxRuns: f.maxRuns, Jobs: f.jobs, Fresh: f.fresh, Prior: belief.One,
		Command: bisect.Command{Build: f.build, Run: f.run, Limit: f.timeout}}
	if f.tests {
		h.Command.Kind = belief.Tests
	}
	if f.several {
		h.Prior = belief.Several
	}
	h.Prior.Noise = f.noise
	var err error
	if h.Command.In, err = f.inMachine(); err != nil {
		return nil, err
	}
	if h.Prior.Levels, err = f.known(); err != nil {
		return nil, err
	}
	if f.match != "" {
		if h.Command.Match, err = regexp.Compile(f.match); err != nil {
			return nil, app.Usagef("--match: %w", err)
		}
	}
	if h.History, err = bisect.ReadHistory(cmd.Context(), f.repo, f.good, f.bad); err != nil {
		return nil, app.Exit(app.ExitUsage, err)
	}
	return h, nil
}

// inMachine is what runs the command on a machine with the checkout's kernel;
// nil without --boot.
func (f bisectFlags) inMachine() ([]string, error) {
	words := strings.Fields(f.boot)
	if len(words) == 0 {
		return nil, nil
	}
	if strings.HasPrefix(words[0], "-") {
		return nil, app.Usagef("--boot %q: expected the kernel's file first, then flags", f.boot)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, app.Failf("finding fettle-lab: %w", err)
	}
	in := []string{self, "boot", "--kernel", words[0], "--timeout", f.timeout.String()}
	return append(append(in, words[1:]...), "--", "/bin/sh", "-c"), nil
}

// known are the levels of --levels; nil where it is not given.
func (f bisectFlags) known() ([]float64, error) {
	if f.levels == nil {
		return nil, nil
	}
	if len(f.levels) != 2 {
		return nil, app.Usagef("--levels %s: give two, of the good end and of the bad one: GOOD,BAD", strings.Join(f.levels, ","))
	}
	known := make([]float64, 2)
	for i, text := range f.levels {
		number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
		n, err := strconv.ParseFloat(number, 64)
		switch {
		case err != nil || math.IsInf(n, 0) || math.IsNaN(n) || percent && !f.tests:
			return nil, app.Usagef("--levels: %q is not a number", text)
		case percent:
			n /= 100
		}
		if f.tests && (n < 0 || n > 1) {
			return nil, app.Usagef("--levels: %q: a test fails in 0%% to 100%% of its runs", text)
		}
		known[i] = n
	}
	if known[0] == known[1] {
		return nil, app.Usagef("--levels %s: both ends are alike, and there is nothing to find", strings.Join(f.levels, ","))
	}
	return known, nil
}

func (a program) bisect(cmd *cobra.Command, f bisectFlags) error {
	h, err := f.hunt(cmd)
	if err != nil {
		return err
	}
	progress := ui.NewProgress(a.Stderr)
	h.Tell = func(p bisect.Progress) {
		progress.End()
		if !ui.IsTerminal(a.Stderr) || p.Last.Skipped != "" {
			fmt.Fprintln(a.Stderr, readingLine(h.History, p))
		}
		progress.Show(beliefLine(h.History, p, ui.Width(a.Stderr)))
	}
	r, err := h.Run(cmd.Context())
	progress.End()
	switch {
	case cmd.Context().Err() != nil:
		return app.Failf("interrupted; the same command goes on where it was")
	case errors.Is(err, bisect.ErrOtherHunt):
		return app.Exit(app.ExitUsage, err)
	case err != nil:
		return app.Exit(app.ExitFailed, err)
	}
	if err := a.tellBisect(h, r, f); err != nil {
		return err
	}
	if !r.Sure {
		return app.Exit(app.ExitFound, nil)
	}
	return nil
}

func (a program) tellBisect(h *bisect.Hunt, r *bisect.Result, f bisectFlags) error {
	terms := bisect.Terms{Good: f.termGood, Bad: f.termBad}
	if f.plots != "" {
		for _, p := range r.Plot(h.History) {
			if _, err := draw.Files(f.plots, "bisect", p); err != nil {
				return app.Failf("drawing: %w", err)
			}
		}
	}
	switch f.format {
	case "json":
		return a.JSON(r.Report(h.History))
	case "git-log":
		_, err := fmt.Fprint(a.Stdout, r.GitLog(h.History, terms))
		return err
	}
	_, err := fmt.Fprint(a.Stdout, bisectText(h, r, ui.Width(a.Stdout)))
	return err
}

// readingLine tells of one run on a line of its own.
func readingLine(h *bisect.History, p bisect.Progress) string {
	c := h.Commits[p.Last.At]
	if p.Last.Skipped != "" {
		return fmt.Sprintf("%3d  %s  skipped: %s (%s)  %s", p.Runs, c.Short(), ui.Visible(p.Last.Skipped), p.Last.Log, ui.Visible(c.Subject))
	}
	return fmt.Sprintf("%3d  %s  %.6g  %s", p.Runs, c.Short(), p.Last.Figure, ui.Visible(c.Subject))
}

// beliefLine is the belief over the history, and what is left to do.
func beliefLine(h *bisect.History, p bisect.Progress, width int) string {
	tail := fmt.Sprintf(" run %d, %.0f %% sure", p.Runs, 100*p.Verdict.Confidence)
	if p.Left > 0 {
		tail += fmt.Sprintf(", about %d more (%s)", p.Left, (time.Duration(p.Left) * p.Each).Round(time.Second))
	}
	if p.Gaps == nil {
		return tail[1:]
	}
	return "[" + bisect.Bar(p.Gaps, len(h.Commits)-1, max(10, width-len(tail)-4), !ui.UTF8()) + "]" + tail
}

// bisectText is the report for people.
func bisectText(h *bisect.Hunt, r *bisect.Result, width int) string {
	var b strings.Builder
	commits := h.History.Commits
	if len(r.Verdict.Changes) == 0 {
		fmt.Fprintf(&b, "No commit between %s and %s moved the figure, as far as %s tell (%.0f %% sure).\n",
			commits[0].Short(), commits[len(commits)-1].Short(), units.Count(len(r.Runs), "run", "runs"), 100*r.Verdict.Confidence)
		return b.String()
	}
	for _, c := range r.Verdict.Changes {
		b.WriteString(changeText(h, c))
	}
	fmt.Fprintf(&b, "\n%.1f %% sure, after %s over %s", 100*r.Verdict.Confidence, units.Count(len(r.Runs), "run", "runs"), units.Count(len(commits)-1, "commit", "commits"))
	if r.Scale > 0 {
		fmt.Fprintf(&b, "; noise of one run: %.3g", r.Scale)
	}
	b.WriteString("\n")
	if !r.Sure {
		b.WriteString(ui.Wrap("This is less than was asked for: run the same command with a larger --max-runs to go on.", width, "", ""))
	}
	if r.Drifted {
		b.WriteString(ui.Wrap("The machine drifted while this ran; the drift, seen at commits that were run again, is taken out.", width, "", ""))
	}
	if n := len(r.Skipped); n > 0 {
		fmt.Fprintf(&b, "Skipped %s that gave no figure; their logs are in %s.\n", units.Count(n, "commit", "commits"), h.Logs())
	}
	return b.String()
}

// changeText names one change.
func changeText(h *bisect.Hunt, c belief.Change) string {
	commits := h.History.Commits
	name := commits[c.Last].Short() + "  " + ui.Visible(commits[c.Last].Subject)
	if c.First != c.Last {
		name = fmt.Sprintf("one of %d commits, %s to %s", c.Last-c.First+1, commits[c.First].Short(), commits[c.Last].Short())
	}
	if h.Command.Kind == belief.Tests {
		return fmt.Sprintf("%s\n    fails in %.0f %% of runs before, %.0f %% after\n", name, 100*c.Before.Mean, 100*c.After.Mean)
	}
	by, err := bisect.Effect(c)
	share := ""
	if c.Before.Mean != 0 {
		share = fmt.Sprintf(" (%+.1f %%)", 100*by/c.Before.Mean)
	}
	return fmt.Sprintf("%s\n    %.6g before, %.6g after: %+.4g%s, give or take %.2g\n", name, c.Before.Mean, c.After.Mean, by, share, 1.96*err)
}
