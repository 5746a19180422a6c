package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/internal/means"
)

// said is what is printed from now on.
func said(t *testing.T) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	old := out
	out = &b
	t.Cleanup(func() { out = old })
	return &b
}

// fetched has apt-get and dpkg-deb find these files in packages, and these Packages files in releases; what is in
// neither cannot be had. It returns which commands were run.
func fetched(t *testing.T, packages map[string]map[string]string, lists map[string]string) *[]string {
	t.Helper()
	var ran []string
	old := run
	t.Cleanup(func() { run = old })
	run = func(dir, name string, args ...string) error {
		last := args[len(args)-1]
		ran = append(ran, filepath.Base(name)+" "+filepath.Base(last))
		switch {
		case last == "update":
			at := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "Dir::State::lists=") })
			to := strings.TrimPrefix(args[at], "Dir::State::lists=")
			for file, text := range lists {
				if err := os.WriteFile(filepath.Join(to, file), []byte(text), 0o600); err != nil {
					return err
				}
			}
		case slices.Contains(args, "download"):
			if packages[last] == nil {
				return errors.New("no network")
			}
			for i := range strings.Count(packages[last]["twice"], "x") + 1 {
				os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s_%d_all.deb", last, i)), nil, 0o600)
			}
		case slices.Contains(args, "-x"):
			for file, text := range packages[filepath.Base(dir)] {
				to := filepath.Join(dir, file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, []byte(text), 0o600)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return &ran
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.String()
}

const logFile = "usr/share/doc/linux-libc-dev/changelog.Debian.gz"

// distributions is distro-info-data.
func distributions(debian string) map[string]string {
	const dir = "usr/share/distro-info/"
	return map[string]string{dir + "debian.csv": debian, dir + "ubuntu.csv": "version,codename,eol\n22.04 LTS,J,2027-06-01\n"}
}

// collection is a clone of endoflife.date: each product with one release, but rhel.
func collection(t *testing.T, change func(dir string)) string {
	t.Helper()
	git := means.Tool(t, "git")
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/products", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, files := range products {
		for _, file := range files {
			text := "---\nreleases:\n- releaseCycle: \"1\"\n  eol: 2027-02-28\n---\n"
			if file == "rhel" {
				text = "---\nreleases:\n- releaseCycle: \"9\"\n  eol: 2032-05-31\n- releaseCycle: \"10\"\n  eol: 2027-03-02\n---\n"
			}
			if err := os.WriteFile(dir+"/products/"+file+".md", []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	change(dir)
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm",
		"a"}} {
		c := exec.Command(git, append([]string{"-C", dir}, args...)...)
		c.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2027-02-20T12:00:00Z", "GIT_CONFIG_GLOBAL=/dev/null")
		if b, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", args, err, b)
		}
	}
	return dir
}

const sample = `id: sample
title: A sample
severity: notice
symptoms: ["a sample is read", "a sample is seen", "a sample is there"]
since: every Linux
references: ["man sample(1)"]
about: "# What happens\n\nA sample.\n\n# How sure\n\nTested.\n"
facts:
  file: {file: /etc/sample}
findings:
  - when: file.exists && size(ends) > 0
    summary: the sample is there
clear: there is no sample
tables:
  ends:
    - {key: debian 12, value: "2028-06-01", source: distro-info-data, confirmed: 2025-01-01}
    - {key: debian 3, value: "2006-06-30", source: distro-info-data, confirmed: 2026-12-01}
    - {key: rhel 9, value: "2032-05-30", source: endoflife.date, confirmed: 2026-12-01}
    - {key: rocky 2, value: "2020-01-01", source: endoflife.date, confirmed: 2026-12-01}
    - {key: sles 15, value: "2031-07-31", source: suse.com, confirmed: 2025-12-01}
    - {key: fedora 1, value: "2027-02-27", source: fedora.org, confirmed: 2026-12-01}
# {os: debian, release: "12", version: 6.1.66-1, source: changelog of linux-libc-dev, confirmed: 2026-12-01}
# {os: debian, release: "12", version: 6.1.67-1, source: changelog of linux-libc-dev, confirmed: 2026-12-01}
`

const columns = `# debian: the Packages files of deb.debian.org, read 2026-11-27 (x)
package debian/12
apt 2.6.0
ntp 1:4.2
`

// sources is a folder of sources with one rule, in which the test goes on.
func sources(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for file, text := range map[string]string{"traps/rules/sample/rule.yaml": sample, "host/fact/release/packages.txt": columns} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRefresh: what is changed where, and what is said of it.
func TestRefresh(t *testing.T) {
	sources(t)
	t.Setenv(cyclesEnv, collection(t, func(string) {}))
	t.Setenv("TMPDIR", t.TempDir())
	print := said(t)
	ran := fetched(t, map[string]map[string]string{
		distroInfo:       distributions("version,codename,eol,eol-lts\n12,B,2026-07-11,2028-06-30\n14,F,2030-01-01\n15,G,2027-03-01\n"),
		"linux-libc-dev": {logFile: zipped("linux (6.1.66-1) bookworm; urgency=medium\n")},
	}, map[string]string{"m_dists_bookworm_InRelease": "Version: 12.9\n", "m_dists_bookworm_main_Packages": "Package: apt\nVersion: 2.6.1\n"})
	if err := refresh(day); err != nil {
		t.Fatal(err)
	}
	const rows = `debian 12 ends on 2028-06-30, not 2028-06-01
distro-info-data does not have debian 3 any more
debian 14 is new; it ends on 2030-01-01
ubuntu 22.04 is new; it ends on 2027-06-01
confirmed by distro-info-data: 1 rows
confirmed by the changelog of linux-libc-dev in Debian 12: 6.1.66-1
the changelog of linux-libc-dev in Debian 12 has no version 6.1.67-1
rhel 9 ends on 2032-05-31, not 2032-05-30
fedora 1 ends on 2027-02-27 says fedora.org, on 2027-02-28 says endoflife.date: read it there
rhel 10 is new; it ends on 2027-03-02
confirmed by endoflife.date of 2027-02-20: 1 rows
written: traps/rules/sample/rule.yaml
debian/12 has apt 2.6.1, not 2.6.0
debian/12 has ntp -, not 1:4.2
confirmed by the Packages files of Debian: bookworm 12.9
written: host/fact/release/packages.txt
not refreshed: sample, ends: 1 row of distro-info-data: it could not be had, or lacks them
not refreshed: sample, ends: 3 rows of endoflife.date: it has not changed since
not refreshed: sample, ends: 2 rows of fedora.org, suse.com: no program reads it; endoflife.date, of 2027-02-20, is not newer, ` +
		`lacks them or says otherwise
not confirmed for a year: sample: ends, sles 15: last confirmed on 2025-12-01 (suse.com)
`
	sortedLines := func(s string) string { return strings.Join(slices.Sorted(strings.Lines(s)), "") } // new releases come in any order
	if got := print.String(); sortedLines(got) != sortedLines(rows) {
		t.Errorf("it says\n%s\nwant\n%s", got, rows)
	}
	if want := []string{"apt-get distro-info-data", "dpkg-deb distro-info-data", "apt-get update", "apt-get linux-libc-dev",
		"dpkg-deb linux-libc-dev"}; !slices.Equal(*ran, want) {
		t.Errorf("%q were run, want %q", *ran, want)
	}
	if b, _ := os.ReadFile("host/fact/release/packages.txt"); string(b) != strings.NewReplacer("2026-11-27 (x)", "2027-03-01 (bookworm 12.9)",
		"2.6.0", "2.6.1", "1:4.2", "-").Replace(columns) {
		t.Errorf("packages.txt:\n%s", b)
	}
	b, _ := os.ReadFile("traps/rules/sample/rule.yaml")
	for _, row := range []string{
		`{key: debian 12, value: "2028-06-30", source: distro-info-data, confirmed: 2027-03-01}`,
		`{key: rhel 10, value: "2027-03-02", source: endoflife.date, confirmed: 2027-02-20}`,
		"version: 6.1.66-1, source: changelog of linux-libc-dev, confirmed: 2027-03-01}",
	} {
		if !strings.Contains(string(b), row+"\n") {
			t.Errorf("no row %s:\n%s", row, b)
		}
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestNothingIsHad: without any of its sources it changes nothing, and says what it could not have.
func TestNothingIsHad(t *testing.T) {
	sources(t)
	t.Setenv(cyclesEnv, "/dev/null")
	print := said(t)
	fetched(t, nil, nil)
	if err := refresh(day); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"could not be had: distro-info-data: no network\n",
		"could not be had: the changelog of linux-libc-dev in Debian 12: no network\n",
		"could not be had: endoflife.date: git log -1 --format=%cs in /dev/null: exit status 128\n",
		"could not be had: the Packages files of Debian 12: apt left no index\n",
		"not refreshed: sample, ends: 4 rows of endoflife.date, fedora.org, suse.com: endoflife.date could not be had\n"} {
		if !strings.Contains(print.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, print)
		}
	}
	if strings.Contains(print.String(), "written") || strings.Contains(print.String(), "confirmed by") {
		t.Errorf("confirmed by nothing:\n%s", print)
	}
}

// TestNotRefreshed: sources in which it cannot work.
func TestNotRefreshed(t *testing.T) {
	t.Setenv(cyclesEnv, "/dev/null")
	said(t)
	fetched(t, nil, nil)
	rule, table := "traps/rules/sample/rule.yaml", "host/fact/release/packages.txt"
	for name, c := range map[string]struct {
		change func() error
		want   string
	}{
		"another folder":      {func() error { return os.RemoveAll("traps") }, "no rules in traps/rules: run this in the root of the sources"},
		"an unreadable rule":  {func() error { return errors.Join(os.Remove(rule), os.Mkdir(rule, 0o700)) }, rule + ": is a directory"},
		"no table":            {func() error { return os.Remove(table) }, "open " + table},
		"no rule":             {func() error { return os.WriteFile(rule, []byte("id: [\n"), 0o600) }, rule + ":"},
		"no temporary folder": {func() error { return os.Setenv("TMPDIR", "/absent") }, "/absent"},
	} {
		t.Run(name, func(t *testing.T) {
			sources(t)
			t.Setenv("TMPDIR", t.TempDir())
			if err := c.change(); err != nil {
				t.Fatal(err)
			}
			if err := refresh(day); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "%!") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestUnpacked: which package cannot be used, and why.
func TestUnpacked(t *testing.T) {
	fetched(t, map[string]map[string]string{
		"two": {"twice": "x"}, "plain": {"file": "text"},
	}, nil)
	dir := t.TempDir()
	a := &apt{dir: dir}
	to, err := a.unpacked("plain", "")
	if b, _ := os.ReadFile(to + "/file"); err != nil || string(b) != "text" {
		t.Errorf("%s: %q, %v", to, b, err)
	}
	for pkg, want := range map[string]string{"two": "2 packages two were fetched", "absent": "no network"} {
		if to, err := a.unpacked(pkg, "debian/12"); err == nil || err.Error() != want || to != "" {
			t.Errorf("%s: %q, %v; want %q", pkg, to, err, want)
		}
	}
	if _, err := a.unpacked("plain", "debian/5"); err == nil || err.Error() != "debian/5 is not on http://deb.debian.org/debian any more" {
		t.Error(err)
	}
	if _, err := (&apt{dir: "/dev/null"}).unpacked("plain", ""); err == nil {
		t.Error("unpacked below a file")
	}
	if b, _ := os.ReadFile(dir + "/bookworm/sources.list"); string(b) !=
		"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main\n" {
		t.Errorf("sources.list: %q", b)
	}
	if _, err := a.of("ubuntu/24.04"); err != nil {
		t.Error(err)
	}
	const ubuntu = "deb [signed-by=/usr/share/keyrings/ubuntu-archive-keyring.gpg] http://archive.ubuntu.com/ubuntu noble"
	if b, _ := os.ReadFile(dir + "/noble/sources.list"); string(b) != ubuntu+" main universe\n"+ubuntu+"-updates main universe\n" {
		t.Errorf("sources.list: %q", b)
	}
	if !maps.Equal(a.states, map[string]error{"debian/12": nil, "ubuntu/24.04": nil}) {
		t.Errorf("states: %v", a.states)
	}
}

// TestRun: a command that fails is named with its last argument and the last line that it said.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	if err := run(dir, "/bin/sh", "-c", "[ $LC_ALL = C ] && pwd >here"); err != nil {
		t.Error(err)
	}
	if b, _ := os.ReadFile(dir + "/here"); string(b) != dir+"\n" {
		t.Errorf("run in %q", b)
	}
	if err := run(dir, "/bin/sh", "-c", "echo one; echo two >&2; exit 3"); err == nil ||
		err.Error() != "/bin/sh echo one; echo two >&2; exit 3: exit status 3: two" {
		t.Error(err)
	}
}

// TestChangelogIsHad: a changelog is fetched once, and one that is cut off is none, also the second time.
func TestChangelogIsHad(t *testing.T) {
	whole := zipped("linux (1) a\n")
	for name, c := range map[string]struct {
		files map[string]string
		want  error // nil: some other
	}{"absent": {map[string]string{"a": ""}, fs.ErrNotExist}, "no gzip": {map[string]string{logFile: "text of a file that is not packed"},
		gzip.ErrHeader},
		"cut off": {map[string]string{logFile: whole[:len(whole)-9]}, nil}, "empty": {map[string]string{logFile: ""}, nil}} {
		fetched(t, map[string]map[string]string{"linux-libc-dev": c.files}, nil)
		logs := &changelogs{apt: &apt{dir: t.TempDir()}}
		for range 2 {
			if text, err := logs.of("12", "linux-libc-dev"); err == nil || text != "" || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%s: %q, %v", name, text, err)
			}
		}
	}
	ran := fetched(t, map[string]map[string]string{"linux-libc-dev": {logFile: whole}}, nil)
	logs := &changelogs{apt: &apt{dir: t.TempDir()}}
	before := means.OpenFiles(t)
	for range 2 {
		if text, err := logs.of("12", "linux-libc-dev"); err != nil || text != "linux (1) a\n" {
			t.Errorf("%q, %v", text, err)
		}
	}
	if len(*ran) != 3 || !maps.Equal(before, means.OpenFiles(t)) {
		t.Errorf("ran %q; open are %v, before %v", *ran, means.OpenFiles(t), before)
	}
}

// TestDistroInfo: what is no distro-info-data.
func TestDistroInfo(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no table":  {map[string]string{"a": ""}, "debian.csv: no such file"},
		"no column": {distributions("version,codename\n1,a\n"), "debian.csv has no column eol"},
		"no csv":    {distributions("version,eol\n1,\"\n"), "extraneous or missing"},
		"no eol":    {distributions("version,codename,eol\n1,a,\n,b,2027-01-01\n2,c,2028-01-01\n"), ""},
	} {
		fetched(t, map[string]map[string]string{distroInfo: c.files}, nil)
		before := means.OpenFiles(t)
		of, err := (&ends{apt: &apt{dir: t.TempDir()}}).read()
		if c.want == "" && (err != nil || !maps.Equal(of, map[string]string{"debian 2": "2028-01-01", "ubuntu 22.04": "2027-06-01"})) ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, %v; want %q", name, of, err, c.want)
		}
		if !maps.Equal(before, means.OpenFiles(t)) {
			t.Errorf("%s: open are %v, before %v", name, means.OpenFiles(t), before)
		}
	}
}

