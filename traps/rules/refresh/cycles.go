package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// endOfLife is how rows name the collection of ends of life at https://endoflife.date, which people gather from what the
// vendors say. It is read as a Git repository: it has a date, and FETTLE_ENDOFLIFE can name a clone where the network has none.
const (
	endOfLife  = "endoflife.date"
	cyclesFrom = "https://github.com/endoflife-date/endoflife.date"
	cyclesEnv  = "FETTLE_ENDOFLIFE"
)

// products are its files for the distributions of the table, by ID of os-release; the first that has a release counts.
var products = map[string][]string{
	"almalinux": {"almalinux"}, "alpine": {"alpine-linux"}, "amzn": {"amazon-linux"}, "centos": {"centos-stream", "centos"},
	"fedora": {"fedora"}, "ol": {"oracle-linux"}, "opensuse-leap": {"opensuse"}, "proxmox": {"proxmox-ve"}, "rhel": {"rhel"},
	"rocky": {"rocky-linux"},
}

// cycles are the ends of support that endoflife.date has.
type cycles struct {
	dir string
	of  map[string]string // "rhel 9" → "2032-05-31"
	day string            // of its last change: no row is confirmed later than that
	err error             // why it could not be read
}

// aRow is a row of a table, with what is left of it in the line.
var aRow = regexp.MustCompile(`(?m)^( *- \{key: )([a-z-]+ [0-9.]+)(, value: ")([^"]+)(", source: )([^,]+)(, confirmed: )([0-9-]+)(\}\n)`)

// confirm confirms the rows that say the same, and from then on they are endoflife.date's; it puts its own right, and adds
// the releases that are supported and that the table lacks. A row of a vendor's that says something else stays: somebody has
// to read there who is right.
func (c *cycles) confirm(text string, now time.Time) string {
	if !slices.ContainsFunc(aRow.FindAllStringSubmatch(text, -1), func(m []string) bool { return products[id(m[2])] != nil }) {
		return text
	}
	if c.of == nil && c.err == nil {
		if c.err = c.read(); c.err != nil {
			missing(endOfLife, c.err)
		}
	}
	have, confirmed := map[string]bool{}, 0
	text = aRow.ReplaceAllStringFunc(text, func(line string) string {
		m := aRow.FindStringSubmatch(line)
		end, ok := c.of[m[2]]
		have[m[2]] = true
		switch {
		case !ok || m[6] == distroInfo:
			return line
		case end != m[4] && m[6] != endOfLife:
			fmt.Fprintf(out, "%s ends on %s says %s, on %s says %s: read it there\n", m[2], m[4], m[6], end, endOfLife)
			return line
		case end != m[4]:
			fmt.Fprintf(out, "%s ends on %s, not %s\n", m[2], end, m[4])
		case c.day <= m[8]:
			return line
		}
		confirmed++
		return m[1] + m[2] + m[3] + end + m[5] + endOfLife + m[7] + max(c.day, m[8]) + m[9]
	})
	for _, key := range slices.Sorted(maps.Keys(c.of)) {
		if end := c.of[key]; !have[key] && end > now.Format(time.DateOnly) {
			fmt.Fprintf(out, "%s is new; it ends on %s\n", key, end)
			text = c.insert(text, key, end)
		}
	}
	if c.err == nil {
		fmt.Fprintf(out, "confirmed by %s of %s: %d rows\n", endOfLife, c.day, confirmed)
	}
	return text
}

// id is the distribution of a key.
func id(key string) string {
	name, _, _ := strings.Cut(key, " ")
	return name
}

// insert adds a row after the last one of its distribution.
func (c *cycles) insert(text, key, end string) string {
	at := -1
	var like []string
	for _, i := range aRow.FindAllStringSubmatchIndex(text, -1) {
		if id(text[i[4]:i[5]]) == id(key) {
			at, like = i[1], aRow.FindStringSubmatch(text[i[0]:i[1]])
		}
	}
	if at < 0 {
		return text
	}
	return text[:at] + like[1] + key + like[3] + end + like[5] + endOfLife + like[7] + c.day + like[9] + text[at:]
}

// read takes the files from a clone, which it makes where none is given.
func (c *cycles) read() error {
	repo := os.Getenv(cyclesEnv)
	if repo == "" {
		repo = filepath.Join(c.dir, "endoflife")
		if err := run(c.dir, "/usr/bin/git", "-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=30", "clone", "-q", "--bare",
			"--depth", "1", cyclesFrom, repo); err != nil {
			return fmt.Errorf("%w; a clone of it that is here already can be named in %s", err, cyclesEnv)
		}
	}
	show := func(args ...string) ([]byte, error) {
		c := exec.Command("/usr/bin/git", append([]string{"-C", repo}, args...)...)
		b, err := c.Output()
		if err != nil {
			err = fmt.Errorf("git %s in %s: %w", strings.Join(args, " "), repo, err)
		}
		return b, err
	}
	day, err := show("log", "-1", "--format=%cs")
	if err != nil {
		return err
	}
	c.day, c.of = strings.TrimSpace(string(day)), map[string]string{}
	for distribution, files := range products {
		for _, file := range files {
			b, err := show("show", "HEAD:products/"+file+".md")
			if err != nil {
				return err
			}
			if err := c.add(distribution, string(b)); err != nil {
				return fmt.Errorf("%s of %s: %w", file, endOfLife, err)
			}
		}
	}
	return nil
}

// add takes the releases from a product's file: YAML between two lines of dashes. One without a date has no end yet.
func (c *cycles) add(distribution, text string) error {
	parts := strings.SplitN(text, "---\n", 3)
	if len(parts) != 3 {
		return fmt.Errorf("it is not as it was: no front matter")
	}
	var p struct {
		Releases []struct {
			Cycle any `yaml:"releaseCycle"`
			End   any `yaml:"eol"`
		} `yaml:"releases"`
	}
	if err := yaml.Unmarshal([]byte(parts[1]), &p); err != nil {
		return err
	}
	if len(p.Releases) == 0 {
		return fmt.Errorf("it is not as it was: no releases")
	}
	for _, r := range p.Releases {
		key, end := distribution+" "+fmt.Sprint(r.Cycle), fmt.Sprint(r.End)
		if _, err := time.Parse(time.DateOnly, end); err == nil {
			c.of[key] = cmp.Or(c.of[key], end)
		}
	}
	return nil
}
