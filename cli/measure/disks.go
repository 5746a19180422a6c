package measure

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/host"
	"fettle/internal/ui"
	"fettle/tools/measure/disks"
	"fettle/tools/measure/render"
)

type disksFlags struct {
	interval time.Duration
	given    time.Duration // the interval where it was said; 0: it was not
	group    []string
	format   string
}

// DisksCmd is fettle measure disks.
func DisksCmd(a *app.App) *cobra.Command {
	var f disksFlags
	c := &cobra.Command{
		Use:   "disks [FILE]",
		Short: "Find the disk of an array that slows the others",
		Long: `Compares disks that do similar work: members of MD arrays, of device-mapper
devices over several disks, of btrfs, of ZFS vdevs. Measures this host over an
interval, or reads the output of iostat -x or zpool iostat -vl (- is standard
input). iostat does not print which disks belong together: use --group; without
it, all disks whose names begin with the same letters are compared. Neither
prints its interval: --interval tells it, or the times that iostat -t and zpool
iostat -T print; else 10 seconds are assumed.

For ZFS pools it also predicts each vdev's share of the writes from its free
space and the module's parameters, and shows the actual share beside it; the
output of zpool list -v is enough for the prediction. Such a file does not
contain the parameters: the defaults of OpenZFS 0.7 to 2.3 are assumed.

The stated gain is how many times faster requests that wait for all members
would be if the slow one were like the slowest of the others.

Exit status:
  0  measured (whether or not a disk is slow)
  2  usage error or a file that cannot be read
  3  the disks could not be inspected`,
		Example: `  fettle measure disks --interval 30s
  iostat -dxt 10 2 | fettle measure disks --group sda,sdb,sdc -
  zpool iostat -vlp 10 2 | fettle measure disks -
  fettle measure disks zpool-list-v.txt`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("interval") {
				f.given = f.interval
			}
			return measureDisks(cmd.Context(), a, app.First(args), f)
		},
	}
	fl := c.Flags()
	fl.DurationVar(&f.interval, "interval", 10*time.Second, "measure for this `TIME`, 1s to 10m; of a FILE, the interval of its reports")
	fl.StringArrayVar(&f.group, "group", nil, "`DISKS` that belong together, comma-separated; may be repeated")
	app.FormatFlag(c, &f.format, render.Formats()...)
	return c
}

func measureDisks(ctx context.Context, a *app.App, file string, f disksFlags) error {
	if f.interval < time.Second || f.interval > 10*time.Minute {
		return app.Usagef("--interval %s: expected 1s to 10m", f.interval)
	}
	var seen disks.Seen
	var err error
	if file == "" {
		seen, err = liveDisks(ctx, a, f)
	} else {
		seen, err = recordedDisks(a, file, f)
	}
	if err != nil {
		return err
	}
	return write(a, f.format, render.Disks(seen))
}

// recordedDisks reads the file.
func recordedDisks(a *app.App, file string, f disksFlags) (seen disks.Seen, err error) {
	in := a.Stdin
	name := "standard input"
	if file != "-" {
		fh, err := os.Open(file)
		if err != nil {
			return seen, app.Unread(err, "output of iostat -dx or zpool iostat -vl, or -")
		}
		defer fh.Close()
		in, name = fh, file
	}
	br := bufio.NewReaderSize(io.LimitReader(in, 64<<20), 64<<10)
	head, err := br.Peek(4096)
	if err != nil && !errors.Is(err, io.EOF) {
		return seen, app.Usagef("reading %s: %w", name, err)
	}
	if disks.OfZpool(string(head)) {
		if len(f.group) > 0 {
			return seen, app.Usagef("--group is for output of iostat; zpool tells which disks belong together")
		}
		pools, err := disks.ParseZpool(name, br, f.given)
		if err != nil {
			return seen, app.Usagef("%w", err)
		}
		return disks.Recorded(pools), nil
	}
	loads, err := disks.ParseIostat(name, br, f.given)
	if err != nil {
		return seen, app.Usagef("%w", err)
	}
	if len(f.group) == 0 {
		seen.Groups = disks.Alike(loads)
	}
	for _, names := range f.group {
		g, err := disks.Together(loads, names)
		if err != nil {
			return seen, app.Usagef("--group %s: %w", names, err)
		}
		seen.Groups = append(seen.Groups, g)
	}
	return seen, nil
}

// liveDisks looks at this host over the interval.
func liveDisks(ctx context.Context, a *app.App, f disksFlags) (seen disks.Seen, err error) {
	if len(f.group) > 0 {
		return seen, app.Usagef("--group is for a file; this host's own layout is known")
	}
	src, err := a.OpenLive()
	if err != nil {
		return seen, app.Failf("opening this host: %w", err)
	}
	defer src.Close()
	fmt.Fprintf(a.Stderr, "measuring for %s\n", f.interval)
	seen, err = disks.Look(ctx, host.New(src), f.interval)
	if ctx.Err() != nil {
		return seen, app.Failf("interrupted before the %s were over: nothing is compared", f.interval)
	}
	if err != nil {
		return seen, app.Failf("reading the disks' layout and activity: %w", err)
	}
	if seen.ZFS != nil {
		fmt.Fprint(a.Stderr, ui.Paragraphs("fettle: could not inspect the ZFS pools: "+seen.ZFS.Error(), a.Stderr))
	}
	return seen, nil
}
