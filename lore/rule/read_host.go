package rule

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"fettle/conf/accounts"
	"fettle/conf/sysctlconf"
	"fettle/host"
)

// readOS reads /etc/os-release, or where that is missing /usr/lib/os-release
// (os-release(5)).
func readOS(r *reading, _ *Fact) (any, error) {
	return host.Memo(r.ctx, r.h, "rule:os", func() (*object, error) { return osRelease(r) })
}

func osRelease(r *reading) (*object, error) {
	for _, name := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		b, err := r.h.ReadFile(r.ctx, name)
		if host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		v := map[string]string{}
		for line := range strings.Lines(string(b)) {
			if k, val, ok := strings.Cut(strings.TrimSpace(line), "="); ok && k[:min(1, len(k))] != "#" {
				v[k] = unquote(val)
			}
		}
		return newObject("os", name, v["PRETTY_NAME"], map[string]any{
			"exists": true, "id": v["ID"], "version_id": v["VERSION_ID"], "like": strings.Fields(v["ID_LIKE"]),
			"codename": v["VERSION_CODENAME"], "name": v["NAME"], "pretty": v["PRETTY_NAME"],
		}), nil
	}
	return newObject("os", "/etc/os-release", "absent", map[string]any{}), nil
}

// osIs tells whether the host runs a distribution, or one made from it.
func osIs(o *object, id string) bool {
	like, _ := o.fields["like"].([]string)
	return o.fields["id"] == id || slices.Contains(like, id)
}

func (r *reading) os() (*object, error) {
	v := r.answer(&Fact{Name: "os", Kind: "os"})
	if v.ev == nil {
		return nil, v.val.Value().(error)
	}
	return v.ev, nil
}

// errNoPackages: nobody can tell what is installed.
var errNoPackages = errors.New("neither dpkg nor rpm manages the packages here")

// readPackage finds the first of several packages that is installed.
func readPackage(r *reading, f *Fact) (any, error) {
	all, err := host.Memo(r.ctx, r.h, "rule:packages", r.installed)
	if err != nil {
		return nil, err
	}
	for _, name := range f.Args {
		base, arch, _ := strings.Cut(name, ":")
		for _, p := range all[base] {
			if arch == "" || p.Arch == arch {
				return r.packageObject(p), nil
			}
		}
	}
	return newObject("package", "packages", strings.Join(f.Args, ", ")+": not installed", map[string]any{"name": f.Args[0], "manager": r.manager()}), nil
}

// installed are the packages by name.
func (r *reading) installed() (map[string][]host.Package, error) {
	all, err := r.h.Packages(r.ctx)
	if host.IsAbsent(err) {
		err = errNoPackages
	}
	if err != nil {
		return nil, err
	}
	by := make(map[string][]host.Package, len(all))
	for _, p := range all {
		if p.Installed() {
			by[p.Name] = append(by[p.Name], p)
		}
	}
	return by, nil
}

func readPackages(r *reading, f *Fact) (any, error) {
	all, err := r.h.Packages(r.ctx)
	if host.IsAbsent(err) {
		err = errNoPackages
	}
	if err != nil {
		return nil, err
	}
	out := []*object{}
	for _, p := range all {
		if p.Installed() && anyMatch(f.Args, p.Name) {
			out = append(out, r.packageObject(p))
		}
	}
	return out, nil
}

func (r *reading) packageObject(p host.Package) *object {
	return newObject("package", "package "+p.Name, p.Version, map[string]any{"installed": true, "name": p.Name, "version": p.Version, "status": p.Status, "manager": r.manager()})
}

// manager tells whose versions the host's packages have. host.Packages prefers
// dpkg where it lists any package.
func (r *reading) manager() string {
	if b, err := r.h.ReadFile(r.ctx, "/var/lib/dpkg/status"); err == nil && len(b) > 0 {
		return "dpkg"
	}
	if ok, err := r.h.Exists(r.ctx, "/var/lib/dpkg/status.d"); ok && err == nil {
		return "dpkg"
	}
	return "rpm"
}

func packageBefore(o *object, version string) any {
	have, _ := o.fields["version"].(string)
	if have == "" {
		return fmt.Errorf("%v is not installed: it has no version", o.fields["name"])
	}
	if o.fields["manager"] == "rpm" {
		return rpmCompare(have, version) < 0
	}
	c, err := debCompare(have, version)
	if err != nil {
		return err
	}
	return c < 0
}

