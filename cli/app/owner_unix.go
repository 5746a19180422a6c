//go:build unix

package app

import (
	"math"
	"os"
	"syscall"
)

// owner is whose a file is; nobody's if that cannot be told.
func owner(name string) uint32 {
	st, err := os.Stat(name)
	if err != nil {
		return math.MaxUint32
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return sys.Uid
	}
	return math.MaxUint32
}
