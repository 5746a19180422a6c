// Package confine keeps checks from changing the host that they look at.
//
// fettle starts a copy of itself, the child, which gives up its right to write before it runs
// the first check, and answers over a socket. What the child may no longer do, but checks
// need, its parent does for it: the tables of running state, and the read-only commands, each
// in a confinement of its own. What holds a process back is
//
//   - Landlock (Linux 5.13, landlock(7)): which files may be opened how,
//     TCP, signals and abstract sockets, as far as the kernel's ABI knows them;
//   - a system call filter (seccomp(2)): what Landlock leaves open, such as
//     chmod, chown, extended attributes, Unix and netlink sockets, mount, kill;
//   - no_new_privs (prctl(2)).
package confine

import (
	"fmt"
	"strings"
)

// CheckVerb is what fettle hands to a copy of itself, the child that runs
// checks. It is no part of the command line: main looks for it before it
// parses anything.
const CheckVerb = "__confined-check"

// Rules is what a confined process may do besides reading.
type Rules struct {
	// Read lists the files and folders that may be read, with all below them.
	// Empty is everywhere.
	Read []string
	// Write lists files and folders that may be written to, with all below
	// them. One that does not exist is left out.
	Write []string
	// Network lets TCP and UDP out; listening on TCP stays refused.
	Network bool
	// Resolve lets openat2(2) be called, which a system call filter cannot
	// look into. Only a root folder is read with it.
	Resolve bool
	// Program is for a process that becomes a program: it may be executed,
	// start others, and use sockets and device ioctls.
	Program bool
}

// State is what holds a process back.
type State struct {
	Landlock int  `json:"landlock"` // the ABI in force; 0 is none
	Filter   bool `json:"filter"`   // the system call filter is in force
}

// full is the Landlock ABI from which on nothing that fettle asks for is
// missing: 3 has truncate (Linux 6.2), 4 TCP, 5 device ioctls, 6 signals and
// abstract sockets. The filter covers all of these for checks.
const full = 3

// Warning says in one sentence what is missing; empty when checks are held
// back as they should be.
func (s State) Warning() string {
	switch {
	case s.Landlock >= full && s.Filter:
		return ""
	case s.Filter && s.Landlock == 0:
		return "no Landlock here (the kernel lacks it, or a container hides it): only a system call filter keeps checks from writing"
	case s.Filter:
		return fmt.Sprintf("this kernel's Landlock is old (ABI %d): a system call filter makes up for it", s.Landlock)
	case s.Landlock > 0:
		return fmt.Sprintf("no system call filter here: only Landlock (ABI %d) keeps checks from writing", s.Landlock)
	}
	return "this kernel has neither Landlock nor system call filters: checks run unconfined"
}

// String is for version and debugging output: "Landlock ABI 7, system call filter".
func (s State) String() string {
	var out []string
	if s.Landlock > 0 {
		out = append(out, fmt.Sprintf("Landlock ABI %d", s.Landlock))
	}
	if s.Filter {
		out = append(out, "system call filter")
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, ", ")
}
