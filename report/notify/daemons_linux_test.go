package notify

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/engine/trap"
	"fettle/internal/config"
	"fettle/internal/means"
)

// TestAlertmanager sends to a real Alertmanager and asks amtool what it has.
func TestAlertmanager(t *testing.T) {
	amtool, curl := means.Tool(t, "amtool"), means.Tool(t, "curl")
	addr, log := means.Alertmanager(t)
	s, c := Sender{Timeout: time.Minute, Curl: curl}, []config.Channel{{Alertmanager: "http://" + addr}}
	for i := 0; ; i++ {
		if s.testAlertmanager(t.Context(), &c[0]) == nil {
			break
		} else if i > 100 {
			t.Fatalf("alertmanager does not answer:\n%s", log.Bytes())
		}
		time.Sleep(100 * time.Millisecond)
	}
	alerts := func() (out []string) {
		t.Helper()
		said, err := exec.Command(amtool, "--alertmanager.url=http://"+addr, "alert", "query", "-o", "json", "alertname=FettleFinding").Output()
		if err != nil {
			t.Fatal(err)
		}
		var all []struct {
			Labels, Annotations map[string]string
			EndsAt              time.Time
		}
		if err := json.Unmarshal(said, &all); err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			if d := time.Until(a.EndsAt); d < config.DefaultValid-time.Minute || d > config.DefaultValid {
				t.Errorf("%v ends in %s", a.Labels, d)
			}
			out = append(
				out,
				a.Labels["severity"]+" "+a.Labels["trap"]+":"+a.Labels["subject"]+" at "+a.Labels["instance"]+": "+a.Annotations["summary"],
			)
		}
		return out
	}
	state := t.TempDir()
	tell := func(outcomes ...trap.Outcome) {
		t.Helper()
		if err := s.Tell(t.Context(), state, c, runOf(outcomes...)); err != nil {
			t.Fatal(err)
		}
	}
	tell(found("x", trap.Warning, "one"), found(nasty, trap.Critical, "two"), found("", trap.Notice, "whole host"))
	if got := strings.Join(alerts(), "\n"); strings.Count(got, "\n") != 2 || !strings.Contains(got, "warning a:x at web1: one") ||
		!strings.Contains(got, `critical a:x\r\nBcc`) {
		t.Errorf("after the first run:\n%s", got)
	}
	tell(found("x", trap.Warning, "one"))
	if got := alerts(); len(got) != 1 || got[0] != "warning a:x at web1: one" {
		t.Errorf("after two were resolved: %q", got)
	}
	tell(found("x", trap.Warning, "one"))
	if got := alerts(); len(got) != 1 {
		t.Errorf("a run without a change: %q", got)
	}
	tell(found("x", trap.Critical, "one"))
	if got := alerts(); len(got) != 1 || got[0] != "critical a:x at web1: one" {
		t.Errorf("after a regrade: %q", got)
	}
	accepted := found("x", trap.Critical, "one")
	accepted.Accepted = &trap.Acceptance{Reason: "known"}
	tell(accepted)
	if got := alerts(); len(got) != 0 {
		t.Errorf("accepted: %q", got)
	}
	tell(found("x", trap.Critical, "one"))
	if got := alerts(); len(got) != 1 {
		t.Errorf("no longer accepted: %q", got)
	}
	tell(trap.Outcome{Trap: "a", Status: trap.Clear})
	if got := alerts(); len(got) != 0 {
		t.Errorf("after all were resolved: %q", got)
	}
}

// TestJournal writes to a real journald, in namespaces of its own, and asks
// journalctl.
func TestJournal(t *testing.T) {
	means.Tool(t, "journalctl")
	if !means.Inside(t, syscall.CLONE_NEWNS|syscall.CLONE_NEWPID, 0) {
		return
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(unix.Mount("proc", "/proc", "proc", 0, ""))
	must(unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"))
	must(unix.Mount("tmpfs", "/var/log", "tmpfs", 0, "mode=755"))
	must(os.MkdirAll("/run/systemd/journal", 0o755))
	const daemon = "/lib/systemd/systemd-journald"
	if _, err := os.Stat(daemon); err != nil {
		means.Missing(t, "needs "+daemon)
	}
	cmd := exec.Command(daemon)
	must(cmd.Start())
	defer cmd.Process.Kill()
	s := System()
	for i := 0; ; i++ {
		if _, err := os.Stat(s.Journal); err == nil {
			break
		} else if i > 100 {
			t.Fatal("journald does not listen")
		}
		time.Sleep(50 * time.Millisecond)
	}
	var many []trap.Outcome
	for i := range 300 {
		many = append(many, found(fmt.Sprintf("s%d", i), trap.Notice, "one"))
	}
	state := t.TempDir()
	for _, r := range []Run{runOf(many...), runOf(many...), runOf(found("s1", trap.Critical, "worse"), found(nasty, trap.Warning, "two"))} {
		must(s.Tell(t.Context(), state, []config.Channel{{Journal: true}}, r))
	}
	time.Sleep(200 * time.Millisecond)
	said, err := exec.Command("/usr/bin/journalctl", "--no-pager", "-o", "json", "MESSAGE_ID="+MessageID).Output()
	must(err)
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d entries for three runs, of which one changed nothing:\n%s", len(lines), said)
	}
	var e struct {
		MESSAGE, PRIORITY, FETTLE_CRITICAL string
		FETTLE_NEW, FETTLE_RESOLVED        []string
	}
	must(json.Unmarshal([]byte(lines[1]), &e))
	if e.PRIORITY != "2" || e.FETTLE_CRITICAL != "1" || len(e.FETTLE_NEW) != 2 || e.FETTLE_NEW[0] != "a:s1" ||
		len(e.FETTLE_RESOLVED) != named ||
		!strings.HasPrefix(e.MESSAGE, "web1: 2 new (1 critical, 1 warning), 299 resolved; a:s1, a:x\\r\\nBcc") {
		t.Errorf("%+v", e)
	}
	if said, err := exec.Command("/usr/bin/journalctl", "--no-pager", "-q", "-o", "cat", "FETTLE_TRAP=a", "PRIORITY=5").Output(); err != nil ||
		!strings.HasPrefix(string(said), "web1: 300 new (300 notice)") {
		t.Errorf("the first: %v %s", err, said)
	}
}
