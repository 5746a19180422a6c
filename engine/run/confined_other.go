//go:build !linux

package run

import (
	"context"
	"errors"
	"io"

	"fettle/engine/trap"
)

// confined: elsewhere only captures are read, in this process.
func (e Engine) confined(context.Context, Target, []*trap.Trap, trap.Options, func(About) error, func(trap.Result)) (bool, string, error) {
	return false, "", nil
}

// Child: there is no confined child here.
func Child([]string, []*trap.Trap, Answers, io.Writer) (int, bool) { return 0, false }

// Ask: nor is there anything to ask.
func (e Engine) Ask(context.Context, Target, string, any, any) error {
	return errors.New("this host can only be looked at on Linux")
}
