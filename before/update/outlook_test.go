package update

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/hosttest"
)

// bad is a trap of versions: everything of version 3 is bad.
var bad = &trap.Trap{
	Lore: "---\nid: bad-version\ntitle: t\nhorizon: [now, update]\n---\n# x\n", Cost: trap.Instant,
	Check: func(ctx context.Context, h *host.Host, r *trap.Report) error {
		ps, err := h.Packages(ctx)
		if err != nil {
			return err
		}
		r.Clear("", "looked")
		for _, p := range ps {
			if strings.HasPrefix(p.Version, "3") {
				r.Found(trap.Finding{Subject: p.Name, Severity: trap.Warning, Summary: "is bad", Detail: trap.Prose(p.Version)})
			}
		}
		return nil
	},
}

const loaded = `-- root/var/lib/dpkg/status --
Package: rsync
Status: install ok installed
Architecture: amd64
Version: 2.9-1
Conffiles:
 /etc/default/rsync d41d8cd98f00b204e9800998ecf8427e

Package: squid
Status: install ok installed
Architecture: amd64
Version: 3.1-1

Package: lost
Status: install ok installed
Architecture: all
Version: 1

-- root/etc/default/rsync --
RSYNC_ENABLE=true
-- root/var/lib/dpkg/info/rsync.postinst --
deb-systemd-invoke $_dh_action 'rsync.service' 'other.service' >/dev/null || true
deb-systemd-invoke start 'asleep.service' >/dev/null || true
-- units --
rsync.service loaded active running enabled
other.service loaded inactive dead disabled
asleep.service loaded active running enabled
`

func TestLook(t *testing.T) {
	h := hosttest.New(t, loaded)
	o := Look(t.Context(), h, []*trap.Trap{bad}, []Change{
		{Name: "rsync", Arch: "amd64", Old: "2.9-1", New: "3.0-1"},
		{Name: "squid", Arch: "amd64", Old: "3.1-1", New: "3.1-1"}, // as bad as today: nothing new
		{Name: "lost", Old: "1"},
		{Name: "linux-image-6.1.0-40-amd64", Arch: "amd64", New: "6.1.153-1"},
		{Name: "linux-image-amd64", Arch: "amd64", Old: "6.1.140-1", New: "6.1.153-1"},
		{Name: "fresh", Arch: "amd64", New: "3.5"},
	})
	o.Changes = nil
	want := &Outlook{
		Faults: []Fault{
			{Trap: "bad-version", Severity: trap.Warning, Subject: "rsync", Summary: "is bad", Detail: "3.0-1"},
			{Trap: "bad-version", Severity: trap.Warning, Subject: "fresh", Summary: "is bad", Detail: "3.5"},
		},
		Removed: []string{"lost"}, Kernels: []string{"linux-image-6.1.0-40-amd64"}, Restarts: []string{"rsync.service"},
		Asks: []string{"/etc/default/rsync"},
	}
	if !reflect.DeepEqual(o, want) {
		t.Errorf("got  %+v\nwant %+v", o, want)
	}
	if o := Look(t.Context(), h, []*trap.Trap{bad}, nil); len(o.Faults)+len(o.NotLooked) > 0 {
		t.Errorf("of nothing: %+v", o)
	}
	empty := Look(t.Context(), hosttest.New(t, "incomplete: true\n"), []*trap.Trap{bad}, []Change{{Name: "a", Old: "1", New: "2"}})
	if len(empty.NotLooked) == 0 {
		t.Error("a host of which nothing was collected was looked at")
	}
}

// twoArchitectures has a package for two: the traps look at the first of a name alone.
const twoArchitectures = `-- root/var/lib/dpkg/status --
Package: libz
Status: install ok installed
Architecture: amd64
Version: 2.9-1

Package: libz
Status: install ok installed
Architecture: i386
Version: 2.9-1

Package: liby
Status: install ok installed
Architecture: all
Version: 2.9-1
Conffiles:
 /etc/liby d41d8cd98f00b204e9800998ecf8427e

-- root/etc/liby --
mine
`

// firstOf is a trap that looks at the first package of the name, as rules do.
var firstOf = &trap.Trap{
	Lore: "---\nid: bad-libz\ntitle: t\nhorizon: [now, update]\n---\n# x\n", Cost: trap.Instant,
	Check: func(ctx context.Context, h *host.Host, r *trap.Report) error {
		p, err := h.Package(ctx, "libz")
		if err == nil && strings.HasPrefix(p.Version, "3") {
			r.Found(trap.Finding{Severity: trap.Warning, Summary: "is bad", Detail: trap.Prose(p.Version + " " + p.Arch)})
			return nil
		}
		r.Clear("", "is good")
		return nil
	},
}

