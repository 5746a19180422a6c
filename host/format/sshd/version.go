package sshd

import (
	"fmt"
	"strconv"

	"fettle/internal/lazy"
)

// Version is a version of OpenSSH. The zero Version is not known.
type Version struct{ Major, Minor int }

// Known reports whether v is known.
func (v Version) Known() bool { return v.Major > 0 }

// AtLeast reports whether v is known and not before major.minor.
func (v Version) AtLeast(major, minor int) bool {
	return v.Known() && (v.Major > major || v.Major == major && v.Minor >= minor)
}

// Before reports whether v is known and before major.minor.
func (v Version) Before(major, minor int) bool { return v.Known() && !v.AtLeast(major, minor) }

func (v Version) String() string {
	if !v.Known() {
		return "unknown version"
	}
	return fmt.Sprintf("%d.%d", v.Major, v.Minor)
}

// packageVersion is "1:9.2p1-2+deb12u3", "8.7p1-38.el9", "7.4p1-22.el7_9".
var packageVersion = lazy.Regexp(`^(?:[0-9]+:)?([0-9]{1,3})\.([0-9]{1,3})(?:\.[0-9]+)?(?:p[0-9]|[-+~_]|$)`)

// ParseVersion reads the version of an OpenSSH package.
func ParseVersion(s string) (Version, bool) {
	m := packageVersion().FindStringSubmatch(s)
	if m == nil {
		return Version{}, false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return Version{major, minor}, major > 0
}
