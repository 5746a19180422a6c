package lab

import "io"

// Options says how to play a scenario.
type Options struct {
	Kernel  Kernel
	KVM     bool
	Binary  string    // fettle, statically linked; empty is this program
	MemMiB  int       // 0: what the scenario asks for
	Console io.Writer // gets the guest's console; nil keeps only its last lines
	OnStart func()    // when the machine is about to be built
	OnStage func(Stage)
	// Shell opens a shell on the terminal, see Orders.Shell; there is no time limit then.
	Shell string

	disk int // MiB of the disk that outlives a restart; 0 is none
}
