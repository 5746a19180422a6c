package proving

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

var byteUnits = []struct {
	name  string
	bytes float64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3},
	{"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"k", 1 << 10}, {"B", 1},
}

// parseBytes reads a size: 64KiB, 1.5GiB, 10GB; single letters are binary.
func parseBytes(s string) (int64, error) {
	s = strings.TrimSpace(s)
	scale, number := 1.0, s
	for _, u := range byteUnits {
		if n, ok := strings.CutSuffix(s, u.name); ok {
			scale, number = u.bytes, strings.TrimSpace(n)
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v > 0) || v*scale >= 1<<62 {
		return 0, fmt.Errorf("%q is no size such as 64KiB, 10GiB or 1TB", s)
	}
	return int64(math.Round(v * scale)), nil
}

// parseCount reads a number of things: 200000, 5M, 0.5k.
func parseCount(s string) (int, error) {
	number, scale := s, 1.0
	for suffix, f := range map[string]float64{"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9} {
		if n, ok := strings.CutSuffix(s, suffix); ok {
			number, scale = n, f
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v >= 0) || v*scale > math.MaxUint32 {
		return 0, fmt.Errorf("%q is no number such as 200000 or 5M", s)
	}
	return int(math.Round(v * scale)), nil
}
