package history

import (
	"os"
	"strings"
	"testing"
	"time"

	"fettle/internal/jsondoc"

	"fettle/internal/records"
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
	if got, err := s.Name("20261122"); err != nil || got != began.Format(records.Layout) {
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
		if want := began.Add(time.Duration(i) * time.Hour).Format(records.Layout); err != nil || len(names) != 1 || names[0] != want {
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

// A file of a hundred bytes that asks for a window of 128 MiB (RFC 8878 section
// 3.1.1.1.2) is refused before that is allocated.
func TestBomb(t *testing.T) {
	s := In(t.TempDir())
	if err := os.MkdirAll(string(s.dir), 0o700); err != nil {
		t.Fatal(err)
	}
	text := `{"format":"fettle-report","schema":1,"results":[]}`
	for windowLog, whole := range map[int]bool{20: true, 27: false} {
		frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, byte(windowLog-10) << 3}
		block := len(text)<<3 | 1 // the last one, raw
		frame = append(append(frame, byte(block), byte(block>>8), byte(block>>16)), text...)
		name := began.Format(records.Layout)
		if err := os.WriteFile(s.dir.File(name), frame, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := s.Read(name)
		if (err == nil) != whole {
			t.Errorf("a window of 2^%d bytes: %v", windowLog, err)
		}
	}
}
