// Package aptsources reads sources.list(5): where apt fetches packages from.
package aptsources

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fettle/host"
	"fettle/internal/lazy"
)

// Source is one repository.
type Source struct {
	URI        string // without a slash at its end
	Suite      string
	Components []string
	From       string // "/etc/apt/sources.list:3"
	// Signed tells that Signed-By limits whose keys count; Keys are the files
	// that it names. It may name fingerprints, or hold the key itself.
	Signed bool
	Keys   []string
	// Trusted tells that apt takes it for signed, whatever its keys.
	Trusted bool
	// Inline is the key that Signed-By holds itself, armored, or what is in
	// its place and is none.
	Inline string
}

// Read lists the enabled repositories of binary packages, in apt's order. The
// error is of the first file that could not be read.
func Read(ctx context.Context, h *host.Host) (out []Source, err error) {
	b, err := h.ReadFile(ctx, "/etc/apt/sources.list")
	if host.IsAbsent(err) {
		err = nil
	}
	out = oneLine("/etc/apt/sources.list", string(b))
	files, derr := h.Glob(ctx, "/etc/apt/sources.list.d", "*")
	if err == nil {
		err = derr
	}
	for _, f := range files {
		parse := oneLine
		switch {
		case strings.HasSuffix(f, ".sources"):
			parse = deb822
		case !strings.HasSuffix(f, ".list"):
			continue
		}
		b, rerr := h.ReadFile(ctx, f)
		if err == nil && !host.IsAbsent(rerr) {
			err = rerr
		}
		out = append(out, parse(f, string(b))...)
	}
	return out, err
}

// oneLine is the form "deb [options] uri suite component…".
func oneLine(file, text string) (out []Source) {
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != "deb" {
			continue
		}
		f = f[1:]
		signedBy, trusted := "", ""
		if len(f) > 0 && strings.HasPrefix(f[0], "[") {
			end := slices.IndexFunc(f, func(w string) bool { return strings.HasSuffix(w, "]") })
			for _, w := range f[:end+1] {
				switch key, v, _ := strings.Cut(strings.Trim(w, "[]"), "="); key {
				case "signed-by":
					signedBy = v
				case "trusted":
					trusted = v
				}
			}
			f = f[end+1:]
		}
		if len(f) >= 2 {
			out = append(
				out,
				Source{
					strings.TrimRight(f[0], "/"), f[1], f[2:], fmt.Sprintf("%s:%d", file, i+1),
					signedBy != "", keyFiles(signedBy), yes(trusted), "",
				},
			)
		}
	}
	return out
}

// deb822 is the form of stanzas.
func deb822(file, text string) (out []Source) {
	fields, begun, name, armor := map[string]string{}, 0, "", ""
	end := func() {
		if !strings.EqualFold(fields["enabled"], "no") && slices.Contains(strings.Fields(fields["types"]), "deb") {
			for _, uri := range strings.Fields(fields["uris"]) {
				for _, suite := range strings.Fields(fields["suites"]) {
					out = append(
						out,
						Source{
							strings.TrimRight(uri, "/"),
							suite,
							strings.Fields(fields["components"]),
							fmt.Sprintf("%s:%d", file, begun),
							fields["signed-by"] != "",
							keyFiles(fields["signed-by"]),
							yes(fields["trusted"]),
							inline(fields["signed-by"], armor),
						},
					)
				}
			}
		}
		clear(fields)
		begun, name, armor = 0, "", ""
	}
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			end()
		case line[0] == ' ' || line[0] == '\t':
			fields[name] += " " + strings.TrimSpace(line)
			if name == "signed-by" && (armor != "" || strings.Contains(line, "-----BEGIN PGP")) {
				// A line of the key that is empty is written as a dot.
				armor += strings.TrimPrefix(strings.TrimSpace(line), ".") + "\n"
			}
		default:
			if begun == 0 {
				begun = i + 1
			}
			key, value, _ := strings.Cut(line, ":")
			name = strings.ToLower(strings.TrimSpace(key))
			fields[name] = strings.TrimSpace(value)
		}
	}
	end()
	return out
}

// keyFiles are the files that Signed-By names: absolute paths between commas or
// blanks (sources.list(5)).
func keyFiles(signedBy string) (out []string) {
	if strings.Contains(signedBy, "-----BEGIN PGP") {
		return nil
	}
	for _, w := range words(signedBy) {
		if strings.HasPrefix(w, "/") {
			out = append(out, w)
		}
	}
	return out
}

// yes is what apt takes for it (StringToBool in apt-pkg/contrib/strutl.cc).
func yes(s string) bool {
	return slices.Contains([]string{"yes", "true", "with", "on", "enable", "1"}, strings.ToLower(s))
}

// words are what is between commas or blanks.
func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' })
}

var fingerprint = lazy.Regexp(`^[0-9A-Fa-f]{16,64}!?$`)

// inline is armor, or where there is none the value that names neither files nor keys.
func inline(signedBy, armor string) string {
	named := words(signedBy)
	if armor != "" || len(named) == 0 ||
		slices.ContainsFunc(named, func(w string) bool { return strings.HasPrefix(w, "/") || fingerprint().MatchString(w) }) {
		return armor
	}
	return signedBy
}
