package render

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle/internal/build"
	"fettle/internal/schematest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// plain is a serial console.
var plain = Terminal{Width: 80}

// golden holds both forms of a result to files of a name in testdata, and its
// document to the published schema.
func golden(t *testing.T, name string, r Result, on Terminal) {
	t.Helper()
	for format, ending := range map[string]string{"text": ".txt", "json": ".json"} {
		var b bytes.Buffer
		if err := Write(&b, format, r, on); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		switch format {
		case "text":
			if i := strings.IndexFunc(got, func(c rune) bool { return c < ' ' && c != '\n' || c == 0x7f }); i >= 0 && !on.Colour {
				t.Errorf("%s: a control character in %q", name, got[i:])
			}
		case "json":
			if err := schematest.Valid(b.Bytes()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			got = strings.Replace(got, `"fettle": "`+build.Version()+`"`, `"fettle": "VERSION"`, 1)
		}
		file := filepath.Join("testdata", name+ending)
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || got != string(want) {
			t.Errorf("differs from %s (%v; rewrite with -update, then read the diff):\n%s", file, err, got)
		}
	}
}

func TestSchema(t *testing.T) {
	schematest.Published(t, "installer", "Durations of the installer's phases, of fettle measure installer.", installerDocument{})
	schematest.Published(t, "login", "Where SSH logins spend their time, of fettle measure login.", loginDocument{})
	schematest.Published(t, "login-server", "Experiments on the server, of fettle measure login --server-side.", loginServerDocument{})
	schematest.Published(t, "ksm", "Memory saved by merging, and ksmd's CPU time, of fettle measure ksm.", ksmDocument{})
	schematest.Published(t, "counters", "Rates of interface counters, of fettle measure counters.", countersDocument{})
	schematest.Published(t, "disks", "Disks compared with their siblings, of fettle measure disks.", disksDocument{})
}

func TestWriteRefusesOtherFormats(t *testing.T) {
	if err := Write(io.Discard, "xml", Disks{}, plain); err == nil {
		t.Error("wrote xml")
	}
	for _, f := range Formats() {
		if err := Write(io.Discard, f, Disks{}, plain); err != nil {
			t.Error(err)
		}
	}
}
