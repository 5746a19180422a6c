package disks

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Vdev is a node of a pool's tree: the pool itself, a top-level vdev, a disk.
type Vdev struct {
	Name     string
	Alloc    float64 // bytes
	Free     float64 // bytes
	Load     Load    // of zpool iostat
	HasWaits bool    // -l was given
	Class    string  // of top-level vdevs: "" is normal; logs, cache, special, dedup, spares
	Children []*Vdev
	// Reports is, of a pool, how many reports of zpool iostat there were; 0: it is
	// of zpool list. A first one is of the time since the pool was imported.
	Reports int
}

// Size is what a vdev can hold, in bytes.
func (v *Vdev) Size() float64 { return v.Alloc + v.Free }

// Data are the top-level vdevs that hold ordinary data.
func (v *Vdev) Data() []*Vdev {
	var out []*Vdev
	for _, c := range v.Children {
		if c.Class == "" {
			out = append(out, c)
		}
	}
	return out
}

// classes are headings between top-level vdevs (zpool_main.c, OpenZFS 2.2).
var classes = map[string]bool{"logs": true, "log": true, "cache": true, "special": true, "dedup": true, "spares": true, "spare": true}

// ParseZpool reads what zpool iostat -v (with or without -l, -p, -P) or zpool
// list -v prints: the pools, each with its tree. Of several reports of zpool
// iostat the first, which is of the time since the pool was imported, is left
// out, and the others are added up. A report covers the interval given, else
// the time between the stamps of zpool iostat -T, else Assumed.
func ParseZpool(name string, r io.Reader, interval time.Duration) ([]*Vdev, error) {
	p := zpool{name: name, span: span{given: interval}}
	if err := eachLine(name, r, &p.n, p.line); err != nil {
		return nil, err
	}
	if p.form == none {
		return nil, fmt.Errorf("%s: no output of zpool iostat -v or zpool list -v in it", name)
	}
	carry(p.sum, p.pools)
	return p.pools, nil
}

type zpoolForm int

const (
	none zpoolForm = iota
	iostatForm
	listForm
)

type zpool struct {
	name  string
	n     int
	form  zpoolForm
	list  map[string]int // columns of zpool list
	nth   int            // report of zpool iostat
	span  span
	took  time.Duration // the interval of the report being read
	guess bool          // it is Assumed
	sum   []*Vdev       // the reports before, but for the first, added up
	pools []*Vdev
	above []*Vdev // the nodes that the next line may belong to, by depth
	class string
	count int
}

func (p *zpool) line(s string) error {
	trimmed := strings.TrimLeft(s, " ")
	f := strings.Fields(s)
	switch {
	case len(f) == 0, strings.Trim(trimmed, "- \t") == "", f[0] == "capacity":
		return nil
	case (f[0] == "pool" || f[0] == "vdev") && len(f) > 1 && f[1] == "alloc":
		p.report()
		return nil
	case f[0] == "NAME" && len(f) > 3:
		p.form, p.pools, p.above = listForm, nil, nil
		p.list = map[string]int{}
		for i, c := range f {
			p.list[c] = i
		}
		return nil
	case p.span.line(f), p.form == none:
		return nil // the date, or whatever is above
	}
	depth := (len(s) - len(trimmed)) / 2
	if classes[f[0]] && (depth == 0 || len(f) > 1 && strings.Trim(f[1], "-") == "") {
		p.class = f[0]
		return nil
	}
	if p.count++; p.count > deviceLimit {
		return fmt.Errorf("%s:%d: more than %d devices", p.name, p.n, deviceLimit)
	}
	v, err := p.vdev(f)
	if err != nil {
		return err
	}
	if depth == 0 {
		p.class = ""
		v.Reports = p.nth
		p.pools = append(p.pools, v)
		p.above = []*Vdev{v}
		return nil
	}
	if depth > len(p.above) {
		return fmt.Errorf("%s:%d: %s is indented deeper than anything above it", p.name, p.n, v.Name)
	}
	if depth == 1 {
		v.Class = p.class
	}
	up := p.above[depth-1]
	up.Children = append(up.Children, v)
	p.above = append(p.above[:depth], v)
	return nil
}

