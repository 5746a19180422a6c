// Package kernelversion reads and compares versions of Linux, as uname -r and
// changelogs write them.
package kernelversion

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Version is an upstream version: up to four numbers (2.6.32.71 had so many)
// and the release candidate. The zero value is before every version.
type Version [5]int

// final is the place of a release after all of its candidates.
const final = 1 << 30

// Parse reads "4.10", "v6.1.128", "4.12-rc1", and the beginning of a release
// such as 6.1.0-30-amd64: what follows the version is ignored, so that
// 3.10.0-862.el7 is 3.10. A distribution's own fixes do not show in it.
func Parse(s string) (Version, error) {
	v := Version{4: final}
	rest := strings.TrimPrefix(strings.TrimSpace(s), "v")
	for i := range 4 {
		n, after, ok := number(rest)
		if !ok {
			return Version{}, fmt.Errorf("%q is not a version of Linux", s)
		}
		v[i], rest = n, after
		if !strings.HasPrefix(rest, ".") || len(rest) < 2 || !digit(rest[1]) {
			if i == 0 {
				return Version{}, fmt.Errorf("%q is not a version of Linux", s)
			}
			break
		}
		rest = rest[1:]
	}
	if rc, ok := strings.CutPrefix(rest, "-rc"); ok {
		if n, _, ok := number(rc); ok {
			v[4] = min(n, final-1)
		}
	}
	return v, nil
}

// number takes the digits that s begins with.
func number(s string) (n int, rest string, ok bool) {
	end := 0
	for end < len(s) && digit(s[end]) {
		end++
	}
	n, err := strconv.Atoi(s[:end])
	return n, s[end:], err == nil
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// Compare is -1 where v is before w, 1 where it is after it, and otherwise 0.
func (v Version) Compare(w Version) int { return slices.Compare(v[:], w[:]) }

// Before reports whether v is before the version that text says, which must be
// one: Before("4.12") is true of 4.11.9 and of 4.12-rc7.
func (v Version) Before(text string) bool {
	w, err := Parse(text)
	if err != nil {
		panic("kernelversion: " + err.Error())
	}
	return v.Compare(w) < 0
}

// Candidate is the number of a release candidate; 0 of a release.
func (v Version) Candidate() int {
	if v[4] == final {
		return 0
	}
	return v[4]
}

// Compare compares two versions.
func Compare(a, b string) (int, error) {
	va, err := Parse(a)
	vb, err2 := Parse(b)
	return va.Compare(vb), cmp.Or(err, err2)
}
