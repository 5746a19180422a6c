//go:build !linux

package confine

import "fettle/host"

// ABI is 0: Landlock is Linux's.
func ABI() int { return 0 }

// Exec, like checks of a running machine, needs Linux.
func Exec([]string) int { return 1 }

// Live is what the operating system has for it: nothing.
func Live() (host.Source, error) { return host.NewLive() }
