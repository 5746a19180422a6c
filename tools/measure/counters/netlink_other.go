//go:build !linux

package counters

import "fettle/host"

// Local needs Linux.
func Local() (Source, error) { return nil, host.ErrUnsupported }
