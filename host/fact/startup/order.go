package startup

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"fettle/host"
)

// Order is what the next start brings up, and behind what each unit waits: from the files alone, as systemd reads them
// then (systemd.unit(5)). What systemd derives from mounts is not in it.
type Order struct {
	After map[string][]string // both units are started at boot
}

// unitFile is a unit on the way into the order.
type unitFile struct {
	after, before, pulls []string
	defaults             bool
}

// files are where units and their links are.
type files struct {
	of    map[string]string   // the file of a name; the first folder counts
	drops map[string][]string // drop-ins that packages bring, by the name of the unit
	alias map[string]string
}

// ReadOrder reads the units that the default target pulls in, directly or not.
func ReadOrder(ctx context.Context, h *host.Host) (*Order, error) {
	def, err := DefaultTarget(ctx, h)
	if err != nil {
		return nil, err
	}
	pulls, err := Pulls(ctx, h)
	if err != nil {
		return nil, err
	}
	in, err := unitFiles(ctx, h)
	if err != nil {
		return nil, err
	}
	if in.file(in.real(def)) == "" {
		return nil, fmt.Errorf("the file of the default target %s: %w", def, host.ErrAbsent)
	}
	units := map[string]*unitFile{}
	for queue := []string{def}; len(queue) > 0 && len(units) < maxUnits; {
		name := in.real(queue[0])
		queue = queue[1:]
		if units[name] != nil || in.file(name) == "" {
			continue
		}
		u, err := in.read(ctx, h, name)
		if err != nil {
			return nil, err
		}
		for _, l := range pulls[name] {
			u.pulls = append(u.pulls, in.real(l))
		}
		units[name], queue = u, append(queue, u.pulls...)
	}
	return ordered(units), nil
}

// maxUnits bounds what is read: a host has some hundreds.
const maxUnits = 10_000

// ordered makes one list of After and Before, and adds what systemd adds (systemd 252, src/core/target.c, socket.c,
// timer.c, path.c, service.c; systemd.target(5) and the others, "Default Dependencies").
func ordered(units map[string]*unitFile) *Order {
	o := &Order{After: map[string][]string{}}
	add := func(name, behind string) {
		if name != behind && units[name] != nil && units[behind] != nil && !slices.Contains(o.After[name], behind) {
			o.After[name] = append(o.After[name], behind)
		}
	}
	for name, u := range units {
		for _, a := range u.after {
			add(name, a)
		}
		for _, b := range u.before {
			add(b, name)
		}
		base, kind := name[:strings.LastIndexByte(name, '.')], path.Ext(name)
		if kind == ".socket" || kind == ".timer" || kind == ".path" {
			add(base+".service", name)
		}
		if !u.defaults {
			continue
		}
		switch kind {
		case ".service":
			add(name, "sysinit.target")
			add(name, "basic.target")
		case ".socket", ".timer", ".path":
			add(name, "sysinit.target")
			add(strings.TrimPrefix(kind, ".")+"s.target", name)
		}
	}
	for name, u := range units {
		if path.Ext(name) != ".target" || !u.defaults {
			continue
		}
		for _, p := range u.pulls {
			if units[p] != nil && units[p].defaults && !slices.Contains(o.After[p], name) {
				add(name, p)
			}
		}
	}
	return o
}

