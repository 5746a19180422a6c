package accept

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/engine/run"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/means"
)

// traps have findings on every host.
var traps = []*trap.Trap{
	{Lore: "---\nid: two-found\ntitle: Two are found\n---\n", Check: func(_ context.Context, _ *host.Host, r *trap.Report) error {
		r.Found(trap.Finding{Subject: "a", Severity: trap.Warning, Summary: "a is wrong"})
		r.Found(trap.Finding{Subject: "b\x1b", Severity: trap.Critical, Summary: "b is \x1bwrong"})
		r.Clear("c", "c is well")
		r.Unknown("d", errors.New("nobody may look"))
		return nil
	}},
	{Lore: "---\nid: none-found\ntitle: None is found\n---\n", Check: func(_ context.Context, _ *host.Host, r *trap.Report) error {
		r.Clear("", "all is well")
		return nil
	}},
	{Lore: "---\nid: unknown-here\ntitle: It is not known\n---\n", Check: func(context.Context, *host.Host, *trap.Report) error {
		return errors.New("it broke")
	}},
	{Lore: "---\nid: sampled\ntitle: It takes a while\n---\n", Cost: trap.Sampled, Check: sampled},
	{Lore: "---\nid: samples\ntitle: It can take a while\n---\n", Samples: true, Check: sampled},
	{Lore: "---\nid: instant\ntitle: It takes no time\n---\n", Check: sampled},
}

// sampled finds how long it may look.
func sampled(ctx context.Context, _ *host.Host, r *trap.Report) error {
	r.Found(trap.Finding{Severity: trap.Notice, Summary: fmt.Sprintf("it may look for %s", trap.Interval(ctx))})
	return nil
}

