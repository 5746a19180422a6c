// Package units writes sizes and durations for people.
package units

import (
	"fmt"
	"math"
	"strings"
)

var units = []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

// Size writes a number of bytes in binary units, with one decimal below 100 of
// them: "512 bytes", "1.5 KiB", "2 GiB", "318 MiB".
func Size[N ~int | ~int64 | ~uint64](n N) string {
	f := float64(n)
	if math.Abs(f) < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	f /= 1024
	unit := 0
	for ; math.Abs(f) >= 1023.5 && unit < len(units)-1; unit++ { // 1023.5 would be written 1024
		f /= 1024
	}
	if math.Abs(f) >= 99.95 {
		return fmt.Sprintf("%.0f %s", f, units[unit])
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") + " " + units[unit]
}
