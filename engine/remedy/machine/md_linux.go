package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"fettle/host"
	"fettle/host/mdraid"
)

// mdAnswer is how long a device may take to show its superblock: a drive that
// spins up needs some seconds, and a path that is dead would never answer.
const mdAnswer = 30 * time.Second

func (Linux) MDSuperblock(device string) (*mdraid.Superblock, error) {
	type answer struct {
		raw host.MDMember
		err error
	}
	got := make(chan answer, 1)
	go func() {
		raw, err := host.ReadMDMember(device)
		got <- answer{raw, err}
	}()
	var a answer
	select {
	case a = <-got:
	case <-time.After(mdAnswer):
		return nil, fmt.Errorf("/dev/%s did not answer within %s", device, mdAnswer)
	}
	switch {
	case errors.Is(a.err, fs.ErrNotExist), errors.Is(a.err, unix.ENXIO), errors.Is(a.err, unix.ENODEV), errors.Is(a.err, unix.ENOMEDIUM):
		return nil, nil
	case len(a.raw.Superblock) == 0 && a.err != nil:
		return nil, fmt.Errorf("reading the superblock of /dev/%s: %w", device, a.err)
	case len(a.raw.Superblock) == 0:
		return nil, nil
	}
	sb, err := mdraid.Parse(a.raw.Superblock)
	if err != nil {
		return nil, fmt.Errorf("/dev/%s: %w", device, err)
	}
	return sb, nil
}
