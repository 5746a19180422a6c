package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/host/hosttest"
)

// TestRecord: what a run read of a folder is in the capture, and a run over that capture says the same, and can be recorded again.
func TestRecord(t *testing.T) {
	root := folder(t, "etc/passwd", "etc/hostname=web1", "etc/hosts/")
	record := func(tg Target, key string) (said string, sum *Recorded, file string) {
		out, err := os.CreateTemp(t.TempDir(), "*.tar.zst")
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		tg.Record = &Recording{Out: out}
		if key != "" {
			tg.Record.Key = []byte(key)
		}
		err = Engine{}.Check(t.Context(), tg, testTraps()[3:], trap.Options{}, func(About) error { return nil },
			func(r trap.Result) {
				said = string(r.Outcomes[0].Status) + " " + r.Outcomes[0].Summary + r.Outcomes[0].Reason
			})
		if err != nil || tg.Record.Sum == nil {
			t.Fatal(err)
		}
		return said, tg.Record.Sum, out.Name()
	}
	said, sum, file := record(Target{Root: root}, "")
	if !strings.HasPrefix(said, "clear web1") || sum.Failed != "" || sum.Name != "web1" || sum.Answers < 2 || sum.Denied ||
		strings.Join(sum.Unread, ";") != "/etc/hosts: not a regular file" {
		t.Errorf("%q, %+v", said, sum)
	}
	again, second, _ := record(Target{From: file}, "")
	if again != said || second.Failed != "" || second.Name != "web1" || second.Answers < 2 {
		t.Errorf("%q, %+v; of the folder itself %q", again, second, said)
	}
	if _, hidden, _ := record(Target{Root: root}, strings.Repeat("k", 16)); hidden.Failed != "" || hidden.Name == "web1" || hidden.Name == "" {
		t.Errorf("redacted: %+v", hidden)
	}
	if _, none, _ := record(Target{Root: root}, "short"); !strings.Contains(none.Failed, "at least 16") || none.Name != "" {
		t.Errorf("a short key: %+v", none)
	}
}

// TestDenied: that something needs root is told of a capture, and counts apart.
func TestDenied(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r := &Recording{Out: out}
	src, done := r.start(hosttest.New(t, "-- denied/etc/shadow --\n-- root/etc/hostname --\na\n").Source())
	for _, name := range []string{"/etc/shadow", "/etc/hostname", "/etc/absent"} {
		_, _ = src.ReadFile(t.Context(), name, 100)
	}
	done()
	if s := r.Sum; s == nil || !s.Denied || strings.Join(s.Unread, ";") != "/etc/shadow: needs root" || s.Answers != 3 {
		t.Errorf("%+v", r.Sum)
	}
	if again, done := (*Recording)(nil).start(src); again != src {
		t.Error("recorded unasked")
	} else {
		done()
	}
}