// unitFiles lists the folders in which systemd looks for units.
func unitFiles(ctx context.Context, h *host.Host) (*files, error) {
	f := &files{of: map[string]string{}, drops: map[string][]string{}, alias: map[string]string{}}
	err := eachEntry(ctx, h, func(dir string, e host.Entry) error {
		name := path.Join(dir, e.Name)
		if unit, ok := strings.CutSuffix(e.Name, ".d"); ok && path.Ext(unit) != "" && dir != folders[0] {
			in, err := h.Glob(ctx, name, "*.conf")
			if err != nil {
				return err
			}
			f.drops[unit] = append(f.drops[unit], in...)
			return nil
		}
		if f.of[e.Name] != "" || f.alias[e.Name] != "" || !slices.Contains(kinds, path.Ext(e.Name)) {
			return nil
		}
		return f.add(ctx, h, e, name)
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// kinds of units that files describe.
var kinds = []string{".service", ".socket", ".timer", ".path", ".target", ".mount", ".automount", ".swap"}

// masked is the file of units that systemd does not start.
const masked = "/dev/null"

func (f *files) add(ctx context.Context, h *host.Host, e host.Entry, name string) error {
	if e.Type&fs.ModeSymlink == 0 {
		f.of[e.Name] = name
		return nil
	}
	to, err := h.Readlink(ctx, name)
	if host.IsAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	switch base := path.Base(to); {
	case to == masked:
		f.of[e.Name] = masked
	case base == e.Name:
		f.of[e.Name] = name
	default:
		f.alias[e.Name] = base
	}
	return nil
}

// real is the name of a unit that an alias is one of.
func (f *files) real(name string) string {
	if to := f.alias[name]; to != "" {
		return to
	}
	return name
}

func template(name string) string {
	if before, rest, ok := strings.Cut(name, "@"); ok {
		return before + "@" + path.Ext(rest)
	}
	return name
}

// file is where a unit is; empty where it has none, or is masked.
func (f *files) file(name string) string {
	for _, n := range []string{name, template(name)} {
		switch file := f.of[n]; file {
		case "":
		case masked:
			return ""
		default:
			return file
		}
	}
	return ""
}

func (f *files) read(ctx context.Context, h *host.Host, name string) (*unitFile, error) {
	u := &Unit{ID: name, FragmentPath: f.file(name), DropIns: append(slices.Clone(f.drops[name]), f.drops[template(name)]...)}
	t, err := Read(ctx, h, u)
	if err != nil {
		return nil, err
	}
	words := func(section, key string) (out []string) {
		for _, w := range t.Words(section, key) {
			if w, ok := u.Expand(w); ok {
				out = append(out, f.real(w))
			}
		}
		return out
	}
	r := &unitFile{after: words("Unit", "After"), before: words("Unit", "Before")}
	for _, key := range []string{"Wants", "Requires", "BindsTo", "Upholds"} {
		r.pulls = append(r.pulls, words("Unit", key)...)
	}
	switch strings.ToLower(t.Value("Unit", "DefaultDependencies")) {
	case "no", "false", "off", "0":
	default:
		r.defaults = true
	}
	return r, nil
}

// Circles are units that wait for each other: of each knot of them the shortest way round, each behind the next.
func (o *Order) Circles() [][]string {
	names := make([]string, 0, len(o.After))
	for name := range o.After {
		names = append(names, name)
		slices.Sort(o.After[name])
	}
	slices.Sort(names)
	var out [][]string
	known := map[string]bool{}
	for _, name := range names {
		if known[name] {
			continue
		}
		if c := o.around(name); c != nil {
			for n := range o.knot(name) {
				known[n] = true
			}
			out = append(out, c)
		}
	}
	return out
}

// around is the shortest way from a unit back to it; nil if there is none.
func (o *Order) around(name string) []string {
	from := map[string]string{}
	for queue := []string{name}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, next := range o.After[at] {
			if next == name {
				way := []string{at}
				for at != name {
					at = from[at]
					way = append(way, at)
				}
				slices.Reverse(way)
				return way
			}
			if _, seen := from[next]; !seen {
				from[next] = at
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// Behind are the units for which a unit waits, directly or not; nil where boot does not start it.
func (o *Order) Behind(name string) map[string]bool {
	if len(o.After[name]) == 0 {
		return nil
	}
	seen := map[string]bool{}
	for queue := slices.Clone(o.After[name]); len(queue) > 0; queue = queue[1:] {
		if !seen[queue[0]] {
			seen[queue[0]] = true
			queue = append(queue, o.After[queue[0]]...)
		}
	}
	return seen
}

// knot are the units that wait for name, and name for them.
func (o *Order) knot(name string) map[string]bool {
	knot, behind := map[string]bool{}, map[string][]string{}
	for a, list := range o.After {
		for _, b := range list {
			behind[b] = append(behind[b], a)
		}
	}
	reach := func(edges map[string][]string) map[string]bool {
		seen := map[string]bool{name: true}
		for queue := []string{name}; len(queue) > 0; queue = queue[1:] {
			for _, n := range edges[queue[0]] {
				if !seen[n] {
					seen[n] = true
					queue = append(queue, n)
				}
			}
		}
		return seen
	}
	back := reach(behind)
	for n := range reach(o.After) {
		if back[n] {
			knot[n] = true
		}
	}
	return knot
}
