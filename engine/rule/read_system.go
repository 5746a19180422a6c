package rule

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"fettle/host"
	"fettle/host/format/fstab"
	"fettle/host/format/mdstat"
	"fettle/internal/units"
)

func (r *reading) filesystems() ([]*fsFact, error) {
	fss, err := host.Memo(r.ctx, r.h, "rule:filesystems", func() ([]host.Filesystem, error) { return r.h.Filesystems(r.ctx) })
	if err != nil {
		return nil, err
	}
	out := make([]*fsFact, 0, len(fss))
	for _, f := range fss {
		used := percent(float64(f.Size-f.Free), float64(f.Size-f.Free+f.Avail)) // as df(1) counts it, root's reserve left out
		out = append(out, &fsFact{
			seen:   seen{f.Mount, fmt.Sprintf("%s on %s, %s, %.0f %% used", f.Type, f.Device, f.Options, used)},
			Exists: true, Device: f.Device, Mount: f.Mount, Type: f.Type, Options: strings.Split(f.Options, ","), Network: f.Network,
			Size: f.Size, Free: f.Free, Avail: f.Avail, Files: f.Files, FFree: f.FFree,
			UsedPercent: used, InodesUsedPercent: percent(float64(f.Files-f.FFree), float64(f.Files)),
		})
	}
	return out, nil
}

func readFilesystems(r *reading, f *Fact) ([]*fsFact, error) {
	all, err := r.filesystems()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(o *fsFact) bool {
		return !anyMatch(f.Opts["type"], o.Type) || !anyMatch(f.Opts["mount"], o.Mount) || !anyMatch(f.Opts["device"], o.Device)
	}), nil
}

// readFilesystem finds the file system that a path lies on. A path that is not
// there lies on none.
func readFilesystem(r *reading, f *Fact) (*fsFact, error) {
	all, err := r.filesystems()
	if err != nil {
		return nil, err
	}
	ok, err := r.h.Exists(r.ctx, f.arg())
	if err != nil {
		return nil, err
	}
	var best *fsFact
	if ok {
		real, err := realPath(r.ctx, r.h, f.arg())
		if err != nil {
			return nil, err
		}
		for _, o := range all {
			m := o.Mount
			if (m == "/" || real == m || strings.HasPrefix(real, m+"/")) && (best == nil || len(m) >= len(best.Mount)) {
				best = o
			}
		}
	}
	if best == nil {
		return &fsFact{seen: seen{f.arg(), "absent"}}, nil
	}
	return best, nil
}

func readFstab(r *reading, _ *Fact) ([]*fstabFact, error) {
	entries, err := fstab.Read(r.ctx, r.h)
	if err != nil {
		return nil, err
	}
	out := make([]*fstabFact, len(entries))
	for i, e := range entries {
		out[i] = &fstabFact{seen: seen{fmt.Sprintf("%s:%d", fstab.File, e.Line), e.String()},
			Device: e.Device, Mount: e.Mount, Type: e.Type, Options: e.Options, Dump: e.Dump, Pass: e.Pass, Line: e.Line}
	}
	return out, nil
}

func readArrays(r *reading, _ *Fact) ([]*arrayFact, error) {
	arrays, err := mdstat.Read(r.ctx, r.h)
	if err != nil {
		return nil, err
	}
	out := make([]*arrayFact, len(arrays))
	for i, a := range arrays {
		said := strings.TrimSpace(a.Level + " " + a.Marks)
		if a.Action != "" {
			said += ", " + a.Action
		}
		out[i] = &arrayFact{seen: seen{mdstat.File + ", " + a.Name, said}, Name: a.Name, Level: a.Level, Active: a.Active,
			Redundant: a.Redundant, Disks: a.Disks, Missing: a.Missing, Rebuilding: a.Rebuilding()}
	}
	return out, nil
}

