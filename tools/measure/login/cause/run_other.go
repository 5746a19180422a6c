//go:build !linux

package cause

import (
	"context"
	"errors"
)

// Run needs Linux's namespaces.
func Run(context.Context, Options) (*Report, error) {
	return nil, errors.New("the experiments on the server need Linux")
}
