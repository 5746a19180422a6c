package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

func TestStore(t *testing.T) {
	dir := t.TempDir()
	s := In(dir)
	if _, err := s.Before("a"); !errors.Is(err, ErrNone) {
		t.Errorf("of none: %v", err)
	}
	at := time.Date(2026, 11, 26, 2, 0, 0, 0, time.UTC)
	for i := range Keep + 3 {
		st := healthy()
		st.Time, st.BootID = at.Add(time.Duration(i)*time.Hour), fmt.Sprint(i/6)
		if _, err := s.Save(st); err != nil {
			t.Fatal(err)
		}
	}
	names, err := s.Names()
	if err != nil || len(names) != Keep {
		t.Fatalf("%d snapshots, %v", len(names), err)
	}
	if st, err := os.Stat(dir + "/snapshots"); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", st.Mode(), err)
	}
	if st, err := os.Stat(dir + "/snapshots/" + names[0] + ".json.zst"); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("a snapshot: %v, %v", st.Mode(), err)
	}
	for boot, want := range map[string]string{"2": "1", "1": "2", "none of them": "2"} { // the newest of another start
		if st, err := s.Before(boot); err != nil || st.BootID != want {
			t.Errorf("before start %s: of start %v, %v", boot, st, err)
		}
	}
	got, err := s.Load("last")
	want := healthy()
	want.Time, want.BootID = at.Add(time.Duration(Keep+2)*time.Hour), "2"
	want.Unread = got.Unread // empty or none
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read back:\n%+v\n%+v, %v", got, want, err)
	}
	for _, given := range []string{"99", "x", "../../etc/passwd", ""} {
		if _, err := s.Load(given); !errors.Is(err, ErrNone) {
			t.Errorf("%q: %v", given, err)
		}
	}
}

// All of one start: then the newest is compared, and that it has not been restarted is told.
func TestStoreOfThisStart(t *testing.T) {
	s := In(t.TempDir())
	for i := range 2 {
		st := healthy()
		st.Time = st.Time.Add(time.Duration(i) * time.Hour)
		if _, err := s.Save(st); err != nil {
			t.Fatal(err)
		}
	}
	if st, err := s.Before("a"); err != nil || st.Time.Hour() != 1 {
		t.Errorf("%v, %v", st, err)
	}
}

// TestStoreDamaged: a snapshot that cannot be read is not passed over for an older one, nor called none.
func TestStoreDamaged(t *testing.T) {
	dir := t.TempDir()
	s := In(dir)
	for i := range 2 {
		st := healthy()
		st.Time, st.BootID = st.Time.Add(time.Duration(i)*time.Hour), fmt.Sprint(i)
		name, err := s.Save(st)
		if err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			if err := os.WriteFile(dir+"/snapshots/"+name+".json.zst", []byte("damaged"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if st, err := s.Before("x"); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("%v, %v", st, err)
	}
	if st, err := s.Load("last"); err == nil || st != nil {
		t.Errorf("%v, %v", st, err)
	}
	file := t.TempDir()
	if err := os.WriteFile(file+"/snapshots", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if st, err := In(file).Before("x"); err == nil || errors.Is(err, ErrNone) || st != nil {
		t.Errorf("of a file: %v, %v", st, err)
	}
	if _, err := In(file).Save(healthy()); err == nil || !strings.Contains(err.Error(), "saving the snapshot") {
		t.Errorf("into a file: %v", err)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":   "unexpected end",
		"{}": `its format is ""`,
		`{"format":"fettle-snapshot","schema":2,"state":{}}`: "its schema is 2",
		`{"format":"fettle-snapshot","schema":1}`:            "it holds no state",
		`{"format":"fettle-snapshot","schema":1,"state":7}`:  "cannot unmarshal",
	} {
		if _, err := Parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// A snapshot that somebody else wrote makes no trouble.
func FuzzParse(f *testing.F) {
	b, _ := json.Marshal(map[string]any{"format": "fettle-snapshot", "schema": 1, "state": healthy()})
	f.Add(b, b)
	f.Add(bytes.Replace(b, []byte("nginx"), []byte("\\u001b[31m"), 1), b)
	f.Fuzz(func(t *testing.T, was, now []byte) {
		a, err := Parse(bytes.NewReader(was))
		if err != nil {
			return
		}
		if b, err := Parse(bytes.NewReader(now)); err == nil {
			Compare(a, b)
		}
	})
}
