package why

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/ui"
	"fettle/lore"
	"fettle/report"
	"fettle/trap"
)

type whyOptions struct {
	format  string
	noCheck bool
}

// Cmd is fettle why.
func Cmd(a *app.App) *cobra.Command {
	var o whyOptions
	c := &cobra.Command{
		Use:   "why [TEXT...]",
		Short: "Name the trap behind an error message, a log, or a description",
		Long: `Name the trap behind an error message, lines of a log, or a problem in your own
words. The text is taken from the arguments, or from standard input, to its
end. Addresses, paths, numbers and names of interfaces need not be the same.

When this machine is a Linux host, the checks of the traps that match are run
and tell whether they are met here, unless --no-check is given.

Exit status:
  0  the text matches a trap
  1  nothing that fettle knows matches
  2  usage error, or the text cannot be read`,
		Example: `  fettle why "the bridge's mtu changes by itself"
  journalctl -b -p warning | fettle why`,
		RunE: func(cmd *cobra.Command, args []string) error { return answer(cmd.Context(), a, o, args) },
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return fmt.Errorf("%w; text that begins with a dash goes into quotes, or behind --", err)
	})
	app.FormatFlag(c, &o.format, "text", "json")
	c.Flags().BoolVar(&o.noCheck, "no-check", false, "do not check this host for the traps that match")
	return c
}

// KeepMessages keeps messages that begin with a dash, as a shell's do ("-bash:
// warning: …"), from being read as flags of why: no flag has a space.
func KeepMessages(args []string) []string {
	at := slices.Index(args, "why")
	if at < 0 || at > 2 || at > 0 && !strings.HasPrefix(args[0], "--traps") {
		return args // another verb's argument
	}
	args = slices.Clone(args)
	for i, s := range args[at+1:] {
		if s == "--" {
			break
		}
		if name, _, _ := strings.Cut(s, "="); strings.HasPrefix(s, "-") && strings.ContainsAny(name, " \t\n") {
			args[at+1+i] = " " + s
		}
	}
	return args
}

func answer(ctx context.Context, a *app.App, o whyOptions, args []string) error {
	in := a.Stdin
	switch text := strings.Join(args, " "); {
	case len(args) > 0 && text != "-":
		in = strings.NewReader(text)
	case len(args) == 0 && ui.IsTerminal(a.Stdin):
		fmt.Fprintln(a.Stderr, "fettle: paste the message or log, then press Ctrl-D on a line of its own")
	}
	x, err := lore.New(a.Traps)
	if err != nil {
		return app.Failf("%w", err)
	}
	ranked, err := x.Rank(interruptible{ctx, in})
	if ctx.Err() != nil {
		return app.Failf("interrupted while reading the text")
	}
	if err != nil {
		return app.Usagef("reading the text: %w", err)
	}
	matches, near := lore.Told(ranked)
	here := map[string]trap.Result{}
	if !o.noCheck && len(matches) > 0 && runtime.GOOS == "linux" {
		here = lookHere(ctx, a, matches)
	}
	if o.format == "json" {
		err = whyJSON(a, matches, near, here)
	} else {
		err = whyText(a, matches, near, here)
	}
	if err != nil {
		return err
	}
	if len(matches) == 0 {
		return app.Exit(app.ExitFound, nil)
	}
	return nil
}

// interruptible ends with its context: a log may take minutes to read.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(p)
}

// lookHere runs the checks of the traps that match on this host. Those that
// need an interval or the network are left out.
func lookHere(ctx context.Context, a *app.App, matches []lore.Match) map[string]trap.Result {
	var traps []*trap.Trap
	for _, t := range a.Traps {
		for _, m := range matches {
			if m.Trap == t.ID() && t.Cost == trap.Instant {
				traps = append(traps, t)
			}
		}
	}
	here := map[string]trap.Result{}
	if len(traps) == 0 {
		return here
	}
	err := a.CheckLive(ctx, traps, trap.Options{}, func(r trap.Result) { here[r.Trap] = r })
	if err != nil {
		fmt.Fprintf(a.Stderr, "fettle: could not check this host: %v\n", err)
	}
	return here
}

