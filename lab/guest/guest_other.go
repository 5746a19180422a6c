//go:build !linux

// Package guest runs inside a throwaway machine, which is always Linux.
package guest

import "fettle/lab"

// Here is false: init of a throwaway machine is a Linux process.
func Here() bool { return false }

// Story is never reached.
func Story(func(trap, name string) (lab.Experiment, bool)) error { return nil }

// Main is never reached.
func Main(func(trap, name string) (lab.Experiment, bool)) {}
