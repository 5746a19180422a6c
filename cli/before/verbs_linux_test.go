package before

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	judge "fettle/before"
	"fettle/before/snapshot"
	"fettle/before/update"
	"fettle/before/watch"
	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/engine/run"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/journald"
	"fettle/internal/means"
)

const (
	nextOnly    = "horizon: [next-start]\n"
	upgradeOnly = "horizon: [upgrade]\n"
)

func found(severity trap.Severity, subject, summary string) trap.Outcome {
	return trap.Outcome{Status: trap.Found, Severity: severity, Subject: subject, Summary: summary}
}

// with adds what else a finding has.
func with(o trap.Outcome, more func(*trap.Outcome)) trap.Outcome {
	more(&o)
	return o
}

var (
	clear   = trap.Outcome{Status: trap.Clear, Summary: "all is well"}
	unknown = trap.Outcome{Status: trap.Unknown, Reason: "permission denied"}
	lines9  = func(o *trap.Outcome) {
		for _, n := range strings.Fields("one two three four five") {
			o.Evidence = append(o.Evidence, trap.Evidence{Source: "/etc/" + n, Value: "is " + n})
		}
		o.Detail, o.ByHand = "the server says no", "remove it"
	}
	stops = func(o *trap.Outcome) { o.Start = trap.StartFails }
)

var (
	chain   = apptest.Says("chain", nextOnly+"covers: [boot, initramfs, fstab, units]\n", clear)
	blind   = apptest.Says("blind", nextOnly+"covers: [boot]\n", unknown)
	service = apptest.Says("service", nextOnly, found(trap.Warning, "a.service", "it is masked"), found(trap.Notice, "", "it is old"))
	root    = apptest.Says("root", nextOnly, with(found(trap.Critical, "/", "the root folder is gone"), stops))
	config  = apptest.Says("config", nextOnly+"covers: [configuration]\n", trap.Outcome{Status: trap.NotApplicable,
		Subject: "redis.service", Reason: "no way"},
		clear)
	now  = apptest.Says("now", "", found(trap.Critical, "", "bites now"))
	gone = apptest.Says("gone", upgradeOnly, with(found(trap.Critical, "web", "the option is gone"), lines9), found(trap.Critical, "",
		"so is this"))
	changed  = apptest.Says("changed", upgradeOnly, found(trap.Warning, "", "the default changes"))
	asks     = apptest.Says("asks", upgradeOnly, found(trap.Notice, "file", "dpkg asks"))
	space    = apptest.Says("space", upgradeOnly+"covers: [packages]\n", found(trap.Notice, "", "little space"))
	service2 = apptest.Says("service2", "", trap.Outcome{Status: trap.Found, Severity: trap.Notice, Subject: "old", Summary: "it is \x1b old"})
	hidden   = apptest.Says("hidden", "", clear)
	unread   = apptest.Says("unread", upgradeOnly, unknown)
	unread2  = apptest.Says("unread2", upgradeOnly, unknown, trap.Outcome{Status: trap.Unknown, Subject: "x", Reason: "too big"},
		trap.Outcome{Status: trap.Unknown, Subject: "y", Reason: "too big"})
	fine = apptest.Says("fine", upgradeOnly, clear)
)

var all = []*trap.Trap{chain, blind, service, root, config, now, gone, changed, asks, space, unread, unread2, fine, sampled()}

// sampled is a trap that before leaves out: it takes an interval.
func sampled() *trap.Trap {
	t := apptest.Says("sampled", "horizon: [next-start, upgrade]\n", found(trap.Critical, "", "sampled"))
	t.Cost = trap.Sampled
	return t
}

