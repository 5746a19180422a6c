package netboot

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
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

	"github.com/cavaliergopher/cpio"
	"github.com/klauspost/compress/gzip"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/engine/trap"
	"fettle/internal/means"
)

// kernelOf is a bzImage that is of a release.
func kernelOf(release string) []byte {
	b := make([]byte, 3*512)
	b[0x1f1] = 2
	copy(b[0x202:], "HdrS")
	binary.LittleEndian.PutUint16(b[0x20e:], 0x180)
	copy(b[0x380:], release+" (x@example.org) #1\x00")
	return b
}

// initrdOf is one of Debian's installer with modules for a release, and a preseed file if there is text for it.
func initrdOf(release, preseed string) []byte {
	var b bytes.Buffer
	w := cpio.NewWriter(&b)
	for _, f := range [][2]string{{"lib/modules/" + release + "/ext4.ko", "x"}, {"etc/default-release", "bookworm\n"},
		{"etc/lsb-release", "DISTRIB_ID=Debian\nDISTRIB_RELEASE=\"12 (bookworm) - installer build 20230607\"\n"},
		{"preseed.cfg", preseed}} {
		w.WriteHeader(&cpio.Header{Name: f[0], Mode: cpio.TypeReg | 0o644, Links: 1, Size: int64(len(f[1]))})
		io.WriteString(w, f[1])
	}
	w.Close()
	return b.Bytes()
}

// netbootOf is a netboot.tar.gz of names and contents in turn.
func netbootOf(files ...string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for i := 0; i < len(files); i += 2 {
		w.WriteHeader(&tar.Header{Name: files[i], Size: int64(len(files[i+1])), Mode: 0o644, Typeflag: tar.TypeReg})
		io.WriteString(w, files[i+1])
	}
	w.Close()
	z.Close()
	return b.Bytes()
}

