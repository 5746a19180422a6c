package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// apt fetches packages, and the indexes of Debian's releases, with this machine's proxies and
// keyrings, into a folder of its own.
type apt struct {
	dir    string
	states map[string]error // of releases whose indexes were fetched
}

// suites are Debian's releases that the tables have.
var suites = map[string]string{"11": "bullseye", "12": "bookworm", "13": "trixie"}

const (
	mirror  = "http://deb.debian.org/debian"
	keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
)

func run(dir, name string, args ...string) error {
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

// of are the options that make apt look at one release of Debian's alone.
func (a *apt) of(release string) ([]string, error) {
	suite, ok := suites[release]
	if !ok {
		return nil, fmt.Errorf("Debian %s is not on %s any more", release, mirror)
	}
	root := filepath.Join(a.dir, suite)
	opts := []string{"-q", "-o", "Dir::Etc::sourcelist=" + root + "/sources.list", "-o", "Dir::Etc::sourceparts=-",
		"-o", "Dir::State::lists=" + root + "/lists", "-o", "Dir::State::status=/dev/null",
		"-o", "Dir::Cache=" + root + "/cache", "-o", "Acquire::Languages=none", "-o", "Acquire::GzipIndexes=false",
		"-o", "APT::Architecture=amd64", "-o", "APT::Architectures::=amd64", "-o", "APT::Sandbox::User=root"}
	if err, ok := a.states[release]; ok {
		return opts, err
	}
	err := errors.Join(os.MkdirAll(root+"/lists/partial", 0o755), os.MkdirAll(root+"/cache/archives/partial", 0o755),
		os.WriteFile(root+"/sources.list", []byte("deb [signed-by="+keyring+"] "+mirror+" "+suite+" main\n"), 0o644))
	if err == nil {
		err = run(a.dir, "/usr/bin/apt-get", append(opts, "update")...)
	}
	if a.states == nil {
		a.states = map[string]error{}
	}
	a.states[release] = err
	return opts, err
}

// unpacked fetches a package and unpacks it: of a release of Debian's, or what this machine's
// own sources have.
func (a *apt) unpacked(pkg, release string) (string, error) {
	to := filepath.Join(a.dir, "unpacked-"+release, pkg)
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

var (
	aboutDebian = regexp.MustCompile(`(?m)^# debian: .*$`)
	pointOf     = regexp.MustCompile(`(?m)^Version: (\S+)`)
)

// packages puts right which version of a package each of Debian's releases has.
func (a *apt) packages(text string, now time.Time) string {
	lines := strings.Split(text, "\n")
	var columns []string
	versions := map[string]map[string]string{}
	var points []string
	for i, line := range lines {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] == "#":
		case columns == nil:
			columns = f[1:]
			for _, c := range columns {
				release := strings.TrimPrefix(c, "debian/")
				have, point, err := a.index(release)
				if err != nil {
					missing("the Packages file of Debian "+release+", so that the table of versions stays as it is", err)
					return text // a table that was read on two days would have no date
				}
				versions[c] = have
				points = append(points, suites[release]+" "+point)
			}
		default:
			for n, c := range columns {
				is := versions[c][f[0]]
				if is == "" {
					is = "-"
				}
				if f[n+1] != is {
					fmt.Printf("Debian %s has %s %s, not %s\n", strings.TrimPrefix(c, "debian/"), f[0], is, f[n+1])
					f[n+1] = is
				}
			}
			lines[i] = strings.Join(f, " ")
		}
	}
	about := fmt.Sprintf("# debian: the Packages files of deb.debian.org, read %s (%s)", now.Format(time.DateOnly), strings.Join(points, ", "))
	fmt.Printf("confirmed by the Packages files of Debian: %s\n", strings.Join(points, ", "))
	return aboutDebian.ReplaceAllLiteralString(strings.Join(lines, "\n"), about)
}

// index is which version of each package a release has, and its point release.
func (a *apt) index(release string) (versions map[string]string, point string, err error) {
	if _, err := a.of(release); err != nil {
		return nil, "", err
	}
	lists := filepath.Join(a.dir, suites[release], "lists")
	files, _ := filepath.Glob(filepath.Join(lists, "*_Packages"))
	releases, _ := filepath.Glob(filepath.Join(lists, "*_InRelease"))
	if len(files) != 1 || len(releases) != 1 {
		return nil, "", errors.New("apt left no index")
	}
	b, err := os.ReadFile(releases[0])
	if err != nil {
		return nil, "", err
	}
	if m := pointOf.FindSubmatch(b); m != nil {
		point = string(m[1])
	}
	if b, err = os.ReadFile(files[0]); err != nil {
		return nil, "", err
	}
	versions = map[string]string{}
	pkg := ""
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(line, "Package: "); ok {
			pkg = strings.TrimSpace(name)
		} else if v, ok := strings.CutPrefix(line, "Version: "); ok {
			versions[pkg] = strings.TrimSpace(v)
		}
	}
	return versions, point, nil
}
