package renew

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"fettle/internal/means"
)

// entry of a tar archive.
type entry struct {
	name, text, link string
	kind             byte
}

func tarball(entries ...entry) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Size: int64(len(e.text)), Linkname: e.link, Mode: 0o644, Typeflag: e.kind}
		if e.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		w.WriteHeader(h)
		io.WriteString(w, e.text)
	}
	w.Close()
	z.Close()
	return b.Bytes()
}

func tree(build string) []entry {
	d := "./debian-installer/amd64/"
	return []entry{
		{name: d + "linux", text: "kernel " + build},
		{name: d + "initrd.gz", text: "\x1f\x8b initrd " + build},
		{name: "./version.info", text: build},
		{name: "./pxelinux.0", link: "debian-installer/amd64/pxelinux.0", kind: tar.TypeSymlink},
		{
			name: d + "boot-screens/syslinux.cfg",
			text: "default install\nlabel install\n\tkernel debian-installer/amd64/linux\n\tappend vga=788 --- quiet\n",
		},
	}
}

// mirror is a mirror on the loopback, signed with a key made for it.
type mirror struct {
	files   map[string][]byte
	keyring string
	sign    func([]byte) []byte
	// signAt signs as on another day, with a key of that day.
	signAt func(day, keyFor, sigFor string, text []byte) []byte
	// endless is the file whose body does not end.
	endless string
	url     string
}

const images = "main/installer-amd64/current/images"

func newMirror(t *testing.T) *mirror {
	t.Helper()
	gpg := means.Tool(t, "gpg")
	means.Tool(t, "gpgv")
	home, err := os.MkdirTemp("", "fettle-gpg-") // short: gpg-agent's socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run()
		os.RemoveAll(home)
	})
	run := func(stdin []byte, args ...string) []byte {
		c := exec.Command(gpg, append([]string{"--homedir", home, "--batch", "--quiet"}, args...)...)
		c.Stdin = bytes.NewReader(stdin)
		out, err := c.Output()
		if err != nil {
			t.Fatal(args, err)
		}
		return out
	}
	run(nil, "--passphrase", "", "--quick-generate-key", "Archive <archive@example.org>", "ed25519", "sign", "1d")
	m := &mirror{files: map[string][]byte{}, keyring: filepath.Join(home, "ring.gpg")}
	if err := os.WriteFile(m.keyring, run(nil, "--export"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.sign = func(b []byte) []byte {
		return run(b, "--local-user", "archive@example.org", "--clearsign", "--output", "-")
	}
	m.signAt = func(day, keyFor, sigFor string, text []byte) []byte {
		user := keyFor + "@example.org"
		run(nil, "--faked-system-time", day+"T000000", "--passphrase", "", "--quick-generate-key", user, "ed25519", "sign", keyFor)
		if err := os.WriteFile(m.keyring, run(nil, "--export"), 0o600); err != nil {
			t.Fatal(err)
		}
		return run(
			text,
			"--faked-system-time",
			day+"T000000",
			"--local-user",
			user,
			"--default-sig-expire",
			sigFor,
			"--clearsign",
			"--output",
			"-",
		)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/debian/dists/bookworm/")
		b, ok := m.files[name]
		if ok && name == m.endless {
			for much := bytes.Repeat([]byte("x"), 1<<20); ; {
				if _, err := w.Write(much); err != nil {
					return
				}
			}
		}
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Write(b)
	}))
	t.Cleanup(srv.Close)
	m.url = srv.URL + "/debian"
	m.put(tarball(tree("20230607+deb12u15")...), "")
	return m
}

// put serves a tarball with all that signs it; extra goes into the Release file.
func (m *mirror) put(tarball []byte, extra string) {
	sums := []byte(sha(tarball) + "  ./netboot/netboot.tar.gz\n")
	m.files[images+"/netboot/netboot.tar.gz"] = tarball
	m.files[images+"/SHA256SUMS"] = sums
	m.files["InRelease"] = m.sign([]byte(fmt.Sprintf("Suite: oldstable\nCodename: bookworm\nDate: %s\n%sSHA256:\n %s %d %s/SHA256SUMS\n",
		time.Now().UTC().Format(time.RFC1123), extra, sha(sums), len(sums), images)))
}

func (m *mirror) source() Source {
	return Source{
		Mirror:  m.url,
		Suite:   "bookworm",
		Arch:    "amd64",
		Keyring: m.keyring,
		Now:     time.Now,
		GPGV: func(ctx context.Context, args ...string) ([]byte, error) {
			var said bytes.Buffer
			c := exec.CommandContext(ctx, "/usr/bin/gpgv", args...)
			c.Stderr = &said
			out, err := c.Output()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, &said)
			}
			return out, err
		},
	}
}

func (m *mirror) fetch(ctx context.Context) (Tarball, []byte, error) {
	t, err := m.source().Find(ctx)
	if err != nil {
		return t, nil, err
	}
	var b bytes.Buffer
	err = t.Fetch(ctx, &b, nil)
	return t, b.Bytes(), err
}

// TestMirrorsThatLie: only what is signed comes through.
func TestMirrorsThatLie(t *testing.T) {
	m := newMirror(t)
	if _, b, err := m.fetch(t.Context()); err != nil || len(b) == 0 {
		t.Fatal(err)
	}
	good := map[string][]byte{}
	for k, v := range m.files {
		good[k] = v
	}
	other := newMirror(t) // another key's
	const tampered = "/dists/bookworm/" + images + "/SHA256SUMS is not the file that Debian signed: the"
	for want, change := range map[string]func(){
		"signature is not good": func() { m.files["InRelease"] = other.files["InRelease"] },
		"signature is not good ": func() {
			m.files["InRelease"] = bytes.Replace(m.files["InRelease"], []byte("oldstable"), []byte("newstable"), 1)
		},
		tampered:                               func() { m.files[images+"/SHA256SUMS"] = append(m.files[images+"/SHA256SUMS"], '\n') },
		"not the file that Debian signed (its": func() { m.files[images+"/netboot/netboot.tar.gz"] = []byte("another") },
		"the mirror answers 404":               func() { delete(m.files, images+"/netboot/netboot.tar.gz") },
		"was valid until 2001-01-01":           func() { m.put(tarball(tree("a")...), "Valid-Until: Mon, 01 Jan 2001 00:00:00 UTC\n") },
		"signature is not good  ":              func() { m.files["InRelease"] = []byte("Codename: bookworm\n") },
		"has expired; a newer debian-archive": func() {
			m.files["InRelease"] = m.signAt("20200101", "10d", "0",
				fmt.Appendf(nil, "Codename: bookworm\nDate: %s\n", time.Now().UTC().Format(time.RFC1123)))
		},
		"not good: exit status 1: gpgv: Signature": func() { // the signature itself has expired
			m.files["InRelease"] = m.signAt("20240101", "9y", "5d",
				fmt.Appendf(nil, "Codename: bookworm\nDate: %s\n", time.Now().UTC().Format(time.RFC1123)))
		},
		"sends more than is expected: 8388608": func() { m.endless = "InRelease" },
		"sends more than is expected: 4194304": func() { m.endless = images + "/SHA256SUMS" },
		"/dists/bookworm/" + images + "/SHA256SUMS lists no netboot/netboot.tar.gz": func() {
			m.files[images+"/SHA256SUMS"] = []byte("x")
			m.files["InRelease"] = m.sign(fmt.Appendf(nil, "Codename: bookworm\nDate: "+
				"%s\nSHA256:\n %s 1 %s/SHA256SUMS\n", time.Now().UTC().Format(time.RFC1123), sha([]byte("x")), images))
		},
		"/dists/bookworm/InRelease: it is of trixie (), and bookworm was": func() {
			m.files["InRelease"] = m.sign(fmt.Appendf(nil, "Codename: trixie\nDate: %s\n", time.Now().UTC().Format(time.RFC1123)))
		},
		"yet to come": func() {
			m.files["InRelease"] = m.sign([]byte("Codename: bookworm\nDate: Mon, 01 Jan 2125 00:00:00 UTC\n"))
		},
		"lists no installer": func() {
			m.files["InRelease"] = m.sign(fmt.Appendf(nil, "Codename: bookworm\nDate: %s\n", time.Now().UTC().Format(time.RFC1123)))
		},
	} {
		m.files = map[string][]byte{}
		for k, v := range good {
			m.files[k] = v
		}
		m.endless = ""
		change()
		_, _, err := m.fetch(t.Context())
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%v; want %q", err, want)
		}
		if bad := new(Untrusted); errors.As(err, &bad) == strings.Contains(want, "404") {
			t.Errorf("%v: counts as untrusted: %t", err, bad.Err != nil)
		}
	}
	m.files, m.endless = good, ""
	s := m.source()
	s.Keyring = "/nonexistent.gpg"
	if _, err := s.Find(t.Context()); err == nil || !strings.Contains(err.Error(), "install debian-archive-keyring") {
		t.Errorf("without keys: %v", err)
	}
}

