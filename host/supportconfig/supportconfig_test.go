package supportconfig

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"fettle/host"
	"fettle/host/sosreport"
	"fettle/internal/means"
)

const top = "scc_db7_261126_0153"

func unpacked(t *testing.T) string {
	t.Helper()
	ar, err := txtar.ParseFile("testdata/sles15.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), top)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range ar.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func opened(t *testing.T, file string) *sosreport.Source {
	t.Helper()
	s, err := Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestHost: what a supportconfig holds, asked as checks ask.
func TestHost(t *testing.T) {
	s := opened(t, unpacked(t))
	h, ctx := host.New(s), t.Context()
	id := s.Identity()
	if id.Hostname != "db7" || id.Release != "5.14.21-150500.55.7-default" || id.Machine != "x86_64" || id.Collector != "supportconfig" {
		t.Errorf("identity: %+v", id)
	}
	if got := id.Time.Format("2006-01-02 15:04:05"); got != "2026-11-26 01:53:40" { // CET is no zone that Go knows
		t.Errorf("looked at %s", got)
	}
	for name, want := range map[string]string{
		"/etc/sysctl.conf":         "vm.swappiness = 10\n",
		"/etc/sysctl.d/90-db.conf": "vm.swappiness = 60\n",
		"/proc/sys/vm/swappiness":  "10\n",
		"/proc/mdstat": "Personalities : [raid1] \nmd0 : active raid1 vdb[0]\n" +
			"      1046528 blocks super 1.2 [2/1] [U_]\nunused devices: <none>\n",
		"/etc/os-release":             "NAME=\"SLES\"\nVERSION=\"15-SP5\"",
		"/etc/mdadm.conf":             "absent",
		"/etc/sysctl.d/10-other.conf": "absent", // all of /etc/sysctl.d/*.conf was taken
		"/etc/sssd/sssd.conf":         "absent", // all of /etc that ends in conf was
		"/etc/passwd":                 "not collected",
		"/run/sysctl.d/10.conf":       "absent",
	} {
		b, err := h.ReadFile(ctx, name)
		got := string(b)
		switch {
		case host.IsAbsent(err):
			got = "absent"
		case err != nil:
			got = "not collected"
		}
		if got != want && !(strings.HasPrefix(want, "NAME=") && strings.HasPrefix(got, want)) {
			t.Errorf("%s: %q, expected %q", name, got, want)
		}
	}
	if es, err := h.ReadDir(ctx, "/etc/sysctl.d"); err != nil || len(es) != 1 {
		t.Errorf("sysctl.d: %v, %v", es, err)
	}
	links, err := h.Links(ctx)
	if err != nil || len(links) != 1 || links[0].MTU != 65536 {
		t.Errorf("links: %v, %v", links, err)
	}
	u, err := s.Command(ctx, host.Command{Name: "systemctl", Args: []string{"show", "shop.service", "--property=NRestarts", "--value"}})
	if err != nil || string(u.Stdout) != "7\n" {
		t.Errorf("shop.service: %q, %v", u.Stdout, err)
	}
	failed, err := h.Run(ctx, "systemctl", host.TroubledUnits...)
	if err != nil || !strings.Contains(string(failed.Stdout), "shop.service loaded failed") {
		t.Errorf("failed units: %q, %v", failed.Stdout, err)
	}
	j, err := h.Journal(ctx)
	if err != nil || len(j.Kernel.Messages) == 0 || !strings.Contains(j.Kernel.Messages[0].Text, "Out of memory") {
		t.Errorf("journal: %+v, %v", j.Kernel, err)
	}
	rpms, err := h.Run(ctx, "rpm", "-qa", "--qf", "%{NAME}\\t%{VERSION}-%{RELEASE}\\t%{ARCH}\\n")
	if err != nil || !strings.Contains(string(rpms.Stdout), "bash\t4.4-150400.25.22\tx86_64\n") {
		t.Errorf("packages: %q, %v", rpms.Stdout, err)
	}
}

// TestArchive: the same from the archive that supportconfig makes.
func TestArchive(t *testing.T) {
	dir := unpacked(t)
	file := filepath.Join(t.TempDir(), top+".txz")
	if out, err := exec.Command(means.Tool(t, "tar"), "-C", dir, "-cJf", file, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := opened(t, file).Identity().Hostname; got != "db7" {
		t.Errorf("host name %q", got)
	}
}

// TestLabels: what a label names is used only where it is a path of a host, however
// it is written; a heading inside a file begins another section.
func TestLabels(t *testing.T) {
	l := newLayout()
	const file = "#==[ Configuration File ]===#\n# "
	text := file + "/../../etc/passwd\nx\n" + file + "relative\ny\n" + file + "/sos_commands/a\nz\n" + file + "/etc\nv\n" +
		file + "/etc/a*\nw\n#==[ Command ]==#\n#==[ Command ]==#\n# \nq\n#==[ Command ]==#\n# /bin/date | cut -c1\nnow\n#==["
	for _, s := range sections(text) {
		l.add("x.txt", s)
	}
	if len(l.files) != 1 || string(l.files["/etc/passwd"]) != "x\n" {
		t.Errorf("%q", l.files)
	}
}

func FuzzSections(f *testing.F) {
	ar, err := txtar.ParseFile("testdata/sles15.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range ar.Files {
		f.Add(string(file.Data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		l := newLayout()
		for _, s := range sections(text) {
			l.add("etc.txt", s)
		}
		l.host("x").Close()
	})
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }
