package installer

// Timing is all phases of one name in a run, compared with the first run's.
type Timing struct {
	Phase
	// Saved is the share of the first run's time that this one took less;
	// negative: more. It counts where both were timed, which is Compared.
	Saved    float64
	Compared bool
}

// Timings are those of one run.
type Timings struct {
	Log      string
	Phases   []Timing
	Packages *Timing // nil: the log says nothing of packages
}

// Compare adds up the phases of each run and compares all but the first run
// with the first.
func Compare(runs []Run) []Timings {
	var out []Timings
	before := map[string]*Phase{}
	var packages *Phase
	for i := range runs {
		r := &runs[i]
		t := Timings{Log: r.Name}
		sums := r.Sums()
		for k := range sums {
			t.Phases = append(t.Phases, timing(&sums[k], before[sums[k].Name]))
		}
		if r.Packages != nil {
			p := timing(r.Packages, packages)
			t.Packages = &p
		}
		out = append(out, t)
		if i > 0 {
			continue
		}
		packages = r.Packages
		for k := range sums {
			before[sums[k].Name] = &sums[k]
		}
	}
	return out
}

func timing(p, before *Phase) Timing {
	saved, ok := Saved(before, p)
	return Timing{*p, saved, ok}
}

// Untimed says why a phase has no duration; "" of one that has.
func (p *Phase) Untimed() string {
	switch {
	case p.Jumped:
		return "the clock was set"
	case !p.Done:
		return "did not end"
	}
	return ""
}
