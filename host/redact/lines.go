package redact

import "strings"

// account redacts a line of passwd(5) or group(5). Full names are dropped.
func (r *Redactor) account(line string) string {
	f := strings.Split(line, ":")
	person := len(f) >= 3 && isPerson(f[2])
	for i := range f {
		switch {
		case i == 0 && person:
			f[0] = r.User(f[0])
		case i == 1 && f[1] != "x" && f[1] != "*" && f[1] != "!":
			f[1] = "x"
		case i == 3 && len(f) == 4: // members of a group
			m := strings.Split(f[3], ",")
			for j := range m {
				m[j] = r.member(m[j])
			}
			f[3] = strings.Join(m, ",")
		case i == 4 && len(f) >= 7:
			f[4] = ""
		case i == 5 && len(f) >= 7:
			f[5] = r.Path(f[5])
		default:
			f[i] = r.Text(f[i])
		}
	}
	return strings.Join(f, ":")
}

// member keeps system accounts and replaces people, as Text would, but knows
// that the word is a user.
func (r *Redactor) member(name string) string {
	if kind, ok := r.names[strings.ToLower(name)]; ok {
		return r.pseudonym(kind, name)
	}
	if r.people[name] {
		return r.User(name)
	}
	return r.Text(name)
}

// isPerson: Debian, Red Hat and systemd give people numbers from 1000 on
// (login.defs(5) UID_MIN); 65534 is nobody.
func isPerson(uid string) bool {
	return len(uid) >= 4 && strings.Trim(uid, "0123456789") == "" && uid != "65534"
}

func (r *Redactor) hostsLine(line string) string {
	line, _, _ = strings.Cut(line, "#")
	return eachField(line, func(i int, f string) string {
		if i == 0 {
			return r.Text(f)
		}
		return r.Host(f)
	})
}

func (r *Redactor) resolvLine(line string) string {
	named := strings.HasPrefix(line, "search") || strings.HasPrefix(line, "domain")
	return eachField(line, func(i int, f string) string {
		if i > 0 && named {
			return strings.TrimPrefix(r.Host("x."+f), r.Host("x")+".")
		}
		return r.Text(f)
	})
}

// dpkgLine keeps the fields that checks read; versions hold no addresses.
func (r *Redactor) dpkgLine(line string) string {
	for _, f := range []string{"Package: ", "Status: ", "Architecture: ", "Version: ", "Source: ", "Depends: ", "Pre-Depends: "} {
		switch {
		case f == "Version: " && strings.HasPrefix(line, f):
			return f + r.version(line[len(f):])
		case strings.HasPrefix(line, f):
			return f + r.words(line[len(f):])
		}
	}
	switch {
	case strings.TrimSpace(line) == "":
		return ""
	case strings.HasPrefix(line, " /etc/sysctl.d/"): // of Conffiles: which of these files a package brought
		return " " + r.Path(line[1:])
	}
	return "Redacted: yes"
}
