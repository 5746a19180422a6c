package trace

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// iolog reads what fio's write_iolog wrote (man fio, TRACE FILE FORMAT):
// version 2 has waits in microseconds, version 3 a time before each line,
// which fio 3.33 writes in microseconds.
func (b *builder) iolog() func(string) error {
	version, clock := 0, int64(0)
	return func(line string) error {
		if version == 0 {
			switch line {
			case "fio version 2 iolog":
				version = 2
			case "fio version 3 iolog":
				version = 3
			default:
				return fmt.Errorf("%q is not the first line of an iolog of version 2 or 3", cut(line))
			}
			return nil
		}
		f := strings.Fields(line)
		if len(f) == 0 {
			return nil
		}
		if version == 3 {
			us, err := microseconds(f[0])
			if err != nil {
				return fmt.Errorf("time: %w", err)
			}
			clock = us * 1000
			f = f[1:]
		}
		if len(f) == 2 {
			switch f[1] {
			case "add", "open", "close":
				return nil
			}
		}
		if len(f) < 2 || f[1] != "wait" && len(f) != 4 || f[1] == "wait" && len(f) < 3 {
			return fmt.Errorf("%q is no line of an iolog of version %d", cut(line), version)
		}
		switch f[1] {
		case "wait":
			us, err := microseconds(f[2])
			if err != nil || version == 3 {
				return fmt.Errorf("%q: a wait has microseconds, and version 3 has no waits", cut(line))
			}
			if clock > math.MaxInt64-us*1000 {
				return fmt.Errorf("the waits add up to more than 290 years")
			}
			clock += us * 1000
			return nil
		case "read", "write":
		case "trim", "sync", "datasync":
			return nil
		default:
			return fmt.Errorf("action %q is not known", cut(f[1]))
		}
		offset, err1 := strconv.ParseInt(f[2], 10, 64)
		length, err2 := strconv.ParseInt(f[3], 10, 64)
		if err1 != nil || err2 != nil || length < 0 {
			return fmt.Errorf("offset %q and length %q are no bytes", cut(f[2]), cut(f[3]))
		}
		if !b.wants(f[0]) {
			return nil
		}
		return b.add(offset, length, f[1] == "write", clock)
	}
}

func microseconds(s string) (int64, error) {
	us, err := strconv.ParseInt(s, 10, 64)
	if err != nil || us < 0 || us > math.MaxInt64/1000 {
		return 0, fmt.Errorf("%q is no number of microseconds", cut(s))
	}
	return us, nil
}

// cut shortens foreign text for an error.
func cut(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}
