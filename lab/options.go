package lab

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Options says how to play a scenario.
type Options struct {
	Kernel  Kernel
	KVM     bool
	Init    string    // fettle-lab, statically linked, the guest's process 1; empty is this program
	Fettle  string    // the fettle that is proven, statically linked; empty is the one beside Init, or on PATH
	MemMiB  int       // 0: what the scenario asks for
	Console io.Writer // gets the guest's console; nil keeps only its last lines
	OnStart func()    // when the machine is about to be built
	OnStage func(Stage)
	// Shell opens a shell on the terminal, see Orders.Shell; there is no time limit then.
	Shell string
	// Slips are those of the plan that have their turn; all of them where it is zero.
	Slips SlipTurn

	devices []string // what the scenario's needs say
	client  *Client  // likewise
	acpi    []byte
	disk    int  // MiB of the disk that outlives a restart; 0 is none
	raid6   bool // the kernel chooses how to compute it
}

// GuestFettle is where a guest has the fettle that is proven.
const GuestFettle = "/usr/bin/fettle"

// programs finds those that are not named.
func (o *Options) programs() error {
	if o.Init == "" {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		if self, err = filepath.EvalSymlinks(self); err != nil {
			return err
		}
		o.Init = self
	}
	if o.Fettle != "" {
		return nil
	}
	beside := filepath.Join(filepath.Dir(o.Init), "fettle")
	if st, err := os.Stat(beside); err == nil && st.Mode().IsRegular() {
		o.Fettle = beside
		return nil
	}
	found, err := exec.LookPath("fettle")
	if err != nil {
		return fmt.Errorf("the fettle to prove is neither beside %s nor on PATH; make builds both", o.Init)
	}
	o.Fettle = found
	return nil
}
