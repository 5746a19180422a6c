package blockcache

import (
	"fmt"
	"time"

	"fettle/chart"
)

// Set is the runs of one measurement.
type Set struct {
	Name string // "" is the one just made
	Runs []*Run
}

// Judged is a run and what it comes to. Verdict is nil for baselines, and
// where Why tells why there is none.
type Judged struct {
	Set     string   `json:"set,omitempty"`
	Run     *Run     `json:"run"`
	Label   string   `json:"label"`
	Median  float64  `json:"median_iops"` // of the last quarter; of a baseline, of all but the first
	Verdict *Verdict `json:"verdict,omitempty"`
	Why     string   `json:"no_verdict,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// JudgeAll judges the cached runs of each set by the baselines of that set; a
// set without them is judged by those of the first that has them.
func JudgeAll(sets []Set) []Judged {
	find := func(s Set, kind string) *Run {
		for _, r := range s.Runs {
			if r.Kind == kind {
				return r
			}
		}
		return nil
	}
	var out []Judged
	for _, s := range sets {
		base := map[string]*Run{}
		for _, kind := range []string{"slow", "fast"} {
			base[kind] = find(s, kind)
			for _, other := range sets {
				if base[kind] == nil {
					base[kind] = find(other, kind)
				}
			}
		}
		for _, r := range s.Runs {
			j := Judged{Set: s.Name, Run: r, Label: About(r.Kind), Notes: r.Notes()}
			if s.Name != "" {
				j.Label = s.Name + ": " + j.Label
			}
			v := r.Series.IOPS
			switch {
			case r.Kind == "slow" || r.Kind == "fast":
				j.Median = median(v[len(v)/4:])
			case base["slow"] == nil || base["fast"] == nil:
				j.Median = median(v[len(v)*3/4:])
				j.Why = "a verdict needs both baselines, --slow and --fast"
			default:
				j.Median = median(v[len(v)*3/4:])
				verdict, err := Judge(base["slow"].Series, base["fast"].Series, r.Series)
				if err != nil {
					j.Why = err.Error()
				} else {
					j.Verdict = &verdict
				}
			}
			out = append(out, j)
		}
	}
	return out
}

// String is the verdict as a sentence says it.
func (v Verdict) String() string {
	s := fmt.Sprintf("%s (confidence %.0f %%)", v.Answer, 100*v.Confidence)
	if !v.Sure() && v.Answer != Changing {
		s += ", not certain: run longer"
	}
	return s
}

// Figure is all runs over time: the readings as points, and curves through them.
func Figure(runs []Judged) chart.Plot {
	p := chart.Plot{Name: "iops", Title: "Requests a second, over the run", X: "seconds", Y: "IOPS"}
	scale := 1.0
	for _, j := range runs {
		if time.Duration(len(j.Run.Series.IOPS))*j.Run.Series.Interval > 5*time.Minute {
			scale, p.X = 1.0/60, "minutes"
		}
	}
	for _, j := range runs {
		x := j.Run.Series.X()
		for i := range x {
			x[i] *= scale
		}
		p.Curves = append(p.Curves,
			chart.Curve{Name: j.Label, X: x, Y: j.Run.Series.IOPS, Points: true},
			chart.Curve{Name: j.Label, X: x, Y: Smooth(j.Run.Series.IOPS)})
	}
	return p
}