func TestMain(m *testing.M) {
	if code, ok := run.Child(os.Args[1:], traps, nil, os.Stderr); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// accepted calls the verb as a user who may write to none of the host's own files: see home.
func accepted(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	return acceptedBy(t, app.App{Traps: traps}, args...)
}

func acceptedBy(t *testing.T, a app.App, args ...string) (code int, out, errs string) {
	t.Helper()
	do := func() { code, out, errs = apptest.Run(t.Context(), a, Cmd, append([]string{"accept"}, args...)...) }
	if os.Geteuid() == 0 {
		means.AsNobody(t, do)
	} else {
		do()
	}
	return code, out, errs
}

// home is that user's, with the file of what is accepted.
func home(t *testing.T) (dir, file string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "accept") // below a folder that all may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("SUDO_USER", "")
	file = filepath.Join(dir, "accepted.yaml")
	write(t, file, "")
	if os.Geteuid() == 0 {
		err = errors.Join(os.Chown(dir, means.Nobody, means.Nobody), os.Chown(file, means.Nobody, means.Nobody))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, file
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestAccepted(t *testing.T) {
	_, file := home(t)
	today, later := time.Now().Format(time.DateOnly), time.Now().AddDate(0, 0, 30).Format(time.DateOnly)
	by := app.Whoami()
	steps := []struct {
		args []string
		out  string
	}{
		{[]string{"--list"}, "nothing is accepted\n"},
		{[]string{"two-found", "--on", "a", "--reason", "the lab's", "--until", "30d"},
			"accepted two-found:a: a is wrong (until " + later + ", or until it changes)\n"},
		{[]string{"--list"}, "two-found:a (until " + later + ", by " + by + " on " + today + ")\n  warning: a is wrong\n  because: the lab's\n"},
		{[]string{"two-found", "--reason", "all of it"}, "accepted two-found:a: a is wrong (until it changes)\n" +
			`accepted two-found:b\x1b: b is \x1bwrong (until it changes)` + "\n"},
		{[]string{"--list"}, "two-found:a (no end, by " + by + " on " + today + ")\n  warning: a is wrong\n  because: all of it\n" +
			`two-found:b\x1b (no end, by ` + by + " on " + today + ")\n" + `  critical: b is \x1bwrong` + "\n  because: all of it\n"},
		{[]string{"--remove", "two-found:a"}, ""},
		{[]string{"two-found", "--reason", "both", "--on", "a", "--on", "b\x1b", "--until", today},
			"accepted two-found:a: a is wrong (until " + today + ", or until it changes)\n" +
				`accepted two-found:b\x1b: b is \x1bwrong (until ` + today + ", or until it changes)\n"},
		{[]string{"--remove", "two-found:a"}, ""}, {[]string{"--remove", "two-found:b\x1b"}, ""}, {[]string{"--list"}, "nothing is accepted\n"},
		{[]string{"sampled", "--reason", "x"}, "accepted sampled: it may look for 10s (until it changes)\n"},
		{[]string{"samples", "--reason", "x"}, "accepted samples: it may look for 10s (until it changes)\n"},
		{[]string{"instant", "--reason", "x"}, "accepted instant: it may look for 0s (until it changes)\n"},
	}
	for _, s := range steps {
		code, out, errs := accepted(t, append(s.args, "--accepted", file)...)
		if code != 0 || out != s.out || errs != "" {
			t.Errorf("%q: status %d, said %q and %q; want %q", s.args, code, out, errs, s.out)
		}
	}
}

func TestListTellsWhenAndBecauseOfWhat(t *testing.T) {
	_, file := home(t)
	today := time.Now().Format(time.DateOnly)
	text := "- {trap: two-found, subject: a, reason: r, until: 2001-01-01}\n- {trap: gone, reason: \"r\\x1b\", by: me}\n" +
		"- {trap: instant, reason: r, severity: notice, summary: s, on: 2026-01-02, until: " + today + "}\n"
	write(t, file, text)
	const unknown = "; this fettle knows no such trap"
	list := func(unknown string) string {
		return "two-found:a (ended on 2001-01-01" + unknown + ")\n  because: r\ngone (no end, by me; this fettle knows no such trap)\n" +
			`  because: r\x1b` + "\ninstant (until " + today + " on 2026-01-02" + unknown + ")\n  notice: s\n  because: r\n"
	}
	if code, out, errs := accepted(t, "--list", "--accepted", file); code != 0 || out != list("") || errs != "" {
		t.Errorf("status %d, said %q and %q; want %q", code, out, errs, list(""))
	}
	if _, out, _ := acceptedBy(t, app.App{}, "--list", "--accepted", file); strings.Contains(out, unknown) {
		t.Errorf("a fettle without traps misses some: %s", out)
	}
	code, out, errs := accepted(t, "--list", "--accepted", file, "--format", "json")
	var doc document
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 0 || errs != "" || len(doc.Accepted) != 3 ||
		doc.Accepted[1].By != "me" ||
		doc.Format != "fettle-accepted" {
		t.Errorf("status %d, %v, said %q and %q", code, err, out, errs)
	}
	write(t, file, "")
	if code, out, _ := accepted(t, "--list", "--accepted", file, "--format", "json"); code != 0 || !strings.Contains(out, `"accepted": []`) {
		t.Errorf("of nothing: %d, %s", code, out)
	}
}

func TestRefusals(t *testing.T) {
	dir, _ := home(t)
	file, bad := filepath.Join(dir, "none.yaml"), filepath.Join(dir, "bad.yaml")
	write(t, bad, "- trap: x\n  resaon: y\n")
	const notFound = ", so there is nothing to accept"
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "which trap? fettle accept TRAP --reason TEXT, or --list, or --remove ID"},
		{[]string{"two-found"}, "accepting a finding needs --reason TEXT"}, {[]string{"two-found", "--reason", " "}, "needs --reason TEXT"},
		{[]string{"two-fuond", "--reason", "x"}, "did you mean two-found?"}, {[]string{"two-found", "none-found", "--reason", "x"}, "usage: "},
		{[]string{"two-found", "--reason", "x", "--until", "soon"}, "--until soon: expected a date"},
		{[]string{"two-found", "--reason", "x", "--until", "2001-01-01"}, "that day has passed"},
		{[]string{"none-found", "--reason", "x"}, "fettle: none-found is not found here" + notFound + "\n"},
		{[]string{"none-found", "--reason", "x", "--on", "q"}, "fettle: none-found is not found on q" + notFound + "\n"},
		{[]string{"unknown-here", "--reason", "x"}, "unknown-here is not found here" + notFound + "; some could not be inspected: it broke"},
		{[]string{"two-found", "--reason", "x", "--on", "a", "--on", "c", "--on", "e f"},
			"two-found is not found on c, 'e f'" + notFound + `; it is found on b\x1b; some could not be inspected: d: nobody may look`},
		{[]string{"--list", "two-found"}, "take no TRAP"}, {[]string{"--list", "--on", "a"}, "take no TRAP"},
		{[]string{"--list", "--reason", "x"}, "take no TRAP"}, {[]string{"--list", "--until", "90d"}, "take no TRAP"},
		{[]string{"--remove", "x", "two-found"}, "take no TRAP"}, {[]string{"--remove", "x", "--on", "a"}, "take no TRAP"},
		{[]string{"--remove", "x", "--reason", "y"}, "take no TRAP"}, {[]string{"--remove", "x", "--list"}, "list"},
		{[]string{"--remove", "x:y"}, "x:y is not among the accepted findings of "}, {[]string{"--list"}, "none.yaml does not exist"},
		{[]string{"--list", "--format", "xml"}, "xml"},
	} {
		code, out, errs := accepted(t, append(c.args, "--accepted", file)...)
		if said := strings.Join(strings.Fields(errs), " "); code != 2 || !strings.Contains(said+"\n",
			strings.Join(strings.Fields(c.want), " ")) || out != "" {
			t.Errorf("%q: status %d, said %q and %q; want %q", c.args, code, out, errs, c.want)
		}
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("what was refused is accepted")
	}
	for _, args := range [][]string{{"two-found", "--reason", "x"}, {"--list"}, {"--remove", "x"}} {
		code, out, errs := accepted(t, append(args, "--accepted", bad)...)
		if code != 2 || out != "" || !strings.Contains(errs, "bad.yaml:2:3: unknown field \"resaon\"") {
			t.Errorf("%q, of a file with a mistake: %d, %q, %q", args, code, out, errs)
		}
	}
}

