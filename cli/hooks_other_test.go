//go:build !linux

package cli

import "fettle/engine/trap"

// What TestMain asks for; its tests need Linux.

func EvilTraps() []*trap.Trap        { return nil }
func Synthetic([]string) (int, bool) { return 0, false }
