package trace

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// blkparse reads blkparse's default output (man blkparse, DEFAULT OUTPUT):
//
//	8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]
//
// Lines that do not start with a device's numbers are its summary.
func (b *builder) blkparse() func(string) error {
	action := b.opt.Action
	if action == "" {
		action = "Q"
	}
	return func(line string) error {
		f := strings.Fields(line)
		if len(f) < 7 || !isDevice(f[0]) {
			return nil
		}
		ns, err := seconds(f[3])
		if err != nil {
			return fmt.Errorf("time: %w", err)
		}
		if f[5] != action || !strings.ContainsAny(f[6], "RW") || strings.Contains(f[6], "D") || len(f) < 10 || f[8] != "+" {
			return nil // another event, a discard, a flush without data
		}
		sector, err := strconv.ParseInt(f[7], 10, 64)
		if err != nil || sector < 0 || sector > math.MaxInt64/512 {
			return fmt.Errorf("%q is no sector", f[7])
		}
		count, err := strconv.ParseInt(f[9], 10, 64)
		if err != nil || count < 0 || count > maxLength/512 {
			return fmt.Errorf("%q is no number of sectors", f[9])
		}
		if !b.wants(f[0]) {
			return nil
		}
		return b.add(sector*512, count*512, strings.Contains(f[6], "W"), ns)
	}
}

func isDevice(s string) bool {
	major, minor, ok := strings.Cut(s, ",")
	return ok && isDigits(major) && isDigits(minor)
}

func isDigits(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}

// seconds reads "12.000000345" as nanoseconds, exactly.
func seconds(s string) (int64, error) {
	whole, frac, _ := strings.Cut(s, ".")
	sec, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || !isDigits(whole) || sec > math.MaxInt64/1_000_000_000-1 || frac != "" && !isDigits(frac) {
		return 0, fmt.Errorf("%q is no number of seconds", s)
	}
	frac = (frac + "000000000")[:9]
	ns, _ := strconv.ParseInt(frac, 10, 64)
	return sec*1_000_000_000 + ns, nil
}