// sysctlPath turns net.ipv4.ip_forward, or the form with slashes, into a path
// below /proc/sys. In the form with dots a slash stands for a dot (sysctl.d(5)).
func sysctlPath(key string) string {
	if i := strings.IndexAny(key, "./"); i >= 0 && key[i] == '.' {
		key = strings.Map(func(c rune) rune {
			switch c {
			case '.':
				return '/'
			case '/':
				return '.'
			}
			return c
		}, key)
	}
	return key
}

func readSysctl(r *reading, f *Fact) (any, error) {
	key := sysctlPath(f.arg())
	name := path.Join("/proc/sys", key)
	real, err := r.permit(name)
	var s string
	if err == nil {
		s, err = r.h.ReadString(r.ctx, real)
	}
	if host.IsAbsent(err) {
		return newObject("sysctl", name, "absent", map[string]any{"int": noValue("%s is absent", name)}), nil
	}
	if err != nil {
		return nil, err
	}
	return newObject("sysctl", name, s, map[string]any{"exists": true, "value": s, "int": later(func() (any, error) { return asInt(name, s) })}), nil
}

func readSysctlConf(r *reading, f *Fact) (any, error) {
	c, err := host.Memo(r.ctx, r.h, "rule:sysctl.d", func() (*sysctlconf.Config, error) {
		return sysctlconf.Read(r.ctx, r.h, sysctlconf.Installed(r.ctx, r.h))
	})
	if err != nil {
		return nil, err
	}
	if len(c.Unread) > 0 { // what they say could be the value
		return nil, c.Unread[0]
	}
	res := c.Lookup(sysctlPath(f.arg()))
	fields := map[string]any{}
	at := func(s sysctlconf.Setting) string { return fmt.Sprintf("%s:%d", s.Path, s.Line) }
	var losers []string
	for _, l := range res.Losers {
		losers = append(losers, at(l))
	}
	fields["losers"] = losers
	o := newObject("conf", "sysctl.d", f.arg()+" is not set", fields)
	if v, ok := res.Value(); ok {
		fields["set"], fields["value"], fields["where"] = true, v, at(*res.Winner)
		o.source, o.brief = at(*res.Winner), f.arg()+" = "+v
	}
	return o, nil
}

func readProcess(r *reading, f *Fact) (any, error) {
	ps, err := host.Memo(r.ctx, r.h, "rule:processes", func() ([]host.Process, error) { return r.h.Processes(r.ctx) })
	if err != nil {
		return nil, err
	}
	out := []*object{}
	for _, p := range ps {
		// comm holds 15 bytes of a name.
		if slices.ContainsFunc(f.Args, func(n string) bool { return p.Comm == n || len(n) > 15 && p.Comm == n[:15] }) {
			out = append(out, newObject("process", "process "+strconv.Itoa(p.PID), p.Comm,
				map[string]any{"comm": p.Comm, "pid": p.PID, "uid": int64(p.UID), "unit": p.Unit}))
		}
	}
	return out, nil
}

func readUsers(r *reading, _ *Fact) (any, error) {
	db, err := accounts.Read(r.ctx, r.h)
	if err != nil {
		return nil, err
	}
	out := []*object{}
	for _, u := range db.Users {
		out = append(out, newObject("user", fmt.Sprintf("%s:%d", u.File, u.Line), u.Name,
			map[string]any{"name": u.Name, "uid": int64(u.UID), "gid": int64(u.GID), "home": u.Home, "shell": u.Shell}))
	}
	return out, nil
}

func readCommand(r *reading, f *Fact) (any, error) {
	out, err := r.h.Run(r.ctx, f.Args[0], f.Args[1:]...)
	if err != nil {
		return nil, err
	}
	s := string(out.Stdout)
	return newObject("command", strings.Join(f.Args, " "), brief(s), map[string]any{"exit": out.Exit, "stdout": s, "stderr": string(out.Stderr),
		"lines": later(func() (any, error) { return lines(s), nil })}), nil
}

// anyMatch tells whether one of the patterns fits; none at all fit everything.
func anyMatch(patterns []string, s string) bool {
	for _, p := range patterns {
		if ok, _ := path.Match(p, s); ok {
			return true
		}
	}
	return len(patterns) == 0
}
