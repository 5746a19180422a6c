package blockcache

import (
	"fmt"
	"time"
)

// Row is a line of the table of figures.
type Row struct {
	Label, Median, P50, P99, Mean string
	Verdict, Short                string // Short is the answer alone
}

// Table is the figures of runs, as text.
func Table(runs []Judged) []Row {
	var out []Row
	for _, j := range runs {
		r := Row{
			Label:  j.Label,
			Median: number(j.Median),
			Mean:   number(j.Run.Totals.IOPS),
			P50:    latency(j.Run.Totals.At(50)),
			P99:    latency(j.Run.Totals.At(99)),
		}
		switch {
		case j.Verdict != nil:
			r.Verdict, r.Short = j.Verdict.String(), string(j.Verdict.Answer)
			if !j.Verdict.Sure() {
				r.Short += ", not certain"
			}
		case j.Why != "":
			r.Verdict, r.Short = "no verdict: "+j.Why, "none"
		default:
			r.Verdict, r.Short = "baseline", "baseline"
		}
		out = append(out, r)
	}
	return out
}

func number(f float64) string { return fmt.Sprintf("%.0f", f) }

func latency(d time.Duration) string {
	switch {
	case d <= 0:
		return "-"
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", float64(d)/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
