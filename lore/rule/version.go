package rule

import (
	"cmp"
	"fmt"
	"strconv"
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

// kernelCompare compares upstream versions of Linux: "4.10", "6.1.128",
// "4.12-rc1", which comes before "4.12". What follows is ignored.
func kernelCompare(a, b string) (int, error) {
	ka, err := parseKernel(a)
	if err != nil {
		return 0, err
	}
	kb, err := parseKernel(b)
	if err != nil {
		return 0, err
	}
	for i := range ka {
		if ka[i] != kb[i] {
			if ka[i] < kb[i] {
				return -1, nil
			}
			return 1, nil
		}
	}
	return 0, nil
}

// noRC is the place of a release after all of its candidates.
const noRC = 1 << 30

// parseKernel reads up to four numbers (2.6.32.71 had so many), and -rcN.
func parseKernel(s string) (k [5]int, err error) {
	k[4] = noRC
	rest := strings.TrimPrefix(strings.TrimSpace(s), "v")
	for i := range 4 {
		end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(rest)
		}
		n, err := strconv.Atoi(rest[:end])
		if err != nil {
			return k, fmt.Errorf("%q is not a version of Linux", s)
		}
		k[i], rest = n, rest[end:]
		if !strings.HasPrefix(rest, ".") || len(rest) < 2 || rest[1] < '0' || rest[1] > '9' {
			if i == 0 {
				return k, fmt.Errorf("%q is not a version of Linux", s)
			}
			break
		}
		rest = rest[1:]
	}
	if rc, ok := strings.CutPrefix(rest, "-rc"); ok {
		end := strings.IndexFunc(rc, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(rc)
		}
		if n, err := strconv.Atoi(rc[:end]); err == nil {
			k[4] = n
		}
	}
	return k, nil
}

// upstreamOf takes epoch and revision off a package's version:
// "1:3.0.3-2+deb9u1" is 3.0.3, "4.9.30-2" is 4.9.30.
func upstreamOf(v string) string {
	if _, rest, ok := strings.Cut(v, ":"); ok {
		v = rest
	}
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
