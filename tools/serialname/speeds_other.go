//go:build !linux

package serialname

// Speeds are none: a device is probed on Linux alone.
func Speeds() []int { return nil }
