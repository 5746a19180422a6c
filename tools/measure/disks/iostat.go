package disks

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// lineLimit is how long a line of a foreign file may be, in bytes.
const lineLimit = 64 << 10

// deviceLimit is how many devices one file may name.
const deviceLimit = 10000

// ParseIostat reads what iostat -x prints (sysstat 10 to 12), one report or
// several. The first of several is of the time since boot and left out; the
// others are added up. iostat prints rates per second and not its interval: a
// report covers the interval given, else the time between the stamps of iostat
// -t, else Assumed. name is what errors call the file.
func ParseIostat(name string, r io.Reader, interval time.Duration) ([]Load, error) {
	p := iostat{name: name, span: span{given: interval}}
	if err := eachLine(name, r, &p.n, p.line); err != nil {
		return nil, err
	}
	if len(p.reports) == 0 {
		return nil, fmt.Errorf("%s: no report of iostat -x in it: expected a line that begins with Device and names await and %%util", name)
	}
	if len(p.reports) > 1 {
		p.reports = p.reports[1:]
	}
	return addUp(p.reports), nil
}

// eachLine calls do for each line and counts them in n.
func eachLine(name string, r io.Reader, n *int, do func(string) error) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 4096), lineLimit)
	for sc.Scan() {
		*n++
		if err := do(sc.Text()); err != nil {
			return err
		}
	}
	if err := sc.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%s:%d: a line longer than %d bytes, expected what iostat or zpool iostat prints", name, *n+1, lineLimit)
	} else if err != nil {
		return fmt.Errorf("%s:%d: %w", name, *n+1, err)
	}
	return nil
}

type iostat struct {
	name    string
	n       int
	columns map[string]int // of the report being read; nil outside of one
	width   int
	took    time.Duration // the interval of the report being read
	assumed bool          // it is Assumed
	span    span
	reports [][]Load
}

func (p *iostat) line(s string) error {
	f := strings.Fields(s)
	if len(f) == 0 {
		p.columns = nil
		return nil
	}
	if strings.TrimSuffix(f[0], ":") == "Device" {
		p.columns, p.width = map[string]int{}, len(f)
		for i, c := range f {
			p.columns[c] = i
		}
		_, new := p.columns["r_await"]
		_, util := p.columns["%util"]
		if !new || !util {
			return fmt.Errorf("%s:%d: no columns r_await and %%util; run iostat with -x (sysstat 10.1 or newer)", p.name, p.n)
		}
		p.reports = append(p.reports, nil)
		p.took, p.assumed = p.span.next()
		return nil
	}
	if p.columns == nil {
		p.span.line(f) // the head of a report, or its figures of the CPU
		return nil
	}
	if len(f) != p.width {
		return fmt.Errorf("%s:%d: %d columns, expected %d as in the heading", p.name, p.n, len(f), p.width)
	}
	last := &p.reports[len(p.reports)-1]
	if len(*last) >= deviceLimit {
		return fmt.Errorf("%s:%d: more than %d devices", p.name, p.n, deviceLimit)
	}
	l := Load{Name: f[0], Time: p.took, Assumed: p.assumed}
	var err error
	get := func(scale float64, column string) float64 {
		i, ok := p.columns[column]
		if !ok {
			return 0
		}
		v, e := strconv.ParseFloat(strings.Replace(f[i], ",", ".", 1), 64)
		if (e != nil || !(v >= 0 && v < 1e15)) && err == nil {
			err = fmt.Errorf("%s:%d: %s is %q, expected a number", p.name, p.n, column, f[i])
		}
		return v * scale
	}
	s1 := p.took.Seconds()
	l.Reads, l.Writes = get(s1, "r/s"), get(s1, "w/s")
	l.ReadBytes = get(1024*s1, "rkB/s") + get(s1*(1<<20), "rMB/s") + get(512*s1, "rsec/s")
	l.WriteBytes = get(1024*s1, "wkB/s") + get(s1*(1<<20), "wMB/s") + get(512*s1, "wsec/s")
	l.ReadWait, l.WriteWait = ms(get(1, "r_await")), ms(get(1, "w_await"))
	l.Busy = min(1, get(0.01, "%util"))
	if err != nil {
		return err
	}
	*last = append(*last, l)
	return nil
}

// ms makes a duration of milliseconds, an hour at most.
func ms(v float64) time.Duration {
	return time.Duration(min(v, 3.6e6) * float64(time.Millisecond))
}

// addUp adds reports of the same devices: requests and bytes are summed, waits
// weighted by requests, shares of time averaged.
func addUp(reports [][]Load) []Load {
	var out []Load
	at := map[string]int{}
	for _, rep := range reports {
		for _, l := range rep {
			i, ok := at[l.Name]
			if !ok {
				at[l.Name] = len(out)
				out = append(out, l)
				continue
			}
			out[i].add(l)
		}
	}
	return out
}

// add adds what the same disk did in a later report.
func (l *Load) add(m Load) {
	l.ReadWait = weigh(l.ReadWait, l.Reads, m.ReadWait, m.Reads)
	l.WriteWait = weigh(l.WriteWait, l.Writes, m.WriteWait, m.Writes)
	l.Reads, l.Writes = l.Reads+m.Reads, l.Writes+m.Writes
	l.ReadBytes, l.WriteBytes = l.ReadBytes+m.ReadBytes, l.WriteBytes+m.WriteBytes
	l.Busy = (l.Busy*l.Time.Seconds() + m.Busy*m.Time.Seconds()) / (l.Time + m.Time).Seconds()
	l.Time += m.Time
	l.Assumed = l.Assumed || m.Assumed
}

func weigh(a time.Duration, na float64, b time.Duration, nb float64) time.Duration {
	if na+nb == 0 {
		return 0
	}
	return time.Duration((float64(a)*na + float64(b)*nb) / (na + nb))
}
