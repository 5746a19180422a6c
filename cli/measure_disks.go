package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/host"
	"fettle/internal/term"
	"fettle/measure/disks"
)

type disksFlags struct {
	interval time.Duration
	group    []string
	format   string
}

func (a *app) measureDisksCmd() *cobra.Command {
	var f disksFlags
	c := &cobra.Command{
		Use:   "disks [FILE]",
		Short: "Which disk of an array holds its siblings back",
		Long: `Compares disks that do like work: members of MD arrays, of device-mapper devices
over several disks, of btrfs, of ZFS vdevs. Looks at this host over an interval,
or reads what iostat -x or zpool iostat -vl printed elsewhere (- is standard
input). iostat does not print which disks belong together: --group says so;
without it all its disks with the same first letters are taken for siblings.

The stated gain is by how many times requests that wait for all members would be
faster, were the slow one like the slowest of the others.

Exit status: 0 measured (whether or not a disk is slow), 2 wrong use or a file
that cannot be read, 3 the disks could not be looked at.`,
		Example: `  fettle measure disks --interval 30s
  iostat -dx 10 2 | fettle measure disks --group sda,sdb,sdc -
  zpool iostat -vl 10 2 | fettle measure disks -`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.measureDisks(cmd.Context(), first(args), f)
		},
	}
	fl := c.Flags()
	fl.DurationVar(&f.interval, "interval", 10*time.Second, "look for this `TIME`, 1s to 10m")
	fl.StringArrayVar(&f.group, "group", nil, "`DISKS` that are siblings, joined by commas; may be repeated")
	formatFlag(c, &f.format, "text", "json")
	return c
}

func (a *app) measureDisks(ctx context.Context, file string, f disksFlags) error {
	if f.interval < time.Second || f.interval > 10*time.Minute {
		return usagef("--interval %s: expected 1s to 10m", f.interval)
	}
	if f.format != "text" && f.format != "json" {
		return usagef("--format %s: expected text or json", f.format)
	}
	groups, err := a.diskGroups(ctx, file, f)
	if err != nil {
		return err
	}
	if f.format == "json" {
		return a.json(disksJSON(groups))
	}
	if len(groups) == 0 {
		fmt.Fprintln(a.stdout, "No array, volume or file system here spreads over several disks.")
		return nil
	}
	for i, g := range groups {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		a.sayGroup(g)
	}
	return nil
}

// diskGroups are the groups of the file or of this host.
func (a *app) diskGroups(ctx context.Context, file string, f disksFlags) ([]disks.Group, error) {
	if file == "" {
		return a.liveGroups(ctx, f)
	}
	in := a.stdin
	name := "standard input"
	if file != "-" {
		fh, err := os.Open(file)
		if err != nil {
			return nil, usagef("%w", err)
		}
		defer fh.Close()
		in, name = fh, file
	}
	br := bufio.NewReaderSize(io.LimitReader(in, 64<<20), 64<<10)
	head, err := br.Peek(4096)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, usagef("reading %s: %w", name, err)
	}
	if s := string(head); strings.Contains(s, "capacity") && strings.Contains(s, "operations") {
		if len(f.group) > 0 {
			return nil, usagef("--group is for output of iostat; zpool tells which disks belong together")
		}
		pools, err := disks.ParseZpool(name, br)
		if err != nil {
			return nil, usagef("%w", err)
		}
		var out []disks.Group
		for _, p := range pools {
			out = append(out, p.Groups()...)
		}
		return out, nil
	}
	loads, err := disks.ParseIostat(name, br)
	if err != nil {
		return nil, usagef("%w", err)
	}
	return given(loads, f.group)
}

// given makes the groups that the user named, or one of each kind of disk.
func given(loads []disks.Load, groups []string) ([]disks.Group, error) {
	var out []disks.Group
	for _, names := range groups {
		g := disks.Group{Name: names, Kind: "given"}
		for n := range strings.SplitSeq(names, ",") {
			i := slices.IndexFunc(loads, func(l disks.Load) bool { return l.Name == n })
			if i < 0 {
				return nil, usagef("--group %s: there is no disk %q in the file", names, n)
			}
			g.Members = append(g.Members, loads[i])
		}
		if len(g.Members) < 2 {
			return nil, usagef("--group %s: expected two disks at least", names)
		}
		out = append(out, g)
	}
	if len(groups) > 0 {
		return out, nil
	}
	for _, kind := range []string{"sd", "nvme", "vd", "xvd", "hd"} {
		g := disks.Group{Name: kind + "*", Kind: "taken for siblings"}
		for _, l := range loads {
			if strings.HasPrefix(l.Name, kind) {
				g.Members = append(g.Members, l)
			}
		}
		if len(g.Members) > 1 {
			out = append(out, g)
		}
	}
	return out, nil
}

