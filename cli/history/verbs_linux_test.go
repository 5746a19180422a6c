package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/engine/run"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/capture"
	"fettle/host/fact/machine"
	"fettle/internal/means"
	"fettle/report"
	"fettle/report/history"
)

// reads is a trap that says what its files say: "found warning SUBJECT SUMMARY" or "STATUS SUBJECT" a line.
func reads(id string, files ...string) *trap.Trap {
	t := apptest.Says(id, "")
	t.Check = func(ctx context.Context, h *host.Host, r *trap.Report) error {
		for _, file := range files {
			b, err := h.ReadFile(ctx, file)
			if err != nil && !host.IsAbsent(err) {
				return err
			}
			for line := range strings.Lines(string(b)) {
				switch f := strings.Fields(line); f[0] {
				case "found":
					severity, _ := trap.ParseSeverity(f[1])
					r.Found(trap.Finding{Severity: severity, Subject: f[2], Summary: strings.Join(f[3:], " ")})
				case "unknown":
					r.Unknown(f[1], errors.New("permission denied"))
				case "clear":
					r.Clear(f[1], "all is well")
				}
			}
		}
		r.Clear("", "looked")
		return nil
	}
	return t
}

var all = []*trap.Trap{reads("one", "/etc/one", "/etc/more"), reads("two", "/etc/two", "/etc/more", "/usr/two"), sampled()}

func sampled() *trap.Trap {
	t := reads("sampled", "/etc/one")
	t.Cost = trap.Sampled
	return t
}

