package main

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/engine/rule"
)

var day = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

// TestEnds: rows of the source are put right and confirmed, new releases come in, others' rows stay.
func TestEnds(t *testing.T) {
	said(t)
	of := map[string]string{}
	for distribution, table := range map[string]string{
		"debian": "version,codename,series,created,release,eol,eol-lts\n12,B,b,2021,2023,2026-07-11,2028-06-30\n" +
			"14,F,f,2025,2027,2030-01-01\n,Sid,sid,1993\n1,Buzz,buzz,1993,1996,1997-06-05",
		"ubuntu": "version,codename,series,created,release,eol\n22.04 LTS,J,j,2021,2022,2027-06-01",
	} {
		var rows [][]string
		for line := range strings.SplitSeq(table, "\n") {
			rows = append(rows, strings.Split(line, ","))
		}
		if err := read(distribution, rows, of); err != nil {
			t.Fatal(err)
		}
	}
	const before = `  ends:
    - {key: debian 12, value: "2028-06-01", source: distro-info-data, confirmed: 2026-01-01}
    - {key: debian 3, value: "2006-06-30", source: distro-info-data, confirmed: 2026-01-01}
    - {key: ubuntu 22.04, value: "2027-06-01", source: distro-info-data, confirmed: 2026-01-01}
    - {key: rhel 9, value: "2032-05-31", source: access.redhat.com, confirmed: 2026-01-01}
`
	const after = `  ends:
    - {key: debian 12, value: "2028-06-30", source: distro-info-data, confirmed: 2027-03-01}
    - {key: debian 3, value: "2006-06-30", source: distro-info-data, confirmed: 2026-01-01}
    - {key: ubuntu 22.04, value: "2027-06-01", source: distro-info-data, confirmed: 2027-03-01}
    - {key: debian 14, value: "2030-01-01", source: distro-info-data, confirmed: 2027-03-01}
    - {key: rhel 9, value: "2032-05-31", source: access.redhat.com, confirmed: 2026-01-01}
`
	e := &ends{of: of}
	if got := e.confirm(before, day); got != after {
		t.Error(got)
	}
	if got := (&ends{of: map[string]string{}}).confirm(before, day); got != before {
		t.Errorf("confirmed by nothing:\n%s", got)
	}
	if err := read("debian", [][]string{{"version", "codename"}}, of); err == nil {
		t.Error("another format of the source was read")
	}
}