// TestFileOfTheUser is taken where none is named.
func TestFileOfTheUser(t *testing.T) {
	dir, other := home(t)
	file := filepath.Join(dir, "fettle", "accepted.yaml")
	if code, out, errs := accepted(t, "instant", "--reason", "mine"); code != 0 || errs != "" ||
		!strings.HasPrefix(out, "accepted instant: ") {
		t.Errorf("status %d, said %q and %q", code, out, errs)
	}
	if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), "reason: mine") {
		t.Errorf("%s: %q, %v", file, b, err)
	}
	if code, out, errs := accepted(t, "--list"); code != 0 || errs != "" || !strings.Contains(out, "because: mine\n") {
		t.Errorf("listed: %d, %q, %q", code, out, errs)
	}
	if code, out, errs := accepted(t, "--remove", "instant"); code != 0 || out != "" || errs != "" {
		t.Errorf("removed: %d, %q, %q", code, out, errs)
	}
	if b, err := os.ReadFile(file); err != nil || strings.Contains(string(b), "mine") {
		t.Errorf("%s: %q, %v", file, b, err)
	}
	if b, err := os.ReadFile(other); err != nil || len(b) > 0 {
		t.Errorf("%s: %q, %v", other, b, err)
	}
}

// TestWhatCannotBeWritten ends with status 3, and nothing is told as accepted.
func TestWhatCannotBeWritten(t *testing.T) {
	means.Root(t)
	dir, _ := home(t)
	if err := errors.Join(os.Chown(dir, 0, 0), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	code, out, errs := accepted(t, "two-found", "--reason", "x", "--accepted", filepath.Join(dir, "new.yaml"))
	if code != 3 || out != "" || !strings.Contains(errs, "permission denied") {
		t.Errorf("status %d, said %q and %q", code, out, errs)
	}
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("HOME", "")
	code, out, errs = accepted(t, "two-found", "--reason", "x")
	if code != 2 || out != "" || !strings.Contains(errs, "name a file with --accepted") {
		t.Errorf("without a home: status %d, said %q and %q", code, out, errs)
	}
}
