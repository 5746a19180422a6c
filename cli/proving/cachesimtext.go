package proving

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"fettle/chart"
	"fettle/internal/ui"
)

// cachesimText prints what was simulated, the curves and the table.
func (a program) cachesimText(r cachesimResult, plot chart.Plot) {
	t := r.Trace
	what := fmt.Sprintf("%s: %d requests for %d different blocks", ui.Visible(t.Name), r.Requests, r.Distinct)
	if t.BlockSize > 0 {
		what += fmt.Sprintf(" of %s: %s, of a device of %s", showBytes(t.BlockSize), showBytes(int64(r.Distinct)*t.BlockSize), showBytes(t.Span*t.BlockSize))
	}
	if r.Warmup > 0 {
		what += fmt.Sprintf("; the first %d do not count", r.Warmup)
	}
	width := ui.Width(a.Stdout)
	fmt.Fprint(a.Stdout, ui.Wrap(what+".", width, "", ""))
	if t.Renumbered {
		fmt.Fprint(a.Stdout, ui.Wrap("The trace's ids were renumbered: smq cannot see which blocks are neighbours.", width, "", ""))
	}
	if len(r.Curves) > 0 && len(r.Curves[0].Points) > 2 {
		fmt.Fprintf(a.Stdout, "\n%s", plot.Text(min(width, 100), 16))
	}
	fmt.Fprintf(a.Stdout, "\nMiss ratio, %%:\n%s", r.table())
	fmt.Fprintf(a.Stdout, "\nSimulated %s requests in %.1f s, %.1f s of CPU time: %.1f million per CPU second.\n", millions(r.Cost.Requests),
		r.Cost.Elapsed.Seconds(), r.Cost.CPU.Seconds(), float64(r.Cost.Requests)/max(r.Cost.CPU.Seconds(), 1e-3)/1e6)
}

func millions(n int64) string {
	if n < 10e6 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d million", n/1e6)
}

// table has a line for each size, and a column for each policy.
func (r cachesimResult) table() string {
	rows := [][]string{{"cache", "of origin"}}
	span := max(r.Trace.Span, r.SMQ.OriginBlocks)
	for _, c := range r.Curves {
		rows[0] = append(rows[0], c.Policy)
	}
	for i := range r.Curves[0].Points {
		n := int64(r.Curves[0].Points[i].Blocks)
		size := fmt.Sprintf("%d blocks", n)
		if r.Trace.BlockSize > 0 {
			size = showBytes(n * r.Trace.BlockSize)
		}
		row := []string{size, fmt.Sprintf("%.1f %%", 100*float64(n)/float64(span))}
		for _, c := range r.Curves {
			row = append(row, fmt.Sprintf("%.2f", 100*c.Points[i].MissRatio))
		}
		rows = append(rows, row)
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for j, cell := range row {
			wide := 0
			for _, other := range rows {
				wide = max(wide, len(other[j]))
			}
			line += fmt.Sprintf("  %*s", wide, cell)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// simProgress tells on a terminal how far a simulation is.
type simProgress struct {
	a     program
	mu    sync.Mutex
	start time.Time
	last  time.Time
	on    bool
}

func (a program) newSimProgress() *simProgress {
	return &simProgress{a: a, start: time.Now(), on: ui.IsTerminal(a.Stderr)}
}

func (p *simProgress) at(done, all int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.on || time.Since(p.last) < 200*time.Millisecond {
		return
	}
	p.last = time.Now()
	left := time.Duration(float64(time.Since(p.start)) * float64(all-done) / float64(max(done, 1)))
	line := fmt.Sprintf("simulating: %d of %d million requests, %v left", done/1e6, all/1e6, left.Round(time.Second))
	fmt.Fprintf(p.a.Stderr, "\r%s\x1b[K", ui.Cut(line, ui.Width(p.a.Stderr)-1))
}

func (p *simProgress) clear() {
	if p.on && !p.last.IsZero() {
		fmt.Fprint(p.a.Stderr, "\r\x1b[K")
	}
}

var byteUnits = []struct {
	name  string
	bytes float64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3},
	{"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"k", 1 << 10}, {"B", 1},
}

// parseBytes reads a size: 64KiB, 1.5GiB, 10GB; single letters are binary.
func parseBytes(s string) (int64, error) {
	s = strings.TrimSpace(s)
	scale, number := 1.0, s
	for _, u := range byteUnits {
		if n, ok := strings.CutSuffix(s, u.name); ok {
			scale, number = u.bytes, strings.TrimSpace(n)
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v > 0) || v*scale >= 1<<62 {
		return 0, fmt.Errorf("%q is no size such as 64KiB, 10GiB or 1TB", s)
	}
	return int64(math.Round(v * scale)), nil
}

// parseCount reads a number of things: 200000, 5M, 0.5k.
func parseCount(s string) (int, error) {
	number, scale := s, 1.0
	for suffix, f := range map[string]float64{"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9} {
		if n, ok := strings.CutSuffix(s, suffix); ok {
			number, scale = n, f
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v >= 0) || v*scale > math.MaxUint32 {
		return 0, fmt.Errorf("%q is no number such as 200000 or 5M", s)
	}
	return int(math.Round(v * scale)), nil
}

// showBytes writes a size in the largest binary unit of which there is one.
func showBytes(n int64) string {
	for _, u := range byteUnits[:4] {
		if float64(n) >= u.bytes {
			return strings.TrimSuffix(strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/u.bytes), "0"), ".") + " " + u.name
		}
	}
	return fmt.Sprintf("%d B", n)
}

// cachesimPlot is the miss ratio over the size.
func cachesimPlot(r cachesimResult) chart.Plot {
	p := chart.Plot{Name: "miss-ratio", Title: "Miss ratio over the cache's size: " + ui.Visible(r.Trace.Name), X: "cache, blocks", Y: "% of the requests miss", LogX: true}
	scale := 1.0
	if r.Trace.BlockSize > 0 {
		unit := "GiB"
		scale = float64(r.Trace.BlockSize) / (1 << 30)
		if float64(r.Trace.Span)*scale < 8 {
			unit, scale = "MiB", scale*1024
		}
		p.X = "cache, " + unit
	}
	for _, c := range r.Curves {
		line := chart.Curve{Name: c.Policy}
		for _, pt := range c.Points {
			line.X, line.Y = append(line.X, float64(pt.Blocks)*scale), append(line.Y, 100*pt.MissRatio)
		}
		p.Curves = append(p.Curves, line)
	}
	return p
}
