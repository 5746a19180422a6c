package sysctlconf

import "slices"

// Result is what the files say of one key.
type Result struct {
	Key string
	// Winner is the line whose value is written last; nil: nothing sets the key.
	Winner *Setting
	// Excluded is the line that keeps the key from being set.
	Excluded *Setting
	// Losers are the other lines that speak of the key, in the order read.
	Losers []Setting
}

// Value is the winning value; false: nothing sets the key.
func (r Result) Value() (string, bool) {
	if r.Winner == nil {
		return "", false
	}
	return r.Winner.Value, true
}

// Lookup tells what the reader writes to a key (a path below /proc/sys) that
// exists on the host.
func (c *Config) Lookup(key string) Result {
	res := Result{Key: key}
	for _, w := range c.writes() {
		if c.reaches(w, key) {
			res.Winner = &w
		}
	}
	for _, s := range c.Settings {
		if s.Key != key && !match(s.Key, key) || res.Winner != nil && s == *res.Winner {
			continue
		}
		if s.Exclude && res.Winner == nil {
			res.Excluded = &s
			continue
		}
		res.Losers = append(res.Losers, s)
	}
	return res
}

// reaches tells whether the write of w sets key: directly, or as a glob that
// no explicit line overrides.
func (c *Config) reaches(w Setting, key string) bool {
	if !w.Glob() {
		return w.Key == key
	}
	return match(w.Key, key) && !c.shields(key)
}

// shields tells whether globs leave key alone because a line names it.
func (c *Config) shields(key string) bool {
	for _, s := range c.Settings {
		switch {
		case s.Key == key:
			return true
		case c.Reader == Procps && s.Exclude && match(s.Key, key):
			// procps takes patterns after the dash, systemd only names:
			// settinglist_findpath against ordered_hashmap_contains.
			return true
		}
	}
	return false
}

// writes lists the lines that are acted upon, in the order of the writes.
//
// procps writes line by line. systemd keeps a table with one line a key: a
// later line with the same value leaves the earlier in its place, one with
// another value (or a "-key" that excludes it) takes the end of the row. The
// order counts where one write changes several keys, as all/forwarding does,
// and where two globs match the same key. systemd src/sysctl/sysctl.c, parse_file.
func (c *Config) writes() []Setting {
	var out []Setting
	for _, s := range c.Settings {
		if c.Reader == Systemd {
			i := slices.IndexFunc(out, func(o Setting) bool { return o.Key == s.Key })
			if i >= 0 && out[i].Exclude == s.Exclude && out[i].Value == s.Value {
				out[i].Path, out[i].Line = s.Path, s.Line // the later line is the one to edit
				continue
			}
			if i >= 0 {
				out = slices.Delete(out, i, i+1)
			}
			out = append(out, s)
			continue
		}
		if !s.Exclude {
			out = append(out, s)
		}
	}
	if c.Reader == Systemd {
		out = slices.DeleteFunc(out, func(s Setting) bool { return s.Exclude })
	}
	return out
}
