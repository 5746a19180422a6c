// Package update tells what an installation by apt will do to the host: which known faults come
// with the new versions, which services restart, which configuration files may be asked about.
package update

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"fettle/internal/lazy"
)

// Change is what apt does to one package.
type Change struct {
	Name string `json:"name"`
	Arch string `json:"arch,omitempty"`
	Old  string `json:"old,omitempty"` // the installed version; empty where none is, or nobody says
	New  string `json:"new,omitempty"` // empty where the package is removed
}

// Removes tells whether the package goes.
func (c *Change) Removes() bool { return c.New == "" }

// The bounds of what is read: apt's configuration has some 1,000 lines, an upgrade of the distribution 5,000 packages.
const (
	maxLines   = 200_000
	maxLine    = 64 << 10 // bytes
	maxChanges = 20_000
)

// ReadApt reads what apt writes to a command of DPkg::Pre-Install-Pkgs, in any version of that
// protocol (apt.conf(5); apt 2.6.1, apt-pkg/deb/dpkgpm.cc, SendPkgsInfo): version 3 is
//
//	VERSION 3
//	NAME=VALUE             apt's configuration, then an empty line
//	NAME OLD ARCH MULTIARCH DIRECTION NEW ARCH MULTIARCH FILE
//
// where a version that is not is "-", FILE is **REMOVE**, **CONFIGURE** or the package's path.
// Version 2 lacks ARCH and MULTIARCH; version 1 is paths alone.
func ReadApt(r io.Reader) ([]Change, error) {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4096), maxLine)
	var out []Change
	version, conf := 1, false
	for n := 0; s.Scan(); n++ {
		line := s.Text()
		switch {
		case n > maxLines || len(out) >= maxChanges:
			return nil, errors.New("what apt said is too long")
		case n == 0 && strings.HasPrefix(line, "VERSION "):
			if _, err := fmt.Sscanf(line, "VERSION %d", &version); err != nil || version < 2 || version > 3 {
				return nil, fmt.Errorf("apt speaks %q, which fettle does not understand", line)
			}
			conf = true
		case conf:
			conf = line != ""
		case line != "":
			c, err := aptLine(version, line)
			if err != nil {
				return nil, fmt.Errorf("line %d of what apt said: %w", n+1, err)
			}
			if c != nil {
				out = append(out, *c)
			}
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("reading what apt said: %w", err)
	}
	return out, nil
}

// aptLine is a package's line; nil where nothing is unpacked or removed.
func aptLine(version int, line string) (*Change, error) {
	f := strings.Fields(line)
	var c Change
	var file string
	switch {
	case version == 1:
		name, rest, ok := strings.Cut(strings.TrimSuffix(path.Base(line), ".deb"), "_")
		v, arch, ok2 := strings.Cut(rest, "_")
		if !ok || !ok2 {
			return nil, fmt.Errorf("%q is not the path of a package", line)
		}
		return &Change{Name: name, New: strings.ReplaceAll(v, "%3a", ":"), Arch: arch}, nil
	case version == 2 && len(f) == 5:
		c, file = Change{Name: f[0], Old: f[1], New: f[3]}, f[4]
	case version == 3 && len(f) == 9:
		c, file = Change{Name: f[0], Old: f[1], New: f[5], Arch: f[6]}, f[8]
		if c.Arch == "-" {
			c.Arch = f[2]
		}
	default:
		return nil, fmt.Errorf("%d words: %q", len(f), line)
	}
	if c.Old == "-" {
		c.Old = ""
	}
	if c.New == "-" || file == "**REMOVE**" {
		c.New = ""
	}
	if file == "**CONFIGURE**" { // it has been told before, when it was unpacked
		return nil, nil
	}
	return &c, nil
}

// inst and remv are lines of apt-get -s (apt 2.6.1, apt-pkg/algorithms.cc, pkgSimulate):
//
//	Inst NAME[:ARCH] [OLD] (NEW ORIGIN … [ARCH])
//	Remv NAME[:ARCH] [OLD]
var (
	inst = lazy.Regexp(`^Inst ([^ :]+)(?::(\S+))?(?: \[([^\]]*)\])? \((\S+) [^)]*\[(\w+)\]\)`)
	remv = lazy.Regexp(`^(?:Remv|Purg) ([^ :]+)(?::(\S+))?(?: \[([^\]]*)\])?`)
)

// ReadSimulation reads what apt-get -s prints (host.AptSimulation).
func ReadSimulation(text string) []Change {
	var out []Change
	for line := range strings.Lines(text) {
		if m := inst().FindStringSubmatch(line); m != nil {
			out = append(out, Change{Name: m[1], Old: m[3], New: m[4], Arch: m[5]})
		} else if m := remv().FindStringSubmatch(line); m != nil {
			out = append(out, Change{Name: m[1], Arch: m[2], Old: m[3]})
		}
		if len(out) == maxChanges {
			break
		}
	}
	return out
}

// kept are the headings of packages that are not upgraded: of apt 2.6.1 and 3.0.3 (apt-private/private-output.cc), the
// second those whose turn has not come (Ubuntu's phased updates).
var kept = lazy.Regexp(`^(?:The following packages have been kept back|The following upgrades have been deferred due to phasing|` +
	`Not upgrading|Not upgrading yet due to phasing):\s*$`)

// ReadKeptBack reads from the same which packages apt does not upgrade: indented names below a heading.
func ReadKeptBack(text string) (out []string) {
	below := false
	for line := range strings.Lines(text) {
		if below = kept().MatchString(line) || below && strings.HasPrefix(line, "  "); below && line[0] == ' ' {
			out = append(out, strings.Fields(line)...)
		}
	}
	return out[:min(len(out), maxChanges)]
}
