package udev

import (
	"strings"

	"fettle/internal/fnmatch"
)

// matches compares as udev does: fnmatch(3) without flags, alternatives
// between "|".
func matches(pattern, s string, fold bool) bool {
	if fold {
		pattern, s = strings.ToLower(pattern), strings.ToLower(s)
	}
	for p := range strings.SplitSeq(pattern, "|") {
		if fnmatch.Match(p, s) {
			return true
		}
	}
	return false
}
