package render

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle/internal/jsondoc"
	"fettle/internal/ui"
	"fettle/internal/units"
	"fettle/tools/measure/disks"
)

// Disks is what fettle measure disks found.
type Disks disks.Seen

// Text is the groups, then how the pools spread writes.
func (d Disks) Text(t Terminal) string {
	var parts []string
	for _, g := range d.Groups {
		parts = append(parts, groupText(g, t.Width))
	}
	for _, p := range d.Pools {
		if len(p.Data()) > 1 {
			parts = append(parts, d.sharesText(p, t.Width))
		}
	}
	if len(parts) == 0 {
		return "No array, volume or file system here spans several disks.\n"
	}
	return strings.Join(parts, "\n")
}

func groupText(g disks.Group, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n", ui.Visible(g.Name), g.Kind)
	fmt.Fprintf(&b, "  %-16s %9s %9s %9s %9s %5s\n", "disk", "reads", "ms each", "writes", "ms each", "busy")
	for _, m := range g.Members {
		busy := "-"
		if m.Busy >= 0 {
			busy = fmt.Sprintf("%.0f %%", 100*m.Busy)
		}
		fmt.Fprintf(
			&b,
			"  %-16s %9.0f %9s %9.0f %9s %5s\n",
			ui.Visible(m.Name),
			m.Reads,
			millis(m.ReadWait),
			m.Writes,
			millis(m.WriteWait),
			busy,
		)
	}
	say := func(s string) { b.WriteString(ui.Wrap(s, width, "  ", "  ")) }
	v := g.Judge()
	if slices.ContainsFunc(g.Members, func(l disks.Load) bool { return l.Assumed }) {
		say("Counts assume " + disks.Assumed.String() + " per report: the file does not say. --interval sets it.")
	}
	switch {
	case !v.Compared:
		say("Too little activity to compare its members.")
	case len(v.Slow) == 0:
		say("No member slows the others.")
	}
	for _, s := range v.Slow {
		said := fmt.Sprintf("%s takes %.1f times as long for a %s as the others.", s.Member, s.Ratio, s.Direction)
		if s.Gain > 0 {
			said += fmt.Sprintf(" If it were like the slowest of them, %ss that wait for all would be %.1f times as fast.", s.Direction, s.Gain)
		}
		say(ui.Visible(said))
	}
	return b.String()
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond))
}

// sharesText is how a pool's writes are predicted to be spread, and how they were.
func (d Disks) sharesText(p *disks.Vdev, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (zfs pool): shares of the writes\n", ui.Visible(p.Name))
	fmt.Fprintf(&b, "  %-22s %9s %9s %9s %11s %9s\n", "vdev", "used", "free", "predicted", "from, to", "written")
	data := p.Data()
	shares := d.Rule.Shares(data)
	for i, s := range shares {
		written := "-"
		if s.Written >= 0 {
			written = shareText(s.Written)
		}
		fmt.Fprintf(&b, "  %-22s %9s %9s %9s %11s %9s\n", ui.Visible(s.Vdev), units.Size(int64(data[i].Alloc)), units.Size(int64(data[i].Free)),
			shareText(s.Predicted), fmt.Sprintf("%.0f, %.0f", 100*s.Low, 100*s.High), written)
	}
	say := func(s string) { b.WriteString(ui.Wrap(s, width, "  ", "  ")) }
	say("Spread " + d.Rule.String() + ". Predicted for records of 128 KiB; from, to: for others, up to 1 MiB.")
	compared := disks.Compare(shares)
	switch {
	case d.ZFSOver == 0 && p.Reports == 1:
		say(
			"Written since the pool was imported; the vdevs may have had more free space then. Two reports (zpool iostat -v 10 2) show an interval.",
		)
	case d.ZFSOver == 0 && p.Reports == 0: // zpool list
	case !compared.Enough:
		say("Too little was written to compare.")
	case compared.Lags != nil:
		say(ui.Visible(compared.Lags.Vdev) + " received less than its share: it does not keep up with the others.")
	default:
		say("Written as predicted.")
	}
	return b.String()
}

func shareText(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

type disksDocument struct {
	jsondoc.Envelope
	Groups []diskGroup `json:"groups"`
	Pools  []diskPool  `json:"pools"`
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
	Times     float64 `json:"times"`          // its siblings' median
	Gain      float64 `json:"gain,omitempty"` // none where no request waits for all
}

// diskPool is how a pool of ZFS spreads its writes.
type diskPool struct {
	Name    string      `json:"name"`
	Rule    string      `json:"rule"`
	Assumed bool        `json:"rule_assumed"` // the module's parameters are not known
	Vdevs   []diskShare `json:"vdevs"`
	Enough  bool        `json:"compared"` // false: too little was written
	Lags    string      `json:"lags,omitempty"`
}

type diskShare struct {
	Vdev      string   `json:"vdev"`
	Alloc     float64  `json:"alloc_bytes"`
	Free      float64  `json:"free_bytes"`
	Predicted float64  `json:"predicted"` // shares are 0 to 1
	Low       float64  `json:"low"`
	High      float64  `json:"high"`
	Written   *float64 `json:"written,omitempty"`
	Bytes     float64  `json:"written_bytes"`
}

// Document is fettle measure disks --format json.
func (d Disks) Document() any {
	doc := disksDocument{jsondoc.New("disks"), []diskGroup{}, []diskPool{}}
	for _, g := range d.Groups {
		doc.Groups = append(doc.Groups, groupDocument(g))
	}
	for _, p := range d.Pools {
		doc.Pools = append(doc.Pools, d.poolDocument(p))
	}
	return doc
}

func groupDocument(g disks.Group) diskGroup {
	v := g.Judge()
	d := diskGroup{Name: g.Name, Kind: g.Kind, Enough: v.Compared, Slow: []slowMember{}}
	for _, m := range g.Members {
		dm := diskMember{
			m.Name,
			m.Time.Seconds(),
			m.Reads,
			m.Writes,
			m.ReadWait.Seconds() * 1000,
			m.WriteWait.Seconds() * 1000,
			m.ReadBytes,
			m.WriteBytes,
			nil,
		}
		if m.Busy >= 0 {
			dm.Busy = &m.Busy
		}
		d.Members = append(d.Members, dm)
	}
	for _, s := range v.Slow {
		d.Slow = append(d.Slow, slowMember{s.Member, string(s.Direction), round2(s.Ratio), round2(s.Gain)})
	}
	return d
}

func (d Disks) poolDocument(p *disks.Vdev) diskPool {
	data := p.Data()
	shares := d.Rule.Shares(data)
	compared := disks.Compare(shares)
	out := diskPool{Name: p.Name, Rule: d.Rule.String(), Assumed: d.Rule.Assumed, Enough: compared.Enough && d.ZFSOver > 0}
	if compared.Lags != nil && out.Enough {
		out.Lags = compared.Lags.Vdev
	}
	for i, s := range shares {
		share := diskShare{s.Vdev, data[i].Alloc, data[i].Free, round4(s.Predicted), round4(s.Low), round4(s.High), nil, s.WrittenBytes}
		if s.Written >= 0 {
			share.Written = new(round4(s.Written))
		}
		out.Vdevs = append(out.Vdevs, share)
	}
	return out
}
