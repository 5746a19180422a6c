package lab

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Job is one scenario of a trap, or one experiment, with its kernel.
type Job struct {
	Trap       string
	Scenario   Scenario
	Experiment *Experiment // instead of the scenario
	// Sabotage is the name of a plan that was spoilt on purpose: with it the
	// scenario must fail, and that is what is proved.
	Sabotage string
	// Alone: the spoilt plan wants a machine of its own.
	Alone bool
	// Spoilt are further names of such plans, tried in the machine of the story when that has
	// come back into the trap: see together.
	Spoilt  []string
	Options Options
	// Last is how long it took when it was last played; 0 where nobody has recorded that.
	Last time.Duration
}

// together has spoilt plans tried in the machine of their story, where the story is among
// the jobs: a machine is booted once for all of them.
func together(jobs []Job) []Job {
	stories := map[string]bool{}
	for _, j := range jobs {
		if j.Experiment == nil && j.Sabotage == "" && !j.Scenario.UndoKeeps && j.Options.Shell == "" {
			stories[j.Name()] = true
		}
	}
	spoilt, took := map[string][]string{}, map[string]time.Duration{}
	out := slices.DeleteFunc(slices.Clone(jobs), func(j Job) bool {
		story := join(j.Trap, j.Scenario.Name)
		if j.Sabotage == "" || j.Alone || !stories[story] {
			return false
		}
		spoilt[story] = append(spoilt[story], j.Sabotage)
		took[story] += j.Last
		return true
	})
	for i := range out {
		if out[i].Sabotage == "" {
			out[i].Spoilt = spoilt[out[i].Name()]
			out[i].Last += took[out[i].Name()]
		}
	}
	return out
}

// longestFirst puts first what took longest when it was recorded: at the end one of
// these would leave the cores idle. What nobody has recorded is taken to last as long as its
// kind tends to.
func longestFirst(jobs []Job) []Job {
	jobs = slices.Clone(jobs)
	expected := func(j Job) time.Duration {
		switch {
		case j.Last > 0:
			return j.Last
		case j.Experiment != nil || j.Needs().Systemd:
			return 10 * time.Second
		}
		return 2 * time.Second
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(expected(b), expected(a)) })
	return jobs
}

// parts are the outcome of a story and those of the spoilt plans that were tried with it.
func (o Outcome) parts() []Outcome {
	if len(o.Job.Spoilt) == 0 {
		return []Outcome{o}
	}
	names := o.Job.Spoilt
	o.Job.Spoilt = nil
	var tried []Stage
	o.Verdict.Stages = slices.DeleteFunc(o.Verdict.Stages, func(s Stage) bool {
		_, of := strings.CutPrefix(s.Name, SpoiltPrefix)
		if of {
			tried = append(tried, s)
			o.Verdict.Took -= s.Took
		}
		return of
	})
	out := []Outcome{o}
	for _, name := range names {
		one := Outcome{Job: o.Job, Err: o.Err, Verdict: o.Verdict}
		v := &one.Verdict
		one.Job.Sabotage, one.Job.Scenario.About = name, SabotageAbout
		v.Scenario, v.OK, v.Stages, v.Took = one.Job.short(), false, nil, 0
		if v.Why == "" {
			v.Why = "it was not tried: a plan before it left the machine in pieces"
		}
		for _, s := range tried {
			if s.Name == SpoiltPrefix+name {
				v.OK, v.Why, v.Took, v.Stages = s.OK, "", s.Took, []Stage{s}
				if !s.OK {
					v.Why = s.Said
				}
			}
		}
		out = append(out, one)
	}
	return out
}

// Outcome of a job: a verdict, or why the machine could not be built.
type Outcome struct {
	Job     Job
	Verdict Verdict
	Err     error
}

// Name is TRAP/SCENARIO, TRAP/SCENARIO/SABOTAGE, or an experiment's.
func (j *Job) Name() string { return join(j.Trap, j.short()) }

// short is the name without the trap.
func (j *Job) short() string {
	switch {
	case j.Experiment != nil:
		return j.Experiment.Name
	case j.Sabotage != "":
		return j.Scenario.Name + "/" + j.Sabotage
	}
	return j.Scenario.Name
}

// About is the job in one line.
func (j *Job) About() string {
	if j.Experiment != nil {
		return j.Experiment.About
	}
	return j.Scenario.About
}

// Needs are those of the scenario or the experiment.
func (j *Job) Needs() Needs {
	if j.Experiment != nil {
		return j.Experiment.Needs
	}
	return j.Scenario.Needs
}

// Named tells whether the job runs only when it is named in full.
func (j *Job) Named() bool { return j.Experiment != nil && j.Experiment.Named }

// Long tells whether the job is for make lab-long only.
func (j *Job) Long() bool {
	if j.Experiment != nil {
		return j.Experiment.Long
	}
	return j.Scenario.Long
}

// turn makes the verdict on a plan that was spoilt on purpose of that on its
// scenario: noticed once the plan was applied, it is as it should be.
func (v *Verdict) turn(sabotage string) {
	v.Scenario += "/" + sabotage
	switch last := len(v.Stages) - 1; {
	case v.OK:
		v.OK, v.Why = false, "nobody noticed that the plan was spoilt"
	case last >= 0 && strings.Contains(v.Stages[last].Said, NothingToSpoil):
		v.Why = "the plan has changed since somebody thought of spoiling it: " + v.Why
	case last >= 0 && !v.Stages[last].OK && slices.Contains(noticing, v.Stages[last].Name):
		v.OK, v.Why = true, ""
		v.Stages[last].OK, v.Stages[last].Said = true, "noticed, as it must be: "+v.Stages[last].Said
	default:
		v.Why = "it broke before a spoilt plan could be noticed: " + v.Why
	}
}

// NothingToSpoil is what is said where a plan has not the step that was to be spoilt.
const NothingToSpoil = "the plan has no step to spoil"

// noticing are the stages in which a spoilt plan is noticed.
var noticing = []string{"fix", "recheck", "files", "others", "undo", "as-before", "after-undo"}
