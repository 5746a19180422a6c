// Package osrelease reads os-release(5), which names the distribution, or the file that
// named it before there was one.
package osrelease

import (
	"context"
	"slices"
	"strings"

	"fettle/host"
)

// File is what an os-release file says, or an older one in its words. The zero File is of
// a host without any.
type File struct {
	Path   string // which was read
	Fields map[string]string
}

// Read reads /etc/os-release, or where that is missing /usr/lib/os-release; where
// neither can be read, the older files. The error is of os-release.
func Read(ctx context.Context, h *host.Host) (File, error) {
	var first error
	for _, name := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		b, err := h.ReadFile(ctx, name)
		switch {
		case err == nil:
			return File{Path: name, Fields: Parse(string(b))}, nil
		case !host.IsAbsent(err) && first == nil:
			first = err
		}
	}
	for _, o := range older {
		b, err := h.ReadFile(ctx, o.path)
		if err != nil {
			if !host.IsAbsent(err) && first == nil {
				first = err
			}
			continue
		}
		if fields := o.read(string(b)); fields["ID"] != "" {
			return File{Path: o.path, Fields: fields}, nil
		}
	}
	return File{}, first
}

// Parse reads the assignments; what is none is skipped, as
// systemd's parser does. A later one replaces an earlier.
func Parse(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && key != "" && key[0] != '#' {
			fields[key] = unquote(value)
		}
	}
	return fields
}

// unquote takes a value as a shell would: quoted in one way or not at all, with
// backslashes before " $ \ and ` in double quotes.
func unquote(s string) string {
	if len(s) < 2 || s[0] != s[len(s)-1] || s[0] != '"' && s[0] != '\'' {
		return s
	}
	inner := s[1 : len(s)-1]
	if s[0] == '\'' || !strings.Contains(inner, `\`) {
		return inner
	}
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`, "\\`", "`").Replace(inner)
}

// ID is the distribution's: "debian".
func (f File) ID() string { return f.Fields["ID"] }

// Is reports whether it is a distribution, or made from it (ID_LIKE).
func (f File) Is(id string) bool {
	return f.ID() == id || slices.Contains(strings.Fields(f.Fields["ID_LIKE"]), id)
}

// Name is the distribution with its version, short: "Debian 12", "Ubuntu 24.04.1 LTS".
func (f File) Name() string {
	name := f.Fields["PRETTY_NAME"]
	if name == "" {
		name = strings.TrimSpace(f.Fields["NAME"] + " " + f.Fields["VERSION_ID"])
	}
	name = strings.Replace(name, "GNU/Linux ", "", 1)
	if i := strings.LastIndex(name, " ("); i > 0 && strings.HasSuffix(name, ")") { // the code name
		name = name[:i]
	}
	return name
}
