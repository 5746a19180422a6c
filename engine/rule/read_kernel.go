package rule

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"fettle/host"
	"fettle/host/fact/kernelversion"
	"fettle/internal/lazy"
)

var (
	debianKernel = lazy.Regexp(`\bDebian (\S+)`)
	leadingDots  = lazy.Regexp(`^\d+(\.\d+)+(-rc\d+)?`)
)

// readKernel says which kernel runs: what it calls itself, the upstream
// version behind that, and the distribution's. Debian writes its package's
// version into uname -v, Ubuntu both into /proc/version_signature; elsewhere the
// release begins with the upstream version, from which Red Hat's and SUSE's
// kernels are far away by the fixes that they carry.
func readKernel(r *reading, _ *Fact) (*kernelFact, error) {
	id := r.h.Identity()
	if id.Release == "" {
		if !r.h.Running() {
			return nil, host.ErrNotRunning
		}
		return nil, fmt.Errorf("the kernel's release: %w", host.ErrNotCollected)
	}
	up := leadingDots().FindString(id.Release)
	pkg, dist := "", ""
	switch rel := id.Release; {
	case strings.Contains(rel, ".el") || strings.Contains(rel, ".amzn") || strings.Contains(rel, "uek"):
		dist, pkg = "redhat", rel
	case strings.HasSuffix(rel, "-default") || strings.Contains(rel, ".lp1"):
		dist = "suse"
	}
	if m := debianKernel().FindStringSubmatch(id.Version); m != nil {
		dist, pkg = "debian", m[1]
		up = upstreamOf(pkg)
	} else if dist == "" {
		sig, err := r.h.ReadString(r.ctx, "/proc/version_signature")
		if f := strings.Fields(sig); err == nil && len(f) == 3 && f[0] == "Ubuntu" {
			dist, up = "ubuntu", f[2]
			pkg = f[1]
			if i := strings.LastIndexByte(f[1], '-'); i > 0 { // 5.15.0-91.101-generic
				pkg = f[1][:i]
			}
		}
	}
	if up == "" {
		return nil, fmt.Errorf("the release %q begins with no version of Linux", id.Release)
	}
	return &kernelFact{seen: seen{"uname -r", id.Release}, Release: id.Release, Upstream: up, Package: pkg, Distribution: dist}, nil
}

// before compares upstream versions.
func (k *kernelFact) before(version string) (bool, error) {
	c, err := kernelversion.Compare(k.Upstream, version)
	return c < 0, err
}

func (k *kernelFact) since(version string) (bool, error) {
	before, err := k.before(version)
	return !before, err
}

// FixedIn is where one distribution release fixed a bug.
type FixedIn struct {
	OS      string `json:"os"`
	Release string `json:"release,omitempty"` // VERSION_ID; empty: all
	Version string `json:"version"`           // of the package; "never"
	// Source says who fixed it there, and Confirmed is the day on which somebody saw that.
	Source    string `json:"-"`
	Confirmed string `json:"-"`
}

// errBackports is why a version alone says nothing.
var errBackports = errors.New(
	"this distribution puts later fixes into old versions, and this rule does not list it: fettle cannot tell whether the fix is in",
)

// readFixed compares a package, or the kernel, with the versions in which a
// bug is fixed.
func readFixed(r *reading, f *Fact) (*fixedFact, error) {
	var name, version, up, manager string
	var err error
	if f.opt("kernel", "") != "" {
		k, kerr := readKernel(r, f)
		if kerr != nil {
			return nil, kerr
		}
		name, up, version = "the kernel", k.Upstream, cmp.Or(k.Package, k.Release)
		if k.Distribution == "redhat" || k.Distribution == "suse" {
			manager = "rpm"
		}
	} else {
		p, perr := readPackage(r, &Fact{Args: f.Opts["package"]})
		if perr != nil {
			return nil, perr
		}
		if !p.Installed {
			return &fixedFact{seen: p.seen, Name: f.Opts["package"][0]}, nil
		}
		name, version, manager = p.Name, p.Version, p.Manager
		up = upstreamOf(version)
	}
	fixed := f.opt("upstream", "")
	o := &fixedFact{seen: seen{name, version}, Installed: true, Name: name, Version: version}
	sys, err := readOS(r, osOfHost)
	if err != nil {
		return nil, err
	}
	compare := comparer(manager, f.opt("kernel", "") != "")
	var bad, listed bool
	for _, d := range f.Fixed {
		if d.OS != sys.ID || d.Release != "" && d.Release != sys.VersionID {
			continue
		}
		if listed = true; d.Version == "never" {
			bad = true
			break
		}
		fixed = d.Version
		since := d.Version
		if r.epochless(manager) {
			since = withoutEpoch(since)
		}
		c, err := packageCompare(manager, version, since)
		if err != nil {
			return nil, err
		}
		bad = c < 0
		break
	}
	if intro := f.opt("introduced", ""); intro != "" {
		c, err := compare(up, intro)
		if err != nil {
			return nil, err
		}
		if c < 0 {
			bad, listed = false, true
		}
	}
	if !listed {
		c, err := compare(up, fixed)
		if err != nil {
			return nil, err
		}
		if bad = c < 0; bad && (sys.is("rhel") || sys.is("fedora") && sys.ID != "fedora" || sys.is("suse")) {
			o.Bad = noValue[bool]("%w", errBackports)
		}
	}
	if o.Bad == nil {
		o.Bad = value(bad)
	}
	o.FixedIn = fixed
	if fixed != "" {
		o.brief = version + "; fixed since " + fixed
	}
	return o, nil
}

// comparer compares upstream versions: of kernels, or of packages without
// epoch and revision.
func comparer(manager string, kernel bool) func(a, b string) (int, error) {
	if kernel {
		return kernelversion.Compare
	}
	return func(a, b string) (int, error) { return packageCompare(manager, a, b) }
}

func packageCompare(manager, a, b string) (int, error) {
	if manager == "rpm" {
		return rpmCompare(a, b), nil
	}
	return debCompare(a, b)
}
