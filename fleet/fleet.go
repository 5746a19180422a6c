// Package fleet runs fettle on many hosts at once over the system's OpenSSH.
// Nothing has to be installed there: fettle's own binary is copied once, kept
// by its hash, and verified before every run.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Options says how hosts are reached.
type Options struct {
	// SSH is the program; empty finds ssh on the PATH.
	SSH string
	// Config, if set, is given to ssh as its configuration file (-F).
	Config string
	// Forks is how many hosts are worked on at once; 0 is DefaultForks.
	Forks int
	// Limit is how long one host may take, all told; 0 is DefaultLimit.
	Limit time.Duration
	// Connect is how long a host may take to accept the connection; 0 is DefaultConnect.
	Connect time.Duration
	// Sudo runs fettle there as root, by `sudo -n`, which never asks for a password.
	Sudo bool
	// BinaryDir is searched for fettle-linux-ARCH, for hosts of another
	// architecture; empty is the folder of this program.
	BinaryDir string
	// Self is the binary for hosts of this machine's own kind; empty is this program.
	Self string
}

const (
	DefaultForks   = 50
	DefaultLimit   = 2 * time.Minute
	DefaultConnect = 10 * time.Second
)

// Fleet reaches hosts. Its methods may be called at once.
type Fleet struct {
	opt     Options
	ssh     string
	control string // folder of the control sockets; "": each connection is a new one
	own     bool   // control is ours alone, and goes at the end
	bins    binaries

	mu   sync.Mutex
	open map[string]bool // hosts that may have a control master to close
}

// Open prepares to reach hosts. It connects to none.
func Open(opt Options) (*Fleet, error) {
	if opt.Forks < 0 || opt.Limit < 0 || opt.Connect < 0 {
		return nil, errors.New("the number of hosts in parallel and their time limit must not be negative")
	}
	if opt.Forks == 0 {
		opt.Forks = DefaultForks
	}
	if opt.Limit == 0 {
		opt.Limit = DefaultLimit
	}
	if opt.Connect == 0 {
		opt.Connect = DefaultConnect
	}
	f := &Fleet{opt: opt, open: map[string]bool{}}
	var err error
	if f.ssh, err = findSSH(opt.SSH); err != nil {
		return nil, err
	}
	if f.bins, err = newBinaries(opt.Self, opt.BinaryDir); err != nil {
		return nil, err
	}
	if f.control, f.own, err = controlDir(); err != nil {
		return nil, err
	}
	return f, nil
}

// Each calls do for every host, Forks at once, each under its own Limit, and
// returns when all have returned. do gets a context that ends with the limit.
func (f *Fleet) Each(ctx context.Context, hosts []string, do func(ctx context.Context, host string)) {
	slots := make(chan struct{}, f.opt.Forks)
	var wg sync.WaitGroup
	for _, h := range hosts {
		slots <- struct{}{}
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeoutCause(ctx, f.opt.Limit, fmt.Errorf("took longer than %s", f.opt.Limit))
			defer cancel()
			do(ctx, h)
		}()
	}
	wg.Wait()
}

// Error is why a host gave no answer.
type Error struct {
	Host string
	// Reached tells a host that was reached, and then failed, from one that
	// could not be reached at all.
	Reached bool
	Why     string // in ssh's or the remote program's own words
}

func (e *Error) Error() string {
	if e.Reached {
		return e.Host + ": " + e.Why
	}
	return "could not reach " + e.Host + ": " + e.Why
}

// Limited reaches the same hosts, and gives each this long.
func (f *Fleet) Limited(limit time.Duration) *Fleet {
	opt := f.opt
	opt.Limit = limit
	return &Fleet{opt: opt, ssh: f.ssh, control: f.control, bins: f.bins, open: map[string]bool{}}
}