func sumOf(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

// fakeGPGV trusts whatever keyring says that it is trusted.
const fakeGPGV = `while [ $# -gt 0 ]; do case $1 in --output) out=$2; shift;; --keyring) ring=$2; shift;; esac; in=$1; shift; done
grep -q '^trusted' "$ring" || { echo 'Signature made today' >&2; echo "no public key for $LANG$HOME" >&2; exit 2; }
cp "$in" "$out"; echo '[GNUPG:] GOODSIG 0123456789ABCDEF Archive'`

// mirrored serves what a mirror has; gpgv is not asked for real.
func mirrored(t *testing.T) (address string) {
	t.Helper()
	menu := "default install\nlabel install\n\tkernel debian-installer/amd64/linux\n\tappend vga=788 --- quiet\n"
	d := "debian-installer/amd64/"
	text := netbootOf(d+"linux", "the kernel", d+"initrd.gz", "\x1f\x8b the initrd", d+"boot-screens/syslinux.cfg", menu)
	odd := netbootOf("linux", "the kernel")
	const images = "main/installer-amd64/current/images"
	sums := sumOf(text) + "  ./netboot/netboot.tar.gz\n" + sumOf(odd) + "  ./netboot/gtk/netboot.tar.gz\n"
	dists := map[string][]byte{
		images + "/netboot/netboot.tar.gz": text, images + "/netboot/gtk/netboot.tar.gz": odd, images + "/SHA256SUMS": []byte(sums),
		"InRelease": fmt.Appendf(nil, "Codename: bookworm\nDate: %s\nSHA256:\n %s %d %s/SHA256SUMS\n",
			time.Now().UTC().Format(time.RFC1123), sumOf([]byte(sums)), len(sums), images),
		"main/debian-installer/binary-amd64/Packages.xz": []byte(udebs("6.1.0-50-amd64", "6.1.176-1")),
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, ok := dists[strings.TrimPrefix(r.URL.Path, "/debian/dists/bookworm/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Write(b)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// udebs is a Packages file with the modules of kernels, each a release and a version.
func udebs(kernels ...string) string {
	var b strings.Builder
	for i := 0; i < len(kernels); i += 2 {
		for _, name := range []string{"kernel-image", "ext4-modules"} {
			fmt.Fprintf(&b, "Package: %s-%s-di\nVersion: %s\nKernel-Version: %[2]s\n\n", name, kernels[i], kernels[i+1])
		}
	}
	return b.String()
}

// packaged builds a package with the trees of installers, and tells its hash.
func packaged(t *testing.T, file, name string) string {
	t.Helper()
	dir := t.TempDir()
	put := func(name, text string) {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	put("DEBIAN/control", "Package: "+name+"\nVersion: 1+deb12u9\nArchitecture: all\nMaintainer: X <x@example.org>\nDescription: x\n")
	for _, kind := range []string{"text", "gtk"} {
		at := "usr/lib/debian-installer/images/12/amd64/" + kind + "/debian-installer/amd64/"
		put(at+"linux", "the kernel, "+kind)
		put(at+"initrd.gz", "\x1f\x8b x")
	}
	if out, err := exec.Command("dpkg-deb", "-Znone", "--build", dir, file).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return sumOf(b)
}

// TestInstallers: what is said of trees beside what mirrors have; trees fetched from a mirror and from packages, and swapped.
func TestInstallers(t *testing.T) {
	for _, name := range []string{"gpgv", "dpkg-deb", "apt-cache"} {
		means.Tool(t, name)
	}
	const sums = "/mnt/apt"
	d := "/debian-installer/amd64/"
	files := map[string]string{"/mnt/tmp/x": "", "/mnt/trusted.gpg": "trusted\n", "/mnt/other.gpg": "other\n", sums: "",
		"/mnt/packages/good": udebs("6.1.0-50-amd64", "6.1.176-1"), "/mnt/packages/bad": "Package: \x00",
		"/mnt/packages/newer": udebs("6.1.0-50-amd64", "6.1.176-1", "6.1.0-60-amd64", "6.1.200-1"),
		"/mnt/packages/gone":  udebs("6.1.0-60-amd64", "6.1.200-1"),
		"/mnt/mirror/dists/bookworm/main/debian-installer/binary-amd64/Packages": udebs("6.1.0-50-amd64", "6.1.176-1"),
		"/mnt/old" + d + "linux": "the old kernel", "/mnt/old" + d + "initrd.gz": "old", "/mnt/old" + d + "web1.cfg": "ours\n",
		"/mnt/old" + d + "boot-screens/syslinux.cfg": "serial 1 9600\ndefault a\nlabel a\n\tkernel debian-installer/amd64/linux\n" +
			"\tappend console=ttyS1,9600n8 --- quiet console=ttyS1,9600n8\n",
		"/mnt/two/a/linux": "", "/mnt/two/a/initrd.gz": "no archive\n"}
	const ours = "6.1.0-50-amd64"
	for folder, of := range map[string][2]string{"/mnt/tree" + d: {ours, ours}, "/mnt/two/b/": {ours, "6.1.0-9-amd64"},
		"/mnt/unread/": {"", "6.1.0-9-amd64"}} {
		files[folder+"linux"], files[folder+"initrd.gz"] = string(kernelOf(of[0])), string(initrdOf(of[1], ""))
	}
	if !apptest.Golden(t, files) {
		return
	}
	address := mirrored(t)
	preseed := "d-i mirror/http/hostname string " + address + "\nd-i mirror/http/directory string /debian\n"
	good, other := packaged(t, "/mnt/good.deb", "debian-installer-12-netboot-amd64"), packaged(t, "/mnt/other.deb", "hello")
	write := func(name, text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("/mnt/named/linux", string(kernelOf(ours)))
	write("/mnt/named/initrd.gz", string(initrdOf(ours, preseed)))
	write("/etc/apt/sources.list", "deb http://"+address+"/none/debian bookworm main\n")
	apptest.Cover(t, "/usr/bin/gpgv", fakeGPGV)
	apptest.Cover(t, "/usr/bin/apt-cache", `echo "asked: $*"; cat `+sums+`
[ -s `+sums+` ] || { echo "N: first" >&2; echo "E: No packages found" >&2; exit 100; }`)
	t.Setenv("TMPDIR", "/mnt/tmp")
	before := len(means.OpenFiles(t))
	hide := strings.NewReplacer(address, "MIRROR", good, "SUM", other, "OTHERSUM")
	apptest.Session(t, "installers.txt", func(ctx context.Context, args []string) (int, string, string) {
		for i := range args {
			args[i] = strings.NewReplacer("MIRROR", address, "OTHERSUM", other, "SUM", good, `\n`, "\n").Replace(args[i])
		}
		switch args[0] {
		case "cat", "ls", "write":
			var out []byte
			var err error
			switch args[0] {
			case "cat":
				out, err = os.ReadFile(args[1])
			case "write":
				err = os.WriteFile(args[1], []byte(args[2]), 0o644)
			default:
				out, err = exec.CommandContext(ctx, "ls", args[1:]...).Output()
			}
			if err != nil {
				return 1, "", err.Error()
			}
			return 0, string(out), ""
		}
		a := app.App{Traps: []*trap.Trap{rewrites}}
		code, out, errs := apptest.Run(ctx, a, Cmd, append([]string{"netboot"}, args...)...)
		return code, hide.Replace(out), hide.Replace(errs)
	})
	if left, _ := filepath.Glob("/mnt/*.part-*"); len(left) > 0 {
		t.Errorf("what was not finished is left: %v", left)
	}
	if left, _ := os.ReadDir("/mnt/tmp"); len(left) != 1 {
		t.Errorf("of files that pass by are left: %v", left)
	}
	if now := means.OpenFiles(t); len(now) != before {
		t.Errorf("open are %v, and were %d", now, before)
	}
}
