package configurationrefused

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/lazy"
)

// Of these services no validator only reads: slaptest makes files beside the database
// (OpenLDAP 2.5), mariadbd --help opens its logs (MariaDB 10.11). fettle reads their files for
// what keeps them from starting.

var ldapFile = lazy.Regexp(`(?i)^(?:olc)?(TLSCertificateFile|TLSCertificateKeyFile|TLSCACertificateFile)(?::|\s)\s*"?(/[^"\s]+)`)

func slapd(ctx context.Context, h *host.Host) verdict {
	for _, f := range []string{"/etc/ldap/slapd.d/cn=config.ldif", "/etc/openldap/slapd.d/cn=config.ldif", "/etc/ldap/slapd.conf"} {
		v, found := missingFiles(ctx, h, f, func(line string) (string, string) {
			if m := ldapFile().FindStringSubmatch(line); m != nil {
				return m[1], m[2]
			}
			return "", ""
		})
		if found {
			return v
		}
	}
	return verdict{}
}

// missingFiles looks whether the files are there that a configuration names; found tells
// whether the configuration itself is there.
func missingFiles(ctx context.Context, h *host.Host, file string, named func(line string) (setting, path string)) (verdict, bool) {
	b, err := h.ReadFile(ctx, file)
	if host.IsAbsent(err) {
		return verdict{}, false
	}
	if err != nil {
		return verdict{err: err}, true
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		setting, name := named(strings.TrimRight(line, "\n"))
		if setting == "" {
			continue
		}
		there, err := h.Exists(ctx, name)
		if err != nil {
			return verdict{err: err}, true
		}
		if !there {
			at := fmt.Sprintf("%s:%d", file, n)
			said := fmt.Sprintf("%s %s, which does not exist", setting, name)
			return verdict{refused: at + ": " + said, ev: trap.Ev(at, "%s", said)}, true
		}
	}
	return verdict{ev: trap.Ev(file, "read")}, true
}

// mariadbGroups are those that the server reads (mariadbd --help, "The following groups are read").
var mariadbGroups = lazy.Regexp(`^(?:mysqld|server|mariadb|mariadbd|mysqld-\d+\.\d+|mariadb-\d+\.\d+|mariadbd-\d+\.\d+|client-server)$`)

var mariadbFiles = []string{"ssl-cert", "ssl-key", "ssl-ca", "ssl-capath", "datadir", "plugin-dir", "tmpdir"}

const mariadbDepth = 10

// mariadb reads the option files as my_load_defaults does (MariaDB 10.11, mysys/my_default.c): a
// line outside a group, and a group without its bracket, end the server where they are in the
// first file, not in one that is included; so does a folder that !includedir names and that is
// not there, and a file that an option names.
func mariadb(ctx context.Context, h *host.Host) verdict {
	for _, f := range []string{"/etc/my.cnf", "/etc/mysql/my.cnf"} {
		if v := mariadbFile(ctx, h, f, 0); v.err != nil || v.refused != "" {
			return v
		}
	}
	return verdict{ev: trap.Ev("my.cnf", "read, with all that it includes")}
}

func mariadbFile(ctx context.Context, h *host.Host, file string, depth int) verdict {
	b, err := h.ReadFile(ctx, file)
	if host.IsAbsent(err) || depth > mariadbDepth {
		return verdict{}
	}
	if err != nil {
		return verdict{err: err}
	}
	group, n := "", 0
	for line := range strings.Lines(string(b)) {
		n++
		at := fmt.Sprintf("%s:%d", file, n)
		line = strings.TrimSpace(line)
		refuse := func(format string, args ...any) verdict {
			said := fmt.Sprintf(format, args...)
			return verdict{refused: at + ": " + said, ev: trap.Ev(at, "%s", said)}
		}
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '!':
			if v := mariadbInclude(ctx, h, line, depth, refuse); v.err != nil || v.refused != "" {
				return v
			}
		case line[0] == '[':
			name, _, ok := strings.Cut(line[1:], "]")
			if !ok && depth == 0 {
				return refuse("wrong group definition")
			} else if !ok {
				return verdict{} // of a file that is included, the rest is left out
			}
			group = strings.TrimSpace(name)
		case group == "" && depth == 0:
			return refuse("an option without a preceding group")
		case group == "":
			return verdict{}
		case mariadbGroups().MatchString(group):
			if v := mariadbOption(ctx, h, line, refuse); v.err != nil || v.refused != "" {
				return v
			}
		}
	}
	return verdict{ev: trap.Ev(file, "read")}
}

func mariadbInclude(ctx context.Context, h *host.Host, line string, depth int, refuse func(string, ...any) verdict) verdict {
	what, name, _ := strings.Cut(line, " ")
	name = path.Clean(strings.TrimSpace(name))
	switch {
	case !path.IsAbs(name):
		return verdict{}
	case what == "!include":
		return mariadbFile(ctx, h, name, depth+1)
	case what != "!includedir":
		return verdict{}
	}
	there, err := h.Exists(ctx, name)
	if err != nil {
		return verdict{err: err}
	}
	if !there {
		return refuse("!includedir %s, which does not exist", name)
	}
	files, err := h.Glob(ctx, name, "*.cnf")
	if err != nil {
		return verdict{err: err}
	}
	for _, f := range files {
		if v := mariadbFile(ctx, h, f, depth+1); v.err != nil || v.refused != "" {
			return v
		}
	}
	return verdict{}
}

func mariadbOption(ctx context.Context, h *host.Host, line string, refuse func(string, ...any) verdict) verdict {
	k, v, ok := strings.Cut(line, "=")
	k = strings.ReplaceAll(strings.TrimSpace(k), "_", "-")
	v = strings.Trim(strings.TrimSpace(v), `"'`)
	if !ok || !slices.Contains(mariadbFiles, k) || !path.IsAbs(v) {
		return verdict{}
	}
	v, _, _ = strings.Cut(v, " #")
	there, err := h.Exists(ctx, strings.TrimSpace(v))
	switch {
	case err != nil:
		return verdict{err: err}
	case !there:
		return refuse("%s = %s, which does not exist", k, v)
	}
	return verdict{}
}
