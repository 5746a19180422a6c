package sosreport

import (
	"archive/tar"
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"fettle/host"
	"fettle/internal/means"
)

const manyFiles = 75_000

// BenchmarkFolder opens a report of 75,000 files and asks what a few checks
// ask. Making the folder takes longer than all the rest.
func BenchmarkFolder(b *testing.B) {
	dir, _ := report(b)
	for i := range manyFiles {
		p := filepath.Join(dir, top, fmt.Sprintf("sys/devices/d%03d/e%02d", i/500, i/50%10))
		if i%50 == 0 {
			if err := os.MkdirAll(p, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(fmt.Sprintf("%s/f%02d", p, i%50), []byte("1\n"), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		askFew(b, dir)
	}
}

func askFew(b *testing.B, file string) {
	s, err := Open(b.Context(), file)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	h := host.New(s)
	if _, err := h.Links(b.Context()); err != nil {
		b.Fatal(err)
	}
	if _, err := h.OpenFiles(b.Context()); err != nil {
		b.Fatal(err)
	}
	for _, p := range []string{"/etc/hosts", "/proc/sys/net/ipv6/conf/br0/accept_ra", "/etc/network/interfaces"} {
		if _, err := h.ReadFile(b.Context(), p); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkXZ reads a .tar.xz of 100 MB with 75,000 members. With BIG=FILE it
// leaves the archive there, for a whole-process run.
func BenchmarkXZ(b *testing.B) {
	file := os.Getenv("BIG")
	if file == "" {
		file = filepath.Join(b.TempDir(), "big.tar.xz")
	}
	if _, err := os.Stat(file); err != nil {
		makeBig(b, file)
	}
	st, err := os.Stat(file)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(st.Size())
	for b.Loop() {
		askFew(b, file)
	}
}

func makeBig(b *testing.B, file string) {
	out, err := os.Create(file)
	if err != nil {
		b.Fatal(err)
	}
	defer out.Close()
	xz := exec.Command(means.Tool(b, "xz"), "-1", "-T2", "-c")
	xz.Stdout = out
	in, err := xz.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := xz.Start(); err != nil {
		b.Fatal(err)
	}
	buf := bufio.NewWriter(in)
	w := tar.NewWriter(buf)
	add := func(name string, body []byte) {
		if err := w.WriteHeader(&tar.Header{Name: top + name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(body))}); err != nil {
			b.Fatal(err)
		}
		w.Write(body)
	}
	ar, err := txtar.ParseFile("testdata/report.txtar")
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range ar.Files {
		add(f.Name, f.Data)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	body := make([]byte, 2700)
	for i := range manyFiles { // lines of hexadecimal digits, which xz halves
		for j := range body {
			body[j] = "0123456789abcdef"[rnd.IntN(16)]
		}
		add(fmt.Sprintf("sys/devices/d%03d/e%02d/f%02d", i/500, i/50%10, i%50), body)
	}
	w.Close()
	buf.Flush()
	in.Close()
	if err := xz.Wait(); err != nil {
		b.Fatal(err)
	}
}
