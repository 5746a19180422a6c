package rule

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fettle/host"
	"fettle/host/format/accounts"
	"fettle/host/format/osrelease"
	"fettle/host/format/sysctlconf"
)

// readOS reads /etc/os-release, or where that is missing /usr/lib/os-release
// (os-release(5)).
func readOS(r *reading, _ *Fact) (*osFact, error) {
	return host.Memo(r.ctx, r.h, "rule:os", func() (*osFact, error) { return osRelease(r) })
}

func osRelease(r *reading) (*osFact, error) {
	f, err := osrelease.Read(r.ctx, r.h)
	if err != nil {
		return nil, err
	}
	if f.Path == "" {
		return &osFact{seen: seen{"/etc/os-release", "absent"}}, nil
	}
	v := f.Fields
	return &osFact{
		seen: seen{f.Path, v["PRETTY_NAME"]}, Exists: true, ID: v["ID"], VersionID: v["VERSION_ID"], Like: strings.Fields(v["ID_LIKE"]),
		Codename: v["VERSION_CODENAME"], Name: v["NAME"], Pretty: v["PRETTY_NAME"],
	}, nil
}

// is tells whether the host runs a distribution, or one made from it.
func (o *osFact) is(id string) bool { return o.ID == id || slices.Contains(o.Like, id) }

// errNoPackages: nobody can tell what is installed.
var errNoPackages = errors.New("neither dpkg nor rpm manages the packages here")