func whyJSON(a *app.App, matches []lore.Match, near *lore.Match, here map[string]trap.Result) error {
	out := []match{}
	for _, m := range matches {
		j := match{Match: m, Title: a.Title(m.Trap)}
		if r, ok := here[m.Trap]; ok {
			j.Here = &r
		}
		out = append(out, j)
	}
	return a.JSON(document{report.NewEnvelope("why"), out, near})
}

// document is the answer as JSON.
type document struct {
	report.Envelope
	Matches []match     `json:"matches"`
	Near    *lore.Match `json:"near,omitempty"` // no match, but the nearest
}

type match struct {
	lore.Match
	Title string       `json:"title"`
	Here  *trap.Result `json:"here,omitempty"` // what the check says of this host
}

// talks tells whether a trap's check asks other hosts too where it may.
func talks(a *app.App, id string) bool {
	return slices.ContainsFunc(a.Traps, func(t *trap.Trap) bool { return t.ID() == id && t.Talks })
}

func whyText(a *app.App, matches []lore.Match, near *lore.Match, here map[string]trap.Result) error {
	width, paint := ui.Width(a.Stdout), ui.Painter(ui.Colour(a.Stdout))
	var b strings.Builder
	if len(matches) == 0 {
		b.WriteString("Nothing that fettle knows matches this.\n")
		if near != nil {
			b.WriteString(ui.Wrap(fmt.Sprintf("The nearest is %s (%d %%): %s", near.Trap, percent(near.Score), ui.Visible(a.Title(near.Trap))), width, "", "  "))
		}
		b.WriteString(ui.Wrap("A few lines around the message, or the problem in other words, may say more; fettle list shows the traps it knows.", width, "", ""))
	}
	for i, m := range matches {
		if i > 0 {
			b.WriteByte('\n')
		}
		head := paint.Paint(ui.Bold, m.Trap) + fmt.Sprintf("  (%s, %d %%)", likely(m.Score), percent(m.Score))
		b.WriteString(head + "\n")
		line := func(s string) { b.WriteString(ui.Wrap(s, width, "  ", "    ")) }
		line(ui.Visible(a.Title(m.Trap)))
		for _, l := range m.Lines {
			b.WriteString("  " + paint.Paint(ui.Faint, "| "+ui.Cut(ui.Visible(l), width-4)) + "\n")
		}
		if m.Symptom != "" {
			line("fits: " + ui.Visible(m.Symptom))
		}
		if r, ok := here[m.Trap]; ok {
			for _, s := range saysHere(&r, talks(a, m.Trap)) {
				said, command, ok := strings.Cut(s, next)
				line(said)
				if ok { // never broken in two: it is there to be copied
					b.WriteString("    " + command + "\n")
				}
			}
		}
		line("fettle explain " + m.Trap)
	}
	_, err := io.WriteString(a.Stdout, b.String())
	return err
}

// percent is never 100: no words are proof.
func percent(score float64) int { return min(99, int(100*score+0.5)) }

func likely(score float64) string {
	switch {
	case score >= 0.9:
		return "very likely"
	case score >= 0.7:
		return "likely"
	}
	return "perhaps"
}

// next stands before the command for what was said.
const next = "\x00"

// saysHere puts into lines what a check says of this host: findings and what
// could not be looked at, or that it is clear. A check that talks to other
// hosts was not let to.
func saysHere(r *trap.Result, talks bool) []string {
	var out []string
	clear := 0
	var not string
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		on := ""
		if o.Subject != "" {
			on = " on " + ui.Visible(o.Subject)
		}
		switch o.Status {
		case trap.Found:
			out = append(out, "here: found"+on+": "+ui.Visible(o.Summary)+next+report.Command(o))
		case trap.Clear:
			clear++
		case trap.NotApplicable:
			not = ui.Visible(o.Reason)
		default:
			out = append(out, "here: unknown"+on+": "+ui.Visible(o.Reason))
		}
	}
	switch {
	case len(out) > 4:
		return append(out[:3], fmt.Sprintf("here: and %d more; fettle check %s shows them", len(out)-3, r.Trap))
	case len(out) > 0:
		return out
	case clear > 0 && talks:
		return []string{"here: clear as far as this host's own files tell; to ask others: fettle check " + r.Trap + " --network"}
	case clear > 0:
		return []string{"here: clear, this host is not in the trap now"}
	}
	return []string{"here: does not apply: " + not}
}
