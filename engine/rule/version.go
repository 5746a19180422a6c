package rule

import (
	"cmp"
	"fmt"
	"strings"

	deb "github.com/knqyf263/go-deb-version"
	rpm "github.com/knqyf263/go-rpm-version"
)

// debCompare compares as dpkg --compare-versions does (deb-version(7)).
func debCompare(a, b string) (int, error) {
	va, err := deb.NewVersion(a)
	if err != nil {
		return 0, fmt.Errorf("%q is not a version of a Debian package: %w", a, err)
	}
	vb, err := deb.NewVersion(b)
	if err != nil {
		return 0, fmt.Errorf("%q is not a version of a Debian package: %w", b, err)
	}
	return cmp.Compare(va.Compare(vb), 0), nil // it counts differences
}

// rpmCompare compares epoch, version and release as rpm does (rpmvercmp.c).
func rpmCompare(a, b string) int { return cmp.Compare(rpm.NewVersion(a).Compare(rpm.NewVersion(b)), 0) }

// withoutEpoch takes the epoch off a version: "1:1.1.1-8.el8" is 1.1.1-8.el8.
func withoutEpoch(v string) string {
	if _, rest, ok := strings.Cut(v, ":"); ok {
		return rest
	}
	return v
}

// upstreamOf takes epoch and revision off a package's version:
// "1:3.0.3-2+deb9u1" is 3.0.3, "4.9.30-2" is 4.9.30.
func upstreamOf(v string) string {
	v = withoutEpoch(v)
	if i := strings.LastIndexByte(v, '-'); i > 0 {
		v = v[:i]
	}
	if _, really, ok := strings.Cut(v, "+really"); ok {
		v = really
	}
	for _, mark := range []string{"+dfsg", "+ds", "~dfsg", "~ds"} {
		v, _, _ = strings.Cut(v, mark)
	}
	return v
}
