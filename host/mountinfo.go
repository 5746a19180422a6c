package host

import (
	"iter"
	"strconv"
	"strings"
)

// MountInfo is one line of proc_pid_mountinfo(5).
type MountInfo struct {
	Major, Minor uint32
	Root         string // what of the file system is mounted
	Point        string
	Options      string // as proc_pid_mounts(5) shows them: of the mount, then of the file system
	Type, Device string
}

// ParseMountinfo reads proc_pid_mountinfo(5). A later mount on the same point
// hides the earlier one, in whose place it is listed.
func ParseMountinfo(text string) []MountInfo {
	var out []MountInfo
	at := map[string]int{}
	for m := range EachMount(text) {
		if i, ok := at[m.Point]; ok {
			out[i] = m
			continue
		}
		at[m.Point] = len(out)
		out = append(out, m)
	}
	return out
}

// EachMount reads proc_pid_mountinfo(5): all mounts, also those that a later one on
// the same point hides.
func EachMount(text string) iter.Seq[MountInfo] {
	return func(yield func(MountInfo) bool) {
		for line := range strings.Lines(text) {
			if m, ok := parseMount(line); ok && !yield(m) {
				return
			}
		}
	}
}

func parseMount(line string) (m MountInfo, ok bool) {
	left, right, ok := strings.Cut(line, " - ")
	l, r := strings.Fields(left), strings.Fields(right)
	if !ok || len(l) < 6 || len(r) < 2 {
		return m, false
	}
	major, minor, _ := strings.Cut(l[2], ":")
	maj, _ := strconv.ParseUint(major, 10, 32)
	mnr, _ := strconv.ParseUint(minor, 10, 32)
	m = MountInfo{uint32(maj), uint32(mnr), unescapeMount(l[3]), unescapeMount(l[4]), l[5], r[0], unescapeMount(r[1])}
	if len(r) > 2 {
		m.Options = joinOptions(l[5], r[2])
	}
	return m, true
}

// joinOptions puts a mount's options and its file system's together as
// /proc/mounts does: it is read-only if either is, as after errors=remount-ro
// (fs/proc_namespace.c, show_vfsmnt).
func joinOptions(mount, super string) string {
	write, rest, _ := strings.Cut(mount, ",")
	superWrite, more, _ := strings.Cut(super, ",")
	if superWrite == "ro" {
		write = "ro"
	}
	out := write
	for _, o := range []string{rest, more} {
		if o != "" {
			out += "," + o
		}
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
