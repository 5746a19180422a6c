package after

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"fettle/before/snapshot"
	"fettle/before/watch"
	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/engine/run"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/means"
)

// reads is a trap that reads a file, so that captures have it.
var reads = &trap.Trap{Lore: "---\nid: reads\ntitle: Reads a file\n---\n", Check: func(ctx context.Context, h *host.Host,
	r *trap.Report) error {
	if _, err := h.ReadFile(ctx, "/etc/state"); err != nil {
		return err
	}
	r.Clear("", "read")
	return nil
}}

func TestMain(m *testing.M) {
	// The state of the host is what its /etc/state says.
	answers := run.Answers{snapshot.Question: func(ctx context.Context, h *host.Host, _ json.RawMessage) (any, error) {
		b, err := h.ReadFile(ctx, "/etc/state")
		return json.RawMessage(b), err
	}}
	if code, ok := run.Child(os.Args[1:], []*trap.Trap{reads}, answers, os.Stderr); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// state is what a host does at an hour of a day, with what is changed of it.
func state(hour int, boot string, change func(*snapshot.State)) string {
	s := snapshot.State{Host: "golden", Time: time.Date(2026, 11, 22, hour, 5, 6, 0, time.UTC), BootID: boot,
		Units: map[string]snapshot.Unit{"a.service": {Active: "active", Sub: "running", File: "enabled"},
			"b.mount": {Active: "active", Sub: "mounted", File: "static"}},
		Listeners: []snapshot.Listener{{Proto: "tcp", Address: "0.0.0.0", Port: 80, Program: "nginx\x1b", Unit: "a.service"},
			{Proto: "tcp", Address: "0.0.0.0", Port: 81, Program: "x"}},
		Mounts:  map[string]snapshot.Mount{"/srv": {Device: "/dev/vdb1", Type: "ext4"}},
		Sysctls: map[string]string{"vm.swappiness": "10"}}
	if change != nil {
		change(&s)
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func now(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile("/etc/state", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func lost(s *snapshot.State) {
	s.Units = map[string]snapshot.Unit{"a.service": {Active: "failed", Sub: "failed", File: "enabled"}, "c.service": {Active: "active",
		Sub: "running", File: "enabled"}}
	s.Listeners, s.Mounts, s.Sysctls["vm.swappiness"] = s.Listeners[1:], nil, "60"
	s.Listeners = append(s.Listeners, snapshot.Listener{Proto: "udp", Address: "::", Port: 99, Program: "new\x1b"})
}

func called(ctx context.Context, args ...string) (code int, out, errs string) {
	cmds := map[string]func(*app.App) *cobra.Command{"after": Cmd, "snapshot": SnapshotCmd}
	return apptest.Run(ctx, app.App{Traps: []*trap.Trap{reads}}, cmds[args[0]], args...)
}

func session(t *testing.T, file string) {
	t.Helper()
	apptest.Session(t, file, func(ctx context.Context, args []string) (code int, out, errs string) {
		if args[0] == "user" {
			means.AsNobody(t, func() { code, out, errs = called(ctx, args[1:]...) })
			return code, out, errs
		}
		return called(ctx, args...)
	})
}

func captured(t *testing.T, file, text string) {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Create(file)
	if err := errors.Join(err, os.MkdirAll(dir+"/etc", 0o755), os.MkdirAll(dir+"/usr", 0o755), os.WriteFile(dir+"/etc/os-release",
		[]byte(apptest.Release), 0o644),
		os.WriteFile(dir+"/etc/state", []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tg := run.Target{Root: dir, Record: &run.Recording{Out: f}}
	if err := (run.Engine{}).Check(t.Context(), tg, []*trap.Trap{reads}, trap.Options{}, func(run.About) error { return nil },
		func(trap.Result) {}); err != nil {
		t.Fatal(err)
	}
}

func TestAfter(t *testing.T) {
	if !apptest.Golden(t, map[string]string{"/mnt/text": "hello\n", "/etc/state": state(6, "one", nil)}) {
		return
	}
	captured(t, "/mnt/before.tar.zst", state(6, "one", nil))
	captured(t, "/mnt/after.tar.zst", state(9, "two", lost))
	session(t, "none.txt")
	now(t, state(6, "one", func(s *snapshot.State) { s.Unread = map[snapshot.Area]string{snapshot.Firewall: "nft is not there"} }))
	session(t, "saved.txt")
	now(t, state(7, "two", nil))
	session(t, "as-it-was.txt")
	now(t, state(8, "two", lost))
	session(t, "lost.txt")
	now(t, state(8, "two", func(s *snapshot.State) { s.Jobs = 1 }))
	session(t, "starting.txt")
	code, out, errs := called(t.Context(), "after", "--format", "json", "--snapshot", "/mnt/before.tar.zst", "--from", "/mnt/after.tar.zst")
	var d document
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 1 || errs != "" || d.Format != "fettle-after" || d.Host != "golden" ||
		d.Was.Hour() != 6 || d.Now.Hour() != 9 || len(d.Lost) == 0 || !d.Restarted {
		t.Errorf("status %d, %v, said %q and %q", code, err, out, errs)
	}
	var l listed
	if _, out, _ := called(t.Context(), "snapshot", "--list", "--format", "json"); json.Unmarshal([]byte(out), &l) != nil ||
		len(l.Snapshots) == 0 {
		t.Errorf("the list: %s", out)
	}
	var one saved
	if _, out, _ := called(t.Context(), "snapshot", "--format", "json"); json.Unmarshal([]byte(out), &one) != nil || one.Name == "" {
		t.Errorf("saved: %s", out)
	}
	os.Remove("/etc/state")
	session(t, "nothing-known.txt")
}

// TestWaits for what the host still starts, as long as it was told to.
func TestWaits(t *testing.T) {
	if !apptest.Golden(t, map[string]string{"/etc/state": state(6, "one", nil)}) {
		return
	}
	if code, out, errs := called(t.Context(), "snapshot"); code != 0 {
		t.Fatal(out, errs)
	}
	starting := state(8, "two", func(s *snapshot.State) { s.Jobs = 2 })
	for _, c := range []struct {
		wait          string
		ready, cancel time.Duration // 0: never
		took          time.Duration
		code          int
		says          string
	}{
		{"3s", 0, 0, 3*time.Second + time.Millisecond, 0, ". It is still starting: 2 jobs are left"}, {"1m", 3 * time.Second, 0,
			4 * time.Second, 0, "is as it was"},
		{"0s", 0, 0, time.Millisecond, 0, "2 jobs are left"}, {"1m", 0, 5 * time.Second, 5 * time.Second, 3,
			"interrupted while 2 jobs are left to start"},
	} {
		now(t, starting)
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			if c.ready > 0 {
				time.AfterFunc(c.ready, func() { now(t, state(8, "two", nil)) })
			}
			if c.cancel > 0 {
				time.AfterFunc(c.cancel, end)
			}
			start := time.Now()
			code, out, errs := called(ctx, "after", "--wait", c.wait)
			if took := time.Since(start); code != c.code || took != c.took || !strings.Contains(strings.Join(strings.Fields(out+errs), " "),
				c.says) {
				t.Errorf("%+v: after %s: status %d, said %q and %q", c, took, code, out, errs)
			}
		})
	}
}

// TestWatched: what the unit runs removes the unit, and tells the channels what is lost.
func TestWatched(t *testing.T) {
	if !apptest.Golden(t, map[string]string{"/etc/state": state(6, "one", nil), "/etc/systemd/system/x": ""}) {
		return
	}
	var told []string
	status := 200
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		told = append(told, string(b))
		w.WriteHeader(status)
	}))
	defer s.Close()
	conf := "notify:\n- webhook: " + s.URL + "\n- textfile: /mnt/fettle.prom\n"
	if err := errors.Join(os.MkdirAll("/etc/fettle", 0o755), os.WriteFile("/etc/fettle/fettle.yaml", []byte(conf), 0o600),
		watch.Arm(watch.Units, "/usr/bin/fettle")); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := called(t.Context(), "after", "--watched"); code != 2 || out != "" || !strings.Contains(errs, "no such snapshot") {
		t.Errorf("no snapshot: status %d, said %q and %q", code, out, errs)
	}
	if _, err := os.Stat(filepath.Join(watch.Units, watch.Unit)); err == nil {
		t.Error("the unit is still there")
	}
	if code, out, errs := called(t.Context(), "snapshot"); code != 0 {
		t.Fatal(out, errs)
	}
	now(t, state(7, "two", lost))
	code, out, errs := called(t.Context(), "after", "--watched")
	if code != 0 || !strings.HasPrefix(out, "golden lacks ") || errs != "" || len(told) != 1 {
		t.Fatalf("status %d, said %q and %q, told %q", code, out, errs, told)
	}
	for _, want := range []string{"golden", "not-as-before", "a.service", `"severity":"warning"`} {
		if !strings.Contains(strings.ReplaceAll(told[0], ": ", ":"), want) {
			t.Errorf("told was %s, without %s", told[0], want)
		}
	}
	if _, err := os.Stat("/mnt/fettle.prom"); err == nil {
		t.Error("a textfile was written, of a run that knows nothing of the other findings")
	}
	status = 404
	now(t, state(8, "three", nil))
	if code, _, errs := called(t.Context(), "after", "--watched"); code != 3 || !strings.Contains(errs, "404") {
		t.Errorf("a channel that fails: status %d, said %q", code, errs)
	}
	if err := os.WriteFile("/etc/fettle/fettle.yaml", []byte("notify: 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := called(t.Context(), "after", "--watched"); code != 2 || !strings.Contains(errs, "fettle.yaml") {
		t.Errorf("a configuration that cannot be read: status %d, said %q", code, errs)
	}
}

// TestFull: a disk that is full is told.
func TestFull(t *testing.T) {
	d := &document{Host: "golden"}
	if err := write(&app.App{Stdout: full{}}, options{}, d); err == nil {
		t.Error("nothing is said")
	}
	var out bytes.Buffer
	if err := write(&app.App{Stdout: &out}, options{}, d); err != nil || !strings.HasPrefix(out.String(), "golden is as it was at ") {
		t.Errorf("%q, %v", out.String(), err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
