package history

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"fettle/internal/jsondoc"
)

// A run is meant by its number or by at least its day: "2" is no beginning of a name.
func TestShortBeginnings(t *testing.T) {
	s := In(t.TempDir())
	if err := s.Add(doc(began), 3); err != nil {
		t.Fatal(err)
	}
	for _, given := range []string{"2", "20", "2026112"} {
		if got, err := s.Name(given); err == nil {
			t.Errorf("%q is taken for %s", given, got)
		}
	}
	if got, err := s.Name("20261122"); err != nil || got != began.Format(layout) {
		t.Errorf("a day: %q, %v", got, err)
	}
}

// The run just recorded is never deleted, whatever is to be kept.
func TestKeepsTheLast(t *testing.T) {
	s := In(t.TempDir())
	for i := range 3 {
		if err := s.Add(doc(began.Add(time.Duration(i)*time.Hour)), 0); err != nil {
			t.Fatal(err)
		}
		names, err := s.Names()
		if want := began.Add(time.Duration(i) * time.Hour).Format(layout); err != nil || len(names) != 1 || names[0] != want {
			t.Fatalf("%v, %v; want %s alone", names, err, want)
		}
	}
}

// A schema that is older, or newer, is not read as today's.
func TestOtherSchemas(t *testing.T) {
	for _, schema := range []string{"0", "2", "-1"} {
		text := `{"format":"fettle-report","schema":` + schema + `,"results":[]}`
		if _, err := Parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "its schema is "+schema) {
			t.Errorf("%s: %v (today's is %d)", schema, err, jsondoc.Version)
		}
	}
}

// A small file that would unpack into more than a run may have is refused before
// it is unpacked, by the size of its window as by what it says of itself.
func TestBomb(t *testing.T) {
	s := In(t.TempDir())
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithWindowSize(128<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	zeroes := make([]byte, 1<<20)
	for range 130 {
		if _, err := z.Write(zeroes); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	name := began.Format(layout)
	if err := os.WriteFile(filepath.Join(s.dir, name+suffix), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(name); err == nil || !strings.Contains(err.Error(), "window size exceeded") && !strings.Contains(err.Error(), "larger than") {
		t.Errorf("%d bytes that unpack to 130 MiB: %v", b.Len(), err)
	} else {
		t.Log(err)
	}
}
