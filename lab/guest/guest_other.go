//go:build !linux

// Package guest runs inside a throwaway machine, which is always Linux.
package guest

import "fettle/lab"

// Here is false: init of a throwaway machine is a Linux process.
func Here() bool { return false }

// Main is never reached.
func Main(func(trap, name string) (lab.Experiment, bool)) {}