func TestEachArchitecture(t *testing.T) {
	libz := func(arch, to string) Change { return Change{Name: "libz", Arch: arch, Old: "2.9-1", New: to} }
	for name, c := range map[string]struct {
		changes []Change
		faults  []string
		removed []string
	}{
		"the second is bad": {[]Change{libz("amd64", "2.9-2"), libz("i386", "3.0-1")},
			[]string{"3.0-1 i386"}, nil},
		"the first is bad": {[]Change{libz("amd64", "3.0-1"), libz("i386", "2.9-2")},
			[]string{"3.0-1 amd64"}, nil},
		"one alone changes": {[]Change{libz("i386", "3.0-1")}, []string{"3.0-1 i386"}, nil},
		"none is bad": {[]Change{libz("amd64", "2.9-2"), libz("i386", "2.9-2")},
			nil, nil},
		"the bad one goes": {[]Change{libz("amd64", "2.9-2"), libz("i386", "")},
			nil, []string{"libz:i386"}},
		"one comes newly": {[]Change{{Name: "libz", Arch: "arm64", New: "3.0-1"}}, []string{"3.0-1 arm64"}, nil},
	} {
		o := Look(t.Context(), hosttest.New(t, twoArchitectures), []*trap.Trap{firstOf}, c.changes)
		var got []string
		for _, f := range o.Faults {
			got = append(got, string(f.Detail))
		}
		if !reflect.DeepEqual(got, c.faults) || !reflect.DeepEqual(o.Removed, c.removed) {
			t.Errorf("%s: %q, removed %q", name, got, o.Removed)
		}
	}
	// A package of one architecture that becomes another's, or one for all, is the same package.
	v := newView(nil, []Change{{Name: "liby", Arch: "amd64", Old: "2.9-1", New: "3"}, {Name: "libz", Arch: "all", Old: "2.9-1", New: "3"}})
	status := string(v.status([]byte(strings.TrimSuffix(strings.Split(twoArchitectures, "--\n")[1], "-- root/etc/liby "))))
	if strings.Contains(status, "2.9-1") || strings.Count(status, "Package: ") != 3 {
		t.Errorf("%s", status)
	}
	o := Look(t.Context(), hosttest.New(t, twoArchitectures), nil, []Change{
		{Name: "liby", Arch: "amd64", New: "3"}, {Name: "liby", Arch: "i386", Old: "2"}})
	if !reflect.DeepEqual(o.Asks, []string{"/etc/liby"}) {
		t.Errorf("asks about %q", o.Asks)
	}
}

// TestNotLooked: what could not be looked at is said, and nothing else.
func TestNotLooked(t *testing.T) {
	const asked = "-- command/apt-get -s -q -o Debug::NoLocking=true -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= dist-upgrade --\n"
	answer := Answer([]*trap.Trap{bad})
	for name, c := range map[string]struct {
		host, says string
	}{
		"no lists": {loaded + asked + "0 upgraded\n", "apt update fetches them"},
		"lists":    {loaded + "-- root/var/lib/apt/lists/x_main_binary-amd64_Packages.lz4 --\n" + asked + "0 upgraded\n", ""},
		"unreadable": {loaded + "-- denied/etc/default/rsync --\n-- root/var/lib/apt/lists/x_Packages --\n" + asked +
			"Inst rsync [2.9-1] (2.9-2 D [amd64])\n", "root"},
	} {
		got, err := answer(t.Context(), hosttest.New(t, c.host), []byte(`{}`))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		said := strings.Join(got.(*Outlook).NotLooked, "; ")
		if c.says == "" && said != "" || !strings.Contains(said, c.says) {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// TestAnswerAsksApt: without changes apt is asked, and a host without apt hears that nothing else is.
func TestAnswerAsksApt(t *testing.T) {
	answer := Answer([]*trap.Trap{bad})
	if _, err := answer(t.Context(), hosttest.New(t, loaded), []byte(`{}`)); err == nil || !strings.Contains(err.Error(), "neither dnf nor zypper") {
		t.Errorf("apt was not asked: %v", err)
	}
	made, err := answer(t.Context(), hosttest.New(t, loaded), []byte(`{"given": true, "changes": [{"name": "lost", "old": "1"}]}`))
	if err != nil || !reflect.DeepEqual(made.(*Outlook).Removed, []string{"lost"}) {
		t.Errorf("%+v, %v", made, err)
	}
	if err := (host.Command{Name: "apt-get", Args: host.AptSimulation}).Allowed(); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{{"dist-upgrade"}, {"-s", "dist-upgrade"}, append([]string{"-y"}, host.AptSimulation...)} {
		if (host.Command{Name: "apt-get", Args: args}).Allowed() == nil {
			t.Errorf("%q is taken for a command that only reads", args)
		}
	}
}

func TestHook(t *testing.T) {
	file := filepath.Join(t.TempDir(), "90fettle")
	if there, err := Remove(file); there || err != nil {
		t.Error(there, err)
	}
	for _, bin := range []string{"fettle", "/opt/a b/fettle", "/tmp/$(id)/fettle", `/tmp/a";x`} {
		if Install(file, bin) == nil {
			t.Errorf("%q goes into a shell command", bin)
		}
	}
	if err := Install(file, "/usr/bin/fettle"); err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(file)
	if !strings.Contains(string(b), `{"/usr/./bin/timeout -s KILL 5 /usr/bin/fettle before update --apt || true";};`) {
		t.Errorf("%s", b)
	}
	if there, err := Remove(file); !there || err != nil {
		t.Error(there, err)
	}
	// Where the package is removed, apt would call what is gone.
	if b, err := os.ReadFile("../../packaging/postrm"); err != nil || !strings.Contains(string(b), "rm -f "+HookFile+"\n") {
		t.Errorf("the package's removal leaves %s: %v", HookFile, err)
	}
}
