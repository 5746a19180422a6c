package rule

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"fettle/host"
	"fettle/internal/units"
)

func (r *reading) filesystems() ([]*object, error) {
	fss, err := host.Memo(r.ctx, r.h, "rule:filesystems", func() ([]host.Filesystem, error) { return r.h.Filesystems(r.ctx) })
	if err != nil {
		return nil, err
	}
	out := make([]*object, 0, len(fss))
	for _, f := range fss {
		used := percent(float64(f.Size-f.Free), float64(f.Size-f.Free+f.Avail)) // as df(1) counts it, root's reserve left out
		out = append(out, newObject("fs", f.Mount, fmt.Sprintf("%s on %s, %s, %.0f %% used", f.Type, f.Device, f.Options, used), map[string]any{
			"exists": true, "device": f.Device, "mount": f.Mount, "type": f.Type, "options": strings.Split(f.Options, ","), "network": f.Network,
			"size": f.Size, "free": f.Free, "avail": f.Avail, "files": f.Files, "ffree": f.FFree,
			"used_percent": used, "inodes_used_percent": percent(float64(f.Files-f.FFree), float64(f.Files)),
		}))
	}
	return out, nil
}

func readFilesystems(r *reading, f *Fact) (any, error) {
	all, err := r.filesystems()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(o *object) bool {
		return !anyMatch(f.Opts["type"], o.fields["type"].(string)) || !anyMatch(f.Opts["mount"], o.fields["mount"].(string)) ||
			!anyMatch(f.Opts["device"], o.fields["device"].(string))
	}), nil
}

// readFilesystem finds the file system that a path lies on. A path that is not
// there lies on none.
func readFilesystem(r *reading, f *Fact) (any, error) {
	all, err := r.filesystems()
	if err != nil {
		return nil, err
	}
	ok, err := r.h.Exists(r.ctx, f.arg())
	if err != nil {
		return nil, err
	}
	var best *object
	if ok {
		real, err := realPath(r.ctx, r.h, f.arg())
		if err != nil {
			return nil, err
		}
		for _, o := range all {
			m := o.fields["mount"].(string)
			if (m == "/" || real == m || strings.HasPrefix(real, m+"/")) && (best == nil || len(m) >= len(best.fields["mount"].(string))) {
				best = o
			}
		}
	}
	if best == nil {
		return newObject("fs", f.arg(), "absent", map[string]any{}), nil
	}
	return best, nil
}

func readFstab(r *reading, _ *Fact) (any, error) {
	const name = "/etc/fstab"
	out := []*object{}
	b, err := r.content(name)
	if host.IsAbsent(err) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		f := strings.Fields(line)
		if len(f) < 3 || f[0][0] == '#' {
			continue
		}
		opts, dump, pass := "defaults", int64(0), int64(0)
		if len(f) > 3 {
			opts = f[3]
		}
		if len(f) > 4 {
			dump, _ = strconv.ParseInt(f[4], 10, 64)
		}
		if len(f) > 5 {
			pass, _ = strconv.ParseInt(f[5], 10, 64)
		}
		out = append(out, newObject("fstab", fmt.Sprintf("%s:%d", name, n), strings.Join(f, " "), map[string]any{
			"device": fstabText(f[0]), "mount": fstabText(f[1]), "type": f[2], "options": strings.Split(opts, ","), "dump": dump, "pass": pass, "line": n}))
	}
	return out, nil
}

// fstabText undoes the escapes of fstab(5).
func fstabText(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

func readLinks(r *reading, f *Fact) (any, error) {
	ls, err := host.Memo(r.ctx, r.h, "rule:links", func() ([]host.Link, error) { return r.h.Links(r.ctx) })
	if err != nil {
		return nil, err
	}
	out := []*object{}
	for _, l := range ls {
		if !anyMatch(f.Opts["name"], l.Name) || !anyMatch(f.Opts["kind"], l.Info.Kind) {
			continue
		}
		var addrs []string
		for _, a := range l.Addrs {
			addrs = append(addrs, fmt.Sprintf("%s/%d", a.Local, a.PrefixLen))
		}
		out = append(out, newObject("netlink", "link "+l.Name, fmt.Sprintf("mtu %d, %s", l.MTU, l.OperState), map[string]any{
			"name": l.Name, "kind": l.Info.Kind, "mtu": l.MTU, "master": l.Master, "parent": l.Parent, "up": l.Has("UP"), "operstate": l.OperState,
			"flags": l.Flags, "mac": l.MAC, "addresses": addrs}))
	}
	return out, nil
}

// readCmdline reads the running kernel's command line (bootparam(7)).
func readCmdline(r *reading, _ *Fact) (any, error) {
	const name = "/proc/cmdline"
	s, err := r.h.ReadString(r.ctx, name)
	if err != nil {
		return nil, err
	}
	args := strings.Fields(s)
	set := &settings{}
	values := map[string]string{}
	for _, a := range args {
		k, v, _ := strings.Cut(a, "=")
		values[k] = v
		set.list = append(set.list, setting{key: k, value: v, at: name})
	}
	o := newObject("cmdline", name, s, map[string]any{"text": s, "args": args, "values": values})
	o.data = set
	return o, nil
}

// readModule looks for a module that is loaded, or built in with parameters.
// Names are the same with dash and underscore.
func readModule(r *reading, f *Fact) (any, error) {
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
	o := newObject("module", dir, "not loaded", map[string]any{"loaded": ok})
	if ok {
		o.brief = "loaded"
	}
	o.fields["parameters"] = later(func() (any, error) {
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
	})
	return o, nil
}

func readModules(r *reading, _ *Fact) (any, error) {
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

func readMemory(r *reading, _ *Fact) (any, error) {
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
			return nil, fmt.Errorf("%s says %q, which is no number", name, f[0])
		}
		if len(f) > 1 && f[1] == "kB" {
			n *= 1024
		}
		m[k] = n
	}
	fields := map[string]any{"fields": m}
	for field, key := range map[string]string{"total": "MemTotal", "available": "MemAvailable", "swap_total": "SwapTotal", "swap_free": "SwapFree"} {
		if n, ok := m[key]; ok {
			fields[field] = n
		} else {
			fields[field] = noValue("%s has no %s", name, key)
		}
	}
	return newObject("memory", name, units.Size(m["MemTotal"])+" in all, "+units.Size(m["MemAvailable"])+" available", fields), nil
}
