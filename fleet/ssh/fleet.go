// Package ssh runs fettle on many hosts in parallel over the system's OpenSSH.
// Nothing has to be installed there: fettle's own binary is copied once, kept
// by its hash, and verified before every run.
package ssh

import (
	"time"

	transport "fettle/internal/ssh"
)

// Options says how hosts are reached.
type Options struct {
	// SSH is the program; empty finds ssh on the PATH.
	SSH string
	// Config, if set, is given to ssh as its configuration file (-F).
	Config string
	// Forks is how many hosts are worked on at once; 0 is transport.DefaultForks.
	Forks int
	// Limit is how long one host may take in all; 0 is transport.DefaultLimit.
	Limit time.Duration
	// Connect is how long a host may take to accept the connection; 0 is transport.DefaultConnect.
	Connect time.Duration
	// Sudo runs fettle there as root, by `sudo -n`, which never asks for a password.
	Sudo bool
	// BinaryDir is searched for fettle-linux-ARCH, for hosts of another
	// architecture; empty is the folder of this program.
	BinaryDir string
	// Self is the binary for hosts of this machine's own kind; empty is this program.
	Self string
}

// Fleet runs fettle on hosts. Its methods may be called concurrently.
type Fleet struct {
	*transport.Client
	sudo bool
	bins binaries
}

// Error is why a host gave no answer.
type Error = transport.Error

// Open prepares to reach hosts. It connects to none.
func Open(opt Options) (*Fleet, error) {
	bins, err := newBinaries(opt.Self, opt.BinaryDir)
	if err != nil {
		return nil, err
	}
	c, err := transport.Open(transport.Options{SSH: opt.SSH, Config: opt.Config, Forks: opt.Forks, Limit: opt.Limit, Connect: opt.Connect})
	if err != nil {
		return nil, err
	}
	return &Fleet{c, opt.Sudo, bins}, nil
}

// Anew reaches the same hosts, each time over a connection of its own: what shows
// that one can still log in.
func (f *Fleet) Anew() *Fleet { return &Fleet{f.Client.Anew(), f.sudo, f.bins} }

// Limited reaches the same hosts, and gives each this long.
func (f *Fleet) Limited(limit time.Duration) *Fleet {
	return &Fleet{f.Client.Limited(limit), f.sudo, f.bins}
}
