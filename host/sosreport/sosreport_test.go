package sosreport

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"fettle/host"
	"fettle/internal/means"
)

const top = "sosreport-db1-2026-11-21-nybtkno/"

// report unpacks testdata/report.txtar into a folder, as sos leaves it.
func report(t testing.TB) (dir string, want map[string][]byte) {
	t.Helper()
	ar, err := txtar.ParseFile("testdata/report.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir, want = t.TempDir(), map[string][]byte{}
	for _, f := range ar.Files {
		p := filepath.Join(dir, top, strings.TrimPrefix(f.Name, "link/"))
		if w, ok := strings.CutPrefix(f.Name, "want/"); ok {
			want[w] = f.Data
			continue
		}
		os.MkdirAll(filepath.Dir(p), 0o755)
		if strings.HasPrefix(f.Name, "link/") {
			err = os.Symlink(strings.TrimSpace(string(f.Data)), p)
		} else {
			err = os.WriteFile(p, f.Data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir, want
}

func open(t testing.TB, file string) *Source {
	t.Helper()
	s, err := Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestForms reads the report as a folder, as the folder around it, and as
// every archive that sos makes.
func TestForms(t *testing.T) {
	dir, want := report(t)
	forms := map[string]string{"folder": dir + "/" + top, "folder around": dir}
	for _, f := range [][2]string{{"tar", "--create"}, {"tar.xz", "--xz"}, {"tar.gz", "--gzip"}, {"tar.zst", "--zstd"}} {
		file := filepath.Join(t.TempDir(), "r."+f[0])
		if out, err := exec.Command(means.Tool(t, "tar"), "-C", dir, "-c", f[1], "-f", file, top).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		forms[f[0]] = file
	}
	for name, file := range forms {
		t.Run(name, func(t *testing.T) { checkReport(t, open(t, file), want) })
	}
}

func checkReport(t *testing.T, s *Source, want map[string][]byte) {
	ctx := t.Context()
	h := host.New(s)
	id := s.Identity()
	if id.Hostname != "db1" || id.Release != "6.1.0-30-amd64" || id.Machine != "x86_64" || id.Version != "#1 SMP PREEMPT_DYNAMIC "+
		"Debian 6.1.124-1 (2025-01-12)" ||
		id.Time.Format("2006-01-02 15:04") != "2026-11-21 22:17" ||
		!strings.HasPrefix(id.BootID, "0f0f") {
		t.Errorf("identity %+v", id)
	}
	for _, c := range []struct {
		path, want string
		err        error
	}{
		{"/etc/sysctl.d/99-sysctl.conf", "net.ipv6.conf.all.forwarding=1\n", nil},
		{"/proc/sys/net/ipv6/conf/br0/accept_ra", "1\n", nil},
		{"/proc/sys/net/ipv6/conf/eth0.7/forwarding", "1\n", nil},
		{"/proc/sys/net/ipv6/conf/br7/accept_ra", "", host.ErrAbsent},           // sysctl -a would have listed it
		{"/proc/sys/net/ipv6/conf/br0/stable_secret", "", host.ErrNotCollected}, // but not this
		{"/etc/sysctl.d/50-none.conf", "", host.ErrAbsent},                      // below a specification
		{"/etc/sysctl.d/.hidden", "", host.ErrNotCollected},                     // * finds no hidden names
		{"/etc/network/interfaces.d/x", "", host.ErrAbsent},                     // /etc/network*
		{"/run/netplan/x.yaml", "", host.ErrAbsent},
		{"/etc/mdadm/mdadm.conf", "", host.ErrNotCollected},                    // no specification
		{"/etc/NetworkManager/system-connections/x", "", host.ErrNotCollected}, //
		{"/sos_commands/host/hostname", "", host.ErrNotCollected},              // sos's own, not the host's
		{"/date", "", host.ErrNotCollected},                                    //
		{"/etc/hostname", "db1\n", nil},                                        // of the command
		{"/sys/class/net/br0/mtu", "", host.ErrNotCollected},
	} {
		b, err := s.ReadFile(ctx, c.path, host.ReadLimit)
		if string(b) != c.want || !errors.Is(err, c.err) || c.err == host.ErrNotCollected && host.IsAbsent(err) {
			t.Errorf("%s: %q, %v; want %q, %v", c.path, b, err, c.want, c.err)
		}
		if _, serr := s.Stat(ctx, c.path, true); host.IsAbsent(serr) != host.IsAbsent(err) {
			t.Errorf("%s: stat says %v, read %v", c.path, serr, err)
		}
	}
	for _, c := range []struct {
		dir, want string
		err       error
	}{
		{"/etc/sysctl.d", "99-sysctl.conf README.sysctl", nil},
		{"/etc/netplan", "50-cloud-init.yaml", nil},
		{"/etc/network/interfaces.d", "", host.ErrAbsent},
		{"/etc", "", host.ErrNotCollected},        // some of it is there
		{"/usr/lib/sysctl.d", "", host.ErrAbsent}, // /lib/sysctl.d was looked for, and /lib is /usr/lib
		{"/usr/local/lib/sysctl.d", "", host.ErrNotCollected},
		{"/run/netplan", "", host.ErrAbsent}, // *.yaml was looked for in it
		{"/proc/sys/net/ipv6/conf", "all br0 default eth0.7 lo", nil},
	} {
		es, err := s.ReadDir(ctx, c.dir)
		var names []string
		for _, e := range es {
			names = append(names, e.Name)
		}
		sort.Strings(names)
		if got := strings.Join(names, " "); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("listing %s: %q, %v; want %q, %v", c.dir, got, err, c.want, c.err)
		}
	}
	links, err := h.Links(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if w := reference[[]host.Link](t, want["links.json"]); !reflect.DeepEqual(plain(links), plain(w)) {
		t.Errorf("links\n%+v\nip -j says\n%+v", links, w)
	}
	routes, err := h.Routes6(ctx)
	if w := reference[[]host.Route](t, want["routes6.json"]); err != nil || !reflect.DeepEqual(routes, w) {
		t.Errorf("routes\n%+v, %v\nip -j says\n%+v", routes, err, w)
	}
	ps, err := h.Processes(ctx)
	if err != nil || len(ps) != 5 || ps[3] != (host.Process{PID: 701, Comm: "postgres", UID: 112, Unit: "postgresql@15-main.service"}) {
		t.Errorf("processes %+v, %v", ps, err)
	}
	of, err := h.OpenFiles(ctx)
	dev := makedev(254, 0)
	wantFiles := []host.OpenFile{
		{
			PID:     612,
			Comm:    "sshd",
			Unit:    "ssh.service",
			FD:      -1,
			Path:    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
			Deleted: true,
			Mapped:  true,
			Exec:    true,
			Dev:     dev,
			Ino:     10599,
		},
		{
			PID:    701,
			Comm:   "postgres",
			UID:    112,
			Unit:   "postgresql@15-main.service",
			FD:     2,
			Path:   "/var/log/postgresql/postgresql.log.1",
			Write:  true,
			Dev:    dev,
			Ino:    44001,
			Size:   731201,
			Blocks: 1429,
		},
		{
			PID:     702,
			Comm:    "python3",
			Unit:    "app.service",
			FD:      3,
			Path:    "/tmp/del me",
			Deleted: true,
			Write:   true,
			Dev:     dev,
			Ino:     9978082,
			Size:    5000,
			Blocks:  10,
		},
	}
	if err != nil || of.Looked != 4 || of.Denied != 1 || !reflect.DeepEqual(of.Files, wantFiles) {
		t.Errorf("open files %+v, %v\nwant %+v", of, err, wantFiles)
	}
	mounts, err := h.Filesystems(ctx)
	if err != nil || len(mounts) != 4 ||
		mounts[1] != (host.Filesystem{Device: "/dev/vda", Mount: "/", Type: "ext4", Options: "rw,relatime,discard", Dev: dev,
			Size: 264212084 << 10, Free: (264212084 - 13880880) << 10, Avail: 81620384 << 10, Files: 16777216, FFree: 16306589}) ||
		mounts[3].Mount != "/mnt/with blank" ||
		!mounts[3].Network {
		t.Errorf("file systems %+v, %v", mounts, err)
	}
	ssh, err := h.Run(ctx, "systemctl", "show", "sshd.service", "--property=ActiveState,Id")
	if string(ssh.Stdout) != "Id=ssh.service\nActiveState=active\n" {
		t.Errorf("systemctl show: %q, %v", ssh.Stdout, err)
	}
	if _, err := h.Run(ctx, "systemctl", "show", "none.service"); !errors.Is(err, host.ErrNotCollected) {
		t.Errorf("a unit that is not in the report: %v", err)
	}
	if o, err := h.Run(ctx, "systemctl", "list-unit-files"); err != nil || !strings.Contains(string(o.Stdout), "ssh.service enabled") {
		t.Errorf("systemctl list-unit-files: %q, %v", o.Stdout, err)
	}
	if p, err := h.Packages(ctx); err != nil || len(p) != 6 || p[0].Name != "acl" || p[0].Version != "2.3.1-3" || p[5].Installed() {
		t.Errorf("packages %+v, %v", p, err)
	}
	if _, err := h.Xattr(ctx, "/etc/hosts", "system.posix_acl_access"); !errors.Is(err, host.ErrNotCollected) {
		t.Errorf("xattr: %v", err)
	}
}

func reference[T any](t *testing.T, b []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// plain drops the details of a device that the text form's reader leaves out.
func plain(ls []host.Link) []host.Link {
	out := append([]host.Link{}, ls...)
	for i := range out {
		if out[i].Info.Kind != "vlan" {
			out[i].Info.Data = nil
		}
	}
	return out
}

// TestNoManifest: without it nothing is known to be absent.
func TestNoManifest(t *testing.T) {
	dir, _ := report(t)
	os.Remove(filepath.Join(dir, top, "sos_reports/manifest.json"))
	s := open(t, dir)
	if _, err := s.ReadFile(t.Context(), "/etc/sysctl.d/50-none.conf", 10); !errors.Is(err, host.ErrNotCollected) || host.IsAbsent(err) {
		t.Errorf("got %v", err)
	}
	if _, err := s.ReadDir(t.Context(), "/etc/sysctl.d"); !errors.Is(err, host.ErrNotCollected) {
		t.Errorf("got %v", err)
	}
}

// TestCutOff: output of a command that sos cut off is not taken for whole.
func TestCutOff(t *testing.T) {
	dir, _ := report(t)
	p := filepath.Join(dir, top, "sos_reports/manifest.json")
	b, _ := os.ReadFile(p)
	var v map[string]any
	json.Unmarshal(b, &v)
	proc := v["components"].(map[string]any)["report"].(map[string]any)["plugins"].(map[string]any)["process"].(map[string]any)
	for _, c := range proc["commands"].([]any) {
		if c := c.(map[string]any); strings.HasPrefix(c["exec"].(string), "lsof") {
			c["return_code"] = 124
		}
	}
	b, _ = json.Marshal(v)
	os.WriteFile(p, b, 0o644)
	if _, err := host.New(open(t, dir)).OpenFiles(t.Context()); !errors.Is(err, host.ErrNotCollected) {
		t.Errorf("got %v", err)
	}
}

func TestLinkLines(t *testing.T) {
	ls, err := ParseLinks(`Warning: something
7: eth0.7@eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default qlen 1000
    link/ether 52:54:00:00:00:01 brd ff:ff:ff:ff:ff:ff promiscuity 0 minmtu 0 maxmtu 65535
    vlan protocol 802.1Q id 7 <REORDER_HDR> numtxqueues 1 numrxqueues 1
    altname enp1s0
    inet 192.0.2.9 peer 192.0.2.10/32 scope global dynamic eth0.7
       valid_lft 86389sec preferred_lft 3600sec
8: tun0: <POINTOPOINT,MULTICAST,NOARP> mtu 1500 qdisc noop state DOWN group default qlen 500
    link/none  promiscuity 0
    tun type tun pi off
9: veth2@if3: <BROADCAST,MULTICAST> mtu 1500 qdisc noop state DOWN group default
    link/ether 52:54:00:00:00:02 brd ff:ff:ff:ff:ff:ff link-netnsid 0
    veth
    bond_slave state ACTIVE mii_status UP
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []host.Link{
		{
			Index:     7,
			Name:      "eth0.7",
			AltNames:  []string{"enp1s0"},
			Parent:    "eth0",
			Flags:     []string{"BROADCAST", "MULTICAST", "UP", "LOWER_UP"},
			MTU:       1500,
			OperState: "UP",
			LinkType:  "ether",
			MAC:       "52:54:00:00:00:01",
			Info:      host.LinkInfo{Kind: "vlan", Data: map[string]any{"id": 7}},
			Addrs: []host.Addr{
				{Family: "inet", Local: "192.0.2.9", PrefixLen: 32, Scope: "global", Dynamic: true, Valid: 86389, Preferred: 3600},
			},
		},
		{
			Index:     8,
			Name:      "tun0",
			Flags:     []string{"POINTOPOINT", "MULTICAST", "NOARP"},
			MTU:       1500,
			OperState: "DOWN",
			LinkType:  "none",
			Info:      host.LinkInfo{Kind: "tun"},
			Addrs:     []host.Addr{},
		},
		{
			Index:     9,
			Name:      "veth2",
			Flags:     []string{"BROADCAST", "MULTICAST"},
			MTU:       1500,
			OperState: "DOWN",
			LinkType:  "ether",
			MAC:       "52:54:00:00:00:02",
			Info:      host.LinkInfo{Kind: "veth", SlaveKind: "bond"},
			Addrs:     []host.Addr{},
		},
	}
	if !reflect.DeepEqual(ls, want) {
		t.Errorf("got %+v\nwant %+v", ls, want)
	}
	if _, err := ParseLinks("ip: command not found\n"); !errors.Is(err, host.ErrNotCollected) {
		t.Errorf("no link: %v", err)
	}
}

func TestRPMs(t *testing.T) {
	got := string(parseRPMs("kernel-core-5.14.0-503.el9.x86_64      Tue Jan  7 10:00:00 2025\nxz-libs-5.2.5-8.el9_0.x86_64  x\n\nodd\n"))
	if want := "kernel-core\t5.14.0-503.el9\tx86_64\nxz-libs\t5.2.5-8.el9_0\tx86_64\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestHostileMember: an archive with a report in it is still an archive.
func TestHostileMember(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	w.WriteHeader(&tar.Header{Name: "r/sos_commands/x", Typeflag: tar.TypeReg})
	w.WriteHeader(&tar.Header{Name: "r/etc/shadow", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd", Mode: int64(fs.ModePerm)})
	w.Close()
	p := filepath.Join(t.TempDir(), "r.tar")
	os.WriteFile(p, b.Bytes(), 0o600)
	if b, err := open(t, p).ReadFile(t.Context(), "/etc/shadow", 1<<20); err == nil {
		t.Errorf("read %q through a link out of the archive", b)
	}
}

func FuzzParsers(f *testing.F) {
	ar, err := txtar.ParseFile("testdata/report.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, a := range ar.Files {
		f.Add(string(a.Data))
	}
	f.Fuzz(func(t *testing.T, s string) {
		parseUptime(s)
		ParseLinks(s)
		parseRoutes(s)
		ps := parseProcesses(s, s)
		parseLsof(s, ps)
		parseFilesystems(s, s, s, s)
		parseDpkgList(s)
		parseRPMs(s)
		for p := range parseSysctl(s).values {
			if !strings.HasPrefix(p, "/proc/sys/") {
				t.Errorf("a key leads to %s", p)
			}
		}
		var id host.Identity
		parseUname(s, &id)
		m := manifest{commands: map[string]command{}, byExec: map[string]command{}}
		m.parse([]byte(s))
		m.knownAbsent(s)
		m.listed(s)
		b, _ := parseShown(s).unit("x")
		pickProps(b, []string{"Id"}, true)
	})
}