// TestCycles: a row that endoflife.date confirms becomes its own, with the day of its last change; one of a vendor's that says
// something else stays, and so does what is newer; supported releases come in.
func TestCycles(t *testing.T) {
	said(t)
	const before = `  ends:
    - {key: debian 12, value: "2028-06-30", source: distro-info-data, confirmed: 2026-01-01}
    - {key: rhel 8, value: "2029-05-31", source: access.redhat.com, confirmed: 2026-01-01}
    - {key: rhel 9, value: "2032-05-01", source: access.redhat.com, confirmed: 2026-01-01}
    - {key: rhel 7, value: "2024-06-30", source: access.redhat.com, confirmed: 2027-02-25}
    - {key: fedora 42, value: "2026-05-13", source: endoflife.date, confirmed: 2026-01-01}
    - {key: sles 15, value: "2031-07-31", source: suse.com, confirmed: 2026-01-01}
`
	const after = `  ends:
    - {key: debian 12, value: "2028-06-30", source: distro-info-data, confirmed: 2026-01-01}
    - {key: rhel 8, value: "2029-05-31", source: endoflife.date, confirmed: 2027-02-20}
    - {key: rhel 9, value: "2032-05-01", source: access.redhat.com, confirmed: 2026-01-01}
    - {key: rhel 7, value: "2024-06-30", source: access.redhat.com, confirmed: 2027-02-25}
    - {key: rhel 10, value: "2035-05-31", source: endoflife.date, confirmed: 2027-02-20}
    - {key: fedora 42, value: "2026-05-27", source: endoflife.date, confirmed: 2027-02-20}
    - {key: sles 15, value: "2031-07-31", source: suse.com, confirmed: 2026-01-01}
`
	c := &cycles{day: "2027-02-20", of: map[string]string{"debian 12": "2099-01-01"}}
	for distribution, text := range map[string]string{
		"rhel": "---\ntitle: RHEL\nreleases:\n  - releaseCycle: \"10\"\n    eol: 2035-05-31\n  - releaseCycle: \"9\"\n    eol: 2032-05-31\n" +
			"  - releaseCycle: \"8\"\n    eol: 2029-05-31\n  - releaseCycle: \"7\"\n    eol: 2024-06-30\n  - releaseCycle: \"5\"\n" +
			"    eol: 2017-03-31\n  - releaseCycle: \"11\"\n    eol: false\n---\n\ntext",
		"fedora": "---\nreleases:\n- releaseCycle: \"42\"\n  eol: 2026-05-27\n---\n",
	} {
		if err := c.add(distribution, text); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.confirm(before, day); got != after {
		t.Error(got)
	}
	for _, other := range []string{"", "title: x\n", "---\nversions: []\n---\n", "---\nreleases: [\n---\n"} {
		if err := c.add("rhel", other); err == nil {
			t.Errorf("another format was read: %q", other)
		}
	}
	t.Setenv(cyclesEnv, t.TempDir()) // no clone
	c = &cycles{dir: t.TempDir()}
	if got := c.confirm(before, day); got != before || c.err == nil {
		t.Errorf("%v\n%s", c.err, got)
	}
}

// TestNotConfirmed: what was not confirmed today is counted, by the reason.
func TestNotConfirmed(t *testing.T) {
	rows := []rule.Row{{Source: "a", Confirmed: "2026-01-01"}, {Source: "b", Confirmed: "2027-02-28"}, {Source: "a", Confirmed: "2026-01-01"},
		{Source: "c", Confirmed: "2027-03-01"}, {Source: "d", Confirmed: "2026-01-01"}}
	got := notConfirmed(rows, day, func(source string) string { return map[bool]string{true: "no network"}[source == "d"] })
	if want := []string{"3 rows of a, b: ", "1 row of d: no network"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestChangelogs: a version is confirmed by a changelog that has it, and by no other.
func TestChangelogs(t *testing.T) {
	said(t)
	const text = `{os: debian, release: "12", version: 6.1.66-1, source: changelog of linux-libc-dev, confirmed: 2026-01-01}`
	for log, want := range map[string]string{
		"linux (6.1.66-1) bookworm; urgency=medium\n":            "2027-03-01",
		"linux (6.1.66-10) bookworm; urgency=medium\n":           "2026-01-01",
		"linux (6.1.67-1) bookworm\n\n  * not linux (6.1.66-1) ": "2026-01-01",
	} {
		c := &changelogs{apt: &apt{}, read: map[string]string{"12/linux-libc-dev": log}}
		if got := c.confirm(text, day); !strings.Contains(got, "confirmed: "+want+"}") {
			t.Errorf("%s: %s", log, got)
		}
	}
	c := &changelogs{apt: &apt{dir: t.TempDir()}}
	if got := c.confirm(strings.Replace(text, `"12"`, `"5"`, 1), day); !strings.Contains(got, "2026-01-01") {
		t.Errorf("confirmed by what could not be had: %s", got)
	}
}

// TestPackages: each distribution's columns are put right together, with the highest version of
// all pockets; without the index of one of its releases they stay as they are.
func TestPackages(t *testing.T) {
	said(t)
	const before = `# debian: the Packages files of deb.debian.org, read 2026-11-27 (x)
# ubuntu: the Packages files of archive.ubuntu.com with updates, read 2026-11-27 (y)
package debian/12 ubuntu/24.04 ubuntu/26.04
apt 2.6.0 2.8.0 3.2.0
ntp 1:4.2 - -
`
	states := map[string]error{"debian/12": nil, "ubuntu/24.04": errors.New("no network"), "ubuntu/26.04": nil}
	a := &apt{dir: t.TempDir(), states: states}
	index := func(suite, of, packages string) {
		dir := a.dir + "/" + suite + "/lists/"
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(dir+"m_dists_"+suite+"_InRelease", []byte("Version: 1.5\n"), 0o644),
			os.WriteFile(dir+"m_dists_"+suite+of+"_Packages", []byte(packages), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	index("bookworm", "_main", "Package: apt\nVersion: 2.6.1\n")
	index("resolute", "_main", "Package: apt\nVersion: 3.2.1\n")
	for _, of := range []string{"_universe", "-updates_main", "-updates_universe"} {
		index("resolute", of, "Package: apt\nVersion: 3.2.0~9\n")
	}
	index("noble", "_main", "Package: apt\nVersion: 2.8.3\nPackage: apt\nVersion: 2.8.4\n")
	for _, of := range []string{"_universe", "-updates_main", "-updates_universe"} {
		index("noble", of, "")
	}
	if got := a.packages(before, day); strings.Contains(got, "2.8.4") || strings.Contains(got, "3.2.1") ||
		!strings.Contains(got, "apt 2.6.1 ") {
		t.Errorf("half of Ubuntu was read:\n%s", got)
	}
	states["ubuntu/24.04"] = nil
	const after = `# debian: the Packages files of deb.debian.org, read 2027-03-01 (bookworm 1.5)
# ubuntu: the Packages files of archive.ubuntu.com with updates, read 2027-03-01 (noble 1.5, resolute 1.5)
package debian/12 ubuntu/24.04 ubuntu/26.04
apt 2.6.1 2.8.4 3.2.1
ntp - - -
`
	if got := a.packages(before, day); got != after {
		t.Error(got)
	}
}
