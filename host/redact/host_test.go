package redact

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// learnt is a redactor that knows the files of a host, and these.
func learnt(t *testing.T) (*Redactor, *txtar.Archive) {
	t.Helper()
	r, err := New([]byte("a key of sixteen bytes or more"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := txtar.ParseFile("testdata/host.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		r.LearnFile(f.Name, f.Data)
	}
	return r, a
}

// TestWholeHost: what becomes of each file of a host, letter by letter. That what is private goes is judged by the
// other tests, and what checks read must stay: both are read again when this file is written
// (FETTLE_UPDATE=1 go test ./host/redact).
func TestWholeHost(t *testing.T) {
	r, a := learnt(t)
	got := &txtar.Archive{Comment: []byte("What becomes of the files of host.txtar. Written by TestWholeHost.\n")}
	for _, f := range a.Files {
		b, ok := r.File(f.Name, f.Data)
		if !ok {
			b = []byte("left out\n")
		}
		for _, secret := range []string{
			"hunter2", "anna", "Anna", "acme", "nordwind", "192.0.2.", "2001:db8:5:", "mail7", "S3Z9NB0K", "AS12345", "A1B2-C3D4",
		} {
			if strings.Contains(string(b), secret) {
				t.Errorf("%s: %s survives:\n%s", f.Name, secret, b)
			}
		}
		got.Files = append(got.Files, txtar.File{Name: f.Name, Data: b})
	}
	const name = "testdata/redacted.txtar"
	if os.Getenv("FETTLE_UPDATE") != "" {
		if err := os.WriteFile(name, txtar.Format(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range got.Files {
		if i >= len(want.Files) || f.Name != want.Files[i].Name || string(f.Data) != string(want.Files[i].Data) {
			t.Errorf("%s is now:\n%s", f.Name, f.Data)
		}
	}
}