// TestCollection: endoflife.date is cloned where no clone is named, and what is not as it was is said.
func TestCollection(t *testing.T) {
	t.Setenv(cyclesEnv, "")
	repo := collection(t, func(string) {})
	old := run
	t.Cleanup(func() { run = old })
	run = func(_, _ string, args ...string) error {
		if args[len(args)-2] != cyclesFrom {
			return fmt.Errorf("clone of %s", args[len(args)-2])
		}
		return os.CopyFS(args[len(args)-1], os.DirFS(repo))
	}
	c := &cycles{dir: t.TempDir()}
	if err := c.read(); err != nil || c.day != "2027-02-20" || c.of["rhel 9"] != "2032-05-31" || c.of["fedora 1"] != "2027-02-28" {
		t.Errorf("%+v, %v", c, err)
	}
	run = func(string, string, ...string) error { return errors.New("no network") }
	if err := (&cycles{}).read(); err == nil || err.Error() != "no network; a clone of it that is here already can be named in "+cyclesEnv {
		t.Error(err)
	}
	for want, change := range map[string]func(dir string){
		"git show HEAD:products/rhel.md in ": func(dir string) { os.Remove(dir + "/products/rhel.md") },
		"rhel of endoflife.date: it is not as it was: no front matter": func(dir string) {
			os.WriteFile(dir+"/products/rhel.md", []byte("text\n"), 0o600)
		},
	} {
		t.Setenv(cyclesEnv, collection(t, change))
		if err := (&cycles{}).read(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestHighest: versions are compared as dpkg does, and what is none is said.
func TestHighest(t *testing.T) {
	for _, c := range []struct{ text, want, err string }{
		{"Package: a\nVersion: 1\nPackage: a\nVersion: 1~2\nPackage: b\nVersion: 3\n", "map[a:1 b:3]", ""},
		{"Package: a\nVersion: 1\nPackage: a\nVersion: 2\n", "map[a:2]", ""},
		{"Package: a\nVersion: 1\nPackage: a\nVersion: x\n", "map[a:1]", "upstream_version must start with digit"},
		{"Package: a\nVersion: x\nPackage: a\nVersion: 1\n", "map[a:x]", "upstream_version must start with digit"},
	} {
		versions := map[string]string{}
		err := highest(c.text, versions)
		if got := fmt.Sprint(versions); got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %s, %v; want %s, %q", c.text, got, err, c.want, c.err)
		}
	}
	const release = "debian/12"
	dir := t.TempDir()
	lists := dir + "/bookworm/lists/"
	a := &apt{dir: dir, states: map[string]error{release: nil}}
	for _, c := range []struct{ file, text, want string }{
		{"m_main_Packages", "Package: a\nVersion: 1\nPackage: a\nVersion: x\n", "apt left no index"},
		{"m_dists_bookworm_InRelease", "", lists + "m_main_Packages: upstream_version must start with digit"},
		{"m_main_Packages", "Package: a\nVersion: 1\n", ""},
		{"m_contrib_Packages", "", "apt left no index"},
	} {
		if err := errors.Join(os.MkdirAll(lists, 0o700), os.WriteFile(lists+c.file, []byte(c.text), 0o600)); err != nil {
			t.Fatal(err)
		}
		versions, point, err := a.index(release)
		if point != "" || (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) || err == nil &&
			versions["a"] != "1" {
			t.Errorf("%+v: %v, %q, %v", c, versions, point, err)
		}
	}
	for _, file := range []string{"m_main_Packages", "m_dists_bookworm_InRelease"} {
		os.Remove(lists + "m_contrib_Packages")
		if err := errors.Join(os.Remove(lists+file), os.Mkdir(lists+file, 0o700)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := a.index(release); err == nil || !strings.Contains(err.Error(), file+": is a directory") {
			t.Errorf("%s is a folder: %v", file, err)
		}
	}
}
