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

// reaches reports whether the write of w sets key: directly, or as a glob that
// no explicit line overrides.
func (c *Config) reaches(w Setting, key string) bool {
	if !w.Glob() {
		return w.Key == key
	}
	return match(w.Key, key) && !c.exempts(key)
}

// exempts reports whether globs leave key alone because a line names it. Only
// names count after a dash, no patterns: systemd 252 and procps 4.0.2 both.
// (procps' later sources take patterns, too.)
func (c *Config) exempts(key string) bool {
	c.prepare()
	return c.named[key]
}

// writes lists the lines that are acted upon, in the order of the writes.
func (c *Config) writes() []Setting {
	c.prepare()
	return c.order
}

// prepare works out the order of the writes, once.
//
// procps writes line by line. systemd keeps a table with one line a key: a
// later line with the same value leaves the earlier in its place, one with
// another value (or a "-key" that excludes it) takes the end of the row. The
// order counts where one write changes several keys, as all/forwarding does,
// and where two globs match the same key. systemd src/sysctl/sysctl.c, parse_file.
func (c *Config) prepare() {
	c.once.Do(func() {
		c.named = map[string]bool{}
		at := map[string]int{} // key → its place in rows
		var rows []Setting
		for _, s := range c.Settings {
			c.named[s.Key] = true
			if i, ok := at[s.Key]; ok && c.Reader == Systemd {
				if rows[i].Exclude == s.Exclude && rows[i].Value == s.Value {
					rows[i].Path, rows[i].Line = s.Path, s.Line // the later line is the one to edit
					continue
				}
				rows[i].Exclude = true // superseded
			}
			at[s.Key] = len(rows)
			rows = append(rows, s)
		}
		c.order = slices.DeleteFunc(rows, func(s Setting) bool { return s.Exclude })
	})
}
