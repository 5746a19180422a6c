package counterwrap

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/internal/lazy"
)

// mrtgConf is the part of an MRTG configuration that matters here
// (mrtg-reference(1)).
type mrtgConf struct {
	every    time.Duration
	targets  []mrtgTarget
	maxBytes map[string]float64 // octets a second, by target
	noHC     map[string]bool
}

// mrtgTarget is one Target line with its continuations.
type mrtgTarget struct {
	name       string
	line, last int    // 1-based
	text       string // all of the value: holds the community
}

var mrtgKey = lazy.Regexp(`^([A-Za-z0-9]+)(?:\[([^\]]*)\])?\s*:\s*(.*)$`)

func parseMRTG(b []byte) mrtgConf {
	c := mrtgConf{every: 5 * time.Minute, maxBytes: map[string]float64{}, noHC: map[string]bool{}}
	type entry struct {
		key, arg, value string
		line, last      int
	}
	var all []entry
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case line[0] == ' ' || line[0] == '\t': // goes on with the line above
			if len(all) > 0 {
				e := &all[len(all)-1]
				e.value, e.last = e.value+" "+strings.TrimSpace(line), n
			}
		default:
			if m := mrtgKey().FindStringSubmatch(line); m != nil {
				all = append(all, entry{strings.ToLower(m[1]), strings.ToLower(m[2]), strings.TrimSpace(m[3]), n, n})
			} else {
				all = append(all, entry{line: n, last: n}) // so that its continuations are not another's
			}
		}
	}
	for _, e := range all {
		switch e.key {
		case "interval":
			if d, ok := mrtgInterval(e.value); ok {
				c.every = d
			}
		case "target":
			if e.arg != "_" && e.arg != "^" && e.arg != "$" {
				c.targets = append(c.targets, mrtgTarget{e.arg, e.line, e.last, e.value})
			}
		case "maxbytes", "maxbytes1", "maxbytes2":
			if f, err := strconv.ParseFloat(e.value, 64); err == nil && f > 0 {
				c.maxBytes[e.arg] = max(c.maxBytes[e.arg], f)
			}
		case "nohc":
			c.noHC[e.arg] = strings.EqualFold(e.value, "yes")
		}
	}
	return c
}

// mrtgInterval reads minutes, or MM:SS.
func mrtgInterval(s string) (time.Duration, bool) {
	m, sec, _ := strings.Cut(s, ":")
	minutes, err := strconv.ParseFloat(m, 64)
	if err != nil || minutes < 0 || minutes > 1e6 {
		return 0, false
	}
	seconds := 0
	if sec != "" {
		if seconds, err = strconv.Atoi(sec); err != nil {
			return 0, false
		}
	}
	d := time.Duration(minutes*60+float64(seconds)) * time.Second
	return d, d > 0
}

// mrtgPort is a target that asks one agent for the octets of one interface.
type mrtgPort struct {
	before string // what comes before the host: interface, and community
	host   string
	tail   []string // port, timeout, retries, backoff, version
	after  string   // "|function"
	oids   bool     // the counters are named, instead of the interface
}

// The beginning of a target: interface by number, description, address, MAC,
// name or type, or two objects; a community; and an agent.
var mrtgTargetForm = lazy.Regexp(
	`^(-?(?:[0-9]+|[\\/!#%][^@]*?|[^&:@\s]+&[^:@\s]+)):((?:\\@|[^@\s])*)@(\[[^\]]+\]|[^:|\s]+)((?::[^:|\s]*)*)(\|\S+)?$`,
)

// port reads a target's value; false where it is a program, or several added up.
func (t mrtgTarget) port() (mrtgPort, bool) {
	m := mrtgTargetForm().FindStringSubmatch(t.text)
	if m == nil {
		return mrtgPort{}, false
	}
	p := mrtgPort{before: m[1] + ":" + m[2] + "@", host: m[3], after: m[5], oids: strings.Contains(m[1], "&")}
	if m[4] != "" {
		p.tail = strings.Split(m[4][1:], ":")
	}
	return p, true
}

func (p mrtgPort) version() string {
	if len(p.tail) < 5 || p.tail[4] == "" {
		return "1"
	}
	return p.tail[4]
}

// speaks2 is the target with SNMP version 2, by which MRTG asks for 64 bits.
func (p mrtgPort) speaks2() string {
	tail := append([]string(nil), p.tail...)
	for len(tail) < 5 {
		tail = append(tail, "")
	}
	tail[4] = "2"
	before := p.before
	if p.oids {
		before = strings.NewReplacer("ifInOctets", "ifHCInOctets", "ifOutOctets", "ifHCOutOctets").Replace(before)
	}
	return before + p.host + ":" + strings.Join(tail, ":") + p.after
}

// asks32 tells whether a target is of 32-bit octet counters; sure is false for
// a target of another form.
func (c mrtgConf) asks32(t mrtgTarget) (yes, sure bool, p mrtgPort) {
	p, ok := t.port()
	if !ok {
		// Sums of targets: each part is one of the forms.
		return strings.Contains(t.text, "ifInOctets"), strings.HasPrefix(t.text, "`"), p
	}
	if p.oids {
		objects, _, _ := strings.Cut(p.before, ":")
		return strings.Contains(objects, "ifInOctets") || strings.Contains(objects, "ifOutOctets") ||
			strings.Contains("."+objects, ".1.3.6.1.2.1.2.2.1.10.") || strings.Contains(objects, "1.3.6.1.2.1.2.2.1.16."), true, p
	}
	old := p.version() == "1"
	return old || c.noHC[t.name] || c.noHC["_"], true, p
}

func (c mrtgConf) speed(name string) float64 {
	if f := c.maxBytes[name]; f > 0 {
		return f
	}
	return c.maxBytes["_"]
}

func judgeMRTG(file string, b []byte) verdict {
	c := parseMRTG(b)
	var v verdict
	for _, t := range c.targets {
		yes, sure, p := c.asks32(t)
		at := fmt.Sprintf("%s:%d", file, t.line)
		if !sure && !yes {
			v.unsure = fmt.Sprintf("%s: Target[%s] is of a form that fettle does not read (several added up?)", at, t.name)
			v.asks = true
			continue
		}
		if sure && !yes {
			v.asks = v.asks || !strings.HasPrefix(t.text, "`")
			continue
		}
		v.asks = true
		speed := c.speed(t.name)
		switch {
		case speed == 0:
			v.unsure = fmt.Sprintf("%s: Target[%s] has no MaxBytes, so the speed of its link is not known", at, t.name)
		case tooRare(speed, c.every):
			how := "SNMP version 1"
			switch {
			case p.oids || p.host == "":
				how = "ifInOctets by name"
			case p.version() != "1":
				how = "noHC"
			}
			v.bad = append(v.bad, trap.Ev(at, "Target[%s]: %s, MaxBytes %.0f, every %s", t.name, how, speed, c.every))
		}
	}
	v.detail = fmt.Sprintf(
		"MRTG asks for ifInOctets and ifOutOctets, which have 32 bits, unless a target says SNMP version 2 (\":::::2\" after the host)."+
			" Polled every %s they wrap unseen above %.1f Mbit/s.",
		c.every,
		octets32*8/c.every.Seconds()/1e6,
	)
	return v
}
