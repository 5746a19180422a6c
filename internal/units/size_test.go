package units

import (
	"math"
	"testing"
)

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1023: "1023 bytes", 1024: "1 KiB", 1536: "1.5 KiB", 10 << 10: "10 KiB", 12<<10 + 512: "12.5 KiB", 102349: "100 KiB",
		318 << 20: "318 MiB",
		1<<20 - 1: "1 MiB", 1023 << 20: "1023 MiB", 1<<30 - 1<<19: "1 GiB", 1 << 40: "1 TiB", 1 << 50: "1 PiB", math.MaxInt64: "8 EiB",
		-5: "-5 bytes", -1536: "-1.5 KiB", math.MinInt64: "-8 EiB",
	} {
		if got := Size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	if got := Size(uint64(math.MaxUint64)); got != "16 EiB" {
		t.Error(got)
	}
}
