package check

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/engine/run"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/means"
	"fettle/report"
)

func says(severity trap.Severity, subject, summary string) trap.Outcome {
	return trap.Outcome{Status: trap.Found, Severity: severity, Subject: subject, Summary: summary}
}

var (
	fine    = apptest.Says("fine", "", trap.Outcome{Status: trap.Clear, Summary: "all is well"})
	low     = apptest.Says("low", "", says(trap.Notice, "", "it is old"))
	mid     = apptest.Says("mid", "", says(trap.Warning, "a", "it is slow"), says(trap.Warning, "b", "it is slow"))
	high    = apptest.Says("high", "", says(trap.Critical, "c", "it loses data"))
	dark    = apptest.Says("dark", "", trap.Outcome{Status: trap.Unknown, Reason: "it cannot be read"})
	sampled = cost(apptest.Says("sampled", "", says(trap.Warning, "", "it grows")), trap.Sampled)
	far     = cost(apptest.Says("far", "", says(trap.Warning, "", "it does not answer")), trap.Network)
	later   = apptest.Says("later", "horizon: [next-start]\n", says(trap.Critical, "", "at the next start"))
	file    = &trap.Trap{Lore: "---\nid: file\ntitle: Reads a file\n---\n", Check: func(ctx context.Context, h *host.Host,
		r *trap.Report) error {
		b, err := h.ReadFile(ctx, "/etc/file")
		if host.IsAbsent(err) {
			r.Clear("", "there is none")
			return nil
		}
		if err != nil {
			return err
		}
		r.Found(trap.Finding{Severity: trap.Warning, Summary: "it says " + strings.TrimSpace(string(b))})
		return nil
	}}
	all = []*trap.Trap{fine, low, mid, high, dark, sampled, far, later, file}
)

func cost(t *trap.Trap, c trap.Cost) *trap.Trap { t.Cost = c; return t }

