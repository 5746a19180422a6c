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

	"fettle/cli/app"
	"fettle/internal/chart/draw"
	"fettle/internal/ssh"
	"fettle/internal/ui"
	"fettle/tools/bisect"
	"fettle/tools/bisect/belief"
)

// bisectFlags are what a hunt is asked for.
type bisectFlags struct {
	repo, good, bad, build, run, match string
	old, new, termOld, termNew         string
	boot, measure, sshConfig           string
	termGood, termBad, format, plots   string
	tests, several, fresh, firstParent bool
	confidence, noise                  float64
	levels, hosts                      []string
	maxRuns, jobs, changes             int
	timeout                            time.Duration
}

func (a program) bisectCmd() *cobra.Command {
	var f bisectFlags
	c := &cobra.Command{
		Use:   "bisect --old REV --new REV {--run COMMAND|--measure INSTR}",
		Short: "Find the commits that changed a measured figure",
		Long: `bisect finds the commits that moved a figure: a time, a rate, a size. It runs a
command that prints the figure at some commits, repeats a commit only if the
evidence is weak, and stops at the requested confidence. It tolerates outliers
and a machine that drifts.

COMMAND is run by /bin/sh in a separate checkout; your work tree is not touched.
The figure is the last line of its output that is a number, or what --match
finds. A commit whose build or run fails, hangs, or prints no figure is skipped:
it counts neither as good nor as bad. With --tests, COMMAND passes or fails
instead, as for git bisect run, and may be flaky; 125 skips.

Instead of COMMAND, --measure takes one of fettle's instruments, with its flags:

` + measureHelp() + `

--host runs commits on other hosts in parallel, over SSH. COMMAND finds there
what git tracks, and what earlier builds left and git ignores. Hosts may differ
in speed and noise; bisect calibrates them with commits that all of them ran.

The ends are --old and --new, or --good and --bad in either order: with --good
the newer one, the hunt is for a fix. The figures tell which way it went. If one
change explains only a part of what the ends differ by, bisect looks for more,
with as many runs again at most.

bisect follows first parents. If a merge moved the figure, it searches the
merged commits, unless --first-parent is given. If it is interrupted or killed,
run the same command line again to continue.

Exit status:
  0  the confidence was reached
  1  not reached after --max-runs
  2  usage error, or an end of the history gives no figure
  3  failed`,
		Example: `  fettle bisect --good v1.2 --bad main --build make --run ./bench
  fettle bisect --good v1.2 --bad main --run ./bench \
    --match 'p99: ([0-9.]+) ms' --several
  fettle bisect --good v6.1 --bad v6.6 --build 'make -j8 ARCH=um' \
    --boot 'linux --mem 512 --tool fio' --run "$(cat job)"
  fettle bisect --good v6.1 --bad v6.6 --build 'make -j8 ARCH=um' \
    --boot linux --measure boot
  fettle bisect --old v4.11 --new v4.13-rc1 --term-old broken \
    --term-new fixed --run ./bench
  fettle bisect --good v1.2 --bad main --build make --run ./bench \
    --host bench1,bench2
  fettle bisect --good HEAD~50 --bad HEAD --tests \
    --run 'go test -run TestFlaky ./net'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.bisect(cmd, f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.repo, "repo", ".", "the `FOLDER` of the repository")
	fl.StringVar(&f.old, "old", "", "the older end, `REV`")
	fl.StringVar(&f.new, "new", "", "the newer end, `REV`")
	fl.StringVar(&f.good, "good", "", "an end that is as it should be, `REV`: the older one, or the newer in the hunt for a fix")
	fl.StringVar(&f.bad, "bad", "", "the other end, `REV`")
	fl.StringVar(&f.build, "build", "", "run this `COMMAND` first; a commit for which it fails is skipped")
	fl.StringVar(&f.run, "run", "", "the `COMMAND` that prints the figure")
	fl.StringVar(&f.measure, "measure", "", "measure with this `INSTRUMENT` instead of --run; its flags may follow its name")
	fl.StringSliceVar(&f.hosts, "host", nil, "run commits on this `HOST`, over SSH; may be repeated")
	fl.StringVar(&f.sshConfig, "ssh-config", "", "give ssh this configuration `FILE` instead of ~/.ssh/config")
	fl.StringVar(
		&f.boot,
		"boot",
		"",
		"run the command in a throwaway machine with the kernel `FILE` of the checkout; flags of fettle-lab boot may follow it",
	)
	fl.StringVar(&f.match, "match", "", "find the figure by this `REGEXP` (its last group), in the last line it matches")
	fl.BoolVar(&f.tests, "tests", false, "the command passes or fails, and may be flaky")
	fl.BoolVar(&f.several, "several", false, "look for more than one change; takes more runs")
	fl.IntVar(&f.changes, "changes", 0, "expected number of changes, some of which may undo others: samples more commits than --several")
	fl.StringSliceVar(
		&f.levels,
		"levels",
		nil,
		"known figures of both ends, `GOOD,BAD`, or with --tests the failure rates, as in 20%,80%: saves runs",
	)
	fl.Float64Var(&f.noise, "noise", 0, "known standard deviation of one run, in the figure's unit: saves runs")
	fl.BoolVar(&f.firstParent, "first-parent", false, "stay on first parents: name a merge, not the merged commits")
	fl.Float64Var(&f.confidence, "confidence", 0.95, "stop at this probability of being right")
	fl.IntVar(&f.maxRuns, "max-runs", 500, "maximum number of runs")
	fl.IntVar(&f.jobs, "jobs", 1, "number of commits run in parallel, on each host")
	fl.DurationVar(&f.timeout, "timeout", time.Hour, "stop a build or a run that takes longer, and skip the commit")
	fl.StringVar(&f.termGood, "term-good", "", "your `WORD` for the good end")
	fl.StringVar(&f.termBad, "term-bad", "", "your `WORD` for the bad end")
	fl.StringVar(&f.termOld, "term-old", "", "your `WORD` for the older end, such as broken")
	fl.StringVar(&f.termNew, "term-new", "", "your `WORD` for the newer end, such as fixed")
	fl.BoolVar(&f.fresh, "fresh", false, "discard the results of earlier searches in this repository")
	fl.StringVar(&f.plots, "plots", "", "write the figure over the history as SVG and PNG into this `FOLDER`")
	app.FormatFlag(c, &f.format, "text", "json", "git-log")
	return c
}

// hunt is what the flags ask for.
func (f bisectFlags) hunt(cmd *cobra.Command) (*bisect.Hunt, error) {
	terms, err := f.ends(cmd.Context())
	if err != nil {
		return nil, err
	}
	switch {
	case f.confidence <= 0.5 || f.confidence >= 1:
		return nil, app.Usagef("--confidence %v: it must be above 0.5 and below 1", f.confidence)
	case f.jobs < 1:
		return nil, app.Usagef("--jobs %d: at least one commit is run at a time", f.jobs)
	case f.maxRuns < 4:
		return nil, app.Usagef("--max-runs %d: the two ends alone take 4", f.maxRuns)
	case f.changes < 0 || f.changes > 1000:
		return nil, app.Usagef("--changes %d: expected 1 to 1000", f.changes)
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
	h := &bisect.Hunt{
		Confidence:  f.confidence,
		MaxRuns:     f.maxRuns,
		Jobs:        f.jobs,
		Fresh:       f.fresh,
		FirstParent: f.firstParent,
		Prior:       belief.One,
		Terms:       terms,
		Command:     bisect.Command{Build: f.build, Run: f.run, Limit: f.timeout},
	}
	if f.tests {
		h.Command.Kind = belief.Tests
	}
	if f.several {
		h.Prior = belief.Several
	}
	if f.changes > 1 {
		h.Prior = belief.Some(f.changes)
	}
	h.Prior.Noise = f.noise
	h.SSH = ssh.Options{Config: f.sshConfig}
	for _, host := range f.hosts {
		if h.Hosts, err = ssh.ParseHosts("--host", host, h.Hosts, nil); err != nil {
			return nil, app.Usagef("%w", err)
		}
	}
	if f.measure != "" {
		if h.Command.Run, h.Figure, err = f.measured(); err != nil {
			return nil, err
		}
	}
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
	if h.History, err = bisect.ReadHistory(cmd.Context(), f.repo, f.old, f.new); err != nil {
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
			fmt.Fprintln(a.Stderr, readingLine(p))
		}
		progress.Show(beliefLine(p, ui.Width(a.Stderr)))
	}
	h.Lost = func(host string, why error) {
		progress.End()
		fmt.Fprintf(a.Stderr, "continuing without %s: %s\n", host, ui.Visible(why.Error()))
	}
	r, err := h.Run(cmd.Context())
	progress.End()
	var end *bisect.EndError
	switch {
	case cmd.Context().Err() != nil:
		return app.Failf("interrupted; run the same command to continue")
	case errors.Is(err, bisect.ErrOtherHunt), errors.As(err, &end):
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
	if f.plots != "" {
		for _, p := range r.Plot(h.History) {
			if _, err := draw.Files(f.plots, "bisect", p); err != nil {
				return app.Failf("drawing: %w", err)
			}
		}
	}
	switch f.format {
	case "json":
		doc := r.Report(h.History)
		doc.Figure = h.Figure
		return a.JSON(doc)
	case "git-log":
		_, err := fmt.Fprint(a.Stdout, r.GitLog(h.History, h.Terms))
		return err
	}
	_, err := fmt.Fprint(a.Stdout, bisectText(h, r, ui.Width(a.Stdout)))
	return err
}
