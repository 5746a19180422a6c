package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	debversion "github.com/knqyf263/go-deb-version"
)

// apt fetches packages, and the indexes of releases, with this machine's proxies and
// keyrings, into a folder of its own.
type apt struct {
	dir    string
	states map[string]error // of releases whose indexes were fetched
}

// archive is where a distribution's releases come from.
type archive struct {
	name, mirror, keyring, components string
	pockets                           []string          // what is read beside the release itself
	suites                            map[string]string // by release
}

var archives = map[string]archive{
	"debian": {"Debian", "http://deb.debian.org/debian", "/usr/share/keyrings/debian-archive-keyring.gpg", "main", nil,
		map[string]string{"11": "bullseye", "12": "bookworm", "13": "trixie"}},
	"ubuntu": {"Ubuntu", "http://archive.ubuntu.com/ubuntu", "/usr/share/keyrings/ubuntu-archive-keyring.gpg", "main universe",
		[]string{"-updates"}, map[string]string{"22.04": "jammy", "24.04": "noble", "26.04": "resolute"}},
}

// run runs a program that fetches or unpacks; tests have another.
var run = func(dir, name string, args ...string) error {
	c := exec.Command(name, args...)
	var said bytes.Buffer
	c.Dir, c.Stdout, c.Stderr = dir, &said, &said
	c.Env = append(os.Environ(), "LC_ALL=C")
	if err := c.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return fmt.Errorf("%s %s: %w: %s", name, args[len(args)-1], err, lines[len(lines)-1])
	}
	return nil
}

// of are the options that make apt look at one release alone ("debian/12").
func (a *apt) of(release string) ([]string, error) {
	distribution, version, _ := strings.Cut(release, "/")
	from := archives[distribution]
	suite, ok := from.suites[version]
	if !ok {
		return nil, fmt.Errorf("%s is not on %s any more", release, from.mirror)
	}
	root := filepath.Join(a.dir, suite)
	opts := []string{"-q", "-o", "Dir::Etc::sourcelist=" + root + "/sources.list", "-o", "Dir::Etc::sourceparts=-",
		"-o", "Dir::State::lists=" + root + "/lists", "-o", "Dir::State::status=/dev/null",
		"-o", "Dir::Cache=" + root + "/cache", "-o", "Acquire::Languages=none", "-o", "Acquire::GzipIndexes=false",
		"-o", "APT::Architecture=amd64", "-o", "APT::Architectures::=amd64", "-o", "APT::Sandbox::User=root"}
	if err, ok := a.states[release]; ok {
		return opts, err
	}
	var sources strings.Builder
	for _, pocket := range append([]string{""}, from.pockets...) {
		fmt.Fprintf(&sources, "deb [signed-by=%s] %s %s%s %s\n", from.keyring, from.mirror, suite, pocket, from.components)
	}
	err := errors.Join(os.MkdirAll(root+"/lists/partial", 0o755), os.MkdirAll(root+"/cache/archives/partial", 0o755),
		os.WriteFile(root+"/sources.list", []byte(sources.String()), 0o644))
	if err == nil {
		err = run(a.dir, "/usr/bin/apt-get", append(opts, "update")...)
	}
	if a.states == nil {
		a.states = map[string]error{}
	}
	a.states[release] = err
	return opts, err
}

// unpacked fetches a package and unpacks it: of a release ("debian/12"), or what this machine's
// own sources have.
func (a *apt) unpacked(pkg, release string) (string, error) {
	to := filepath.Join(a.dir, "unpacked-"+strings.ReplaceAll(release, "/", "-"), pkg)
	if err := os.MkdirAll(to, 0o755); err != nil {
		return "", err
	}
	opts := []string{"-q", "-o", "APT::Sandbox::User=root"}
	if release != "" {
		var err error
		if opts, err = a.of(release); err != nil {
			return "", err
		}
	}
	if err := run(to, "/usr/bin/apt-get", append(opts, "download", pkg)...); err != nil {
		return "", err
	}
	debs, _ := filepath.Glob(filepath.Join(to, pkg+"_*.deb"))
	if len(debs) != 1 {
		return "", fmt.Errorf("%d packages %s were fetched", len(debs), pkg)
	}
	return to, run(to, "/usr/bin/dpkg-deb", "-x", debs[0], to)
}

