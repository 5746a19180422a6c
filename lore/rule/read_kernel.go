package rule

import (
	"errors"
	"fmt"
	"strings"

	"fettle/fact/kernelversion"
	"fettle/host"
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
func readKernel(r *reading, _ *Fact) (any, error) {
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
	return newObject("kernel", "uname -r", id.Release, map[string]any{"release": id.Release, "upstream": up, "package": pkg, "distribution": dist}), nil
}

func kernelBefore(o *object, version string) any {
	c, err := kernelversion.Compare(o.fields["upstream"].(string), version)
	if err != nil {
		return err
	}
	return c < 0
}

// FixedIn is where one distribution release mended a bug.
type FixedIn struct {
	OS      string `json:"os"`
	Release string `json:"release,omitempty"` // VERSION_ID; empty: all
	Version string `json:"version"`           // of the package; "never"
}

// errBackports is why a version alone says nothing.
var errBackports = errors.New("this distribution puts later fixes into old versions, and this rule does not list it: fettle cannot tell whether the fix is in")

// readFixed compares a package, or the kernel, with the versions in which a
// bug is mended.
func readFixed(r *reading, f *Fact) (any, error) {
	var name, version, up, manager string
	var err error
	if f.opt("kernel", "") != "" {
		k, kerr := readKernel(r, f)
		if kerr != nil {
			return nil, kerr
		}
		o := k.(*object)
		name, up = "the kernel", o.fields["upstream"].(string)
		if version = o.fields["package"].(string); version == "" {
			version = o.fields["release"].(string)
		}
		if o.fields["distribution"] == "redhat" || o.fields["distribution"] == "suse" {
			manager = "rpm"
		}
	} else {
		v, perr := readPackage(r, &Fact{Args: f.Opts["package"]})
		if perr != nil {
			return nil, perr
		}
		o := v.(*object)
		if o.fields["installed"] != true {
			return newObject("fixed", o.source, o.brief, map[string]any{"name": f.Opts["package"][0]}), nil
		}
		name, version, manager = o.fields["name"].(string), o.fields["version"].(string), o.fields["manager"].(string)
		up = upstreamOf(version)
	}
	fixed := f.opt("upstream", "")
	o := newObject("fixed", name, version, map[string]any{"installed": true, "name": name, "version": version})
	sys, err := r.os()
	if err != nil {
		return nil, err
	}
	compare := comparer(manager, f.opt("kernel", "") != "")
	var bad, listed bool
	for _, d := range f.Fixed {
		if d.OS != sys.fields["id"] || d.Release != "" && d.Release != sys.fields["version_id"] {
			continue
		}
		if listed = true; d.Version == "never" {
			bad = true
			break
		}
		fixed = d.Version
		c, err := packageCompare(manager, version, d.Version)
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
		if bad = c < 0; bad && (osIs(sys, "rhel") || osIs(sys, "fedora") && sys.fields["id"] != "fedora" || osIs(sys, "suse")) {
			o.fields["bad"] = noValue("%w", errBackports)
		}
	}
	if o.fields["bad"] == nil {
		o.fields["bad"] = bad
	}
	o.fields["fixed_in"] = fixed
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
