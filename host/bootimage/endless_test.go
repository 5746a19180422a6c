package bootimage

import (
	"strings"
	"testing"

	"fettle/internal/means"
)

// zeros never ends, as a sparse file of an exabyte does not.
type zeros struct{ n int64 }

func (z *zeros) Read(b []byte) (int, error) {
	clear(b)
	z.n += int64(len(b))
	return len(b), nil
}

// TestEndlessInitrd: of a file of zeros, which are skipped, no more is read than of one that unpacks.
func TestEndlessInitrd(t *testing.T) {
	means.Short(t, "takes seconds")
	z := &zeros{}
	if _, err := ParseInitrd(z); err == nil || !strings.Contains(err.Error(), "larger than 2 GiB") || z.n > 3<<30 {
		t.Errorf("%v after %d MiB", err, z.n>>20)
	}
}
