package sample

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"fettle/host"
)

// listed reads the sections units and packages.
func (s *Source) listed(section, text string) error {
	if section == "units" {
		s.stats["/run/systemd/system"] = host.Info{Mode: fs.ModeDir | 0o755, Nlink: 2}
		s.units = map[string]host.Unit{}
	}
	var dpkg, rpm strings.Builder
	out := &dpkg
	for line := range strings.Lines(text + "\n") {
		line = strings.TrimSpace(line)
		switch f := strings.Fields(line); {
		case line == "# rpm":
			out = &rpm
		case line == "" || line[0] == '#':
		case section == "packages" && len(f) == 2 && out == &dpkg:
			fmt.Fprintf(out, "Package: %s\nStatus: install ok installed\nArchitecture: amd64\nVersion: %s\n\n", f[0], f[1])
		case section == "packages" && len(f) == 2:
			fmt.Fprintf(out, "%s\t%s\tx86_64\n", f[0], f[1])
		case section == "units" && (len(f) == 4 || len(f) == 5):
			u := host.Unit{Name: f[0], LoadState: f[1], ActiveState: f[2], SubState: f[3]}
			if len(f) == 5 {
				u.UnitFileState = f[4]
			}
			s.units[f[0]] = u
		case section == "units":
			return fmt.Errorf("%q: a line is name, load, active and sub state, and state of the file", line)
		default:
			return fmt.Errorf("%q: a line is a package's name and version", line)
		}
	}
	switch {
	case section == "units":
	case out == &rpm:
		s.stats["/var/lib/rpm"] = host.Info{Mode: fs.ModeDir | 0o755, Nlink: 2}
		s.rpms = rpm.String()
	default:
		s.files["/var/lib/dpkg/status"] = []byte(dpkg.String())
	}
	return nil
}

// show answers systemctl show from the section units, and rpm -qa from packages.
func (s *Source) show(c host.Command) (host.Output, bool) {
	if c.Name == "rpm" && s.rpms != "" {
		return host.Output{Stdout: []byte(s.rpms)}, true
	}
	dash := slices.Index(c.Args, "--")
	if s.units == nil || c.Name != "systemctl" || dash < 1 || c.Args[0] != "show" {
		return host.Output{}, false
	}
	var b strings.Builder
	for _, name := range c.Args[dash+1:] {
		u, ok := s.units[name]
		if !ok {
			u = host.Unit{LoadState: "not-found", ActiveState: "inactive", SubState: "dead"}
		}
		fmt.Fprintf(
			&b,
			"Id=%s\nLoadState=%s\nActiveState=%s\nSubState=%s\nUnitFileState=%s\n\n",
			name,
			u.LoadState,
			u.ActiveState,
			u.SubState,
			u.UnitFileState,
		)
	}
	return host.Output{Stdout: []byte(b.String())}, true
}
