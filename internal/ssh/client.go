// Package ssh reaches other hosts over the system's OpenSSH, with the user's own
// configuration, without ever asking, and over connections that last.
package ssh

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
	// Forks is how many hosts are worked on concurrently; 0 is DefaultForks.
	Forks int
	// Limit is how long one host may take, all told; 0 is DefaultLimit.
	Limit time.Duration
	// Connect is how long a host may take to accept the connection; 0 is DefaultConnect.
	Connect time.Duration
}

const (
	DefaultForks   = 50
	DefaultLimit   = 2 * time.Minute
	DefaultConnect = 10 * time.Second
)

// Client reaches hosts. Its methods may be called concurrently.
type Client struct {
	opt     Options
	ssh     string
	control string // folder of the control sockets; "": each connection is a new one
	own     bool   // control is ours alone, and goes at the end

	mu   sync.Mutex
	open map[string]bool // hosts that may have a control master to close
}

// Open prepares to reach hosts. It connects to none.
func Open(opt Options) (*Client, error) {
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
	c := &Client{opt: opt, open: map[string]bool{}}
	var err error
	if c.ssh, err = findSSH(opt.SSH); err != nil {
		return nil, err
	}
	c.control, c.own, err = controlDir()
	return c, err
}

// Each calls do for every host, Forks of them concurrently, each under its own Limit, and
// returns when all have returned. do gets a context that ends with the limit.
func (c *Client) Each(ctx context.Context, hosts []string, do func(ctx context.Context, host string)) {
	slots := make(chan struct{}, c.opt.Forks)
	var wg sync.WaitGroup
	for _, h := range hosts {
		slots <- struct{}{}
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeoutCause(ctx, c.opt.Limit, fmt.Errorf("took longer than %s", c.opt.Limit))
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
func (c *Client) Limited(limit time.Duration) *Client {
	opt := c.opt
	opt.Limit = limit
	return &Client{opt: opt, ssh: c.ssh, control: c.control, open: map[string]bool{}}
}