// readPackage finds the first of several packages that is installed.
func readPackage(r *reading, f *Fact) (*packageFact, error) {
	all, err := host.Memo(r.ctx, r.h, "rule:packages", r.installed)
	if err != nil {
		return nil, err
	}
	for _, name := range f.Args {
		base, arch, _ := strings.Cut(name, ":")
		for _, p := range all[base] {
			if arch == "" || p.Arch == arch {
				return r.packageFact(p), nil
			}
		}
	}
	return &packageFact{seen: seen{"packages", strings.Join(f.Args, ", ") + ": not installed"}, Name: f.Args[0], Manager: r.manager()}, nil
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

func readPackages(r *reading, f *Fact) ([]*packageFact, error) {
	all, err := r.h.Packages(r.ctx)
	if host.IsAbsent(err) {
		err = errNoPackages
	}
	if err != nil {
		return nil, err
	}
	out := []*packageFact{}
	for _, p := range all {
		if p.Installed() && anyMatch(f.Args, p.Name) {
			out = append(out, r.packageFact(p))
		}
	}
	return out, nil
}

func (r *reading) packageFact(p host.Package) *packageFact {
	manager := r.manager()
	return &packageFact{
		seen:      seen{"package " + p.Name, p.Version},
		Installed: true,
		Name:      p.Name,
		Version:   p.Version,
		Status:    p.Status,
		Manager:   manager,
		epochless: r.epochless(manager),
	}
}

// epochless: the list of rpm's packages in a sosreport leaves epochs out.
func (r *reading) epochless(manager string) bool {
	return manager == "rpm" && r.h.Kind() == host.KindSosreport
}

// manager tells whose versions the host's packages have. host.Packages prefers
// dpkg where it lists any package.
func (r *reading) manager() string {
	if b, err := r.h.ReadFile(r.ctx, host.DpkgStatus); err == nil && len(b) > 0 {
		return "dpkg"
	}
	if ok, err := r.h.Exists(r.ctx, "/var/lib/dpkg/status.d"); ok && err == nil {
		return "dpkg"
	}
	return "rpm"
}

// before compares the installed version as its manager does.
func (p *packageFact) before(version string) (bool, error) {
	if p.Version == "" {
		return false, fmt.Errorf("%s is not installed: it has no version", p.Name)
	}
	if p.epochless {
		version = withoutEpoch(version)
	}
	c, err := packageCompare(p.Manager, p.Version, version)
	return c < 0, err
}

func (p *packageFact) since(version string) (bool, error) {
	before, err := p.before(version)
	return !before, err
}

func readSysctl(r *reading, f *Fact) (*sysctlFact, error) {
	key := sysctlconf.Normalize(f.arg())
	name := path.Join("/proc/sys", key)
	real, err := r.permit(name)
	var s string
	if err == nil {
		s, err = r.h.ReadString(r.ctx, real)
	}
	if host.IsAbsent(err) {
		return &sysctlFact{seen: seen{name, "absent"}, Int: noValue[int64]("%s is absent", name)}, nil
	}
	if err != nil {
		return nil, err
	}
	return &sysctlFact{seen: seen{name, s}, Exists: true, Value: s, Int: func() (int64, error) { return asInt(name, s) }}, nil
}

func readSysctlConf(r *reading, f *Fact) (*confFact, error) {
	c, err := host.Memo(r.ctx, r.h, "rule:sysctl.d", func() (*sysctlconf.Config, error) {
		return sysctlconf.Read(r.ctx, r.h, sysctlconf.Installed(r.ctx, r.h))
	})
	if err != nil {
		return nil, err
	}
	if len(c.Unread) > 0 { // what they say could be the value
		return nil, c.Unread[0]
	}
	res := c.Lookup(sysctlconf.Normalize(f.arg()))
	at := func(s sysctlconf.Setting) string { return fmt.Sprintf("%s:%d", s.Path, s.Line) }
	o := &confFact{seen: seen{"sysctl.d", f.arg() + " is not set"}}
	for _, l := range res.Losers {
		o.Losers = append(o.Losers, at(l))
	}
	if v, ok := res.Value(); ok {
		v = sysctlconf.Taken(v)
		o.Set, o.Value, o.Where = true, v, at(*res.Winner)
		o.seen = seen{o.Where, f.arg() + " = " + v}
	}
	return o, nil
}

// readProcess lists processes by name: the host's own, unless those of containers
// are asked for, too.
func readProcess(r *reading, f *Fact) ([]*processFact, error) {
	ps, err := host.Memo(r.ctx, r.h, "rule:processes", func() ([]host.Process, error) { return r.h.Processes(r.ctx) })
	if err != nil {
		return nil, err
	}
	out := []*processFact{}
	for _, p := range ps {
		if !p.Own() && !f.on("containers", false) {
			continue
		}
		// comm holds 15 bytes of a name.
		if slices.ContainsFunc(f.Args, func(n string) bool {
			if n == p.Comm || len(n) > 15 && p.Comm == n[:15] {
				return true
			}
			fits := false
			if strings.ContainsAny(n, `*?[\\`) { // most are names
				fits, _ = path.Match(n, p.Comm)
			}
			return fits
		}) {
			out = append(
				out,
				&processFact{
					seen:      seen{"process " + strconv.Itoa(p.PID), p.Comm},
					Comm:      p.Comm,
					PID:       p.PID,
					UID:       p.UID,
					Unit:      p.Unit,
					Container: p.Container,
				},
			)
		}
	}
	return out, nil
}

func readUsers(r *reading, _ *Fact) ([]*userFact, error) {
	db, err := accounts.Read(r.ctx, r.h)
	if err != nil {
		return nil, err
	}
	out := []*userFact{}
	for _, u := range db.Users {
		out = append(
			out,
			&userFact{
				seen:  seen{fmt.Sprintf("%s:%d", u.File, u.Line), u.Name},
				Name:  u.Name,
				UID:   uint32(u.UID),
				GID:   uint32(u.GID),
				Home:  u.Home,
				Shell: u.Shell,
			},
		)
	}
	return out, nil
}

func readCommand(r *reading, f *Fact) (*commandFact, error) {
	out, err := r.h.Run(r.ctx, f.Args[0], f.Args[1:]...)
	if err != nil {
		return nil, err
	}
	s := string(out.Stdout)
	return &commandFact{seen: seen{strings.Join(f.Args, " "), brief(s)}, Exit: out.Exit, Stdout: s, Stderr: string(out.Stderr),
		Lines: sync.OnceValues(func() ([]string, error) { return lines(s), nil })}, nil
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
