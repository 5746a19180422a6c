package trace

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ColumnNames are what a column of a CSV can be; "-" is skipped.
//
//	time            when, in seconds; time-ms, time-us, time-ns, time-100ns (Windows) otherwise
//	offset          where, in bytes; sector in 512 bytes, block in cache blocks, id of an object
//	size            how much, in bytes; sectors in 512 bytes; without it one block
//	op              R, read, W, write; a number: 0 reads, 1 writes (others are skipped)
const ColumnNames = "time, time-ms, time-us, time-ns, time-100ns, offset, sector, block, id, size, sectors, op, -"

// aliases are what headers call a column.
var aliases = map[string]string{
	"timestamp": "time", "ts": "time", "time_ns": "time-ns", "time_us": "time-us", "time_ms": "time-ms",
	"lba": "sector", "obj_id": "id", "object": "id", "key": "id", "address": "offset", "byte": "offset",
	"length": "size", "bytes": "size", "len": "size", "type": "op", "rw": "op", "operation": "op", "opcode": "op",
}

var timeUnits = map[string]float64{"time": 1e9, "time-ms": 1e6, "time-us": 1e3, "time-ns": 1, "time-100ns": 100}

type csvColumns struct {
	at     map[string]int
	timeAs string
}

// csvClock is that of all files of a trace: their times count from the first that was read.
type csvClock struct {
	timeAs string
	first  float64
	start  bool
}

// csv reads lines of values between commas or semicolons, without quotes. The
// first line may name the columns; lines that start with # are skipped.
func (b *builder) csv() func(string) error {
	var c *csvColumns
	sep := ","
	return func(line string) error {
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			return nil
		}
		if c == nil {
			if !strings.Contains(line, ",") {
				sep = ";"
			}
			names := b.opt.Columns
			header := len(names) == 0
			if header {
				names = strings.Split(line, sep)
			}
			var err error
			if c, err = columns(names, header); err != nil {
				return err
			}
			if was := b.clock.timeAs; was != "" && c.timeAs != "" && c.timeAs != was {
				return fmt.Errorf("its times are of %s, and those of the files before are of %s", c.timeAs, was)
			}
			b.clock.timeAs = cmp.Or(b.clock.timeAs, c.timeAs)
			if header {
				return nil
			}
		}
		return b.csvLine(c, strings.Split(line, sep))
	}
}

// columns reads the names; of a header, those not known are skipped.
func columns(names []string, header bool) (*csvColumns, error) {
	c := &csvColumns{at: map[string]int{}}
	for i, n := range names {
		n = strings.ToLower(strings.Trim(strings.TrimSpace(n), `"`))
		if a, ok := aliases[n]; ok {
			n = a
		}
		kind := n
		if _, ok := timeUnits[n]; ok {
			kind, c.timeAs = "time", n
		}
		switch kind {
		case "time", "offset", "sector", "block", "id", "size", "sectors", "op":
			if _, twice := c.at[kind]; twice {
				return nil, fmt.Errorf("two columns are %s", kind)
			}
			c.at[kind] = i
		default:
			if !header && n != "-" {
				return nil, fmt.Errorf("unknown column %q: expected one of %s", cut(n), ColumnNames)
			}
		}
	}
	wheres := 0
	for _, w := range []string{"offset", "sector", "block", "id"} {
		if _, ok := c.at[w]; ok {
			wheres++
		}
	}
	if wheres != 1 {
		return nil, fmt.Errorf(
			"one column must tell where: offset, sector, block or id; %d do (name the columns with --columns, for example time,op,offset,size)",
			wheres,
		)
	}
	return c, nil
}

func (b *builder) csvLine(c *csvColumns, f []string) error {
	value := func(kind string) (string, bool, error) {
		i, ok := c.at[kind]
		if !ok {
			return "", false, nil
		}
		if i >= len(f) {
			return "", false, fmt.Errorf("has %d columns; %s is column %d", len(f), kind, i+1)
		}
		return strings.Trim(strings.TrimSpace(f[i]), `"`), true, nil
	}
	number := func(kind string, scale int64) (int64, bool, error) {
		s, ok, err := value(kind)
		if err != nil || !ok {
			return 0, false, err
		}
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil || n > uint64(math.MaxInt64/scale) {
			return 0, false, fmt.Errorf("%s %q is no number of its kind", kind, cut(s))
		}
		return int64(n) * scale, true, nil
	}
	write, skip := false, false
	op, ok, err := value("op")
	if err != nil {
		return err
	}
	if ok {
		if write, skip, err = operation(op); err != nil || skip {
			return err
		}
	}
	ns := int64(0)
	if s, ok, err := value("time"); err != nil {
		return err
	} else if ok {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("time %q is no number", cut(s))
		}
		// The first time is taken off before it is scaled: a float64 keeps
		// nanoseconds for three months, but not since 1970.
		if !b.clock.start {
			b.clock.first, b.clock.start = v, true
		}
		v = (v - b.clock.first) * timeUnits[c.timeAs]
		if math.Abs(v) > math.MaxInt64/4 {
			return fmt.Errorf("time %q is too far from that of the first request", cut(s))
		}
		ns = int64(v)
	}
	if s, ok, err := value("id"); err != nil {
		return err
	} else if ok {
		id, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return fmt.Errorf("id %q is no number", cut(s))
		}
		return b.addID(id, write, ns)
	}
	offset := int64(0)
	for kind, scale := range map[string]int64{"offset": 1, "sector": 512, "block": b.opt.BlockSize} {
		n, ok, err := number(kind, scale)
		if err != nil {
			return err
		}
		if ok {
			offset = n
		}
	}
	size := int64(1)
	for kind, scale := range map[string]int64{"size": 1, "sectors": 512} {
		n, ok, err := number(kind, scale)
		if err != nil {
			return err
		}
		if ok {
			size = n
		}
	}
	return b.add(offset, size, write, ns)
}

// operation reads the kind of a request; what neither reads nor writes is skipped.
func operation(s string) (write, skip bool, err error) {
	switch strings.ToLower(s) {
	case "r", "read", "rs", "ra", "get", "0":
		return false, false, nil
	case "w", "write", "ws", "wfs", "set", "1":
		return true, false, nil
	case "":
		return false, false, fmt.Errorf("the operation is empty")
	}
	return false, true, nil
}
