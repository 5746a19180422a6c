package fleet

import (
	"fmt"
	"slices"
	"strings"
)

// ParseHosts reads host names separated by commas or, in a file, standing on
// lines of their own; "#" begins a comment. A host is what ssh takes: a name of its
// configuration, user@host, or ssh://user@host:port. Later repetitions are
// dropped. source names the input in errors.
func ParseHosts(source, text string, into []string) ([]string, error) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(line, "#")
		for h := range strings.SplitSeq(line, ",") {
			if h = strings.TrimSpace(h); h == "" {
				continue
			}
			if err := validHost(h); err != nil {
				return nil, fmt.Errorf("%s:%d: host %q %w", source, n, h, err)
			}
			if !slices.Contains(into, h) {
				into = append(into, h)
			}
		}
	}
	return into, nil
}

func validHost(h string) error {
	if h[0] == '-' {
		return fmt.Errorf("begins with -")
	}
	for _, c := range h {
		if c <= ' ' || c == 0x7f || strings.ContainsRune("\"'`$\\;&|<>()*?{}!", c) {
			return fmt.Errorf("holds %q, which no host name does", c)
		}
	}
	return nil
}
