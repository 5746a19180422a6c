package bisect

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"

	"fettle/internal/ssh"
)

// place is where commits are run, one at a time.
type place interface {
	// host is the name of the machine; "" is this one.
	host() string
	// read checks a commit out, builds it and runs it.
	read(ctx context.Context, c Commit, log io.Writer) (float64, error)
	// leave restores what it took.
	leave(ctx context.Context)
}

// local is a worktree of this machine.
type local struct {
	*worktree
	command *Command
}

func (l *local) host() string { return "" }

func (l *local) read(ctx context.Context, c Commit, log io.Writer) (float64, error) {
	if err := l.checkout(ctx, c.Hash); err != nil {
		return 0, unlessOver(ctx, err)
	}
	return l.command.read(ctx, l.command.here(l.dir, c.Hash), log)
}

func (l *local) leave(ctx context.Context) { _ = l.remove(ctx) } // what stays is found and used by the next hunt

// unlessOver: what could not be checked out is skipped, unless the hunt ends.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &skip{err.Error()}
}

// prepare makes ready where commits will be run: here, or on each host, so many
// at a time.
func (s *session) prepare(ctx context.Context) error {
	hosts := s.Hosts
	if len(hosts) == 0 {
		hosts = []string{""}
	} else {
		var err error
		if s.fleet, err = ssh.Open(s.SSH); err != nil {
			return err
		}
	}
	for _, host := range hosts {
		for range max(1, s.Jobs) {
			n := strconv.Itoa(len(s.places))
			w, err := addWorktree(ctx, s.History, filepath.Join(s.dir, "tree-"+n))
			if err != nil {
				return err
			}
			var p place = &local{w, &s.Command}
			if host != "" {
				p = newRemote(w, &s.Command, s.fleet, host, n)
			}
			s.places = append(s.places, p)
		}
	}
	return nil
}

// lose goes on without a host that cannot be used any more.
func (s *session) lose(p place, why error) error {
	s.places = slices.DeleteFunc(s.places, func(q place) bool { return q == p })
	s.lost = append(s.lost, p)
	if len(s.places) == 0 {
		return fmt.Errorf("no host is left: %w", why)
	}
	if s.Lost != nil {
		s.Lost(p.host(), why)
	}
	return nil
}

// machine is the number of a host in the order in which they came into the
// journal: the first one's figures are what the others' are compared with.
func (s *session) machine(host string) int {
	at := slices.Index(s.machines, host)
	if at < 0 {
		at = len(s.machines)
		s.machines = append(s.machines, host)
	}
	return at
}
