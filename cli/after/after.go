// Package after is fettle after and fettle snapshot: what a restart took away.
package after

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/before/snapshot"
	"fettle/before/watch"
	"fettle/cli/app"
	"fettle/internal/jsondoc"
	"fettle/internal/ui"
	"fettle/internal/units"
	"fettle/report"
)

// options are the flags of fettle after.
type options struct {
	snapshot, from, format string
	verbose                bool
	wait                   time.Duration
	watched                bool
}

// Cmd is fettle after.
func Cmd(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "after",
		Short: "Tell what did not come back after a restart",
		Long: `Compares this host with the snapshot that fettle before reboot (or fettle
snapshot) saved before the restart, and tells what did not come back as it was:
units, listeners, mounts, addresses, routes, firewall rules, sysctls, arrays,
containers, names. What follows from something else is reported with it.

Without --snapshot it takes the newest one of an earlier start. --snapshot also
takes a capture that was made before.

Exit status:
  0  all came back as it was
  1  something did not
  2  usage error, or no snapshot
  3  looking failed
  4  nothing is missing, but not everything could be compared`,
		Example: `  sudo fettle after
  sudo fettle after --wait 5m
  fettle after --snapshot before.tar.zst --from after.tar.zst`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.watched {
				return watched(cmd.Context(), a, o)
			}
			return compare(cmd.Context(), a, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.snapshot, "snapshot", "", "compare with `SNAPSHOT`: its number or name in fettle snapshot --list, or a capture")
	f.StringVar(&o.from, "from", "", "look at the capture `FILE` instead of this host")
	f.DurationVar(&o.wait, "wait", 0, "wait at most this `TIME` until everything has been started")
	f.BoolVar(&o.watched, "watched", false, "what "+watch.Unit+" runs: once, and notify's channels are told")
	_ = f.MarkHidden("watched")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "also show what was not there before")
	app.FormatFlag(c, &o.format, "text", "json")
	return c
}

// document is fettle after --format json.
type document struct {
	jsondoc.Envelope
	Host string    `json:"host"`
	Was  time.Time `json:"was"` // when the snapshot was taken
	Now  time.Time `json:"now"`
	Jobs int       `json:"jobs,omitempty"` // that are still running
	snapshot.Comparison
}

func compare(ctx context.Context, a *app.App, o options) error {
	if o.wait < 0 {
		return app.Usagef("--wait %s: must not be negative", o.wait)
	}
	if o.wait > 0 && o.from != "" {
		return app.Usagef("--wait is for this host: a capture does not change")
	}
	d, err := look(ctx, a, o)
	if err != nil {
		return err
	}
	if o.format == "json" {
		err = a.JSON(d)
	} else {
		err = write(a, o, d)
	}
	switch {
	case err != nil:
		return err
	case len(d.Lost) > 0:
		return app.Exit(app.ExitFound, nil)
	case len(d.NotCompared) > 0:
		return app.Exit(app.ExitUnknown, nil)
	}
	return nil
}

// look compares the host with what it was.
func look(ctx context.Context, a *app.App, o options) (*document, error) {
	was, err := earlier(ctx, a, o)
	if err != nil {
		return nil, err
	}
	now, err := settled(ctx, a, o)
	if err != nil {
		return nil, err
	}
	if was == nil { // only now its boot is known
		if was, err = newest(now.BootID); err != nil {
			return nil, err
		}
	}
	return &document{jsondoc.New("after"), now.Host, was.Time, now.Time, now.Jobs, snapshot.Compare(was, now)}, nil
}

// earlier is the state that the user names; nil: the newest of another start.
func earlier(ctx context.Context, a *app.App, o options) (*snapshot.State, error) {
	if o.snapshot == "" {
		if o.from != "" {
			return nil, app.Usagef("--from needs --snapshot: snapshots of this host are not of the capture's")
		}
		return nil, nil
	}
	if st, err := os.Stat(o.snapshot); err == nil && st.Mode().IsRegular() {
		return take(ctx, a, o.snapshot)
	}
	s, err := app.Snapshots()
	if err != nil {
		return nil, err
	}
	st, err := s.Load(o.snapshot)
	return st, unread(err)
}

