package lab

// Job is one scenario of a trap, or one experiment, with its kernel.
type Job struct {
	Trap       string
	Scenario   Scenario
	Experiment *Experiment // instead of the scenario
	Options    Options
}

// Outcome of a job: a verdict, or why the machine could not be built.
type Outcome struct {
	Job     Job
	Verdict Verdict
	Err     error
}

// Name is TRAP/SCENARIO, or an experiment's.
func (j *Job) Name() string {
	if j.Experiment != nil {
		return join(j.Trap, j.Experiment.Name)
	}
	return join(j.Trap, j.Scenario.Name)
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
