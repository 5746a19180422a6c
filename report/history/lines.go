package history

import "strings"

// Lines are the lines that only one of two texts has, in their order; a line
// that occurs twice in one and once in the other counts once. It costs linear
// time, also for texts that share nothing.
func Lines(a, b string) (gone, come []string) {
	return without(a, b), without(b, a)
}

// without are the lines of a that b does not have.
func without(a, b string) []string {
	have := map[string]int{}
	for l := range strings.Lines(b) {
		have[strings.TrimRight(l, "\n")]++
	}
	var out []string
	for l := range strings.Lines(a) {
		l = strings.TrimRight(l, "\n")
		if have[l] > 0 {
			have[l]--
			continue
		}
		out = append(out, l)
	}
	return out
}
