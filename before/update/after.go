package update

import (
	"bytes"
	"context"
	"strings"

	"fettle/host"
)

const statusFile = "/var/lib/dpkg/status"

// after is the host as dpkg will describe it when the changes are made: the same in all but the versions of packages.
type after struct {
	host.Source
	changes map[string]*Change // by name
}

func newAfter(src host.Source, changes []Change) *after {
	a := &after{Source: src, changes: map[string]*Change{}}
	for i := range changes {
		a.changes[changes[i].Name] = &changes[i]
	}
	return a
}

// ReadFile has dpkg's status with the new versions.
func (a *after) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	b, err := a.Source.ReadFile(ctx, name, limit)
	if err != nil || name != statusFile {
		return b, err
	}
	return a.status(b), nil
}

// status rewrites dpkg's status: paragraphs of "Field: value" lines (deb-control(5)).
func (a *after) status(b []byte) []byte {
	var out bytes.Buffer
	seen := map[string]bool{}
	for p := range bytes.SplitSeq(b, []byte("\n\n")) {
		text := string(bytes.Trim(p, "\n"))
		if text == "" {
			continue
		}
		c := a.changes[field(text, "Package")]
		if c != nil && (c.Arch == "" || field(text, "Architecture") == c.Arch || field(text, "Architecture") == "all" || c.Arch == "all") {
			if c.Removes() {
				continue
			}
			seen[c.Name] = true
			text = replaced(text, "Version", c.New)
			text = replaced(text, "Status", "install ok installed")
		}
		out.WriteString(text + "\n\n")
	}
	for name, c := range a.changes {
		if !seen[name] && !c.Removes() {
			out.WriteString("Package: " + name + "\nStatus: install ok installed\nArchitecture: " + c.Arch + "\nVersion: " + c.New + "\n\n")
		}
	}
	return out.Bytes()
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