func TestMain(m *testing.M) {
	answers := run.Answers{
		snapshot.Question: func(ctx context.Context, h *host.Host, _ json.RawMessage) (any, error) {
			if _, err := h.ReadFile(ctx, "/etc/no-snapshot"); err == nil {
				return nil, errors.New("nothing is known")
			}
			return snapshot.State{Host: "golden", Time: time.Date(2026, 11, 30, 9, 5, 6, 0, time.UTC)}, nil
		},
		update.Question: func(ctx context.Context, h *host.Host, question json.RawMessage) (any, error) {
			var asked update.Asked
			if err := json.Unmarshal(question, &asked); err != nil || asked.Given {
				return update.Answer(nil)(ctx, h, question)
			}
			b, err := h.ReadFile(ctx, "/etc/outlook")
			return json.RawMessage(b), err
		},
	}
	if code, ok := run.Child(os.Args[1:], append(slices.Clip(all), snapshot.Probe), answers, os.Stderr); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// What differs from run to run.
var (
	times       = regexp.MustCompile(`[0-9.]+ (ms|µs|s)\b`)
	machineLine = regexp.MustCompile(`(?m)^golden: .*, Linux .*$`)
)

// session calls fettle before; the first word names the traps that there are, or is "user" for one who is not root, and there are none.
func session(t *testing.T, file, stdin string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	apptest.Session(t, file, func(ctx context.Context, args []string) (code int, out, errs string) {
		var traps []*trap.Trap
		for _, tr := range all {
			if args[0] == "all" || slices.Contains(strings.Split(args[0], ","), tr.ID()) {
				traps = append(traps, tr)
			}
		}
		a := app.App{Traps: traps, Stdin: strings.NewReader(stdin)}
		call := func() { code, out, errs = apptest.Run(ctx, a, Cmd, append([]string{"before"}, args[1:]...)...) }
		if args[0] == "user" {
			means.AsNobody(t, call)
		} else {
			call()
		}
		out = machineLine.ReplaceAllString(times.ReplaceAllString(out, "TIME"), "golden: MACHINE")
		return code, strings.ReplaceAll(out, self, "FETTLE"), strings.ReplaceAll(errs, self, "FETTLE")
	})
}

// golden is a host of its own: see apptest.Golden.
func golden(t *testing.T) bool {
	t.Helper()
	return apptest.Golden(t, map[string]string{"/mnt/web/etc/os-release": apptest.Release, "/mnt/web/usr/x": "", "/mnt/file": "",
		"/mnt/new/etc/os-release": strings.ReplaceAll(apptest.Release, "12", "13"), "/mnt/web/var/lib/dpkg/status": "",
		"/etc/apt/apt.conf.d/x": "", "/var/lib/dpkg/status": "", "/etc/systemd/system/x": "", "/etc/os-release": apptest.Release})
}

func TestReboot(t *testing.T) {
	if !golden(t) {
		return
	}
	session(t, "reboot.txt", "")
	if names, err := filepath.Glob("/var/lib/fettle/snapshots/*"); err != nil || len(names) == 0 {
		t.Errorf("snapshots: %v, %v", names, err)
	}
	if err := os.RemoveAll("/var/lib/fettle"); err != nil {
		t.Fatal(err)
	}
	code, out, errs := apptest.Run(t.Context(), app.App{Traps: []*trap.Trap{chain}}, Cmd, "before", "reboot", "--no-snapshot", "--format",
		"json")
	var d document
	if err := json.Unmarshal([]byte(out), &d); code != 0 || errs != "" || err != nil || d.Verdict != judge.ComesBack || d.Snapshot != "" ||
		d.Report.Meta.Host != "golden" || len(d.Report.Results) != 1 {
		t.Errorf("status %d, %v, said %q and %q", code, err, out, errs)
	}
	if _, err := os.Stat("/var/lib/fettle"); err == nil {
		t.Error("a snapshot was saved")
	}
	code, out, errs = apptest.Run(t.Context(), app.App{Traps: []*trap.Trap{chain, service}}, Cmd, "before", "reboot", "--format", "json")
	if err := json.Unmarshal([]byte(out), &d); code != 1 || errs != "" || err != nil || d.Snapshot == "" {
		t.Errorf("status %d, %v, said %q and %q", code, err, out, errs)
	}
	if names, _ := filepath.Glob("/var/lib/fettle/*/" + d.Snapshot + "*"); len(names) != 1 {
		t.Errorf("%q is not there", d.Snapshot)
	}
	// What an admin accepted does not count, here.
	if err := errors.Join(os.MkdirAll("/etc/fettle", 0o755), os.WriteFile("/etc/fettle/accepted.yaml",
		[]byte("- trap: service\n  reason: known\n- trap: service\n  subject: a.service\n  reason: known\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]int{"": 0, "--root=/mnt/web": 1} {
		if code, out, errs := apptest.Run(t.Context(), app.App{Traps: []*trap.Trap{chain, service}}, Cmd,
			append([]string{"before", "reboot", "--no-snapshot"}, strings.Fields(args)...)...); code != want || errs != "" {
			t.Errorf("%q: status %d, said %q and %q", args, code, out, errs)
		}
	}
	if err := os.WriteFile("/etc/fettle/accepted.yaml", []byte("nonsense"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := apptest.Run(t.Context(), app.App{Traps: []*trap.Trap{chain}}, Cmd, "before", "reboot"); code != 2 ||
		!strings.Contains(errs, "/etc/fettle/accepted.yaml:1:1: ") {
		t.Errorf("status %d, said %q", code, errs)
	}
}

// TestWatch: the unit that compares after the restart is set up where there is something to compare with.
func TestWatch(t *testing.T) {
	if !golden(t) {
		return
	}
	session(t, "watch-not-systemd.txt", "")
	if err := os.MkdirAll("/run/systemd/system", 0o755); err != nil {
		t.Fatal(err)
	}
	session(t, "watch.txt", "")
	unit := filepath.Join(watch.Units, watch.Unit)
	b, err := os.ReadFile(unit)
	self, _ := os.Executable()
	if err != nil || !strings.Contains(string(b), self+`" after --watched`) {
		t.Errorf("%q, %v", b, err)
	}
	if err := errors.Join(os.Remove(unit), os.WriteFile("/etc/no-snapshot", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	session(t, "watch-nothing.txt", "")
	if _, err := os.Stat(unit); err == nil {
		t.Error("the unit is set up, and has nothing to compare with")
	}
}

func TestUpgrade(t *testing.T) {
	if !golden(t) {
		return
	}
	session(t, "upgrade.txt", "")
	code, out, errs := apptest.Run(t.Context(), app.App{Traps: all}, Cmd, "before", "upgrade", "--format", "json", "--root", "/mnt/web",
		"TRIXIE")
	var d upgradeDocument
	if err := json.Unmarshal([]byte(out), &d); code != 5 || errs != "" || err != nil || d.Verdict != judge.Broken || d.To != "Debian 13" ||
		len(d.Report.Results) != 7 {
		t.Errorf("status %d, %v, said %q and %q", code, err, out, errs)
	}
}

// TestOtherHosts: ssh is a script that says what these hosts would.
func TestOtherHosts(t *testing.T) {
	if !golden(t) {
		return
	}
	const old = "Debian 12"
	asked := apptest.SSH(t, map[string]string{
		"fine": apptest.Report(t, "fine", old, 0, chain, fine), "a-fine": apptest.Report(t, "a-fine", old, 0, chain, fine),
		"lossy":  apptest.Report(t, "lossy", old, 0, chain, service, changed, asks),
		"unread": apptest.Report(t, "unread", old, 0, chain, blind, service2, asks, unread, space),
		"user":   apptest.Report(t, "user", old, 1000, chain, fine), "new": apptest.Report(t, "new", "Debian 13", 0, chain, fine),
		"broken": apptest.Report(t, "broken", old, 0, root, gone, service, changed, hidden), "silent": "",
	})
	session(t, "hosts.txt", "")
	if b, err := os.ReadFile(asked); err != nil || !strings.Contains(string(b), "check --format jsonl chain --limit=1m30s") {
		t.Errorf("asked %s, %v", b, err)
	}
	for verb, d := range map[string]any{"reboot": &fleetDocument{}, "upgrade": &upgradeFleetDocument{}} {
		code, out, errs := apptest.Run(t.Context(), app.App{Traps: all}, Cmd, "before", verb, "--host=dead,fine,broken", "--format=json")
		if err := json.Unmarshal([]byte(out), d); code != 5 || errs != "" || err != nil {
			t.Errorf("%s: status %d, %v, said %q and %q", verb, code, err, out, errs)
		}
		if code, _, _ := apptest.Run(t.Context(), app.App{Traps: all}, Cmd, "before", verb, "--host=dead"); code != app.ExitUnknown {
			t.Errorf("%s of a host that cannot be reached: status %d", verb, code)
		}
		if where := regexp.MustCompile(`"(host|error|trap)": "([^"]*)"`).FindAllStringSubmatch(out, -1); len(where) < 5 ||
			where[0][2] != "broken" {
			t.Errorf("%s: %s", verb, out)
		}
	}
}

// TestUpdate: what apt would install is said, the gravest first.
func TestUpdate(t *testing.T) {
	if !golden(t) {
		return
	}
	const changes = `{"name":"a","old":"1","new":"2"},{"name":"b","old":"1","new":"2"},{"name":"c","new":"2"},{"name":"d","old":"1"}`
	for _, c := range []struct {
		outlook string
		code    int
		want    string
	}{
		{`{"changes":[]}`, 0, "apt has nothing to install\n"},
		{`{"changes":[` + changes + `],"removed":["d"],"kernels":["linux-image-7"],"restarts":["a.service","b.service"],"asks":["/etc/a"]}`, 0,
			"apt: 2 upgraded, 1 new, 1 removed\n  removes d\n  restarts a.service, b.service\n" +
				"  may ask about files that were changed here: /etc/a\n" +
				"  brings a kernel, which runs after the next restart (fettle before reboot): linux-image-7\n"},
		{`{"changes":[` + changes + `],"kept_back":["x"],"not_looked":["denied"]}`, 4, "apt: 2 upgraded, 1 new, 0 removed\n" +
			"  not looked at, because apt keeps them back (on hold, or they wait for others): x\n  not looked at: denied\n"},
		{`{"changes":[],"not_looked":["denied"],"faults":[{"trap":"t","severity":"warning","subject":"a\u001b","summary":"it loses data",` +
			`"by_hand":"hold it"},{"trap":"u","severity":"critical","summary":"it fails"}]}`, 1, "apt has nothing to install\n" +
			"  warning: t on a\\x1b: it loses data. Instead: hold it\n  critical: u: it fails\n  not looked at: denied\n"},
		{`{"changes":[],"restarts":["1","2","3","4","5","6","7","8","9","10"]}`, 0,
			"apt has nothing to install\n  restarts 1, 2, 3, 4, 5, 6, 7, 8 and 2 more\n"},
	} {
		if err := os.WriteFile("/etc/outlook", []byte(c.outlook), 0o644); err != nil {
			t.Fatal(err)
		}
		code, out, errs := apptest.Run(t.Context(), app.App{}, Cmd, "before", "update")
		if code != c.code || out != c.want || errs != "" {
			t.Errorf("%s: status %d, said %q and %q; want %d, %q", c.outlook, code, out, errs, c.code, c.want)
		}
		code, out, errs = apptest.Run(t.Context(), app.App{}, Cmd, "before", "update", "--format", "json")
		var d updateDocument
		if err := json.Unmarshal([]byte(out), &d); err != nil || d.Format != "fettle-before-update" || code != c.code || errs != "" ||
			!slices.Equal(lines(&d.Outlook), strings.Split(strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(c.want, `\x1b`, "\x1b")),
				"\n  ", "\n"),
				"\n")) {
			t.Errorf("%s: status %d, %v, %q and %q", c.outlook, code, err, lines(&d.Outlook), errs)
		}
	}
	if err := os.Remove("/etc/outlook"); err != nil {
		t.Fatal(err)
	}
	session(t, "update.txt", "")
}

// TestHook: apt's hook tells what is installed, never fails and never waits long; and comes and goes.
func TestHook(t *testing.T) {
	if !golden(t) {
		return
	}
	const apt = "VERSION 3\nAPT::Architecture=amd64\n\n"
	for file, stdin := range map[string]string{
		"hook-plain.txt": apt + "bash 5.2-1 amd64 none < 5.2-2 amd64 none /var/cache/apt/archives/bash_5.2-2_amd64.deb\n",
		"hook-told.txt": apt + "lost 1 amd64 none > - - none **REMOVE**\nlinux-image-6.1.0-40-amd64 - - none < 6.1.153-1 amd64 none " +
			"/var/cache/apt/archives/linux-image-6.1.0-40-amd64_6.1.153-1_amd64.deb\n",
		"hook-garbage.txt": "VERSION 3\n\none two three\n",
	} {
		session(t, file, stdin)
	}
	journal := journalOf(t)
	session(t, "hook-here.txt", apt+"lost 1 amd64 none > - - none **REMOVE**\n")
	b := make([]byte, 4096)
	n, err := journal.Read(b)
	if said := string(b[:n]); err != nil || !strings.Contains(said, "MESSAGE=apt: 0 upgraded, 0 new, 1 removed; removes lost") ||
		!strings.Contains(said, "PRIORITY=6\n") {
		t.Errorf("in the journal: %q, %v", said, err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithTimeout(t.Context(), hookWork)
		defer end()
		r, w := io.Pipe()
		defer w.Close()
		start := time.Now()
		if _, err := readChanges(ctx, r); err == nil || !strings.HasPrefix(err.Error(), "apt did not finish saying what it installs: ") {
			t.Errorf("a pipe that nobody closes: %v", err)
		}
		if took := time.Since(start); took != 4*time.Second {
			t.Errorf("it waited %s of the 5 s that apt gives it", took)
		}
	})
}

// journalOf is a socket where the journal's is.
func journalOf(t *testing.T) net.Conn {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(journald.Socket), 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: journald.Socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetReadDeadline(time.Now().Add(means.Patience)); err != nil {
		t.Fatal(err)
	}
	return c
}
