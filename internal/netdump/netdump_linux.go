// Package netdump gets complete lists from the kernel over netlink.
package netdump

import (
	"context"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// dumpTries is how often a dump is begun again that the kernel interrupted.
// With one link of 2,000 going up and down all the time, about every other is.
const dumpTries = 50

// Whole repeats a dump that did not show one state: something changed
// meanwhile (NLM_F_DUMP_INTR, netlink(7)), or a signal came.
func Whole[T any](ctx context.Context, dump func() ([]T, error)) ([]T, error) {
	for try := 1; ; try++ {
		list, err := dump()
		if !errors.Is(err, netlink.ErrDumpInterrupted) && !errors.Is(err, unix.EINTR) {
			return list, err
		}
		if try == dumpTries {
			return nil, fmt.Errorf("it changed each of %d times that it was read: %w", try, err)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// Links are all links of this network namespace.
func Links(ctx context.Context) ([]netlink.Link, error) {
	links, err := Whole(ctx, netlink.LinkList)
	if err != nil {
		return nil, fmt.Errorf("listing links over netlink: %w", err)
	}
	return links, nil
}
