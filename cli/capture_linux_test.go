package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"math/rand/v2"

	"fettle/engine/run"
	"fettle/engine/trap"
	"fettle/internal/means"
)

// TestCaptureCannotWrite: the child of a capture has one file more than that of a
// check, open, and no more rights. A kernel without Landlock leaves that to the
// filter alone.
func TestCaptureCannotWrite(t *testing.T) {
	means.Root(t)
	unchanged := makeVictims(t)
	a := evilApp()
	var ids []string
	for name := range mutations {
		ids = append(ids, "mutate-"+name)
	}
	out, err := os.CreateTemp(t.TempDir(), "capture")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	rec := &run.Recording{Out: out}
	err = a.Check(t.Context(), run.Target{Record: rec}, named(t, a, ids...), trap.Options{}, func(ab run.About) error {
		if !ab.Confined.Filter {
			means.Missing(t, "needs a kernel with system call filters")
		}
		return nil
	}, func(r trap.Result) {
		if len(r.Outcomes) != 1 || r.Outcomes[0].Status != trap.Clear {
			t.Errorf("%s was not refused: %+v", r.Trap, r.Outcomes)
		}
	})
	if err != nil || rec.Sum == nil || rec.Sum.Failed != "" {
		t.Errorf("the capture: %v, %+v", err, rec.Sum)
	}
	if st, err := out.Stat(); err != nil || st.Size() == 0 {
		t.Errorf("nothing was written to the file handed over: %v", err)
	}
	unchanged()
}

// TestCaptureAmongOthers: somebody who may write to the folder exchanges folders
// and files there while root captures.
func TestCaptureAmongOthers(t *testing.T) {
	means.Short(t, "takes seconds")
	means.Root(t)
	top := t.TempDir()
	for d := top; d != "/" && d != "/tmp"; d = filepath.Dir(d) {
		os.Chmod(d, 0o755)
	}
	shared, roots, victim := top+"/shared", top+"/roots", top+"/roots/victim"
	for _, d := range []string{shared, roots, top + "/root/etc"} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(top+"/root/etc/hostname", []byte("h\n"), 0o644)
	os.WriteFile(victim, []byte("root's"), 0o600)
	os.Chown(shared, 0, means.Staff)
	os.Chmod(shared, 0o2775)
	sub := shared + "/sub"
	stop := means.Attacker(t, func() {
		os.Mkdir(sub, 0o777)
		os.Remove(sub + "/away")
		os.Remove(sub + "/c.tar.zst")
		passing, _ := filepath.Glob(sub + "/.fettle-*")
		for _, p := range passing { // the folder in which the child once wrote, or the file
			os.Rename(p, sub+"/away")
			os.Symlink(roots, p)
		}
		os.Rename(sub, shared+"/away")
		os.Symlink(roots, sub)
		time.Sleep(rand.N(3 * time.Millisecond))
		os.Remove(sub)
		os.Rename(shared+"/away", sub)
		time.Sleep(rand.N(20 * time.Millisecond))
	})
	done := 0
	var said string
	for range 40 {
		cmd := synthetic(1, "capture", "--root", top+"/root", "-o", sub+"/c.tar.zst")
		out, err := cmd.CombinedOutput()
		if said = string(out); err == nil {
			done++
		}
	}
	t.Logf("%d of 40 captures were written during %d rounds of the attack; the last said %s", done, stop(), strings.TrimSpace(said))
	names, err := os.ReadDir(roots)
	if err != nil || len(names) != 1 {
		t.Errorf("root's own folder holds %v, %v", names, err)
	}
	if b, _ := os.ReadFile(victim); string(b) != "root's" {
		t.Errorf("root's file says %q", b)
	}
}
