package pam

import (
	"path"
	"slices"
	"strings"
)

// fnmatch is fnmatch(3) without flags: "*" matches slashes too.
func fnmatch(pattern, s string) bool {
	const slash = "\x01"
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", slash), strings.ReplaceAll(s, "/", slash))
	return ok && err == nil
}

// Text is a file that a module reads.
type Text struct {
	Content string
	Absent  bool
	Unsafe  bool // world-writable or not a regular file
	Unread  bool // nobody could look
}

// listfile is pam_listfile(8).
func listfile(w *walker, r *Rule, tok token) []outcome {
	onerr := ServiceErr
	if v, _ := r.Value("onerr"); v == "succeed" {
		onerr = Success
	}
	item, _ := r.Value("item")
	sense, _ := r.Value("sense")
	name, _ := r.Value("file")
	apply, limited := r.Value("apply")
	if name == "" || !slices.Contains([]string{"allow", "deny"}, sense) ||
		!slices.Contains([]string{"user", "group", "shell", "tty", "rhost", "ruser"}, item) ||
		limited && apply == "" {
		return either(tok, onerr)
	}
	if limited && item != "user" && item != "group" && item != "ruser" && item != "shell" {
		group, is := strings.CutPrefix(apply, "@")
		if is && !slices.Contains(w.user.Groups, group) || !is && apply != w.user.Name {
			return either(tok, Ignore)
		}
	}
	f := w.sim.Texts[name]
	switch {
	case item == "tty" || item == "rhost" || item == "ruser":
		return either(tok, Success, AuthErr)
	case f.Unread:
		return either(tok, Success, AuthErr, onerr)
	case f.Absent:
		return either(tok, onerr)
	case f.Unsafe:
		return either(tok, AuthErr)
	}
	found := false
	for line := range strings.Lines(f.Content) {
		line = strings.TrimRight(line, "\r\n")
		switch item {
		case "user":
			found = found || line != "" && line == w.user.Name
		case "group":
			found = found || slices.Contains(w.user.Groups, line)
		case "shell":
			found = found || line == w.user.Shell
		}
	}
	return either(tok, verdictOf(found == (sense == "allow"), AuthErr))
}

// access is pam_access(8): the first line that matches decides, and nobody is
// refused by none. Where somebody comes from is not known here.
func access(w *walker, r *Rule, tok token) []outcome {
	name, ok := r.Value("accessfile")
	if !ok {
		name = "/etc/security/access.conf"
	}
	refuse := PermDenied
	f := w.sim.Texts[name]
	switch {
	case f.Unread:
		return either(tok, Success, refuse)
	case f.Absent:
		return either(tok, refuse, Success)
	}
	sep := ":"
	if v, ok := r.Value("fieldsep"); ok && v != "" {
		sep = v[:1]
	}
	may := map[Code]bool{}
	for line := range strings.Lines(f.Content) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		p := strings.SplitN(line, sep, 3)
		if len(p) != 3 {
			continue // logged and skipped
		}
		matches, known := w.among(strings.Fields(p[1]), r.Arg("nodefgroup"))
		if known && !matches {
			continue
		}
		code := verdictOf(strings.TrimSpace(p[0]) == "+", refuse)
		may[code] = true
		if known && strings.TrimSpace(p[2]) == "ALL" {
			return codesOf(tok, may)
		}
	}
	may[Success] = true
	return codesOf(tok, may)
}

func codesOf(tok token, may map[Code]bool) []outcome {
	var out []outcome
	for _, c := range []Code{Success, PermDenied} {
		if may[c] {
			out = append(out, outcome{c, tok})
		}
	}
	return out
}

// among reports whether a list of access.conf means the user.
func (w *walker) among(list []string, nodefgroup bool) (matches, known bool) {
	if i := slices.Index(list, "EXCEPT"); i >= 0 {
		m, k1 := w.among(list[:i], nodefgroup)
		e, k2 := w.among(list[i+1:], nodefgroup)
		return m && !e, k1 && k2
	}
	known = true
	for _, t := range list {
		switch {
		case t == "ALL", t == w.user.Name:
			return true, true
		case strings.HasPrefix(t, "("):
			if slices.Contains(w.user.Groups, strings.Trim(t, "()")) {
				return true, true
			}
		case strings.HasPrefix(t, "@"), strings.Contains(t, "@"), strings.HasPrefix(t, "+"):
			known = false // a netgroup, a host
		case !nodefgroup && slices.Contains(w.user.Groups, t):
			return true, true
		}
	}
	return false, known
}
