package hub

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/fleet/hub/store"
)

func (p *program) restartsCmd() *cobra.Command {
	var since, until string
	var which filter
	c := &cobra.Command{
		Use: "restarts", Args: cobra.NoArgs,
		Short: "Tell what came of restarts: who is not back, and who lacks what",
		Long: `Lists the hosts that restarted, by what came of it: those that have not come
back, and what the others lack, by its cause over all hosts. Agents compare each
host with what it was before its start.

Exit status:
  0  all that restarted are as before
  1  a host lacks something, or has not come back
  2  usage error
  4  some could not be compared`,
		Example: `  fettle-hub restarts --group web --since 02:00 --until 04:00
  fettle-hub restarts --since 24h`,
		RunE: p.withDB(func(cmd *cobra.Command, _ []string, db *store.DB) error {
			in, err := which.scope()
			if err != nil {
				return err
			}
			now := time.Now()
			from, err := moment(now, since)
			if err != nil {
				return app.Usagef("--since %w", err)
			}
			to := now
			if until != "" {
				if to, err = moment(now, until); err != nil {
					return app.Usagef("--until %w", err)
				}
			}
			if !to.After(from) {
				return app.Usagef("--until must be after --since")
			}
			list, err := db.Restarts(cmd.Context(), in, from, to, now.Add(-store.AwayAfter))
			if err != nil {
				return app.Failf("%w", err)
			}
			came := store.Sum(list)
			p.restarts(&came)
			switch {
			case len(came.Away)+came.Lacking > 0:
				return app.Exit(app.ExitFound, nil)
			case len(came.NotCompared) > 0:
				return app.Exit(app.ExitUnknown, nil)
			}
			return nil
		}),
	}
	c.Flags().StringVar(&since, "since", "24h", "the restarts since this `TIME`: 24h, 02:00, or 2026-12-01 02:00")
	c.Flags().StringVar(&until, "until", "", "and until this `TIME` (default: now)")
	which.flags(c)
	return c
}

// restarts writes what came of restarts, what hurts first.
func (p *program) restarts(came *store.Comings) {
	fmt.Fprintln(p.Stdout, came.Headline())
	var away, causes [][]string
	for _, a := range came.Away {
		what := "fell silent"
		if a.Stopped {
			what = "said that it stops"
		}
		away = append(away, []string{a.Host.Name, a.Host.Group, a.Since.Local().Format("2006-01-02 15:04"), what})
	}
	for _, c := range came.Causes {
		causes = append(causes, []string{c.Severity, c.Subject, c.Summary, store.Few(c.Hosts)})
	}
	for _, l := range []struct {
		head string
		rows [][]string
	}{{"HOST GROUP HEARD NOT-BACK", away}, {"SEVERITY WITHOUT HOW HOSTS", causes}} {
		if len(l.rows) > 0 {
			fmt.Fprintln(p.Stdout)
			p.list(l.head, l.rows)
		}
	}
	if len(came.NotCompared) > 0 {
		fmt.Fprintf(p.Stdout, "\nnot compared (no earlier snapshot, or an older agent): %s\n", store.Few(came.NotCompared))
	}
}

// moment reads a point in time: a span before now, an hour of the last day, or a date with its time.
func moment(now time.Time, s string) (time.Time, error) {
	s = strings.TrimSpace(s)
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if t, err := time.ParseInLocation("2006-01-02 15:04", s, time.Local); err == nil {
		return t, nil
	}
	if t, err := time.Parse("15:04", s); err == nil {
		y, m, d := now.Local().Date()
		at := time.Date(y, m, d, t.Hour(), t.Minute(), 0, 0, time.Local)
		if at.After(now) {
			at = time.Date(y, m, d-1, t.Hour(), t.Minute(), 0, 0, time.Local)
		}
		return at, nil
	}
	return time.Time{}, fmt.Errorf("%q: expected a time such as 24h, 02:00, or 2026-12-01 02:00", s)
}
