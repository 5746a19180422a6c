package fix

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/engine/remedy"
	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/fleet/ssh"
	"fettle/internal/jsondoc"
)

// far is an ssh to hosts that say what a file has: HOST.plan, HOST.apply and so on, first the exit status, in a line of its own, then
// what goes to standard output, and after a line "!" to standard error. It notes what it was asked for.
const far = `#!/bin/sh
while [ "$1" != -- ]; do shift; done
case $3 in
*undo*--plan*) what=preview;; *undo*) what=undo;; *--plan*) what=plan;; *--yes*) what=apply;; *confirm*) what=confirm;; *) what=changes;;
esac
echo "$2 $what:${3##*exit 97\'}" >> /mnt/asked
[ -e "/mnt/far/$2.$what" ] || { echo "ssh: connect to host $2: No route to host" >&2; exit 255; }
{ read -r code
  while IFS= read -r line; do
    case $line in !) exec 1>&2;; *) printf '%s\n' "$line";; esac
  done; } < "/mnt/far/$2.$what"
exit "$code"
`

// TestFixFleet: what is shown of many hosts, asked, applied, confirmed and told, and what each host is asked for.
func TestFixFleet(t *testing.T) {
	files := map[string]string{"/etc/passwd": "root:x:0:0::/root:/bin/sh\n", "/etc/os-release": apptest.Release, "/mnt/bin/ssh": far}
	says := func(host, what string, code string, d document) {
		d.Envelope = jsondoc.New("fix")
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		files["/mnt/far/"+host+"."+what] = code + "\nWelcome\n" + string(b) + "\n"
	}
	plan := &planDoc{Digest: "d1", Title: "make it fine", Text: "limit: it is low\n\tand tabbed\x1b\n", Steps: 1}
	hard := &planDoc{Digest: "d3", Title: "make it hard", Text: "limit: it is high\n", Steps: 2, Irreversible: 2}
	made := document{Result: resultMended, Change: &appliedDoc{ID: "0007"}}
	risky := document{Result: resultMended, Change: &appliedDoc{ID: "0008", ConfirmBy: time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)}}
	for _, host := range []string{"web1", "web2", "lost", "late", "back", "half", "none", "mute", "deaf"} {
		says(host, "plan", "0", document{Result: resultPlanned, Plan: plan})
	}
	says("hard", "plan", "0", document{Result: resultPlanned, Plan: hard})
	says("some", "plan", "5", document{Result: resultPlanned, Plan: plan, Status: 5,
		Refused: []unmended{{"eth0", "it is another's"}, {"", "it is the host's"}}})
	says("not", "plan", "5", document{Result: resultRefused, Status: 5, Refused: []unmended{{"eth1", "it is another's"}}, Error: "all of it"})
	says("fine", "plan", "0", document{Result: resultNothing})
	says("dark", "plan", "4", document{Result: resultUnknown, Status: 4, Error: "it is dark"})
	says("web1", "apply", "0", made)
	says("web2", "apply", "0", risky)
	says("lost", "apply", "0", risky)
	says("late", "apply", "0", risky)
	says("hard", "apply", "0", made)
	says("some", "apply", "0", made)
	says("none", "apply", "0", document{Result: resultNothing})
	says("back", "apply", "6", document{Result: resultRolledBack, Status: 6, Error: "it was still found"})
	says("half", "apply", "8", document{Result: resultHalfWay, Status: 8, Error: "the disk is full"})
	files["/mnt/far/mute.apply"] = "1\nno report\n!\nsh: a broken pipe\n"
	files["/mnt/far/web2.confirm"] = "0\n"
	files["/mnt/far/lost.confirm"] = "3\n!\nit was rolled back\n"
	files["/mnt/far/web1.preview"], files["/mnt/far/web1.undo"] = "0\nwould undo\n", "0\nwould undo\nundone\n!\na warning\x1b\n"
	files["/mnt/far/web2.preview"], files["/mnt/far/web2.undo"] = "0\nwould undo\n", "7\n!\nchanged by others\n"
	files["/mnt/far/web1.changes"], files["/mnt/far/web2.changes"] = "0\n0007  limit\n", "2\n!\nno such change\n"
	if !apptest.Golden(t, files) {
		return
	}
	if err := os.Chmod("/mnt/bin/ssh", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "/mnt/bin:"+os.Getenv("PATH"))
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	session(t, "fleet.txt")
}

