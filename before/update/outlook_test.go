package update

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

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

// TestAnswerAsksApt: without changes apt is asked, and its failure is said.
func TestAnswerAsksApt(t *testing.T) {
	answer := Answer([]*trap.Trap{bad})
	if _, err := answer(t.Context(), hosttest.New(t, loaded), []byte(`{}`)); err == nil || !strings.Contains(err.Error(), "asking apt") {
		t.Errorf("apt was not asked: %v", err)
	}
	made, err := answer(t.Context(), hosttest.New(t, loaded), []byte(`{"given": true, "changes": [{"name": "lost", "old": "1"}]}`))
	if err != nil || !reflect.DeepEqual(made.(*Outlook).Removed, []string{"lost"}) {
		t.Errorf("%+v, %v", made, err)
	}
	if err := (host.Command{Name: "apt-get", Args: Simulation}).Allowed(); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{{"dist-upgrade"}, {"-s", "dist-upgrade"}, append([]string{"-y"}, Simulation...)} {
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
}

func TestJournal(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	if journal(socket, "x", 5) == nil {
		t.Error("a journal that is not there takes what is said")
	}
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := journal(socket, "one\ntwo", 4); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1000)
	_ = l.SetReadDeadline(time.Now().Add(10 * time.Second))
	n, err := l.Read(b)
	if err != nil || string(b[:n]) != "MESSAGE=one two\nPRIORITY=4\nSYSLOG_IDENTIFIER=fettle\n" {
		t.Errorf("%q, %v", b[:n], err)
	}
}
