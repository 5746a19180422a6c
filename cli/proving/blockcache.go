package proving

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/chart/draw"
	"fettle/internal/files"
	"fettle/internal/ui"
	"fettle/tools/measure/blockcache"
	"fettle/tools/measure/render"
	"fettle/tools/measure/render/caches"
)

type blockcacheFlags struct {
	slow, fast, cached string
	job, size, out     string
	runtime, interval  time.Duration
	destroy            bool
	with               []string
	format             string
}

func (a program) measureBlockcacheCmd() *cobra.Command {
	var f blockcacheFlags
	c := &cobra.Command{
		Use:   "blockcache",
		Short: "Test whether a block cache becomes as fast as its fast device",
		Long: `Runs fio on the slow device, on the fast one, and three times on the cached one:
as found (empty, if you emptied it), the same data again, and other data of the
same size. Reports whether the cached device becomes as fast as the fast one.

Each of --slow, --fast and --cached is a folder, in which fettle creates test
files and removes them again, or a block device, which is only read. The job is
random reads of two files of 2 GiB for 15 minutes, nine of ten in a tenth of
them. --job takes another load from a fio job file; fettle sets its paths, logs
and run time. A job that writes to a block device needs --destroy, and is
refused while the device is mounted or in use.

The runs with their conditions, a chart (SVG, PNG) and a page (HTML) are written
to the folder --out. --with adds stored runs to the chart and the verdict, or
shows them alone.

Exit status:
  0  measured (whatever the verdict)
  2  usage error or something that cannot be measured (nothing was touched)
  3  failed or stopped`,
		Example: `  fettle measure blockcache --slow /srv/hdd --fast /srv/ssd --cached /srv/cached
  fettle measure blockcache --slow /dev/sdb --fast /dev/nvme0n1 \
      --cached /dev/vg/data --runtime 5m
  fettle measure blockcache --with blockcache-4.11 --with blockcache-4.13`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.blockcache(cmd.Context(), f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.slow, "slow", "", "`FOLDER` or device of the slow device alone")
	fl.StringVar(&f.fast, "fast", "", "`FOLDER` or device of the fast device alone")
	fl.StringVar(&f.cached, "cached", "", "`FOLDER` or device with the cache")
	fl.StringVar(&f.job, "job", "", "fio job `FILE` of another load")
	fl.StringVar(&f.size, "size", "", "`SIZE` of each job's data (default: the job's, 2GiB)")
	fl.DurationVar(&f.runtime, "runtime", 0, "`TIME` of each run (default: the job's, 15m)")
	fl.DurationVar(&f.interval, "interval", 0, "`TIME` of one reading (default 500ms; less for runs under a minute)")
	fl.BoolVar(&f.destroy, "destroy", false, "allow a job that writes to overwrite the block devices")
	fl.StringVar(&f.out, "out", "", "new `FOLDER` for the runs (default blockcache-DATE-TIME)")
	fl.StringArrayVar(&f.with, "with", nil, "`FOLDER` of stored runs to compare with; may be repeated")
	app.FormatFlag(c, &f.format, "text", "json")
	return c
}

func (a program) blockcache(ctx context.Context, f blockcacheFlags) error {
	if f.format != "text" && f.format != "json" {
		return app.Usagef("--format %s: expected text or json", f.format)
	}
	var stored []blockcache.Set
	for _, dir := range f.with {
		runs, err := blockcache.Load(dir)
		if err != nil {
			return app.Usagef("--with: %w", err)
		}
		name := ui.Visible(filepath.Base(filepath.Clean(dir)))
		if slices.ContainsFunc(stored, func(s blockcache.Set) bool { return s.Name == name }) {
			name = ui.Visible(filepath.Clean(dir))
		}
		stored = append(stored, blockcache.Set{Name: name, Runs: runs})
	}
	if f.slow == "" && f.fast == "" && f.cached == "" {
		if len(stored) == 0 {
			return app.Usagef("nothing to measure: give --slow, --fast and --cached, or stored runs --with FOLDER")
		}
		if len(stored) == 1 {
			stored[0].Name = ""
		}
		return a.blockcacheResult(blockcache.JudgeAll(stored), f)
	}
	m, err := f.measurement()
	if err != nil {
		return err
	}
	if f.out == "" {
		f.out = "blockcache-" + time.Now().Format("20060102-150405")
		m.Out = f.out
	}
	m.Tell = a.blockcacheProgress()
	runs, err := blockcache.Do(ctx, m)
	var ue *blockcache.UsageError
	kept := ""
	if len(runs) > 0 {
		kept = fmt.Sprintf("; the runs that ended are in %s", f.out)
	}
	switch {
	case ctx.Err() != nil:
		return app.Failf("measuring: stopped; fio is gone and the files are removed%s", kept)
	case errors.As(err, &ue):
		return app.Usagef("%w", err)
	case err != nil:
		return app.Failf("measuring: %w%s", err, kept)
	}
	return a.blockcacheResult(blockcache.JudgeAll(append([]blockcache.Set{{Runs: runs}}, stored...)), f)
}

// measurement is what the flags ask for.
func (f blockcacheFlags) measurement() (m blockcache.Measurement, err error) {
	m = blockcache.Measurement{
		Slow:     f.slow,
		Fast:     f.fast,
		Cached:   f.cached,
		Runtime:  f.runtime,
		Interval: f.interval,
		Destroy:  f.destroy,
		Out:      f.out,
	}
	if f.interval != 0 && (f.interval < 50*time.Millisecond || f.interval > time.Minute) {
		return m, app.Usagef("--interval %s: expected 50ms to 1m", f.interval)
	}
	if f.job == "" {
		m.Job, err = blockcache.ParseJob("the default job", strings.NewReader(blockcache.DefaultJob))
	} else {
		file, oerr := os.Open(f.job)
		if oerr != nil {
			return m, app.Usagef("--job: %w", oerr)
		}
		defer file.Close()
		m.Job, err = blockcache.ParseJob(f.job, file)
	}
	if err != nil {
		return m, app.Usagef("%w", err)
	}
	if f.size != "" {
		n, err := parseBytes(f.size)
		if err != nil {
			return m, app.Usagef("--size: %w", err)
		}
		if n < 1<<20 || n > 1<<50 {
			return m, app.Usagef("--size %s: expected 1MiB to 1PiB", f.size)
		}
		m.Job.Resize(n &^ 0xfff) // direct requests are of whole blocks
	}
	if m.Runtime == 0 {
		m.Runtime = m.Job.Runtime
	}
	if m.Runtime == 0 {
		return m, app.Usagef("%s says no runtime=: give --runtime", f.job)
	}
	return m, nil
}

// blockcacheProgress tells how far it is: one line on a terminal, written over;
// elsewhere a line when a run begins and ends.
func (a program) blockcacheProgress() func(blockcache.Progress) {
	say, tty, last := ui.NewProgress(a.Stderr).Show, ui.IsTerminal(a.Stderr), ""
	return func(p blockcache.Progress) {
		switch {
		case p.Note != "":
			fmt.Fprintf(a.Stderr, a.Program+": %s\n", ui.Visible(p.Note))
		case p.Ends:
			say("")
			fmt.Fprintf(
				a.Stderr,
				"%d of %d: %s: %.0f requests a second on the average\n",
				p.Run,
				p.Runs,
				blockcache.About(p.Outcome.Kind),
				p.Outcome.Totals.IOPS,
			)
		case tty:
			say(fmt.Sprintf("%d of %d: %s, %v left", p.Run, p.Runs, p.Doing, p.Left.Round(time.Second)))
		case p.Doing != last:
			fmt.Fprintf(a.Stderr, "%d of %d: %s, %v left of all\n", p.Run, p.Runs, p.Doing, p.Left.Round(time.Second))
			last = p.Doing
		}
	}
}

// blockcacheResult prints, and draws into --out.
func (a program) blockcacheResult(runs []blockcache.Judged, f blockcacheFlags) error {
	result := caches.Blockcache(runs)
	if f.out != "" {
		if err := os.MkdirAll(f.out, 0o755); err != nil {
			return app.Failf("--out: %w", err)
		}
		made, err := draw.Files(f.out, "blockcache", result.Plot())
		if err != nil {
			return app.Failf("drawing: %w", err)
		}
		var page bytes.Buffer
		if err := result.Page(&page); err != nil {
			return app.Failf("making the page: %w", err)
		}
		name := filepath.Join(f.out, "blockcache.html")
		if err := files.WriteFile(name, page.Bytes(), 0o644); err != nil {
			return app.Failf("writing the page: %w", err)
		}
		defer fmt.Fprintf(a.Stderr, "wrote %s\n", strings.Join(append(made, name), ", "))
	}
	return render.Write(a.Stdout, f.format, result, render.TerminalOf(a.Stdout))
}