// TestOutcomes: what became of a run, by its exit status, its plan and its change.
func TestOutcomes(t *testing.T) {
	plan, change, refused := &planDoc{}, &appliedDoc{}, []unmended{{}}
	for _, c := range []struct {
		d    document
		err  error
		want result
		code int
	}{
		{document{}, nil, resultNothing, 0}, {document{Plan: plan}, nil, resultPlanned, 0},
		{document{Plan: plan, Refused: refused}, app.Exit(exitNotDone, errors.New("no")), resultPlanned, exitNotDone},
		{document{Plan: plan}, app.Exit(exitNotDone, errors.New("no")), resultRefused, exitNotDone},
		{document{Refused: refused}, app.Exit(exitNotDone, errors.New("no")), resultRefused, exitNotDone},
		{document{Plan: plan, Refused: refused}, app.Exit(exitBusy, errors.New("no")), resultRefused, exitBusy},
		{document{}, app.Exit(exitChanged, errors.New("no")), resultRefused, exitChanged},
		{document{Change: change}, app.Exit(exitNotDone, errors.New("no")), resultMended, exitNotDone},
		{document{}, app.Exit(app.ExitUnknown, errors.New("no")), resultUnknown, app.ExitUnknown},
		{document{Plan: plan}, app.Exit(exitRolledBack, errors.New("no")), resultRolledBack, exitRolledBack},
		{document{Plan: plan}, app.Exit(exitHalfWay, errors.New("no")), resultHalfWay, exitHalfWay},
		{document{Plan: plan}, app.Exit(app.ExitFailed, errors.New("no")), resultFailed, app.ExitFailed},
		{document{}, errors.New("no"), resultFailed, app.ExitUsage},
	} {
		d := c.d
		if d.end(c.err); d.Result != c.want || d.Status != c.code || (d.Error != "") != (c.err != nil) {
			t.Errorf("%+v, %v: %s, status %d; expected %s, %d", c.d, c.err, d.Result, d.Status, c.want, c.code)
		}
	}
}

// TestWorst: the status of many hosts is that of the most severe.
func TestWorst(t *testing.T) {
	of := func(status int) *fate { return &fate{doc: &document{Status: status}} }
	gone, unconfirmed := &fate{err: errors.New("no")}, &fate{err: errors.New("no"), doc: &document{}}
	ranks := []struct {
		it   *fate
		code int
	}{{of(0), 0}, {of(exitNotDone), exitNotDone}, {gone, app.ExitUnknown}, {of(exitChanged), exitChanged}, {unconfirmed, exitRolledBack},
		{of(exitHalfWay), exitHalfWay}}
	for i, low := range ranks {
		for _, high := range ranks[i:] {
			for _, all := range [][]*fate{{low.it, high.it}, {high.it, low.it}} {
				err, code := worst(all), 0
				if err != nil {
					code = statusOf(err)
				}
				if code != high.code {
					t.Errorf("%d and %d: %d", low.code, high.code, code)
				}
			}
		}
	}
	if code := statusOf(errors.New("no")); code != app.ExitFailed {
		t.Error(code)
	}
}

// TestStatus: how a verb ends, by what the engine of remedies says.
func TestStatus(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{
		{errors.New("no"), app.ExitFailed}, {remedy.ErrNoChange, app.ExitUsage}, {remedy.ErrStorePath, app.ExitUsage},
		{&remedy.Incomplete{}, exitHalfWay}, {&remedy.Unfinished{}, exitHalfWay}, {&remedy.RolledBack{}, exitRolledBack},
		{&remedy.Conflicts{}, exitChanged}, {&machine.Changed{}, exitChanged}, {&remedy.Held{}, exitBusy}, {&remedy.Refusal{}, exitNotDone},
		{&machine.Untrusted{}, exitNotDone}, {&remedy.Shared{}, exitNotDone}, {&remedy.NothingMended{}, exitNotDone},
		{&remedy.Unconfirmed{}, exitNotDone}, {remedy.ErrNeedsRoot, exitNotDone}, {step.ErrSecret, exitNotDone},
		{app.Exit(app.ExitUnknown, &remedy.Held{}), app.ExitUnknown},
	} {
		if got := statusOf(Status(c.err)); got != c.code {
			t.Errorf("%T: %d, expected %d", c.err, got, c.code)
		}
	}
	if err := Status(nil); err != nil {
		t.Error(err)
	}
}

