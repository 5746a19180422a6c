package counterwrap

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/internal/lazy"
)

// The 32-bit counters as configurations name them, and the 64-bit ones.
var (
	names32 = lazy.Regexp(`\bif(?:In|Out)Octets\b|\b1\.3\.6\.1\.2\.1\.2\.2\.1\.1[06]\b`)
	names64 = lazy.Regexp(`\bifHC(?:In|Out)Octets\b|\b1\.3\.6\.1\.2\.1\.31\.1\.1\.1\.(?:6|10)\b`)
	// Telegraf reads all columns of a table.
	ifTable  = lazy.Regexp(`^\s*oid\s*=\s*["'](?:IF-MIB::ifTable|\.?1\.3\.6\.1\.2\.1\.2\.2)["']`)
	ifXTable = lazy.Regexp(`^\s*oid\s*=\s*["'](?:IF-MIB::ifXTable|\.?1\.3\.6\.1\.2\.1\.31\.1\.1)["']`)

	telegrafInterval = lazy.Regexp(`^\s*interval\s*=\s*["']([0-9a-z.]+)["']`)
	collectdInterval = lazy.Regexp(`(?i)^\s*Interval\s+"?([0-9.]+)"?\s*$`)
)

// judgeTelegraf reads Telegraf's TOML line by line: what inputs.snmp asks for.
func judgeTelegraf(file string, b []byte) verdict {
	every := 10 * time.Second // Telegraf's default
	return byNames(file, b, "#", func(line string) (is32, is64 bool) {
		if m := telegrafInterval().FindStringSubmatch(line); m != nil {
			if d, err := time.ParseDuration(m[1]); err == nil {
				every = max(every, d)
			}
		}
		return names32().MatchString(line) || ifTable().MatchString(line), names64().MatchString(line) || ifXTable().MatchString(line)
	}, func() time.Duration { return every })
}

// judgeCollectd reads collectd.conf(5): the Values of <Data> blocks of plugin snmp.
func judgeCollectd(file string, b []byte) verdict {
	every := 10 * time.Second // collectd's default
	return byNames(file, b, "#", func(line string) (is32, is64 bool) {
		if m := collectdInterval().FindStringSubmatch(line); m != nil {
			if f, err := strconv.ParseFloat(m[1], 64); err == nil && f < 1e6 {
				every = max(every, time.Duration(f*1e9))
			}
		}
		return names32().MatchString(line), names64().MatchString(line)
	}, func() time.Duration { return every })
}

// byNames looks for lines that ask for 32-bit counters in a file that asks
// for no 64-bit ones. The longest interval of the file counts.
func byNames(file string, b []byte, comment string, look func(line string) (is32, is64 bool), every func() time.Duration) verdict {
	var v verdict
	var lines []int
	wide := false
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		if strings.HasPrefix(strings.TrimSpace(line), comment) {
			continue
		}
		is32, is64 := look(line)
		wide = wide || is64
		if is32 {
			lines = append(lines, n)
		}
	}
	v.asks = wide || len(lines) > 0
	d := every()
	if wide || !tooRare(gigabit, d) {
		return v
	}
	for _, n := range lines {
		v.bad = append(v.bad, trap.Ev(fmt.Sprintf("%s:%d", file, n), "32-bit octet counters, every %s", d))
	}
	v.detail = fmt.Sprintf(
		"The file does not contain the speed of the links; %s is assumed. Every %s, 32-bit counters wrap unseen above %.1f Mbit/s.",
		"1 Gbit/s",
		d,
		octets32*8/d.Seconds()/1e6,
	)
	return v
}
