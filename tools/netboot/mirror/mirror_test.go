package mirror

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/ulikunitz/xz"

	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

// list is a Packages file with the kernels named.
func list(kernels ...string) string {
	var b strings.Builder
	fmt.Fprint(&b, "Package: anna\nVersion: 1.89\nDescription: one\n of two\n\n")
	for _, k := range kernels {
		release, version, _ := strings.Cut(k, " ")
		for _, m := range []string{"kernel-image", "ext4-modules"} {
			fmt.Fprintf(&b, "Package: %s-%s-di\nVersion: %s\nKernel-Version: %s\n\n", m, release, version, release)
		}
	}
	return b.String()
}

func TestParse(t *testing.T) {
	text := list("6.1.0-9-amd64 6.1.27-1", "6.1.0-50-amd64 6.1.176-1", "6.1.0-50-rt-amd64 6.1.176-1", "6.12.57+deb13-amd64 6.12.57-1~bpo12+1")
	var gz, x bytes.Buffer
	g := gzip.NewWriter(&gz)
	g.Write([]byte(text))
	g.Close()
	z, _ := xz.NewWriter(&x)
	z.Write([]byte(text))
	z.Close()
	for form, b := range map[string][]byte{"plain": []byte(text), "gzip": gz.Bytes(), "xz": x.Bytes()} {
		ix, err := Parse(b)
		if err != nil || ix.Udebs != 9 || len(ix.Kernels) != 4 || ix.Kernels[3].Release != "6.1.0-9-amd64" || !ix.Kernels[3].Ext4 {
			t.Fatalf("%s: %+v, %v", form, ix, err)
		}
		if k, ok := ix.Newest("6.1.0-9-amd64"); !ok || k.Release != "6.12.57+deb13-amd64" {
			t.Errorf("the newest of amd64: %+v", k)
		}
		if k, ok := ix.Newest("6.1.0-1-rt-amd64"); !ok || k.Release != "6.1.0-50-rt-amd64" {
			t.Errorf("the newest of rt-amd64: %+v", k)
		}
	}
	for _, bad := range []string{"", "<html>Not found</html>", list(), "\xfd7zXZ\x00", "\x1f\x8b"} {
		if ix, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, ix)
		}
	}
}

// What a list's kernels are, by its stanzas; the newest is first.
func TestKernels(t *testing.T) {
	stanza := func(fields ...string) string { return strings.Join(fields, "\n") + "\n\n" }
	const image, ext4 = "Package: kernel-image-6.1-di", "Package: ext4-modules-6.1-di"
	of := "Kernel-Version: 6.1"
	for text, want := range map[string]string{
		stanza(image, of, "Version: 1"):                                         "1: [{6.1 1 1 false}]",
		stanza(ext4, of, "Version: 1"):                                          "1: [{6.1 1 1 true}]",
		stanza(image, of, "Version: 1") + stanza(ext4, of, "Version: 2"):        "2: [{6.1 2 2 true}]",
		stanza(ext4, of, "Version: 2") + stanza(image, of, "Version: 1"):        "2: [{6.1 2 2 true}]",
		stanza(image, of, "Version: 1", " Version: 9", "\tVersion: 9", "other"): "1: [{6.1 1 1 false}]", // lines that go on
		stanza(of, "Version: 1") + stanza(image, of, "Version: 1"):              "1: [{6.1 1 1 false}]",
		stanza(image, of) + stanza("Package: b", "Kernel-Version: 6.2") + stanza("Package: c", "Kernel-Version: 6.3",
			"Version: 1"): "3: [{6.3 1 1 false} " +
			"{6.2  1 false} {6.1  1 false}]",
	} {
		ix, err := Parse([]byte(text))
		if got := fmt.Sprintf("%d: %v", ix.Udebs, ix.Kernels); err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
	ix, err := Parse([]byte(list("6.1 1", "6.2 2")))
	if k, ok := ix.Find("6.1"); err != nil || !ok || k.Version != "1" {
		t.Errorf("6.1 is %+v, %v, %v", k, ok, err)
	}
	if k, ok := ix.Find("6.3"); ok {
		t.Errorf("6.3 is %+v", k)
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"1", "2", -1}, {"2", "1", 1}, {"1", "1", 0}, {"", "1", -1}, {"1", "", 1}, {"", "", 0}} {
		if got := Compare(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestFlavour(t *testing.T) {
	for release, want := range map[string]string{"6.1.0-50-amd64": "amd64", "6.1.0-50-rt-amd64": "rt-amd64", "6.12.57+deb13-amd64": "amd64",
		"5.10.0-0.deb10.16-amd64": "amd64", "5.9.0-0.bpo.2-amd64": "amd64", "3.16.0-4-686-pae": "pae", "6.8": "", "": ""} {
		if got := Flavour(release); got != want {
			t.Errorf("%s: %q, want %q", release, got, want)
		}
	}
}

func TestAsk(t *testing.T) {
	page := func(status int, body string) string {
		b, _ := json.Marshal(host.Page{Status: status, Body: []byte(body)})
		return "-- table/get http://m/debian/dists/bookworm/main/debian-installer/binary-amd64/Packages.xz --\n" + string(b) + "\n"
	}
	for text, want := range map[string]string{
		page(200, list("6.1.0-9-amd64 6.1.27-1")): "",
		page(404, ""):     "has no such list",
		page(500, ""):     "answers 500",
		page(200, "what"): "Packages.xz: it lists no kernel modules for an installer",
		"":                "", // not asked: the host's own error
	} {
		ix, err := Ask(t.Context(), hosttest.New(t, text+"-- root/x --\n"), "http://m/debian/", "bookworm", "amd64")
		switch {
		case want == "" && text != "" && (err != nil || len(ix.Kernels) != 1 || !strings.HasPrefix(ix.From, "http://m/debian/dists")):
			t.Errorf("%+v, %v", ix, err)
		case (want != "" || text == "") && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%.60q: %v; want %q", text, err, want)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzParse(f *testing.F) {
	f.Add([]byte(list("6.1.0-9-amd64 6.1.27-1")))
	f.Add([]byte("Package: a\nKernel-Version: \n :\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		ix, err := Parse(b)
		if err == nil && len(ix.Kernels) == 0 {
			t.Error("no kernels and no error")
		}
		for _, k := range ix.Kernels {
			Flavour(k.Release)
		}
	})
}
