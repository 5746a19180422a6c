package update

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"fettle/host"
)

// view is the host as dpkg describes it when changes are made, or none: the same in all but the versions of packages.
// Of packages that the host has for several architectures it shows those of one, if that is given.
type view struct {
	host.Source
	changes map[string]*Change // by name and architecture
	several map[string]bool
	arch    string
}

func newView(src host.Source, changes []Change) *view {
	v := &view{Source: src, changes: map[string]*Change{}, several: map[string]bool{}}
	for i := range changes {
		v.changes[changes[i].key()] = &changes[i]
	}
	return v
}

func (c *Change) key() string { return c.Name + ":" + c.Arch }

// of is the change of a package: apt's version 2 names no architecture, and a package may become one for all, or be it no more.
func (v *view) of(name, arch string) *Change {
	for _, a := range []string{arch, "", "all"} {
		if c := v.changes[name+":"+a]; c != nil {
			return c
		}
	}
	if arch == "all" {
		for _, c := range v.changes {
			if c.Name == name {
				return c
			}
		}
	}
	return nil
}

// ReadFile has dpkg's status with the new versions.
func (v *view) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	b, err := v.Source.ReadFile(ctx, name, limit)
	if err != nil || name != host.DpkgStatus {
		return b, err
	}
	return v.status(b), nil
}

// status rewrites dpkg's status: paragraphs of "Field: value" lines (deb-control(5)).
func (v *view) status(b []byte) []byte {
	var out bytes.Buffer
	seen := map[*Change]bool{}
	for p := range bytes.SplitSeq(b, []byte("\n\n")) {
		text := string(bytes.Trim(p, "\n"))
		if text == "" {
			continue
		}
		name, arch := field(text, "Package"), field(text, "Architecture")
		c := v.of(name, arch)
		if c != nil {
			seen[c] = true
			if c.Removes() {
				continue
			}
			text = replaced(text, "Version", c.New)
			text = replaced(text, "Status", "install ok installed")
		}
		if v.shows(name, arch) {
			out.WriteString(text + "\n\n")
		}
	}
	for _, c := range v.changes {
		if !seen[c] && !c.Removes() && v.shows(c.Name, c.Arch) {
			out.WriteString("Package: " + c.Name + "\nStatus: install ok installed\nArchitecture: " + c.Arch + "\nVersion: " + c.New + "\n\n")
		}
	}
	return out.Bytes()
}

func (v *view) shows(name, arch string) bool {
	return v.arch == "" || arch == v.arch || !v.several[name]
}

// architectures are those of packages that the host has, or will have, for several, with the packages' names: such
// versions are judged one by one, since traps look at one package of a name (dpkg(1), Multi-Arch).
func architectures(all []host.Package, changes []Change) (arches []string, several map[string]bool) {
	of := map[string][]string{}
	add := func(name, arch string) {
		if arch != "" && !slices.Contains(of[name], arch) {
			of[name] = append(of[name], arch)
		}
	}
	for _, p := range all {
		if p.Installed() {
			add(p.Name, p.Arch)
		}
	}
	for _, c := range changes {
		add(c.Name, c.Arch)
	}
	several = map[string]bool{}
	for _, c := range changes {
		if len(of[c.Name]) > 1 {
			several[c.Name] = true
			for _, a := range of[c.Name] {
				if !slices.Contains(arches, a) {
					arches = append(arches, a)
				}
			}
		}
	}
	return arches, several
}

// field is the value of a field in a paragraph.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// replaced is the paragraph with another value of the field, if it has it.
func replaced(text, name, value string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, name+":") {
			lines[i] = name + ": " + value
		}
	}
	return strings.Join(lines, "\n")
}