// TestChosen: of what a check says, the findings about what was named; what could not be looked at is told.
func TestChosen(t *testing.T) {
	o := func(subject string, s trap.Status) trap.Outcome {
		return trap.Outcome{Trap: "limit", Subject: subject, Status: s, Reason: "it is dark"}
	}
	said := []trap.Outcome{o("a", trap.Found), o("b", trap.Found), o("c", trap.Unknown), o("d", trap.Clear)}
	for name, c := range map[string]struct {
		outcomes []trap.Outcome
		on       string
		want     string // the subjects
		errs     string
		code     int
	}{
		"all":                     {said, "", "a b", "could not inspect limit:c: it is dark", 0},
		"one":                     {said, "a", "a", "", 0},
		"two":                     {said, "b a", "a b", "", 0},
		"the dark one":            {said, "c", "", "limit:c: it is dark", app.ExitUnknown},
		"the clear one":           {said, "d", "", "", 0},
		"one, and none there":     {said, "a x", "", `no subject "x"`, app.ExitUsage},
		"a dark host":             {[]trap.Outcome{o("", trap.Unknown)}, "a", "", "limit: it is dark", app.ExitUnknown},
		"one on a dark host":      {[]trap.Outcome{o("", trap.Unknown), o("a", trap.Found)}, "a", "a", "could not inspect limit: it is dark", 0},
		"a finding of the host's": {[]trap.Outcome{o("", trap.Found), o("a", trap.Found)}, "a", "a", "", 0},
		"nothing":                 {nil, "", "", "", 0},
	} {
		var errs strings.Builder
		found, err := chosen(&app.App{Stderr: &errs, Stdout: io.Discard}, all[0], c.outcomes, strings.Fields(c.on))
		code := 0
		if err != nil {
			code = statusOf(err)
			errs.WriteString(err.Error())
		}
		var subjects []string
		for _, f := range found {
			subjects = append(subjects, f.Subject)
		}
		if got := strings.Join(subjects, " "); got != c.want || code != c.code || !strings.Contains(errs.String(), c.errs) ||
			c.errs == "" && errs.Len() > 0 {
			t.Errorf("%s: %q, status %d, said %q", name, got, code, errs.String())
		}
	}
}

// TestAllMended: the first that is not mended is named, and how many others.
func TestAllMended(t *testing.T) {
	o := func(subject string, s trap.Status) trap.Outcome {
		return trap.Outcome{Subject: subject, Status: s, Summary: "it bites", Reason: "it is dark"}
	}
	parts := []remedy.Part{{Subject: "a"}, {Subject: "b"}, {Subject: "c"}}
	const clear, found, unknown = trap.Clear, trap.Found, trap.Unknown
	for _, c := range []struct {
		a, b, c trap.Status
		parts   int
		want    string
	}{
		{clear, clear, clear, 3, ""}, {found, clear, clear, 1, "the check still finds it: it bites"},
		{found, clear, clear, 3, "the check still finds it: a: it bites"}, {clear, unknown, clear, 3, "b: it is dark"},
		{clear, found, unknown, 3, "the check still finds it: b: it bites (the same applies to 1 more of the 3 findings; --on fixes them " +
			"one by one)"},
		{unknown, found, unknown, 3, "a: it is dark (the same applies to 2 more of the 3 findings; --on fixes them one by one)"},
		{unknown, found, clear, 1, "it is dark"},
	} {
		err := allMended([]trap.Outcome{o("a", c.a), o("b", c.b), o("c", c.c)}, parts[:c.parts])
		if said := errors.Join(err); said == nil && c.want != "" || said != nil && said.Error() != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestWritten: a line that a change wrote into a file is told from those that were there, and from lines that are not.
func TestWritten(t *testing.T) {
	s := step.File{Path: "/etc/a", Was: []byte("old\n"), Content: []byte("new\nold\nlast")}
	for source, want := range map[string]bool{"/etc/a:1": true, "/etc/a:2": false, "/etc/a:3": true, "/etc/a:4": false, "/etc/a:0": false,
		"/etc/a:-1": false, "/etc/a:x": false, "/etc/a": false, "/etc/ab:1": false} {
		if line, ok := written(s, source); ok != want || ok && line != source {
			t.Errorf("%s: %q, %v", source, line, ok)
		}
	}
	if _, ok := written(step.Remove{Path: "/etc/a"}, "/etc/a:1"); ok {
		t.Error("a removed file has lines")
	}
	low := trap.Outcome{Status: trap.Found, Severity: trap.Notice, Evidence: []trap.Evidence{{Source: "/etc/a:1"}}}
	for severity, bad := range map[trap.Severity]bool{trap.Notice: false, trap.Warning: true, trap.Critical: true} {
		low.Severity = severity
		if err := brought([]trap.Outcome{low}, remedy.Plan{Steps: []step.Step{s}}); (err != nil) != bad {
			t.Errorf("%s: %v", severity, err)
		}
	}
}

// TestBounded: what a host says is kept up to a limit, and no more.
func TestBounded(t *testing.T) {
	var b bounded
	half := make([]byte, documentLimit/2)
	for i, ok := range []bool{true, true, false} {
		if n, err := b.Write(half); (err == nil) != ok || ok && n != len(half) {
			t.Errorf("half %d: %d, %v", i, n, err)
		}
	}
	if _, err := b.Write([]byte("x")); err == nil || len(b.b) != documentLimit {
		t.Errorf("%d bytes, %v", len(b.b), err)
	}
	if got := reasonOf(&fate{err: &ssh.Error{Host: "web1", Why: "no route"}}); got != "no route" {
		t.Error(got)
	}
	if got := visibleLines("a\tb\x1b\nc"); got != "a\tb\\x1b\nc\n" {
		t.Errorf("%q", got)
	}
}
