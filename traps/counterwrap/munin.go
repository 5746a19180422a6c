package counterwrap

import (
	"fmt"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/internal/lazy"
)

// muninEvery is how often Munin polls, unless its cron job was changed.
const muninEvery = 5 * time.Minute

var (
	muninSection = lazy.Regexp(`^\s*\[\s*([^\]]*?)\s*\]`)
	muninVersion = lazy.Regexp(`^(\s*env\.version\s+)(\S+)(\s*)$`)
)

// muninLines are the lines that set an SNMP version of plugins that read
// interfaces over SNMP, and what they say. Those plugins (snmp__if_ and its
// like) read ifHCInOctets by version 2 and 3, ifInOctets by version 1.
func muninLines(b []byte) (lines map[int]string, asks bool) {
	lines = map[int]string{}
	in, n := false, 0
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		if m := muninSection().FindStringSubmatch(line); m != nil {
			in = strings.HasPrefix(m[1], "snmp") || m[1] == "*"
			asks = asks || strings.HasPrefix(m[1], "snmp")
		} else if m := muninVersion().FindStringSubmatch(line); m != nil && in {
			lines[n] = m[2]
		}
	}
	return lines, asks
}

func judgeMunin(file string, b []byte) verdict {
	lines, asks := muninLines(b)
	v := verdict{asks: asks || len(lines) > 0}
	for n := 1; n <= strings.Count(string(b), "\n")+1; n++ {
		if lines[n] == "1" {
			v.bad = append(v.bad, trap.Ev(fmt.Sprintf("%s:%d", file, n), "env.version 1, every %s", muninEvery))
		}
	}
	v.detail = fmt.Sprintf(
		"The file does not contain the speed of the links; 1 Gbit/s is assumed. Munin polls every %s; the plugin reads 32-bit counters by "+
			"SNMP version 1,"+
			" which wrap unseen above %.1f Mbit/s then, and 64-bit counters by versions 2 and 3.",
		muninEvery,
		octets32*8/muninEvery.Seconds()/1e6,
	)
	return v
}