// report begins a new report of zpool iostat.
func (p *zpool) report() {
	if p.nth > 1 { // what was read is not of the time since the import
		carry(p.sum, p.pools)
		p.sum = p.pools
	}
	p.form, p.pools, p.above = iostatForm, nil, nil
	p.took, p.guess = p.span.next()
	p.nth++
}

// carry adds what vdevs did in earlier reports to the later ones of their name.
func carry(earlier, later []*Vdev) {
	for _, v := range later {
		i := slices.IndexFunc(earlier, func(e *Vdev) bool { return e.Name == v.Name })
		if i < 0 {
			continue
		}
		before := earlier[i]
		v.Load.add(before.Load)
		v.HasWaits = v.HasWaits || before.HasWaits
		carry(before.Children, v.Children)
	}
}

func (p *zpool) vdev(f []string) (*Vdev, error) {
	v := &Vdev{Name: f[0], Load: Load{Name: f[0], Time: p.took, Assumed: p.guess, Busy: -1}}
	var err error
	get := func(i int) float64 {
		if i >= len(f) {
			if err == nil {
				err = fmt.Errorf("%s:%d: %d columns are too few", p.name, p.n, len(f))
			}
			return 0
		}
		x, e := figure(f[i])
		if e != nil && err == nil {
			err = fmt.Errorf("%s:%d: %w", p.name, p.n, e)
		}
		return x
	}
	if p.form == listForm {
		v.Alloc, v.Free = get(p.list["ALLOC"]), get(p.list["FREE"])
		return v, err
	}
	v.Alloc, v.Free = get(1), get(2)
	l := &v.Load
	s := p.took.Seconds()
	l.Reads, l.Writes, l.ReadBytes, l.WriteBytes = s*get(3), s*get(4), s*get(5), s*get(6)
	if len(f) >= 11 { // total_wait, then disk_wait
		v.HasWaits = true
		l.ReadWait, l.WriteWait = ns(get(9)), ns(get(10))
	}
	return v, err
}

func ns(v float64) time.Duration { return time.Duration(min(v, 3.6e12)) }

// figure reads a figure of zpool: "1.63M", "-", "508M", "14", "2ms", "340us";
// with -p times are nanoseconds.
func figure(s string) (float64, error) {
	if s == "-" {
		return 0, nil
	}
	num := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	scale, ok := map[string]float64{"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50, "E": 1 << 60,
		"B": 1, "ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[s[len(num):]]
	v, err := strconv.ParseFloat(num, 64)
	if !ok || err != nil || !(v >= 0 && v < 1e20) {
		return 0, fmt.Errorf("%q is no figure of zpool: expected a number with K, M, G, T, ns, us, ms or s after it, or -", s)
	}
	return v * scale, nil
}

// Groups are the siblings of a pool: the disks of each mirror or raidz, and
// disks that are top-level vdevs themselves.
func (v *Vdev) Groups() []Group {
	var out []Group
	top := Group{Name: v.Name, Kind: poolKind}
	for _, c := range v.Data() {
		if len(c.Children) == 0 {
			top.Members = append(top.Members, c.Load)
			continue
		}
		g := Group{Name: v.Name + "/" + c.Name, Kind: VdevKind}
		for _, d := range c.Children {
			g.Members = append(g.Members, d.Load)
		}
		out = append(out, g)
	}
	if len(top.Members) > 1 {
		out = append(out, top)
	}
	return out
}

// Tops are the top-level vdevs that hold data, as siblings: each takes its part
// of what is written to the pool.
func (v *Vdev) Tops() Group {
	g := Group{Name: v.Name, Kind: poolKind}
	for _, c := range v.Data() {
		g.Members = append(g.Members, c.Load)
	}
	return g
}
