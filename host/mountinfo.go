package host

import (
	"strconv"
	"strings"
)

// MountInfo is one line of proc_pid_mountinfo(5).
type MountInfo struct {
	Major, Minor uint32
	Root         string // what of the file system is mounted
	Point        string
	Options      string // of the mount; the file system has more
	Type, Device string
}

// ParseMountinfo reads proc_pid_mountinfo(5). A later mount on the same point
// hides the earlier one, in whose place it is told.
func ParseMountinfo(text string) []MountInfo {
	var out []MountInfo
	at := map[string]int{}
	for line := range strings.Lines(text) {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 6 || len(r) < 2 {
			continue
		}
		major, minor, _ := strings.Cut(l[2], ":")
		maj, _ := strconv.ParseUint(major, 10, 32)
		mnr, _ := strconv.ParseUint(minor, 10, 32)
		m := MountInfo{uint32(maj), uint32(mnr), unescapeMount(l[3]), unescapeMount(l[4]), l[5], r[0], unescapeMount(r[1])}
		if i, ok := at[m.Point]; ok {
			out[i] = m
			continue
		}
		at[m.Point] = len(out)
		out = append(out, m)
	}
	return out
}

// unescapeMount undoes the octal escapes of space, tab, newline, backslash and
// hash (fs/proc_namespace.c, mangle).
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#").Replace(s)
}