var pointOf = regexp.MustCompile(`(?m)^Version: (\S+)`)

// packages puts right which version of a package each release has. A distribution whose
// indexes cannot be had keeps its columns: a table that was read on two days would have no date.
func (a *apt) packages(text string, now time.Time) string {
	lines := strings.Split(text, "\n")
	var columns []string
	versions := map[string]map[string]string{}
	points := map[string][]string{}
	for i, line := range lines {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] == "#":
		case columns == nil:
			columns = f[1:]
			points = a.indexes(columns, versions)
		default:
			for n, c := range columns {
				have, known := versions[c]
				is := cmp.Or(have[f[0]], "-")
				if known && f[n+1] != is {
					fmt.Fprintf(out, "%s has %s %s, not %s\n", c, f[0], is, f[n+1])
					f[n+1] = is
				}
			}
			lines[i] = strings.Join(f, " ")
		}
	}
	text = strings.Join(lines, "\n")
	for distribution, of := range points {
		about := regexp.MustCompile(`(?m)^(# ` + distribution + `: .*, read )[0-9-]+ \(.*\)$`)
		text = about.ReplaceAllString(text, "${1}"+now.Format(time.DateOnly)+" ("+strings.Join(of, ", ")+")")
		fmt.Fprintf(out, "confirmed by the Packages files of %s: %s\n", archives[distribution].name, strings.Join(of, ", "))
	}
	return text
}

// indexes reads which versions releases have, and names each release that was read, by
// distribution. Of a distribution all are read, or none.
func (a *apt) indexes(releases []string, into map[string]map[string]string) map[string][]string {
	points, failed := map[string][]string{}, map[string]bool{}
	for _, release := range releases {
		distribution, version, _ := strings.Cut(release, "/")
		have, point, err := a.index(release)
		if err != nil {
			missing("the Packages files of "+archives[distribution].name+" "+version, err)
			failed[distribution] = true
			continue
		}
		into[release] = have
		points[distribution] = append(points[distribution], archives[distribution].suites[version]+" "+point)
	}
	for distribution := range failed {
		delete(points, distribution)
		maps.DeleteFunc(into, func(release string, _ map[string]string) bool { return strings.HasPrefix(release, distribution+"/") })
	}
	return points
}

// index is which version of each package a release has, the highest of its pockets, and its point release.
func (a *apt) index(release string) (versions map[string]string, point string, err error) {
	if _, err := a.of(release); err != nil {
		return nil, "", err
	}
	distribution, version, _ := strings.Cut(release, "/")
	from := archives[distribution]
	suite := from.suites[version]
	lists := filepath.Join(a.dir, suite, "lists")
	files, _ := filepath.Glob(filepath.Join(lists, "*_Packages"))
	releases, _ := filepath.Glob(filepath.Join(lists, "*_dists_"+suite+"_InRelease"))
	if want := (1 + len(from.pockets)) * len(strings.Fields(from.components)); len(files) != want || len(releases) != 1 {
		return nil, "", errors.New("apt left no index")
	}
	b, err := os.ReadFile(releases[0])
	if err != nil {
		return nil, "", err
	}
	if m := pointOf.FindSubmatch(b); m != nil {
		point = string(m[1])
	}
	versions = map[string]string{}
	for _, file := range files {
		if b, err = os.ReadFile(file); err != nil {
			return nil, "", err
		}
		if err := highest(string(b), versions); err != nil {
			return nil, "", fmt.Errorf("%s: %w", file, err)
		}
	}
	return versions, point, nil
}

// highest adds a Packages file to the versions of packages.
func highest(text string, versions map[string]string) error {
	pkg := ""
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "Package: "); ok {
			pkg = strings.TrimSpace(name)
		} else if v, ok := strings.CutPrefix(line, "Version: "); ok {
			v = strings.TrimSpace(v)
			if have, ok := versions[pkg]; ok {
				newer, err := newer(v, have)
				if err != nil {
					return err
				}
				if !newer {
					continue
				}
			}
			versions[pkg] = v
		}
	}
	return nil
}

// newer compares as dpkg does.
func newer(a, b string) (bool, error) {
	va, err := debversion.NewVersion(a)
	if err != nil {
		return false, err
	}
	vb, err := debversion.NewVersion(b)
	return va.GreaterThan(vb), err
}
