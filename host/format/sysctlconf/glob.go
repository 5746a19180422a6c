package sysctlconf

import (
	"strings"

	"fettle/internal/fnmatch"
)

// isGlob is systemd's string_is_glob (src/basic/glob-util.h).
func isGlob(key string) bool { return strings.ContainsAny(key, "*?[") }

// match is glob(3) over paths: wildcards stop at a slash, and do not match a
// leading dot. A bracket that is never closed is an ordinary character.
func match(pattern, name string) bool {
	ps, ns := strings.Split(pattern, "/"), strings.Split(name, "/")
	if len(ps) != len(ns) {
		return false
	}
	for i, p := range ps {
		if strings.HasPrefix(ns[i], ".") && !strings.HasPrefix(p, ".") || !fnmatch.Match(p, ns[i]) {
			return false
		}
	}
	return true
}
