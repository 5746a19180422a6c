package lab

import "io"

// Options says how to play a scenario.
type Options struct {
	Kernel  Kernel
	KVM     bool
	Binary  string    // fettle, statically linked; empty is this program
	MemMiB  int       // 0: what the scenario asks for
	Console io.Writer // gets the guest's console; nil keeps only its last lines
	OnStage func(Stage)
	// Shell opens a shell on the terminal, see Orders.Shell; there is no time limit then.
	Shell string
}

// Job is one scenario of a trap, with its kernel.
type Job struct {
	Trap     string
	Scenario Scenario
	Options  Options
}

// Outcome of a job: a verdict, or why the machine could not be built.
type Outcome struct {
	Job     Job
	Verdict Verdict
	Err     error
}