// liveGroups looks at this host over the interval.
func (a *app) liveGroups(ctx context.Context, f disksFlags) ([]disks.Group, error) {
	if len(f.group) > 0 {
		return nil, usagef("--group is for a file; this host's own layout is known")
	}
	src, err := a.openLive()
	if err != nil {
		return nil, failf("looking at this host: %w", err)
	}
	defer src.Close()
	layout, err := disks.Layout(ctx, host.New(src))
	if err != nil {
		return nil, failf("reading how disks are put together: %w", err)
	}
	fmt.Fprintf(a.stderr, "looking for %s\n", f.interval)
	type zfs struct {
		pools []*disks.Vdev
		err   error
	}
	z := make(chan zfs, 1)
	go func() {
		p, err := disks.Pools(ctx, host.New(src), min(f.interval, time.Minute))
		z <- zfs{p, err}
	}()
	loads, err := disks.Over(ctx, src, f.interval)
	if err != nil {
		return nil, failf("reading the disks' counters: %w", err)
	}
	var out []disks.Group
	for _, s := range layout {
		out = append(out, s.Group(loads))
	}
	zs := <-z
	if zs.err != nil {
		fmt.Fprint(a.stderr, complaint("fettle: the ZFS pools could not be looked at: "+zs.err.Error(), a.stderr))
	}
	for _, p := range zs.pools {
		out = append(out, p.Groups()...)
	}
	return out, nil
}

func (a *app) sayGroup(g disks.Group) {
	w := term.Width(a.stdout)
	fmt.Fprintf(a.stdout, "%s (%s)\n", term.Visible(g.Name), g.Kind)
	fmt.Fprintf(a.stdout, "  %-16s %9s %9s %9s %9s %5s\n", "disk", "reads", "ms each", "writes", "ms each", "busy")
	for _, m := range g.Members {
		busy := "-"
		if m.Busy >= 0 {
			busy = fmt.Sprintf("%.0f %%", 100*m.Busy)
		}
		fmt.Fprintf(a.stdout, "  %-16s %9.0f %9s %9.0f %9s %5s\n", term.Visible(m.Name), m.Reads, millis(m.ReadWait), m.Writes, millis(m.WriteWait), busy)
	}
	v := g.Judge()
	switch {
	case !v.Compared:
		fmt.Fprint(a.stdout, term.Wrap("Its members did too little to be compared.", w, "  ", "  "))
	case len(v.Slow) == 0:
		fmt.Fprint(a.stdout, term.Wrap("No member holds the others back.", w, "  ", "  "))
	}
	for _, s := range v.Slow {
		fmt.Fprint(a.stdout, term.Wrap(term.Visible(fmt.Sprintf("%s takes %.1f times as long for a %s as its siblings. Were it like the slowest of them, %ss that wait for all would go %.1f times as fast.",
			s.Member, s.Ratio, s.Direction, s.Direction, s.Gain)), w, "  ", "  "))
	}
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond))
}

type diskGroup struct {
	Name    string       `json:"name"`
	Kind    string       `json:"kind"`
	Members []diskMember `json:"members"`
	Enough  bool         `json:"compared"` // false: its members did too little
	Slow    []slowMember `json:"slow"`
}

type diskMember struct {
	Disk      string   `json:"disk"`
	Seconds   float64  `json:"seconds"`
	Reads     float64  `json:"reads"`
	Writes    float64  `json:"writes"`
	ReadMS    float64  `json:"read_ms"`  // mean
	WriteMS   float64  `json:"write_ms"` // mean
	ReadByte  float64  `json:"read_bytes"`
	WriteByte float64  `json:"write_bytes"`
	Busy      *float64 `json:"busy,omitempty"` // 0 to 1
}

type slowMember struct {
	Disk      string  `json:"disk"`
	Direction string  `json:"direction"`
	Times     float64 `json:"times"` // its siblings' median
	Gain      float64 `json:"gain"`
}

func disksJSON(groups []disks.Group) any {
	out := []diskGroup{}
	for _, g := range groups {
		v := g.Judge()
		d := diskGroup{Name: g.Name, Kind: g.Kind, Enough: v.Compared, Slow: []slowMember{}}
		for _, m := range g.Members {
			dm := diskMember{m.Name, m.Time.Seconds(), m.Reads, m.Writes, m.ReadWait.Seconds() * 1000, m.WriteWait.Seconds() * 1000, m.ReadBytes, m.WriteBytes, nil}
			if m.Busy >= 0 {
				dm.Busy = &m.Busy
			}
			d.Members = append(d.Members, dm)
		}
		for _, s := range v.Slow {
			d.Slow = append(d.Slow, slowMember{s.Member, string(s.Direction), round2(s.Ratio), round2(s.Gain)})
		}
		out = append(out, d)
	}
	return struct {
		Groups []diskGroup `json:"groups"`
	}{out}
}

func round2(v float64) float64 { return math.Round(v*100) / 100 }
