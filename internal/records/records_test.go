package records

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

// day is a time of a test's records, in a zone of its own.
func day(n int) time.Time {
	return time.Date(2026, 1, n, 1, 30, 0, 250_999_999, time.FixedZone("", 2*3600)) // 23:30 of the day before in UTC
}

// filled is a folder with a record for each day, the content of which is the day.
func filled(t *testing.T, days ...int) Folder {
	t.Helper()
	f := Folder(filepath.Join(t.TempDir(), "records"))
	for _, d := range days {
		if _, err := f.Add(day(d), []byte{byte(d)}, 100); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func read(f Folder, name string) (b []byte, err error) {
	err = f.Read(name, func(r io.Reader) (err error) { b, err = io.ReadAll(r); return err })
	return b, err
}

func TestAddAndRead(t *testing.T) {
	f := Folder(filepath.Join(t.TempDir(), "var", "records"))
	if names, err := f.Names(); err != nil || len(names) > 0 {
		t.Errorf("of a folder that is not there: %v, %v", names, err)
	}
	text := bytes.Repeat([]byte("what was found\n"), 10_000)
	name, err := f.Add(day(2), text, 5)
	if err != nil || name != "20260101T233000.250Z" {
		t.Fatalf("%q, %v", name, err)
	}
	if got, err := read(f, name); err != nil || !bytes.Equal(got, text) {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	file := filepath.Join(string(f), "20260101T233000.250Z.json.zst")
	if f.File(name) != file {
		t.Errorf("it is said to be in %s", f.File(name))
	}
	st, err := os.Stat(file)
	if err != nil || st.Mode().Perm() != 0o600 || st.Size() > int64(len(text)/10) {
		t.Errorf("the file: %v, %v", st, err)
	}
	if st, err := os.Stat(string(f)); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", st, err)
	}
}

func TestNamesAreTheNewestFirst(t *testing.T) {
	f := filled(t, 5, 3, 9)
	for _, other := range []string{"20260101T233000.250Z", "notes.json.zst", "20260101T233000.250Z.json", ".20260101T233000.250Z.json.zst"} {
		if err := os.WriteFile(filepath.Join(string(f), other), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(f.File("20270101T000000.000Z"), 0o700), os.Symlink("x", f.File("20270102T000000.000Z"))); err != nil {
		t.Fatal(err)
	}
	want := []string{"20260108T233000.250Z", "20260104T233000.250Z", "20260102T233000.250Z"}
	if got, err := f.Names(); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := Folder(f.File("20260108T233000.250Z")).Names(); err == nil {
		t.Error("a file is no folder, and that is an error")
	}
}

func TestNameIsWhatTheUserMeans(t *testing.T) {
	f := filled(t, 2, 10, 11)
	if _, err := f.Add(day(11).Add(time.Hour), nil, 100); err != nil {
		t.Fatal(err)
	}
	const newest, newer, old, oldest = "20260111T003000.250Z", "20260110T233000.250Z", "20260109T233000.250Z", "20260101T233000.250Z"
	for given, want := range map[string]string{
		"last": newest, "1": newest, "2": newer, "4": oldest, "5": "", "0": "", "-1": "", "": "", "lost": "",
		newer: newer, "20260110": newer, "20260109T2330": old, "20260101": oldest,
		"2026011":  "", // too little to tell a day by
		"2026010":  "",
		"20260112": "", "x20260110": "",
	} {
		got, err := f.Name(given)
		if got != want || (want == "") != errors.Is(err, ErrNone) || want != "" && err != nil {
			t.Errorf("%q: %q, %v; want %q", given, got, err, want)
		}
	}
	if _, err := f.Add(day(11).Add(2*time.Hour), nil, 100); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Name("20260111"); !errors.Is(err, ErrNone) {
		t.Errorf("what two begin with means %q, %v", got, err)
	}
	if _, err := Folder(f.File(oldest)).Name("last"); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("of what is no folder: %v", err)
	}
}

func TestAddKeepsNoMoreThanItShould(t *testing.T) {
	for keep, want := range map[int]string{
		100: "20260105T233000.250Z 20260104T233000.250Z 20260103T233000.250Z 20260102T233000.250Z 20260101T233000.250Z",
		4:   "20260105T233000.250Z 20260104T233000.250Z 20260103T233000.250Z 20260102T233000.250Z",
		3:   "20260105T233000.250Z 20260104T233000.250Z 20260103T233000.250Z",
		1:   "20260105T233000.250Z",
		0:   "20260105T233000.250Z", // the one just made stays
		-7:  "20260105T233000.250Z",
	} {
		f := filled(t, 2, 3, 4, 5)
		other := filepath.Join(string(f), "0000.txt")
		if err := os.WriteFile(other, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Add(day(6), nil, keep); err != nil {
			t.Fatal(err)
		}
		if names, err := f.Names(); err != nil || strings.Join(names, " ") != want {
			t.Errorf("keeping %d: %v, %v", keep, names, err)
		}
		if _, err := os.Stat(other); err != nil {
			t.Errorf("keeping %d: what is no record went, too: %v", keep, err)
		}
	}
}

func TestDamagedRecordIsNamed(t *testing.T) {
	f := filled(t, 2, 3)
	const name = "20260101T233000.250Z"
	b, err := os.ReadFile(f.File(name))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{b[:len(b)-1], []byte("no zstd at all")} {
		if err := os.WriteFile(f.File(name), bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := read(f, name); err == nil || !strings.HasPrefix(err.Error(), f.File(name)+": damaged (") ||
			!strings.HasSuffix(err.Error(), "delete it") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	no := errors.New("not what it should be")
	if err := f.Read("20260102T233000.250Z", func(io.Reader) error { return no }); !errors.Is(err, no) ||
		!strings.Contains(err.Error(), "damaged") {
		t.Errorf("refused by who parses it: %v", err)
	}
	if _, err := read(f, "20250101T000000.000Z"); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "damaged") {
		t.Errorf("one that is not there: %v", err)
	}
}

func TestNothingStaysOpen(t *testing.T) {
	f := filled(t, 2)
	before := means.OpenFiles(t)
	if _, err := f.Add(day(3), []byte("x"), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := read(f, "20260102T233000.250Z"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Name("last"); err != nil || !maps.Equal(before, means.OpenFiles(t)) {
		t.Errorf("%v; open are %v, before %v", err, means.OpenFiles(t), before)
	}
}

func TestAddTellsWhatFailed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if name, err := Folder(file).Add(day(2), nil, 9); err == nil || name != "" {
		t.Errorf("into a file: %q, %v", name, err)
	}
	f := filled(t, 2)
	if err := os.Mkdir(f.File("20260104T233000.250Z"), 0o700); err != nil {
		t.Fatal(err)
	}
	if name, err := f.Add(day(5), nil, 9); err == nil || name != "" {
		t.Errorf("where a folder is in the way: %q, %v", name, err)
	}
}
