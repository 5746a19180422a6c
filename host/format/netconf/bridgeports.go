package netconf

import (
	"regexp"
	"strings"
)

// bridgePorts reads the value of bridge_ports (bridge-utils-interfaces(5)):
// names, "none", "all", and regular expressions between regex and noregex,
// which mean the links that are there.
func (r *reader) bridgePorts(v string) []string {
	var out []string
	var words []string
	for _, w := range strings.Fields(v) {
		if w == "all" {
			words = append(words, "regex", "eth.*", "em.*", "en.*", "p[0-9].*", "noregex")
			continue
		}
		words = append(words, w)
	}
	isRegex := false
	for _, w := range words {
		switch {
		case w == "none":
		case w == "regex":
			isRegex = true
		case w == "noregex":
			isRegex = false
		case !isRegex:
			out = append(out, w)
		default:
			re, err := regexp.Compile("^(?:" + w + ")$")
			if err != nil {
				continue // egrep would find nothing either
			}
			for _, l := range r.c.links {
				if re.MatchString(l.Name) {
					out = append(out, l.Name)
				}
			}
		}
	}
	return out
}
