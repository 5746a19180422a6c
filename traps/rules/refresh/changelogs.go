package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// changelogs confirm in which version of a distribution's package a bug was fixed: that its
// changelog has that version.
type changelogs struct {
	*apt
	read map[string]string // by release and package
}

var fix = regexp.MustCompile(`\{os: debian, release: "([0-9]+)", version: ([^,]+), ` +
	`source: changelog of ([a-z0-9.+-]+), confirmed: ([0-9-]+)\}`)

func (c *changelogs) confirm(text string, now time.Time) string {
	return fix.ReplaceAllStringFunc(text, func(s string) string {
		m := fix.FindStringSubmatch(s)
		log, err := c.of(m[1], m[3])
		switch {
		case err != nil:
			missing("the changelog of "+m[3]+" in Debian "+m[1], err)
		case !regexp.MustCompile(`(?m)^[a-z0-9.+-]+ \(` + regexp.QuoteMeta(m[2]) + `\) `).MatchString(log):
			fmt.Fprintf(out, "the changelog of %s in Debian %s has no version %s\n", m[3], m[1], m[2])
		default:
			fmt.Fprintf(out, "confirmed by the changelog of %s in Debian %s: %s\n", m[3], m[1], m[2])
			return strings.Replace(s, "confirmed: "+m[4], "confirmed: "+now.Format(time.DateOnly), 1)
		}
		return s
	})
}

// of is a package's changelog, which comes with it.
func (c *changelogs) of(release, pkg string) (string, error) {
	key := release + "/" + pkg
	if text, ok := c.read[key]; ok {
		return text, nil
	}
	dir, err := c.unpacked(pkg, "debian/"+release)
	if err != nil {
		return "", err
	}
	f, err := os.Open(filepath.Join(dir, "usr/share/doc", pkg, "changelog.Debian.gz"))
	if err != nil {
		return "", err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(z)
	if err != nil {
		return "", err
	}
	if c.read == nil {
		c.read = map[string]string{}
	}
	c.read[key] = string(b)
	return string(b), nil
}
