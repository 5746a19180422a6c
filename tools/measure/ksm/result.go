package ksm

import (
	"errors"
	"time"
)

// Run is one setting, watched.
type Run struct {
	Name string
	Series
}

// Result is the settings that were watched, and who has merged pages after the
// last of them.
type Result struct {
	Page      uint64 // bytes
	Runs      []Run  // at least one
	Processes []Process
	Closed    int   // processes that could not be asked
	Unknown   error // why none could be: ErrPerProcess
}

// Result asks for the processes.
func (k *Kernel) Result(runs []Run) (Result, error) {
	r := Result{Page: k.PageSize, Runs: runs}
	var err error
	r.Processes, r.Closed, err = k.Processes()
	if errors.Is(err, ErrPerProcess) {
		r.Unknown, err = err, nil
	}
	return r, err
}

// SavedPerCPU is how many bytes more are saved at the end for a second of
// ksmd's CPU time; false where it took next to none.
func (s Series) SavedPerCPU() (float64, bool) {
	cpu := s.CPU()
	if cpu < 10*time.Millisecond {
		return 0, false
	}
	return float64(s.Saved()) / cpu.Seconds(), true
}

// WorstShare is the part of one CPU that ksmd took in its busiest minute, or in
// all of a shorter series.
func (s Series) WorstShare() float64 {
	return s.WorstMinute().Seconds() / max(min(s.Took(), time.Minute).Seconds(), 0.001)
}
