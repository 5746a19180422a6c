package why

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/host"
)

// daysBefore is how many days of the journal a unit's log is compared with, if --since does not say.
const daysBefore = 7

// journalFlags say what of this host's journal is read.
type journalFlags struct {
	unit  string // whose log is the text
	since string // days to compare a log with; or, of a unit's log, where it begins

	days int
	from time.Time
}

func (j *journalFlags) flags(c *cobra.Command) {
	c.Flags().StringVarP(&j.unit, "unit", "u", "", "read what the unit `NAME` logged since the last boot")
	c.Flags().StringVar(&j.since, "since", "", "mark messages that this host's journal does not have in the `DAYS` before; "+
		"with --unit also a time to read from")
}

// valid checks the flags.
func (j *journalFlags) valid(args []string) error {
	if days, err := strconv.ParseUint(j.since, 10, 16); err == nil {
		j.days = int(days)
	} else if j.since != "" {
		if j.from = moment(j.since, time.Now()); j.from.IsZero() {
			return app.Usagef("--since %q: give a number of days or, with --unit, a time: -1h, today, \"2026-01-31 14:00\"", j.since)
		}
		if j.unit == "" {
			return app.Usagef("--since %s needs --unit; for a log, give the number of days to compare with", j.since)
		}
	}
	if j.unit == "" {
		return nil
	}
	if len(args) > 0 {
		return app.Usagef("give a text or --unit, not both")
	}
	full, err := host.UnitName(j.unit)
	if err != nil {
		return app.Usagef("--unit: %w", err)
	}
	j.unit = full
	if j.since == "" || !j.from.IsZero() {
		j.days = daysBefore
	}
	return nil
}

// log reads the unit's log from this host's journal.
func (j *journalFlags) log(ctx context.Context, a *app.App) (io.Reader, error) {
	if runtime.GOOS != "linux" {
		return nil, app.Usagef("--unit reads the journal of systemd, which only Linux has")
	}
	src, err := a.OpenLive()
	if err != nil {
		return nil, app.Failf("%w", err)
	}
	defer src.Close()
	log, err := host.UnitJournal(ctx, src.Command, j.unit, j.from)
	switch {
	case ctx.Err() != nil:
		return nil, app.Failf("interrupted while reading the journal")
	case err != nil:
		return nil, app.Usagef("reading the journal of %s: %w", j.unit, err)
	case len(bytes.TrimSpace(log)) == 0 && !j.from.IsZero():
		return nil, app.Usagef("the journal of this boot has nothing of %s since %s", j.unit, j.from.Format("2006-01-02 15:04:05"))
	case len(bytes.TrimSpace(log)) == 0:
		return nil, app.Usagef("the journal of this boot has nothing of %s; systemctl status %[1]s shows whether there is such a unit", j.unit)
	}
	return bytes.NewReader(log), nil
}

// moment is a time as journalctl takes the common ones; zero where it is none of these.
func moment(s string, now time.Time) time.Time {
	year, month, day := now.Date()
	switch s {
	case "today":
		return time.Date(year, month, day, 0, 0, 0, 0, now.Location())
	case "yesterday":
		return time.Date(year, month, day-1, 0, 0, 0, 0, now.Location())
	}
	if ago, ok := strings.CutPrefix(s, "-"); ok {
		if days, ok := strings.CutSuffix(ago, "d"); ok {
			if n, err := strconv.ParseUint(days, 10, 16); err == nil {
				return now.AddDate(0, 0, -int(n))
			}
		}
		if d, err := time.ParseDuration(strings.ReplaceAll(ago, "min", "m")); err == nil && d > 0 {
			return now.Add(-d)
		}
		return time.Time{}
	}
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly, time.RFC3339} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t
		}
	}
	return time.Time{}
}