func TestMain(m *testing.M) {
	if code, ok := run.Child(os.Args[1:], all, nil, os.Stderr); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// nowLine is a line of diff that names one, at a time that differs from run to run.
var nowLine = regexp.MustCompile(`(?m)^([AB]  [^,]*), (\d{4}-\d\d-\d\d) .*`)

// without puts NOW in the place of times that are not those of recorded runs.
func without(out string) string {
	return nowLine.ReplaceAllStringFunc(out, func(line string) string {
		m := nowLine.FindStringSubmatch(line)
		if m[2] == "2026-11-22" {
			return line
		}
		return m[1] + ", NOW"
	})
}

// session calls fettle history and fettle diff.
func session(t *testing.T, file string) {
	t.Helper()
	apptest.Session(t, file, func(ctx context.Context, args []string) (code int, out, errs string) {
		cmd := Cmd
		if args[0] == "diff" {
			cmd = DiffCmd
		}
		code, out, errs = apptest.Run(ctx, app.App{Traps: all}, cmd, args...)
		return code, without(out), errs
	})
}

// document is a report of a host at an hour of a day.
func documentOf(t *testing.T, name string, hour int, results ...trap.Result) *report.Document {
	t.Helper()
	m := report.Meta{Host: name, Kind: host.KindLive, Started: time.Date(2026, 11, 22, hour, 5, 6, 0, time.UTC), Version: "1.0",
		Identity: host.Identity{Hostname: name, Machine: "x86_64", Release: "6.1"}, Machine: machine.Facts{Distribution: "Debian 12"}}
	return report.NewDocument(m, all[:2], results, 3*time.Second)
}

func found(id, subject string, severity trap.Severity, summary string) trap.Outcome {
	return trap.Outcome{Trap: id, Subject: subject, Status: trap.Found, Severity: severity, Summary: summary}
}

func record(t *testing.T, state string, docs ...*report.Document) {
	t.Helper()
	for _, d := range docs {
		if err := history.In(state).Add(d, 10); err != nil {
			t.Fatal(err)
		}
	}
}

func result(id string, outcomes ...trap.Outcome) trap.Result {
	return trap.Result{Trap: id, Outcomes: outcomes}
}

func TestHistory(t *testing.T) {
	if !apptest.Golden(t, map[string]string{"/mnt/x": ""}) {
		return
	}
	session(t, "empty.txt")
	const state = "/var/lib/fettle"
	record(t, state,
		documentOf(t, "golden", 6, result("one", found("one", "a", trap.Warning, "it is masked")), result("two", trap.Outcome{Trap: "two",
			Status: trap.Clear})),
		documentOf(t, "golden", 7, result("one", found("one", "a", trap.Warning, "it is masked"), found("one", "b", trap.Critical, "it fails")),
			result("gone", trap.Outcome{Trap: "gone", Status: trap.Unknown, Reason: "denied"})),
		documentOf(t, "golden", 8, result("one", trap.Outcome{Trap: "one", Subject: "a", Status: trap.Clear},
			trap.Outcome{Trap: "one", Subject: "b", Status: trap.Clear})))
	record(t, app.HostState(state, "root@web1"), documentOf(t, "web1", 9, result("one", found("one", "a", trap.Warning, "it is masked"))))
	session(t, "history.txt")
	var d document
	code, out, errs := apptest.Run(t.Context(), app.App{Traps: all}, Cmd, "history", "--format", "json")
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || errs != "" || len(d.Runs) != 3 || d.Format != "fettle-history" {
		t.Fatalf("status %d, %v, said %q and %q", code, err, out, errs)
	}
	for i, want := range []string{"0 2", "1 0", "0 0"} {
		r := d.Runs[i]
		if got := fmt.Sprint(len(r.New), " ", len(r.Resolved)); got != want || r.Host != "golden" || r.Fettle != "1.0" ||
			r.Started.Hour() != 8-i {
			t.Errorf("run %d: %+v, want %s", i+1, r, want)
		}
	}
	if d.Runs[1].New[0].Subject != "b" || d.Runs[0].Counts.Found != 0 || d.Runs[1].Counts.Found != 2 || d.Runs[1].Counts.Unknown != 1 {
		t.Errorf("%+v", d.Runs)
	}
	names, err := history.In(state).Names()
	if err != nil || len(names) != 3 {
		t.Fatal(names, err)
	}
	// Of a run that cannot be read the others are told; what is new is compared with the one before.
	files, _ := filepath.Glob(state + "/history/" + names[1] + "*")
	if len(files) != 1 {
		t.Fatal(files)
	}
	if err := os.WriteFile(files[0], []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	session(t, "damaged.txt")
	for args, want := range map[string][]string{"history ": append([]string{"last"}, names...), "history --host root@web1 ": {"last",
		"20261122T090506.000Z"},
		"diff ": append([]string{"last"}, append(slices.Clone(names), "now")...)} {
		cmd := Cmd
		if strings.HasPrefix(args, "diff") {
			cmd = DiffCmd
		}
		code, out, _ := apptest.Run(t.Context(), app.App{Traps: all}, cmd, append([]string{"__complete"}, append(strings.Fields(args), "")...)...)
		if got := strings.Fields(out); code != 0 || !slices.Equal(got[:len(got)-1], want) {
			t.Errorf("%q is completed to %q, want %q", args, got, want)
		}
	}
	code, out, errs = apptest.Run(t.Context(), app.App{Traps: all}, Cmd, "history", "last", "--format", "json")
	if doc, err := history.Parse(strings.NewReader(out)); err != nil || code != 0 || errs != "" || doc.Meta.Started.Hour() != 8 ||
		len(doc.Traps) != 2 {
		t.Errorf("status %d, %v, said %q and %q", code, err, out, errs)
	}
}

// captureOf is a capture of a host that has these files, below the folder mnt, and its name.
func captureOf(t *testing.T, name string, files map[string]string) {
	t.Helper()
	dir := filepath.Join("/mnt/hosts", name)
	files["/etc/hostname"], files["/usr/x"], files["/etc/os-release"] = name+"\n", "", apptest.Release
	for file, text := range files {
		file = dir + file
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Create("/mnt/" + name + ".tar.zst")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tg := run.Target{Root: dir, Record: &run.Recording{Out: f}}
	if err := (run.Engine{}).Check(t.Context(), tg, all, trap.Options{}, func(run.About) error { return nil },
		func(trap.Result) {}); err != nil {
		t.Fatal(err)
	}
}

func TestDiff(t *testing.T) {
	if !apptest.Golden(t, map[string]string{"/etc/one": "found warning a it is masked\n", "/etc/os-release": apptest.Release,
		"/mnt/text": "hello\n", "/mnt/brackets.json": "  \n{}\n"}) {
		return
	}
	captureOf(t, "web1", map[string]string{"/etc/one": "found warning a it is masked\nclear b\n", "/etc/more": "clear c\n"})
	captureOf(t, "web2", map[string]string{"/etc/one": "clear a\nfound critical b it fails\n", "/etc/more": "clear c\n",
		"/etc/two": "unknown z\n",
		"/usr/two": "clear y\n"})
	captureOf(t, "same", map[string]string{"/etc/one": "found warning a it is masked\nclear b\n", "/etc/more": "clear c\nclear d\n"})
	says := map[string]string{}
	for _, name := range []string{"web1", "web2"} {
		b, err := os.ReadFile("/mnt/" + name + ".tar.zst")
		if err != nil {
			t.Fatal(err)
		}
		says[name] = string(b)
	}
	asked := apptest.SSH(t, says)
	for i, name := range []string{"a", "b"} {
		d := documentOf(t, "golden", 6+i, result("one", found("one", "a", trap.Warning, "said by "+name)), result("two", found("two", "",
			trap.Notice, "old")))
		b, err := json.Marshal(d)
		if err := errors.Join(err, os.WriteFile("/mnt/"+name+".json", b, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", "/mnt/tmp")
	if err := os.Mkdir("/mnt/tmp", 0o700); err != nil {
		t.Fatal(err)
	}
	before := len(means.OpenFiles(t))
	session(t, "diff.txt")
	if left, err := os.ReadDir("/mnt/tmp"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if now := means.OpenFiles(t); len(now) != before {
		t.Errorf("open are %v, and were %d", now, before)
	}
	if b, err := os.ReadFile(asked); err != nil || !strings.Contains(string(b), " capture ") {
		t.Errorf("asked %s, %v", b, err)
	}
	code, out, errs := apptest.Run(t.Context(), app.App{Traps: all}, DiffCmd, "diff", "/mnt/web1.tar.zst", "/mnt/web2.tar.zst",
		"--format=json")
	var d differences
	if err := json.Unmarshal([]byte(out), &d); code != 1 || errs != "" || err != nil || d.A.Host != "/mnt/hosts/web1" ||
		d.B.Host != "/mnt/hosts/web2" ||
		d.Format != "fettle-diff" ||
		len(d.Facts) == 0 || len(d.Changes) == 0 {
		t.Errorf("status %d, %v, said %q and %q", code, err, out, errs)
	}
	record(t, "/var/lib/fettle", documentOf(t, "golden", 6, result("one", found("one", "a", trap.Warning, "it is masked"))))
	session(t, "diff-one-run.txt")
	record(t, "/var/lib/fettle", documentOf(t, "golden", 7, result("one", found("one", "a", trap.Warning, "it is odd"), found("one", "b",
		trap.Notice, "new"))))
	session(t, "diff-runs.txt")
}

// TestWhatDiffers: findings and facts as people read them, in full and in short.
func TestWhatDiffers(t *testing.T) {
	t.Setenv("COLUMNS", "60")
	odd := trap.Outcome{Status: trap.Unknown, Reason: "denied"}
	bare := trap.Outcome{Status: trap.Clear}
	f := found("", "", trap.Warning, "it fails")
	a := report.Meta{Host: "web1", Started: time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC), Kind: host.KindLive}
	b := a
	b.Host, b.Kind, b.Identity.Time, b.Identity.Hostname = "web2\x1b", host.KindRoot, a.Started.Add(time.Hour), "web2"
	b.Identity.EUID = 7
	many := strings.Repeat("a line\n", 2)
	for i := range 9 {
		many += fmt.Sprintf("line\t%d\n", i)
	}
	changes := []history.Change{
		{Kind: history.New, Trap: "t", Subject: "s\x1b", After: &f}, {Kind: history.New, Trap: "t", After: &f, Before: &odd},
		{Kind: history.New, Trap: "t", After: &f, Before: &bare}, {Kind: history.Resolved, Trap: "t", Before: &f}, {Kind: history.Resolved,
			Trap:   "t",
			Before: &f, After: &bare},
		{Kind: history.Changed, Trap: "t", Before: &f, After: &f}, {Kind: history.Unseen, Trap: "t", Before: &f, After: &odd},
		{Kind: history.Seen, Trap: "t", Before: &odd, After: &f},
	}
	facts := []fact{
		{[]string{"a"}, capture.Difference{Op: capture.OpDir, What: "/etc/d\x1b", Was: "x\ny\n", Is: "x\nz\n"}},
		{[]string{"a", "a", "b", "c"}, capture.Difference{Op: capture.OpStat, What: "/etc/s", Was: "x\ny\n", Is: "y\nx\n"}},
		{[]string{"a", "b", "c", "d", "e"}, capture.Difference{Op: capture.OpLstat, What: "/etc/l", Is: many}},
		{nil, capture.Difference{Op: capture.OpLink, What: "/etc/k", Was: strings.Repeat("long ", 20)}},
		{nil, capture.Difference{Op: capture.OpXattr, What: "/etc/x", Was: "1\n2\n3\n4\n5\n6\n"}},
		{nil, capture.Difference{Op: capture.OpTable, What: "links", Was: "1\n2\n3\n4\n5\n6\n7\n"}},
	}
	var lots []fact
	for range 41 {
		lots = append(lots, facts[1])
	}
	got := map[string]string{}
	for name, c := range map[string]struct {
		d       differences
		verbose bool
	}{
		"1 another host": {differences{A: a, B: b, Changes: changes, Facts: facts}, false},
		"2 the same":     {differences{A: a, B: a, Changes: changes}, false},
		"3 in full":      {differences{A: a, B: b, Facts: facts}, true},
		"4 many facts":   {differences{A: a, B: a, Facts: lots[:40]}, false},
		"5 too many":     {differences{A: a, B: a, Facts: lots}, false},
		"6 all of them":  {differences{A: a, B: a, Facts: lots}, true},
		"7 nothing":      {differences{A: a, B: a}, false},
		"8 one fact":     {differences{A: a, B: a, Facts: facts[:1]}, false},
	} {
		var out strings.Builder
		if err := c.d.text(&app.App{Stdout: &out}, diffOptions{verbose: c.verbose}); err != nil {
			t.Error(err)
		}
		got[name] = out.String()
	}
	apptest.Session(t, "testdata/differs.txt", func(_ context.Context, args []string) (int, string, string) {
		said := got[strings.Join(args, " ")]
		if n := strings.Count(said, "/etc/s"); n >= 40 {
			return 0, fmt.Sprintf("%d facts\n%s", n, said[strings.LastIndex(said, "another order\n")+14:]), ""
		}
		return 0, said, ""
	})
}

// TestSettingsComeFirst: what moves by itself is told last.
func TestSettingsComeFirst(t *testing.T) {
	var last int
	for _, d := range []capture.Difference{{Op: capture.OpRead, What: "/etc/a"}, {Op: capture.OpDir, What: "/etc"}, {Op: capture.OpRead,
		What: "/usr/lib/a"},
		{Op: capture.OpRead, What: "/proc/sys/vm/swappiness"}, {Op: capture.OpRead, What: "/proc/meminfo"}, {Op: capture.OpCommand,
			What: "systemctl show"},
		{Op: capture.OpTable, What: "links"}, {Op: capture.OpTable, What: "/etc/x"}} {
		n := moves(d)
		if n < last {
			t.Errorf("%v comes before what precedes it", d)
		}
		last = n
	}
	if moves(capture.Difference{Op: capture.OpRead, What: "/etc/a"}) == moves(capture.Difference{Op: capture.OpRead, What: "/usr/a"}) ||
		moves(capture.Difference{Op: capture.OpRead, What: "/proc/sys/a"}) == moves(capture.Difference{Op: capture.OpRead, What: "/proc/a"}) ||
		moves(capture.Difference{Op: capture.OpTable, What: "a"}) == moves(capture.Difference{Op: capture.OpCommand, What: "a"}) {
		t.Error("they are told in no order")
	}
}