func TestMain(m *testing.M) {
	if code, ok := run.Child(os.Args[1:], all, nil, os.Stderr); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

var (
	times   = regexp.MustCompile(`[0-9.]+ (ms|µs|s)\b|time=[0-9.]+s|in [0-9.]+(ms|µs|s)\b`)
	machine = regexp.MustCompile(`(?m)^golden: .*Linux .*$`)
)

// session calls fettle check; the first word names the traps that there are.
func session(t *testing.T, name string) {
	t.Helper()
	apptest.Session(t, name, func(ctx context.Context, args []string) (code int, out, errs string) {
		var traps []*trap.Trap
		for _, tr := range all {
			if args[0] == "all" || slices.Contains(strings.Split(args[0], ","), tr.ID()) {
				traps = append(traps, tr)
			}
		}
		code, out, errs = apptest.Run(ctx, app.App{Traps: traps}, Cmd, append([]string{"check"}, args[1:]...)...)
		return code, machine.ReplaceAllString(times.ReplaceAllString(out, "TIME"), "golden: MACHINE"), errs
	})
}

func golden(t *testing.T) bool {
	t.Helper()
	return apptest.Golden(t, map[string]string{"/mnt/web/etc/os-release": apptest.Release, "/mnt/web/usr/x": "",
		"/mnt/web/etc/file":  "hello\n",
		"/mnt/accepted.yaml": "- trap: mid\n  subject: a\n  reason: it is known\n", "/mnt/nonsense.yaml": "nonsense",
		"/etc/os-release": apptest.Release,
		"/mnt/conf.yaml":  "check:\n  skip: [low]\n  network: true\n  sample: 50ms\n  unknown_ok: [dark]\nseverities: {mid: critical}\n",
		"/mnt/only.yaml":  "check: {only: [high, fine]}\naccepted: /mnt/accepted.yaml\n"})
}

func TestCheck(t *testing.T) {
	if !golden(t) {
		return
	}
	session(t, "check.txt")
	session(t, "refused.txt")
	b, err := os.ReadFile("/mnt/out.txt")
	if st, _ := os.Stat("/mnt/out.txt"); err != nil || !strings.Contains(string(b), "it loses data") || st.Mode() != 0o644 {
		t.Errorf("the file: %q, %v, %v", b, st, err)
	}
	if left, _ := filepath.Glob("/mnt/.fettle*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if es, _ := os.ReadDir("/var/lib/fettle"); len(es) > 0 {
		t.Errorf("what was not to be remembered is: %v", es)
	}
}

// TestNewOnes: with --new the first run tells all, the next what changed since; --record keeps runs.
func TestNewOnes(t *testing.T) {
	if !golden(t) {
		return
	}
	session(t, "new.txt")
	if err := os.WriteFile("/etc/file", []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	session(t, "new-found.txt")
	if err := os.Remove("/etc/file"); err != nil {
		t.Fatal(err)
	}
	session(t, "new-resolved.txt")
	if runs, err := filepath.Glob("/var/lib/fettle/history/*"); err != nil || len(runs) != 2 {
		t.Errorf("recorded: %v, %v", runs, err)
	}
	conf := "notify:\n- textfile: /mnt/fettle.prom\nhistory: {keep: 1}\n"
	if err := errors.Join(os.MkdirAll("/etc/fettle", 0o755), os.WriteFile("/etc/fettle/fettle.yaml", []byte(conf), 0o600)); err != nil {
		t.Fatal(err)
	}
	session(t, "told.txt")
	if b, err := os.ReadFile("/mnt/fettle.prom"); err != nil || !strings.Contains(string(b), `trap="high"`) {
		t.Errorf("told: %s, %v", b, err)
	}
	if runs, _ := filepath.Glob("/var/lib/fettle/history/*"); len(runs) != 1 {
		t.Errorf("kept: %v", runs)
	}
}

func TestOtherHosts(t *testing.T) {
	if !golden(t) {
		return
	}
	const deb = "Debian 12"
	asked := apptest.SSH(t, map[string]string{"fine": apptest.Report(t, "fine", deb, 0, fine, low), "bad": apptest.Report(t, "bad", deb, 0,
		high, mid),
		"odd": apptest.Report(t, "odd", deb, 1000, dark, fine)})
	session(t, "hosts.txt")
	for _, format := range report.Formats() { // a disk that is full is told, whatever is written, and how
		for _, args := range []string{"--host fine,bad,odd,dead", "--host bad -v", "fine mid"} {
			if args == "fine mid" && format != "text" && format != "json" {
				continue // the writers are package report's
			}
			code, _, errs := apptest.Run(t.Context(), app.App{Traps: all}, Cmd, append([]string{"check", "--format", format, "-o", "/dev/full"},
				strings.Fields(args)...)...)
			if code != 3 || format != "nagios" && !strings.Contains(errs, "writing the report: ") {
				t.Errorf("%s as %s to a full disk: status %d, said %q", args, format, code, errs)
			}
		}
	}
	b, err := os.ReadFile(asked)
	if err != nil || !strings.Contains(string(b), "check --format jsonl mid high --network --sample=50ms --limit=7s") {
		t.Errorf("asked %s, %v", b, err)
	}
	for _, host := range []string{"fine", "bad"} {
		if runs, err := filepath.Glob(app.HostState("/var/lib/fettle", host) + "/history/*"); err != nil || len(runs) != 1 {
			t.Errorf("recorded of %s: %v, %v", host, runs, err)
		}
	}
	if seen, err := filepath.Glob("/var/lib/fettle/new/ssh-*"); err != nil || len(seen) != 2 {
		t.Errorf("remembered: %v, %v", seen, err)
	}
}

// TestProgress: a terminal is shown how far a run is when it takes more than a second, and only then.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		master, tty := means.OpenTerminal(t)
		p := newProgress(&app.App{Stderr: tty}, all[:3])
		p.next()
		time.Sleep(999 * time.Millisecond)
		synctest.Wait()
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		p.next()
		p.next()
		p.end()
		p.end()
		const want = "\r1 of 3 checks done, waiting for low\x1b[K\r2 of 3 checks done, waiting for mid\x1b[K\r\x1b[K"
		if said := means.Shown(t, master, "\r\x1b[K"); said != want {
			t.Errorf("said %q, want %q", said, want)
		}
		q := newProgress(&app.App{Stderr: tty}, all[:3])
		q.next()
		q.end()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if said := means.ShownSoFar(t, master, tty); said != "" {
			t.Errorf("of a quick run it said %q", said)
		}
	})
}
