package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/chart"
	"fettle/internal/ui"
	"fettle/internal/units"
	"fettle/tools/measure/ksm"
	"fettle/tools/measure/render"
	"fettle/tools/tune"
)

type ksmFlags struct {
	length, interval time.Duration
	try              []string
	unmerge          bool
	format           string
	svg, png         string
}

// KSMCmd is fettle measure ksm.
func KSMCmd(a *app.App) *cobra.Command {
	var f ksmFlags
	c := &cobra.Command{
		Use:   "ksm",
		Short: "Measure memory saved by merging equal pages, and ksmd's CPU time",
		Long: `Measures kernel samepage merging: memory saved, ksmd's CPU time, the net saving
after the kernel's own records, merged pages that writes split again, and the
processes with merged pages. On a terminal it draws a live chart.

--try compares settings, each for the time --for. They apply to the whole host
while they are tried; the original settings are restored after each, even if
fettle is killed. A setting is one of

  as-is      the current settings
  default    the kernel's default: 100 pages, 20 ms of sleep
  PAGES/MS   pages_to_scan and sleep_millisecs, as 1250/10, or 1e9 (20 ms)
  advisor    the kernel's own advisor with its defaults (Linux 6.8)
  tune:20%   fettle tune ksm with this CPU budget, even if memory is free

Each setting starts with the pages that are already merged. --unmerge unmerges
all pages before each, so that all start equal: it needs as much free memory as
is saved, and is refused otherwise.

Exit status:
  0  measured
  2  usage error, no KSM, or --try without root or while ksmtuned runs
  3  KSM could not be read or set`,
		Example: `  fettle measure ksm --for 10m --interval 5s
  fettle measure ksm --for 60s --unmerge --svg saved.svg \
      --try default --try 1e9 --try advisor --try tune:20%`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return measureKSM(cmd.Context(), a, f) },
	}
	fl := c.Flags()
	fl.DurationVar(&f.length, "for", time.Minute, "measure, or try each setting, for this `TIME`, 1s to 24h")
	fl.DurationVar(&f.interval, "interval", 500*time.Millisecond, "`TIME` between two readings, 100ms to 10m")
	fl.StringArrayVar(&f.try, "try", nil, "try a `SETTING`; may be repeated")
	fl.BoolVar(&f.unmerge, "unmerge", false, "with --try: unmerge all pages before each setting")
	fl.StringVar(&f.svg, "svg", "", "draw memory saved over time into this `FILE`")
	fl.StringVar(&f.png, "png", "", "draw memory saved over time as PNG into this `FILE`")
	app.FormatFlag(c, &f.format, render.Formats()...)
	return c
}

func measureKSM(ctx context.Context, a *app.App, f ksmFlags) error {
	settings, err := f.settings()
	if err != nil {
		return err
	}
	pictures := app.Pictures{"svg": f.svg, "png": f.png}
	if err := pictures.Writable(); err != nil {
		return err
	}
	k, err := ksm.Open("")
	if err != nil {
		return app.Usagef("%w", err)
	}
	runs, err := watchKSM(ctx, a, k, f, settings)
	if err != nil {
		return err
	}
	r, err := k.Result(runs)
	if err != nil {
		return app.Failf("%w", err)
	}
	result := render.KSM(r)
	return draw(a, f.format, result, pictures, chart.Picture{Plot: result.Plot()})
}

// settings reads the flags.
func (f ksmFlags) settings() (out []ksm.Setting, err error) {
	switch {
	case f.length < time.Second || f.length > 24*time.Hour:
		return nil, app.Usagef("--for %s: expected 1s to 24h", f.length)
	case f.interval < 100*time.Millisecond || f.interval > 10*time.Minute || f.interval > f.length:
		return nil, app.Usagef("--interval %s: expected 100ms to 10m, and no more than --for", f.interval)
	case f.unmerge && len(f.try) == 0:
		return nil, app.Usagef("--unmerge is for --try")
	}
	for _, text := range f.try {
		s, err := tune.Setting(text)
		if err != nil {
			return nil, app.Usagef("--try %w", err)
		}
		out = append(out, s)
	}
	return out, nil
}

// watchKSM watches what is there, or each setting in turn.
func watchKSM(ctx context.Context, a *app.App, k *ksm.Kernel, f ksmFlags, settings []ksm.Setting) ([]ksm.Run, error) {
	live := newLive(a, f)
	defer live.end()
	if len(settings) == 0 {
		s, err := ksm.Watch(ctx, k, f.interval, f.length, live.show("now"))
		if err != nil {
			return nil, app.Failf("%w", err)
		}
		return []ksm.Run{{Name: "now", Series: s}}, nil
	}
	if err := k.Writable(); err != nil {
		return nil, app.Usagef("--try: %w", err)
	}
	seen, err := k.Programs().Look()
	if err != nil {
		return nil, app.Failf("%w", err)
	}
	if seen.Tuned != 0 {
		return nil, app.Usagef("--try: ksmtuned runs (process %d) and would set KSM meanwhile; end it with: systemctl stop ksmtuned", seen.Tuned)
	}
	keeper, err := app.KeepKSM()
	if err != nil {
		return nil, app.Failf("%w", err)
	}
	defer keeper.Close()
	var runs []ksm.Run
	trial := ksm.Trial{Every: f.interval, For: f.length, Unmerge: f.unmerge}
	for _, s := range settings {
		out, err := trial.Try(ctx, k, ksm.LeaseDir, s, live.show(s.Name))
		var busy *ksm.Busy
		switch {
		case errors.As(err, &busy):
			return nil, app.Usagef("--try %s: %w", s.Name, err)
		case err != nil:
			return nil, app.Failf("--try %s: %w", s.Name, err)
		case ctx.Err() != nil:
			return nil, app.Failf("interrupted: nothing is compared; KSM's settings are restored")
		}
		runs = append(runs, ksm.Run{Name: s.Name, Series: out})
		live.done = append(live.done, runs[len(runs)-1])
	}
	return runs, nil
}

// live draws on a terminal while readings come in, and says elsewhere what is
// being done.
type live struct {
	a     *app.App
	f     ksmFlags
	done  []ksm.Run
	lines int
	drawn time.Time
	said  string
}

func newLive(a *app.App, f ksmFlags) *live { return &live{a: a, f: f} }

// show is for the readings of one setting.
func (l *live) show(name string) func(ksm.Series) {
	return func(s ksm.Series) {
		switch {
		case l.f.format != "text":
		case !ui.IsTerminal(l.a.Stderr):
			if l.said != name {
				l.said = name
				fmt.Fprintf(l.a.Stderr, "%s: measuring for %s\n", ui.Visible(name), l.f.length)
			}
		case time.Since(l.drawn) >= 200*time.Millisecond:
			l.drawn = time.Now()
			l.draw(append(l.done[:len(l.done):len(l.done)], ksm.Run{Name: name, Series: s}))
		}
	}
}

// draw writes the picture over the one before.
func (l *live) draw(runs []ksm.Run) {
	s := runs[len(runs)-1].Series
	text := render.KSM{Runs: runs}.Plot().Text(min(ui.Width(l.a.Stderr), 100), 12)
	text += fmt.Sprintf("%s saved, %s of ksmd's CPU time, %s of %s\n", units.Size(s.Last().Saved()*s.Page), units.Duration(s.CPU()),
		units.Duration(s.Took().Round(time.Second)), units.Duration(l.f.length))
	l.end()
	for i := range text {
		if text[i] == '\n' {
			l.lines++
		}
	}
	fmt.Fprint(l.a.Stderr, text)
}

// end takes the picture away.
func (l *live) end() {
	if l.lines > 0 {
		fmt.Fprintf(l.a.Stderr, "\x1b[%dA\x1b[J", l.lines)
		l.lines = 0
	}
}
