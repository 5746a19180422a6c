package ssh

import (
	"fmt"
	"strings"
)

// ParseHosts reads host names separated by commas or, in a file, standing on
// lines of their own; "#" begins a comment. A host is what ssh takes: a name of its
// configuration, user@host, or ssh://user@host:port. Names with "*" or "?" are
// patterns, and become what expand makes of them; without expand they are refused.
// Later repetitions are dropped. source names the input in errors.
func ParseHosts(source, text string, into []string, expand func(pattern string) ([]string, error)) ([]string, error) {
	n := 0
	seen := map[string]bool{}
	for _, h := range into {
		seen[h] = true
	}
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) { // Windows' editors begin with one
		n++
		line, _, _ = strings.Cut(line, "#")
		for h := range strings.SplitSeq(line, ",") {
			if h = strings.TrimSpace(h); h == "" {
				continue
			}
			names, err := []string{h}, error(nil)
			if expand != nil && strings.ContainsAny(h, "*?") {
				if names, err = expand(h); err != nil {
					return nil, fmt.Errorf("%s:%d: %w", source, n, err)
				}
			}
			for _, h := range names {
				if err := validHost(h); err != nil {
					return nil, fmt.Errorf("%s:%d: host %q %w", source, n, h[:min(len(h), 100)], err)
				}
				if !seen[h] {
					seen[h] = true
					into = append(into, h)
				}
			}
		}
	}
	return into, nil
}

// hostLimit is the longest a host may be, in bytes: a user, and a name as
// getnameinfo(3) bounds it (NI_MAXHOST).
const hostLimit = 1100

func validHost(h string) error {
	if h[0] == '-' {
		return fmt.Errorf("begins with -")
	}
	if len(h) > hostLimit {
		return fmt.Errorf("is longer than %d bytes", hostLimit)
	}
	if user, name, ok := strings.Cut(h, "@"); ok && !strings.HasPrefix(h, "ssh://") {
		name = name[strings.LastIndexByte(name, '@')+1:] // ssh takes the last, ssh(1)
		switch {
		case user == "" || name == "":
			return fmt.Errorf("lacks a name beside the @")
		case name[0] == '-':
			return fmt.Errorf("has a name that begins with -")
		}
	}
	for _, c := range h {
		if c <= ' ' || c == 0x7f || strings.ContainsRune("\"'`$\\;&|<>()*?{}!", c) {
			return fmt.Errorf("contains %q, which a host name cannot", c)
		}
	}
	return nil
}
