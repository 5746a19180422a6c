package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"fettle/cli/app"
	"fettle/engine/run"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/confine"
	"fettle/internal/means"
)

func pointer(b []byte) unsafe.Pointer { return unsafe.Pointer(&b[0]) }

func errnoErr(e syscall.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

// makeVictims makes what the evil traps try to change, and tells afterwards
// whether they did.
func makeVictims(t *testing.T) (unchanged func()) {
	t.Helper()
	os.RemoveAll(victims)
	for _, dir := range []string{victims, victims + "/folder", victims + "/lock"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.RemoveAll(victims) })
	if err := os.WriteFile(victims+"/file", []byte("precious\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	look := func() string {
		var out []string
		filepath.Walk(victims, func(p string, st os.FileInfo, err error) error {
			if strings.HasPrefix(p, victims+"/lock") {
				return nil
			}
			sys := st.Sys().(*syscall.Stat_t)
			out = append(out, fmt.Sprint(p, st.Mode(), sys.Uid, sys.Gid, sys.Size, sys.Mtim.Nano(), sys.Ctim.Nano(), sys.Nlink))
			return nil
		})
		return strings.Join(out, "\n")
	}
	before := look()
	return func() {
		t.Helper()
		if after := look(); after != before {
			t.Errorf("changed:\n%s\nbefore:\n%s", after, before)
		}
		for _, p := range []string{"/tmp/fettle-evil", "/root/.fettle-evil"} {
			if _, err := os.Lstat(p); err == nil {
				os.Remove(p)
				t.Errorf("%s was made", p)
			}
		}
	}
}

func evilApp() *app.App { return &app.App{Traps: EvilTraps()} }

// named are traps in the order of their names.
func named(t *testing.T, a *app.App, ids ...string) []*trap.Trap {
	t.Helper()
	var out []*trap.Trap
	for _, id := range ids {
		tr := a.Trap(id)
		if tr == nil {
			t.Fatalf("no trap %s", id)
		}
		out = append(out, tr)
	}
	return out
}

// confinedRun runs the named evil traps in a child and returns its outcomes by trap.
func confinedRun(t *testing.T, ctx context.Context, opt trap.Options, ids ...string) (map[string][]trap.Outcome, []string) {
	t.Helper()
	a := evilApp()
	traps := named(t, a, ids...)
	got, order := map[string][]trap.Outcome{}, []string(nil)
	err := a.Check(ctx, run.Target{}, traps, opt, func(ab run.About) error {
		if ab.Warning != "" {
			means.Missing(t, "needs a kernel that confines: "+ab.Warning)
		}
		return nil
	}, func(r trap.Result) {
		got[r.Trap] = r.Outcomes
		order = append(order, r.Trap)
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, order
}

func TestCheckCannotWrite(t *testing.T) {
	means.Root(t) // as root everything is allowed but for the confinement
	unchanged := makeVictims(t)
	var ids []string
	for name := range mutations {
		ids = append(ids, "mutate-"+name)
	}
	got, _ := confinedRun(t, t.Context(), trap.Options{}, ids...)
	for id, out := range got {
		if len(out) != 1 || out[0].Status != trap.Clear {
			t.Errorf("%s was not refused: %+v", id, out)
		}
	}
	unchanged()
}

// TestMutationsWork shows that what is refused above works unconfined:
// otherwise the refusals prove nothing. Those that would change this machine
// are left out.
func TestMutationsWork(t *testing.T) {
	means.Root(t)
	for _, name := range []string{"write-existing", "append", "open-trunc", "open-rdwr", "open-dev-null", "proc-sys", "proc-self", "mkdir",
		"rmdir", "unlink", "rename", "link", "symlink", "chmod", "fchmod", "chown", "fchown", "utimes", "truncate", "mkfifo", "mknod",
		"openat2", "exec", "kill-parent", "tcp-listen", "udp", "netlink", "fchmodat2", "open-tmpfile"} {
		makeVictims(t)
		if err := mutations[name](); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCommandsCannotWrite(t *testing.T) {
	means.Root(t)
	unchanged := makeVictims(t)
	makeID := "run-touch " + victims + "/made"
	chmodID := "run-chmod 777 " + victims + "/file"
	lockID := "run-tee " + victims + "/lock/made"
	catID := "run-cat " + victims + "/file"
	leak, err := os.Open(victims) // as if fettle had been started with it
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	if _, _, e := syscall.Syscall(syscall.SYS_FCNTL, leak.Fd(), syscall.F_SETFD, 0); e != 0 {
		t.Fatal(e)
	}
	got, _ := confinedRun(
		t,
		t.Context(),
		trap.Options{},
		makeID,
		chmodID,
		lockID,
		catID,
		"run-sh -c exit 3",
		"run-sh -c ls -l /proc/self/fd",
		"run-sleep 60",
		"run-yes",
		"descriptors",
	)
	for _, c := range []struct{ id, want string }{
		{makeID, "Permission denied"},
		{chmodID, "Operation not permitted"},
		{lockID, "exit 0: "},
		{catID, "exit 0: precious"},
		{"run-sh -c exit 3", "exit 3: "},
		{"run-sh -c ls -l /proc/self/fd", "exit 0: "},
		{"run-sleep 60", "took too long (over 2s)"},
		{"run-yes", "larger than fettle reads"},
		{"descriptors", "nothing was left open"},
	} {
		o := got[c.id][0]
		if said := o.Summary + o.Reason; !strings.Contains(said, c.want) || strings.Contains(said, "victims\n") {
			t.Errorf("%s: said %q, want %q", c.id, said, c.want)
		}
	}
	if _, err := os.Stat(victims + "/lock/made"); err != nil {
		t.Errorf("a folder listed in Write must be writable: %v", err)
	}
	unchanged()
}

func TestConfinedReading(t *testing.T) {
	means.Root(t)
	got, _ := confinedRun(t, t.Context(), trap.Options{}, "tables", "other-processes", "vanishing")
	for id, want := range map[string]string{"tables": "processes: true, links: true", "other-processes": "exe true, maps true, fd true",
		"vanishing": "gone is absent"} {
		if o := got[id]; len(o) != 1 || o[0].Summary != want {
			t.Errorf("%s: %+v, want %q", id, o, want)
		}
	}
}

func TestMisbehaviour(t *testing.T) {
	opt := trap.Options{Limit: 2 * means.Patience}
	for id, want := range map[string]string{
		"panics":           "the check crashed, which is a bug in fettle: oh no",
		"goexit":           "ended its goroutine",
		"silent":           "reported nothing",
		"exits":            "the confined child ended: exit status 7",
		"killed":           "signal: killed (killed by somebody, or the host is out of memory)",
		"fatal":            "goroutine stack exceeds",
		"goroutine-panics": "panic: in a goroutine",
		"garbage":          "unexpected frame",
		"hangs-up":         "the confined child ended: exit status 1",
		"asks-much":        "sent too much",
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			got, order := confinedRun(t, t.Context(), opt, "good", id, "tables")
			if s := strings.Join(order, " "); s != "good "+id+" tables" {
				t.Errorf("order: %s", s)
			}
			o := got[id]
			if len(o) != 1 || o[0].Status != trap.Unknown || !strings.Contains(o[0].Reason, want) {
				t.Errorf("got %+v, want unknown with %q", o, want)
			}
			if d := time.Since(start); d > means.Patience {
				t.Errorf("took %s", d)
			}
		})
	}
}

func TestStuckChecksDelayNobody(t *testing.T) {
	start := time.Now()
	got, order := confinedRun(t, t.Context(), trap.Options{Limit: 500 * time.Millisecond}, "hangs", "good", "spins", "vanishing", "tables")
	if d := time.Since(start); d > means.Patience {
		t.Errorf("took %s", d)
	}
	if s := strings.Join(order, " "); s != "hangs good spins vanishing tables" {
		t.Errorf("order: %s", s)
	}
	for _, id := range []string{"hangs", "spins"} {
		if o := got[id][0]; o.Status != trap.Unknown || o.Reason != "took too long (over 500ms)" {
			t.Errorf("%s: %+v", id, o)
		}
	}
	for _, id := range []string{"good", "vanishing", "tables"} {
		if o := got[id][0]; o.Status != trap.Clear {
			t.Errorf("%s: %+v", id, o)
		}
	}
}

func TestFloods(t *testing.T) {
	got, _ := confinedRun(t, t.Context(), trap.Options{Limit: time.Minute}, "floods", "talks", "good")
	o := got["floods"]
	last := o[len(o)-1]
	if len(o) > 1001 || last.Status != trap.Found || last.Severity != trap.Warning ||
		!strings.Contains(string(last.Detail), "1 more found\n") ||
		!strings.Contains(string(last.Detail), " more clear") {
		t.Errorf("floods: %d outcomes, last %+v", len(o), last)
	}
	if o := got["talks"]; len(o) != 1 || len(o[0].Evidence) > 100 || len(o[0].Summary) > 5000 || o[0].Status != trap.Found {
		t.Errorf("talks: %d outcomes", len(o))
	}
	if o := got["good"]; o[0].Status != trap.Clear {
		t.Errorf("good: %+v", o)
	}
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	start := time.Now()
	got, _ := confinedRun(t, ctx, trap.Options{Limit: 2 * means.Patience}, "good", "hangs", "run-sleep 60")
	if d := time.Since(start); d > means.Patience {
		t.Errorf("took %s", d)
	}
	for _, id := range []string{"hangs", "run-sleep 60"} {
		if o := got[id]; len(o) != 1 || o[0].Status != trap.Unknown || o[0].Reason != "interrupted" {
			t.Errorf("%s: %+v", id, o)
		}
	}
}

// Network checks reach others, and may do no more than that.
func TestNetworkChecks(t *testing.T) {
	a := evilApp()
	traps := named(t, a, "network")
	want := map[string]trap.Status{
		"connect": trap.Clear,
		"udp":     trap.Clear,
		"listen":  trap.NotApplicable,
		"unix":    trap.NotApplicable,
		"raw":     trap.NotApplicable,
		"raw6":    trap.NotApplicable,
		"write":   trap.NotApplicable,
	}
	err := a.CheckLive(t.Context(), traps, trap.Options{}, func(r trap.Result) {
		for _, o := range r.Outcomes {
			if o.Status != want[o.Subject] {
				t.Errorf("%s: %s %s%s", o.Subject, o.Status, o.Summary, o.Reason)
			}
		}
		if len(r.Outcomes) != len(want) {
			t.Errorf("%d outcomes: %+v", len(r.Outcomes), r.Outcomes)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

func TestStateWarning(t *testing.T) {
	for s, want := range map[confine.State]string{
		{Landlock: 7, Filter: true}: "",
		{Landlock: 1, Filter: true}: "old (ABI 1)",
		{Filter: true}:              "no Landlock",
		{Landlock: 7}:               "no system call filter",
		{}:                          "unconfined",
	} {
		if got := s.Warning(); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%+v: %q", s, got)
		}
	}
}

func TestFind(t *testing.T) {
	a := evilApp()
	if got, err := a.Find([]string{"silent", "good", "good"}); err != nil || len(got) != 2 {
		t.Errorf("find: %v, %v", got, err)
	}
	for id, want := range map[string]string{"slient": "did you mean silent?", "floodz": "did you mean floods?", "GOOD": "did you mean good?",
		"process": "did you mean other-processes?", "xyzzyxyzzy": "fettle list shows them all"} {
		_, err := a.Find([]string{id})
		var s *app.Status
		if err == nil || !errors.As(err, &s) || s.Code != app.ExitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
}

// An archive is foreign data: it is unpacked and read by a child that sees
// nothing else, into a folder that is gone afterwards.
func TestArchivesAreConfined(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	name := filepath.Join(t.TempDir(), "sosreport.tar.gz")
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.NoCompression)
	w := tar.NewWriter(z)
	noise := make([]byte, 17<<20) // more than fettle reads of one file
	rand.NewChaCha8([32]byte{}).Read(noise)
	for file, text := range map[string][]byte{"sos_commands/host/uptime": nil, "etc/hostname": []byte("web1\n"), "var/log/noise": noise} {
		w.WriteHeader(&tar.Header{Name: "sosreport-web1/" + file, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg})
		w.Write(text)
	}
	w.Close()
	z.Close()
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	a := evilApp()
	traps := named(t, a, "foreign", "mutate-write-tmp", "mutate-exec", "mutate-netlink")
	err := a.Check(t.Context(), run.Target{From: name}, traps, trap.Options{}, func(ab run.About) error {
		if ab.Kind != host.KindSosreport {
			t.Errorf("kind %s", ab.Kind)
		}
		return nil
	}, func(r trap.Result) {
		if o := r.Outcomes; len(o) != 1 || o[0].Status != trap.Clear {
			t.Errorf("%+v", o)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