func newest(bootID string) (*snapshot.State, error) {
	s, err := app.Snapshots()
	if err != nil {
		return nil, err
	}
	st, err := s.Before(bootID)
	if errors.Is(err, snapshot.ErrNone) && os.Geteuid() != 0 {
		return nil, app.Usagef("%w (snapshots are root's: run it with sudo)", err)
	}
	return st, unread(err)
}

// unread gives an error of the store its exit status.
func unread(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrPermission):
		return app.Usagef("%w: snapshots are root's; run it with sudo", err)
	}
	return app.Usagef("%w", err)
}

// take is the state of this host, or of a capture.
func take(ctx context.Context, a *app.App, from string) (*snapshot.State, error) {
	tg, err := (&app.TargetFlags{From: from}).Target()
	if err != nil {
		return nil, err
	}
	return a.State(ctx, tg)
}

// settled is the state once systemd has no jobs left, or the wait is over.
func settled(ctx context.Context, a *app.App, o options) (*snapshot.State, error) {
	end := time.Now().Add(o.wait)
	progress := ui.NewProgress(a.Stderr)
	defer progress.End()
	for {
		st, err := take(ctx, a, o.from)
		if err != nil || st.Jobs == 0 || time.Now().After(end) {
			return st, err
		}
		progress.Show(fmt.Sprintf("%s left to start …", units.Count(st.Jobs, "job is", "jobs are")))
		select {
		case <-ctx.Done():
			return nil, app.Failf("interrupted while %s left to start", units.Count(st.Jobs, "job is", "jobs are"))
		case <-time.After(min(2*time.Second, time.Until(end)+time.Millisecond)):
		}
	}
}

func write(a *app.App, o options, d *document) error {
	width, paint := ui.Width(a.Stdout), ui.Painter(ui.Colour(a.Stdout))
	var b strings.Builder
	b.WriteString(ui.Wrap(lead(d), width, "", "  "))
	for _, l := range d.Lost {
		difference(&b, &l, width, paint)
	}
	if o.verbose {
		for _, n := range d.New {
			b.WriteString("\n" + ui.Wrap(ui.Visible(n.Subject)+": "+ui.Visible(n.Summary), width, "new       ", "            "))
		}
	}
	for _, area := range snapshot.Areas {
		if why := d.NotCompared[area]; why != "" {
			b.WriteString("\n" + ui.Wrap(string(area)+" could not be compared: "+ui.Visible(why), width, "UNKNOWN   ", "            "))
		}
	}
	_, err := a.Stdout.Write([]byte(b.String()))
	return err
}

// lead says in a sentence or three what came of it.
func lead(d *document) string {
	name := ui.Visible(d.Host)
	at := d.Was.Local().Format("2006-01-02 15:04")
	var out string
	switch n := len(d.Lost); {
	case n == 0 && len(d.NotCompared) > 0:
		out = fmt.Sprintf("%s has all that could be compared with the snapshot of %s", name, at)
	case n == 0:
		out = fmt.Sprintf("%s is as it was at %s", name, at)
	default:
		out = fmt.Sprintf("%s lacks %s that it had at %s", name, units.Count(n, "thing", "things"), at)
	}
	if !d.Restarted {
		out += "; it has not been restarted since"
	}
	if d.Jobs > 0 {
		out += fmt.Sprintf(". It is still starting: %s left, and what is missing may yet come (--wait 5m)",
			units.Count(d.Jobs, "job is", "jobs are"))
	}
	return out
}

func difference(b *strings.Builder, l *snapshot.Difference, width int, paint ui.Painter) {
	const indent = "          "
	label := strings.ToUpper(l.Severity.String())
	head := paint.Paint(report.Style(l.Severity), label) + strings.Repeat(" ", len(indent)-len(label))
	b.WriteString("\n" + ui.Wrap(ui.Visible(l.Subject)+": "+ui.Visible(l.Summary), width, head, indent+"  "))
	if len(l.With) > 0 {
		b.WriteString(ui.Wrap("with it: "+ui.Visible(ui.Few(l.With, 6)), width, indent, indent+"  "))
	}
	if l.How != "" {
		b.WriteString(ui.Wrap("look at: "+ui.Visible(l.How), width, indent, indent+"  "))
	}
}
