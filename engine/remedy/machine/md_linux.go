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
	select {
	case a := <-got:
		return superblock(device, a.raw, a.err)
	case <-time.After(mdAnswer):
		return nil, fmt.Errorf("/dev/%s did not answer within %s", device, mdAnswer)
	}
}

// superblock is what a device answered.
func superblock(device string, raw host.MDMember, err error) (*mdraid.Superblock, error) {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENXIO), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENOMEDIUM):
		return nil, nil
	case len(raw.Superblock) == 0 && err != nil:
		return nil, fmt.Errorf("reading the superblock of /dev/%s: %w", device, err)
	case len(raw.Superblock) == 0:
		return nil, nil
	}
	sb, err := mdraid.Parse(raw.Superblock)
	if err != nil {
		return nil, fmt.Errorf("/dev/%s: %w", device, err)
	}
	return sb, nil
}