func readLinks(r *reading, f *Fact) ([]*netlinkFact, error) {
	ls, err := host.Memo(r.ctx, r.h, "rule:links", func() ([]host.Link, error) { return r.h.Links(r.ctx) })
	if err != nil {
		return nil, err
	}
	out := []*netlinkFact{}
	for _, l := range ls {
		if !anyMatch(f.Opts["name"], l.Name) || !anyMatch(f.Opts["kind"], l.Info.Kind) {
			continue
		}
		var addrs []string
		for _, a := range l.Addrs {
			addrs = append(addrs, fmt.Sprintf("%s/%d", a.Local, a.PrefixLen))
		}
		out = append(out, &netlinkFact{seen: seen{"link " + l.Name, fmt.Sprintf("mtu %d, %s", l.MTU, l.OperState)},
			Name: l.Name, Kind: l.Info.Kind, MTU: l.MTU, Master: l.Master, Parent: l.Parent, Up: l.Has("UP"), OperState: l.OperState,
			External: l.Info.Data["external"] == true, Flags: l.Flags, MAC: l.MAC, Addresses: addrs})
	}
	return out, nil
}

// readCmdline reads the running kernel's command line (bootparam(7)).
func readCmdline(r *reading, _ *Fact) (*cmdlineFact, error) {
	const name = "/proc/cmdline"
	s, err := r.h.ReadString(r.ctx, name)
	if err != nil {
		return nil, err
	}
	o := &cmdlineFact{seen: seen{name, s}, Text: s, Args: strings.Fields(s), Values: map[string]string{}}
	for _, a := range o.Args {
		k, v, _ := strings.Cut(a, "=")
		o.Values[k] = v
		o.list = append(o.list, setting{key: k, value: v, at: name})
	}
	return o, nil
}

// readModule looks for a module that is loaded, or built in with parameters.
// Names are the same with dash and underscore.
func readModule(r *reading, f *Fact) (*moduleFact, error) {
	if !r.h.Running() {
		return nil, fmt.Errorf("module %s: %w", f.arg(), host.ErrNotRunning)
	}
	name := strings.ReplaceAll(f.arg(), "-", "_")
	dir := "/sys/module/" + name
	ok, err := r.h.Exists(r.ctx, dir)
	if err != nil {
		return nil, err
	}
	if !ok {
		// A capture may hold the list and not the folder.
		b, err := r.h.ReadFile(r.ctx, "/proc/modules")
		for line := range strings.Lines(string(b)) {
			ok = ok || strings.HasPrefix(line, name+" ")
		}
		if err != nil && !host.IsAbsent(err) {
			return nil, err
		}
	}
	o := &moduleFact{seen: seen{dir, "not loaded"}, Loaded: ok}
	if ok {
		o.brief = "loaded"
	}
	o.Parameters = func() (map[string]string, error) {
		m := map[string]string{}
		names, err := r.h.Glob(r.ctx, dir+"/parameters", "*")
		for _, n := range names {
			v, err := r.h.ReadString(r.ctx, n)
			if errors.Is(err, host.ErrDenied) || host.IsAbsent(err) {
				continue // some are for writing only
			}
			if err != nil {
				return nil, err
			}
			m[path.Base(n)] = v
		}
		return m, err
	}
	return o, nil
}

func readModules(r *reading, _ *Fact) ([]string, error) {
	b, err := r.h.ReadFile(r.ctx, "/proc/modules")
	if host.IsAbsent(err) && r.h.Running() {
		return []string{}, nil // a kernel without modules
	}
	if err != nil {
		return nil, err
	}
	out := []string{}
	for line := range strings.Lines(string(b)) {
		if name, _, ok := strings.Cut(line, " "); ok {
			out = append(out, name)
		}
	}
	return out, nil
}

func readMemory(r *reading, _ *Fact) (*memoryFact, error) {
	const name = "/proc/meminfo"
	b, err := r.h.ReadFile(r.ctx, name)
	if err != nil {
		return nil, err
	}
	m := map[string]int64{}
	for line := range strings.Lines(string(b)) {
		k, v, ok := strings.Cut(line, ":")
		f := strings.Fields(v)
		if !ok || len(f) == 0 {
			continue
		}
		n, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s says %q, which is not a number", name, f[0])
		}
		if len(f) > 1 && f[1] == "kB" {
			n *= 1024
		}
		m[k] = n
	}
	field := func(key string) func() (int64, error) {
		if n, ok := m[key]; ok {
			return value(n)
		}
		return noValue[int64]("%s has no %s", name, key)
	}
	return &memoryFact{seen: seen{name, units.Size(m["MemTotal"]) + " in all, " + units.Size(m["MemAvailable"]) + " available"},
		Total: field("MemTotal"), Available: field("MemAvailable"), SwapTotal: field("SwapTotal"), SwapFree: field("SwapFree"), Fields: m}, nil
}
