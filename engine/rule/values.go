package rule

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// lines splits text into lines; the end of the last is no line of its own.
func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// distinct leaves the first of equal texts.
func distinct(in []string) []string {
	out := []string{}
	seen := map[string]bool{}
	for _, s := range in {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// substring takes bytes from to to, as far as they are there.
func substring(s string, from, to int64) string {
	n := int64(len(s))
	from, to = min(max(from, 0), n), min(max(to, 0), n)
	return s[from:max(from, to)]
}

// regexps are the compiled patterns of this process. Rules are few, and the
// patterns that expressions make of facts are bounded like all others.
var regexps = struct {
	sync.Mutex
	m map[string]*regexp.Regexp
}{m: map[string]*regexp.Regexp{}}

const regexLimit = 2000 // bytes of a pattern

func compiled(pattern string) (*regexp.Regexp, error) {
	regexps.Lock()
	defer regexps.Unlock()
	if re := regexps.m[pattern]; re != nil {
		return re, nil
	}
	if len(pattern) > regexLimit {
		return nil, fmt.Errorf("a regex of %d bytes: %d at most", len(pattern), regexLimit)
	}
	re, err := regexp.Compile(pattern)
	if err == nil && len(regexps.m) < 1000 {
		regexps.m[pattern] = re
	}
	return re, err
}

// capture gives the named groups of the first match, and none when it does not match.
func capture(s, pattern string) (map[string]string, error) {
	re, err := compiled(pattern)
	if err != nil {
		return nil, err
	}
	return groups(re, s), nil
}

func groups(re *regexp.Regexp, s string) map[string]string {
	out := map[string]string{}
	m := re.FindStringSubmatch(s)
	for i, name := range re.SubexpNames() {
		if name != "" && m != nil {
			out[name] = m[i]
		}
	}
	return out
}

// parseSize reads "64K", "1.5G", "10 MiB", "4096": powers of 1024, as systemd
// and most daemons mean them. "infinity" is the largest number.
func parseSize(s string) (int64, error) {
	t := strings.TrimSpace(s)
	if t == "infinity" {
		return math.MaxInt64, nil
	}
	end := strings.IndexFunc(t, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	unit := ""
	if end >= 0 {
		t, unit = t[:end], strings.ToUpper(strings.TrimSpace(t[end:]))
	}
	f, err := strconv.ParseFloat(t, 64)
	power := strings.Index("KMGTPE", strings.TrimSuffix(strings.TrimSuffix(unit, "B"), "I")) + 1
	if unit == "" || unit == "B" {
		power = 0
	} else if power == 0 || len(unit) > 3 {
		err = strconv.ErrSyntax
	}
	if v := f * math.Pow(1024, float64(power)); err == nil && v < math.MaxInt64 {
		return int64(v), nil
	}
	return 0, fmt.Errorf("%q is not a size like 64K or 1.5G", s)
}

const day = 24 * time.Hour

// asTime writes a duration in its two largest units: "3 days 4 hours".
func asTime(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	var out []string
	for _, u := range []struct {
		name string
		d    time.Duration
	}{{"day", day}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}} {
		n := d / u.d
		if n > 0 && len(out) < 2 {
			name := u.name
			if n != 1 {
				name += "s"
			}
			out = append(out, fmt.Sprintf("%d %s", n, name))
		}
		d -= n * u.d
	}
	if out == nil {
		return sign + d.String()
	}
	return sign + strings.Join(out, " ")
}

// percent is 0 where there is no whole.
func percent(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return 100 * part / whole
}
