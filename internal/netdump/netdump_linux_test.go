package netdump

import (
	"context"
	"errors"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// TestWhole: an interrupted dump is read anew, and what it showed is not kept;
// other errors are told at once.
func TestWhole(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		ctx   context.Context
		fails []error // of the dumps one after the other; the last goes on
		dumps int
		err   error
	}{
		"quiet":     {t.Context(), []error{nil}, 1, nil},
		"changing":  {t.Context(), []error{netlink.ErrDumpInterrupted, unix.EINTR, nil}, 3, nil},
		"never":     {t.Context(), []error{netlink.ErrDumpInterrupted}, dumpTries, netlink.ErrDumpInterrupted},
		"cancelled": {over, []error{netlink.ErrDumpInterrupted}, 1, context.Canceled},
		"broken":    {t.Context(), []error{broken}, 1, broken},
	} {
		dumps := 0
		list, err := Whole(c.ctx, func() ([]int, error) {
			dumps++
			return []int{dumps}, c.fails[min(dumps, len(c.fails))-1]
		})
		if dumps != c.dumps || !errors.Is(err, c.err) || err == nil && (len(list) != 1 || list[0] != dumps) {
			t.Errorf("%s: %v, %v after %d dumps", name, list, err, dumps)
		}
	}
}
