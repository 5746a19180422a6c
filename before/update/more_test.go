package update

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/hosttest"
)

// TestProtocols: apt's versions that are understood, each line that is none, and how much is read.
func TestProtocols(t *testing.T) {
	for text, want := range map[string][]Change{
		"VERSION 2\n\na 1 < 2 /x.deb\nb 1 > - **REMOVE**\nc - < 1 /c.deb\nd 1 > 2 **REMOVE**\n": {{Name: "a", Old: "1", New: "2"}, {Name: "b",
			Old: "1"},
			{Name: "c", New: "1"}, {Name: "d", Old: "1"}},
		"VERSION 3\n\na 1 i386 none > - - none **REMOVE**\n": {{Name: "a", Arch: "i386", Old: "1"}},
		"/a_1_amd64.deb\n\n/b_2_all.deb":                     {{Name: "a", New: "1", Arch: "amd64"}, {Name: "b", New: "2", Arch: "all"}},
	} {
		if got, err := ReadApt(strings.NewReader(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"VERSION 1\n\n": "does not understand", "VERSION 4\n\n": "does not understand", "VERSION x\n\n": "does not understand",
		"VERSION 2\n\na 1 < 2 x y\n": "line 3 of what apt said: 6 words", "VERSION 3\n\na 1 < 2 x\n": "line 3 of what apt said: 5 words",
		"/a_1.deb\n": "not the path of a package", "/a.deb\n": "not the path of a package",
		strings.Repeat("/a_1_all.deb\n", maxChanges) + "/b_1_all.deb\n": "what apt said is too long",
		"VERSION 3\n" + strings.Repeat("A\n", maxLines+1):               "what apt said is too long",
	} {
		if got, err := ReadApt(strings.NewReader(text)); err == nil || got != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %d changes, %v, want %s", text, len(got), err, want)
		}
	}
	if got, err := ReadApt(strings.NewReader(strings.Repeat("/a_1_all.deb\n", maxChanges))); err != nil || len(got) != maxChanges {
		t.Errorf("%d changes, %v", len(got), err)
	}
	if got := ReadSimulation(strings.Repeat("Purg a [1]\n", maxChanges+1)); len(got) != maxChanges {
		t.Errorf("%d changes", len(got))
	}
	if got := ReadKeptBack("Not upgrading:\n" + strings.Repeat("  a\n", maxChanges+1)); len(got) != maxChanges {
		t.Errorf("%d kept back", len(got))
	}
	for name, want := range map[string]bool{"linux-image-6.1.0-40-amd64": true, "linux-image-0.1": true, "linux-image-9": true,
		"linux-image-amd64": false,
		"linux-image-":      false, "linux-image-6.1-dbg": false, "linux-headers-6.1": false, "linux-image-/": false, "linux-image-:": false} {
		if isKernel(name) != want {
			t.Errorf("%s is a kernel: %v", name, !want)
		}
	}
}

// TestView: of the host with the changes only dpkg's status is another.
func TestView(t *testing.T) {
	src := hosttest.New(t, loaded+"-- denied/etc/shadow --\n").Source()
	v := newView(src, []Change{{Name: "rsync", Arch: "amd64", Old: "2.9-1", New: "3"}})
	for name, want := range map[string]string{"/etc/default/rsync": "RSYNC_ENABLE=true\n", host.DpkgStatus: "Version: 3\n",
		"/etc/shadow": "", "/etc/none": ""} {
		b, err := v.ReadFile(t.Context(), name, 1<<20)
		if (err == nil) != (want != "") || !strings.Contains(string(b), want) || err == nil && name != host.DpkgStatus && string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	left := hosttest.New(t, strings.Replace(loaded, "install ok installed", "deinstall ok config-files", 1))
	after := host.New(newView(left.Source(), []Change{{Name: "rsync", Arch: "amd64", New: "3"}}))
	if p, err := after.Package(t.Context(), "rsync"); err != nil || !p.Installed() || p.Version != "3" {
		t.Errorf("a package that comes back: %+v, %v", p, err)
	}
	for change, want := range map[Change]string{
		{Name: "libz", Arch: "amd64"}: "a", {Name: "libz", Arch: ""}: "ab", {Name: "libz", Arch: "all"}: "ab", {Name: "other"}: "",
	} {
		v := newView(nil, []Change{change})
		got := ""
		if v.of("libz", "amd64") != nil {
			got += "a"
		}
		if v.of("libz", "i386") != nil {
			got += "b"
		}
		if got != want {
			t.Errorf("%+v is of %q, want %q", change, got, want)
		}
	}
}

// TestWhatIsAsked: which services restart, about which files dpkg asks, and what could not be read of that.
func TestWhatIsAsked(t *testing.T) {
	const status = `-- root/var/lib/dpkg/status --
Package: a
Status: install ok installed
Architecture: amd64
Version: 1
Conffiles:
 /etc/changed d41d8cd98f00b204e9800998ecf8427e
 /etc/gone d41d8cd98f00b204e9800998ecf8427e
 /etc/same d41d8cd98f00b204e9800998ecf8427e
 /etc/old d41d8cd98f00b204e9800998ecf8427e obsolete

-- root/etc/changed --
mine
-- root/etc/same --
-- root/etc/old --
mine
`
	const script = " --\ndeb-systemd-invoke restart 'a.service' b.socket >/dev/null || true\ndeb-systemd-invoke $_dh_action " +
		"a.service 'c.service' >/dev/null\n"
	const units = "-- units --\na.service loaded active running enabled\nb.socket loaded active listening enabled\nc.service loaded " +
		"active running enabled\n"
	change := []Change{{Name: "a", Arch: "amd64", Old: "1", New: "2"}}
	for name, c := range map[string]struct {
		host                    string
		changes                 []Change
		asks, restarts, unknown string
	}{
		"an upgrade": {status + "-- root/var/lib/dpkg/info/a.postinst" + script + units, change, "/etc/changed",
			"a.service c.service", ""},
		"of its architecture": {status + "-- root/var/lib/dpkg/info/a:amd64.postinst" + script + units, change, "/etc/changed",
			"a.service c.service", ""},
		"no systemd":      {status + "-- root/var/lib/dpkg/info/a.postinst" + script, change, "/etc/changed", "", ""},
		"no script":       {status + units, change, "/etc/changed", "", ""},
		"another package": {status + units, []Change{{Name: "z", Old: "1", New: "2"}}, "", "", ""},
		"it goes": {status + "-- root/var/lib/dpkg/info/a.postinst" + script + units, []Change{{Name: "a", Arch: "amd64",
			Old: "1"}}, "", "", ""},
		"it comes": {status + "-- root/var/lib/dpkg/info/a.postinst" + script + units, []Change{{Name: "a", Arch: "amd64",
			New: "1"}}, "/etc/changed", "", ""},
		"a script that is shut": {status + "-- denied/var/lib/dpkg/info/a.postinst --\n" + units, change, "/etc/changed", "", "needs root"},
		"a file that is shut": {strings.Replace(status, "root/etc/same", "denied/etc/same", 1) + units, change, "/etc/changed", "",
			"/etc/same cannot be read; run it as root"},
	} {
		o := Look(t.Context(), hosttest.New(t, c.host), nil, c.changes)
		if strings.Join(o.Asks, " ") != c.asks || strings.Join(o.Restarts, " ") != c.restarts ||
			(c.unknown == "") != (o.NotLooked == nil) || !strings.Contains(strings.Join(o.NotLooked, ";"), c.unknown) {
			t.Errorf("%s: asks %q, restarts %q, not looked %q", name, o.Asks, o.Restarts, o.NotLooked)
		}
	}
}

// TestAptFails: an apt that cannot say what it would install is no host without updates.
func TestAptFails(t *testing.T) {
	asked := "command/apt-get " + strings.Join(host.AptSimulation, " ") + " --\n"
	answer := Answer(nil)
	for text, want := range map[string]string{
		loaded + "-- " + asked + "exit 100\n": "failed with status 100",
		loaded + "-- denied/" + asked:         "asking apt what it would install",
	} {
		if o, err := answer(t.Context(), hosttest.New(t, text), []byte(`{}`)); err == nil || o != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %s", o, err, want)
		}
	}
	if o, err := answer(t.Context(), hosttest.New(t, loaded), []byte(`7`)); err == nil || o != nil {
		t.Errorf("a question that is none: %v", o)
	}
	if err := lists(t.Context(), hosttest.New(t, "-- denied/var/lib/apt/lists --\n")); err == nil || !strings.Contains(err.Error(),
		"whether apt has lists") {
		t.Error(err)
	}
	if s := first("\n one \n two"); s != "one " {
		t.Errorf("%q", s)
	}
}

// TestFaultsWorstFirst: known faults come the worst first, each once.
func TestFaultsWorstFirst(t *testing.T) {
	o := &Outlook{}
	for _, sev := range []trap.Severity{trap.Notice, trap.Critical, trap.Warning} {
		o.Faults = append(o.Faults, Fault{Severity: sev})
	}
	o.faults(t.Context(), hosttest.New(t, loaded), nil)
	if o.Faults[0].Severity != trap.Critical || o.Faults[2].Severity != trap.Notice {
		t.Errorf("%+v", o.Faults)
	}
}

// TestRemoveFails: a hook that cannot be taken away is told, and not said to be gone.
func TestRemoveFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "90fettle")
	if err := os.MkdirAll(dir+"/x", 0o755); err != nil {
		t.Fatal(err)
	}
	if there, err := Remove(dir); there || err == nil {
		t.Errorf("%v, %v", there, err)
	}
}