func TestUnpackRefuses(t *testing.T) {
	for want, e := range map[string]entry{
		"leads out of the tree":  {name: "../../etc/passwd", text: "x"},
		"leads out of the tree:": {name: "/etc/passwd", text: "x"},
		"a link to \"/etc\"":     {name: "a", link: "/etc", kind: tar.TypeSymlink},
		"a link to \"../x\"":     {name: "a", link: "../x", kind: tar.TypeSymlink},
		"neither a file":         {name: "a", kind: tar.TypeChar},
		"hard links":             {},
	} {
		in := tarball(e)
		if want == "hard links" {
			in, want = tarball(entry{name: "a", link: "b", kind: tar.TypeLink}), "neither a file"
		}
		if err := UnpackGzip(bytes.NewReader(in), folder(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	through := tarball(entry{name: "a", link: ".", kind: tar.TypeSymlink}, entry{name: "a/b", text: "x"})
	if err := UnpackGzip(bytes.NewReader(through), folder(t)); err != nil {
		t.Errorf("a link within the tree: %v", err)
	}
	whole := tarball(tree("x")...)
	for _, cut := range []int{10, len(whole) / 2, len(whole) - 5} {
		if err := UnpackGzip(bytes.NewReader(whole[:cut]), folder(t)); err == nil {
			t.Errorf("a tarball cut off at %d is taken", cut)
		}
	}
}

// folder is an empty one, held open.
func folder(t *testing.T) *os.Root {
	t.Helper()
	r, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func lay(t *testing.T, build string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tftp")
	unpacked(t, dir, build, false)
	return dir
}

// unpacked makes a tree of a build in dir, a stage or not, with what else is to be done before it is finished.
func unpacked(t *testing.T, dir, build string, stage bool, more ...func(*Part) error) {
	t.Helper()
	part, err := Prepare(dir)
	if err == nil {
		defer part.Drop()
		err = UnpackGzip(bytes.NewReader(tarball(tree(build)...)), part.Root)
	}
	for _, f := range more {
		if err == nil {
			err = f(part)
		}
	}
	if err == nil {
		err = part.Finish(stage)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// noted writes the note of what is new in a stage.
func noted(p *Part) error { return Note(p.Root, rel) }

func reads(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const rel = "debian-installer/amd64"

// TestSwap: a server that holds the root open sees the new tree, and at every
// point where the work can be cut off it is whole, and can be finished or undone.
func TestSwap(t *testing.T) {
	root := lay(t, "old")
	os.WriteFile(
		filepath.Join(root, rel, "boot-screens/syslinux.cfg"),
		[]byte(
			"serial 1 57600\nlabel install\n\tkernel debian-installer/amd64/linux\n\tappend console=ttyS1,57600n8 --- console=ttyS1,57600n8\n",
		),
		0o644,
	)
	os.WriteFile(filepath.Join(root, rel, "web1.cfg"), []byte("d-i x"), 0o600)
	held, err := os.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	stage := filepath.Join(root, ".fettle-netboot-x")
	if err := os.MkdirAll(stage+".part-abc/rubbish", 0o755); err != nil { // of a try that was killed
		t.Fatal(err)
	}
	unpacked(t, stage, "new", true, func(p *Part) error { return Carry(t.Context(), live(t), root, p, rel) }, noted)
	if _, err := os.Stat(filepath.Join(stage, "rubbish")); err == nil {
		t.Error("what an earlier try left is in the new tree")
	}
	if _, err := Prepare(stage); err == nil {
		t.Error("a folder that is there is taken")
	}
	want := func(build string) {
		t.Helper()
		f, err := held.Open(rel + "/linux")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if b, _ := io.ReadAll(f); string(b) != "kernel "+build {
			t.Errorf("a server that holds the root open reads %q, want %s", b, build)
		}
		if got := reads(t, filepath.Join(root, "version.info")); got != build {
			t.Errorf("version.info says %s, want %s", got, build)
		}
	}
	want("old")
	for range 2 { // done again it changes nothing
		if err := Swap(root, stage, true); err != nil {
			t.Fatal(err)
		}
		want("new")
	}
	menu := reads(t, filepath.Join(root, rel, "boot-screens/syslinux.cfg"))
	if !strings.Contains(menu, "console=ttyS1,57600n8 --- quiet console=ttyS1,57600n8") || !strings.HasPrefix(menu, "serial 1 57600\n") {
		t.Errorf("the serial console was not carried over:\n%s", menu)
	}
	if reads(t, filepath.Join(root, rel, "web1.cfg")) != "d-i x" {
		t.Error("an added file was not carried over")
	}
	for range 2 {
		if err := Swap(root, stage, false); err != nil {
			t.Fatal(err)
		}
		want("old")
	}
	// Cut off between the two exchanges, either way.
	exchange := func(name string) {
		t.Helper()
		if err := os.Rename(filepath.Join(root, name), filepath.Join(root, "aside")); err == nil {
			os.Rename(filepath.Join(stage, name), filepath.Join(root, name))
			os.Rename(filepath.Join(root, "aside"), filepath.Join(stage, name))
		}
	}
	exchange(version)
	if done, err := Swapped(root, stage); done || err != nil {
		t.Errorf("half an exchange counts as one: %v", err)
	}
	if err := Swap(root, stage, true); err != nil {
		t.Fatal(err)
	}
	want("new")
	exchange(version)
	if err := Swap(root, stage, false); err != nil {
		t.Fatal(err)
	}
	want("old")
	if err := Swap(root, stage, true); err != nil {
		t.Fatal(err)
	}
	if err := Remove(stage); err == nil {
		t.Error("the old tree was removed while the new one is served")
	}
	want("new")
	if err := Swap(root, stage, false); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(stage, noteName), []byte("12 ../../etc\n"), 0o644)
	if err := Swap(root, stage, true); err == nil {
		t.Error("a note that leads elsewhere is followed")
	}
	if err := Remove(stage); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(stage); err == nil {
		t.Error("the stage is still there")
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzRelease(f *testing.F) {
	f.Add([]byte("Codename: bookworm\nDate: Mon, 01 Jan 2125 00:00:00 UTC\nSHA256:\n " + strings.Repeat("0a", 32) + " 1 a/b\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := parseRelease(b); err == nil && r.codename == "" {
			t.Errorf("%+v", r)
		}
	})
}
