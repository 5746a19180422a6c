package lab

import (
	"slices"
	"strings"
)

// Job is one scenario of a trap, or one experiment, with its kernel.
type Job struct {
	Trap       string
	Scenario   Scenario
	Experiment *Experiment // instead of the scenario
	// Sabotage is the name of a plan that was spoilt on purpose: with it the
	// scenario must fail, and that is what is proved.
	Sabotage string
	Options  Options
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
