//go:build !linux

package run

import (
	"context"
	"io"

	"fettle/engine/trap"
)

// confined: elsewhere only captures are read, in this process.
func (e Engine) confined(context.Context, Target, []*trap.Trap, trap.Options, func(About) error, func(trap.Result)) (bool, string, error) {
	return false, "", nil
}

// Child: there is no confined child here.
func Child([]string, []*trap.Trap, io.Writer) (int, bool) { return 0, false }
