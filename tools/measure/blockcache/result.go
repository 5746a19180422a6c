package blockcache

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"fettle/internal/chart"
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
		base, from := map[string]*Run{}, ""
		for _, kind := range []string{"slow", "fast"} {
			base[kind] = find(s, kind)
			for _, other := range sets {
				if base[kind] == nil {
					if base[kind] = find(other, kind); base[kind] != nil {
						from = cmp.Or(other.Name, "the new measurement")
					}
				}
			}
		}
		for _, r := range s.Runs {
			v := r.Series.IOPS
			j := Judged{Set: s.Name, Run: r, Label: About(r.Kind), Notes: r.Notes()}
			if s.Name != "" {
				j.Label = s.Name + ": " + j.Label
			}
			switch {
			case r.Kind == "slow" || r.Kind == "fast":
				j.Median = median(v[len(v)/4:])
			case base["slow"] == nil || base["fast"] == nil:
				j.Median = median(v[len(v)*3/4:])
				j.Why = "a verdict needs both baselines, --slow and --fast"
			case load(r.Job) != load(base["slow"].Job) || load(r.Job) != load(base["fast"].Job):
				j.Median = median(v[len(v)*3/4:])
				j.Why = "its load is not that of the baselines: their jobs differ"
			default:
				j.Median = median(v[len(v)*3/4:])
				if from != "" {
					j.Notes = append(j.Notes, "it has no baselines, and is judged by those of "+from+": meaningful only on the same machine")
				}
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

// load is what a job file says of the load: its jobs, without where their data lies.
func load(job string) string {
	var out []string
	inJob := false
	for line := range strings.Lines(job) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			inJob = line != "[global]"
		}
		if key, _, _ := strings.Cut(line, "="); inJob && key != "offset" && key != "offset_increment" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// most is how many points of a run are drawn: more only make the picture large.
const most = 1200

// thin takes every so many of the values, that most are left.
func thin(v []float64) []float64 {
	step := (len(v) + most - 1) / most
	if step <= 1 {
		return v
	}
	out := make([]float64, 0, most)
	for i := 0; i < len(v); i += step {
		out = append(out, v[i])
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
		switch took := time.Duration(len(j.Run.Series.IOPS)) * j.Run.Series.Interval; {
		case took > 5*time.Hour:
			scale, p.X = 1.0/3600, "hours"
		case took > 5*time.Minute && p.X == "seconds":
			scale, p.X = 1.0/60, "minutes"
		}
	}
	for _, j := range runs {
		x := thin(j.Run.Series.X())
		for i := range x {
			x[i] *= scale
		}
		p.Curves = append(p.Curves,
			chart.Curve{Name: j.Label, X: x, Y: thin(j.Run.Series.IOPS), Points: true},
			chart.Curve{Name: j.Label, X: x, Y: thin(Smooth(j.Run.Series.IOPS))})
	}
	return p
}
