package measure

import (
	"fmt"
	"time"

	"fettle/cli/app"
	"fettle/internal/ui"
	"fettle/internal/units"
	"fettle/measure/disks"
)

// sayDisks prints the groups, then how the pools spread writes.
func sayDisks(a *app.App, look diskLook) {
	said := false
	begin := func() {
		if said {
			fmt.Fprintln(a.Stdout)
		}
		said = true
	}
	for _, g := range look.groups {
		begin()
		sayGroup(a, g)
	}
	for _, p := range look.pools {
		if len(p.Data()) > 1 {
			begin()
			sayShares(a, p, look)
		}
	}
	if !said {
		fmt.Fprintln(a.Stdout, "No array, volume or file system here spans several disks.")
	}
}

func sayGroup(a *app.App, g disks.Group) {
	w := ui.Width(a.Stdout)
	fmt.Fprintf(a.Stdout, "%s (%s)\n", ui.Visible(g.Name), g.Kind)
	fmt.Fprintf(a.Stdout, "  %-16s %9s %9s %9s %9s %5s\n", "disk", "reads", "ms each", "writes", "ms each", "busy")
	for _, m := range g.Members {
		busy := "-"
		if m.Busy >= 0 {
			busy = fmt.Sprintf("%.0f %%", 100*m.Busy)
		}
		fmt.Fprintf(a.Stdout, "  %-16s %9.0f %9s %9.0f %9s %5s\n", ui.Visible(m.Name), m.Reads, millis(m.ReadWait), m.Writes, millis(m.WriteWait), busy)
	}
	v := g.Judge()
	switch {
	case !v.Compared:
		fmt.Fprint(a.Stdout, ui.Wrap("Too little activity to compare its members.", w, "  ", "  "))
	case len(v.Slow) == 0:
		fmt.Fprint(a.Stdout, ui.Wrap("No member slows the others.", w, "  ", "  "))
	}
	for _, s := range v.Slow {
		said := fmt.Sprintf("%s takes %.1f times as long for a %s as the others.", s.Member, s.Ratio, s.Direction)
		if s.Gain > 0 {
			said += fmt.Sprintf(" If it were like the slowest of them, %ss that wait for all would be %.1f times as fast.", s.Direction, s.Gain)
		}
		fmt.Fprint(a.Stdout, ui.Wrap(ui.Visible(said), w, "  ", "  "))
	}
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond))
}

// sayShares prints how a pool's writes are predicted to be spread, and how they were.
func sayShares(a *app.App, p *disks.Vdev, look diskLook) {
	w := ui.Width(a.Stdout)
	fmt.Fprintf(a.Stdout, "%s (zfs pool): shares of the writes\n", ui.Visible(p.Name))
	fmt.Fprintf(a.Stdout, "  %-22s %9s %9s %9s %11s %9s\n", "vdev", "used", "free", "predicted", "from, to", "written")
	data := p.Data()
	shares := look.rule.Shares(data)
	for i, s := range shares {
		written := "-"
		if s.Written >= 0 {
			written = shareText(s.Written)
		}
		fmt.Fprintf(a.Stdout, "  %-22s %9s %9s %9s %11s %9s\n", ui.Visible(s.Vdev), units.Size(int64(data[i].Alloc)), units.Size(int64(data[i].Free)),
			shareText(s.Predicted), fmt.Sprintf("%.0f, %.0f", 100*s.Low, 100*s.High), written)
	}
	fmt.Fprint(a.Stdout, ui.Wrap("Spread "+look.rule.String()+". Predicted for records of 128 KiB; from, to: for others, up to 1 MiB.", w, "  ", "  "))
	compared := disks.Compare(shares)
	switch {
	case look.over == 0 && p.Reports == 1:
		fmt.Fprint(a.Stdout, ui.Wrap("Written since the pool was imported; the vdevs may have had more free space then. Two reports (zpool iostat -v 10 2) show an interval.", w, "  ", "  "))
	case look.over == 0 && p.Reports == 0: // zpool list
	case look.over > 0 && !compared.Enough:
		fmt.Fprint(a.Stdout, ui.Wrap("Too little was written to compare.", w, "  ", "  "))
	case compared.Lags != nil:
		fmt.Fprint(a.Stdout, ui.Wrap(ui.Visible(compared.Lags.Vdev)+" received less than its share: it does not keep up with the others.", w, "  ", "  "))
	default:
		fmt.Fprint(a.Stdout, ui.Wrap("Written as predicted.", w, "  ", "  "))
	}
}

func shareText(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
