package hub

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/fleet/hub"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/internal/means"
)

// What differs from run to run.
var differs = []struct {
	is  *regexp.Regexp
	say string
}{
	{regexp.MustCompile(`fettle1:\S+`), "INVITATION"}, {regexp.MustCompile(`20\d\d-\d\d-\d\d( \d\d:\d\d)?`), "DATE"},
	{regexp.MustCompile(`\b[0-9a-f]{12}\b|"[0-9a-f]{7}"`), "TOKEN-ID"}, {regexp.MustCompile(`just now|[0-9.]+ (s|ms|min|h) ago`), "JUST NOW"},
	{regexp.MustCompile(`(?m)^[A-Za-z0-9_-]{30,}$`), "SECRET"},
}

// TestVerbs: a session on the folder of a hub that serves at other times.
func TestVerbs(t *testing.T) {
	t.Setenv("COLUMNS", "100")
	dir := storetest.Dir(t)
	if err := os.WriteFile(filepath.Join(dir, "hub.json"), []byte(`{"urls":["tls://127.0.0.1:1"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	known, err := hub.ReadKnown(dir)
	if err != nil {
		t.Fatal(err)
	}
	db := storetest.Open(t, known.Where(dir))
	for _, h := range [][2]string{{"web1", "web"}, {"web2", "web"}, {"db1", "db"}} {
		reported(t, db, h[0], h[1])
	}
	last := "" // the ID of the last token that was listed
	ids := regexp.MustCompile(`(?m)^([0-9a-f]{12}) `)
	apptest.Session(t, "testdata/verbs.txt", func(ctx context.Context, args []string) (int, string, string) {
		stdin := ""
		for i, s := range args {
			switch s {
			case "LAST":
				args[i] = last
			case "SHORT":
				args[i] = last[:min(7, len(last))]
			case "<":
				stdin, args = args[i+1]+"\nmore\n", args[:i]
			}
			if i >= len(args)-1 {
				break
			}
		}
		code, out, errs := run(t, ctx, stdin, append([]string{"--state", dir}, args...)...)
		if m := ids.FindStringSubmatch(out); m != nil {
			last = m[1]
		}
		for _, d := range differs {
			out, errs = d.is.ReplaceAllString(out, d.say), d.is.ReplaceAllString(errs, d.say)
		}
		var lines []string // columns are as wide as what differs
		for line := range strings.Lines(out) {
			lines = append(lines, strings.Join(strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\n' }), " "))
		}
		if out = strings.Join(lines, "\n"); out != "" {
			out += "\n"
		}
		return code, out, errs
	})
	acts, err := db.Audits(t.Context(), 0, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var audit []string
	for i := len(acts) - 1; i >= 0; i-- {
		a := acts[i]
		line := a.From + ": " + a.What + " " + a.On + ": " + a.Details
		for _, d := range differs {
			line = d.is.ReplaceAllString(line, d.say)
		}
		audit = append(audit, line)
		if a.Who != whoami() && a.From != "fettle-agent join" {
			t.Errorf("%s: by %q", line, a.Who)
		}
	}
	apptest.Session(t, "testdata/audit.txt", func(context.Context, []string) (int, string, string) {
		return 0, strings.Join(audit, "\n") + "\n", ""
	})
}

// TestPasswords: a terminal is asked twice; of anything else one line is taken.
func TestPasswords(t *testing.T) {
	for typed, want := range map[string]string{"correct horse\ncorrect horse\n": "correct horse", "one\ntwo\n": ""} {
		master, tty := means.OpenTerminal(t)
		if _, err := master.WriteString(typed + "\n"); err != nil {
			t.Fatal(err)
		}
		var errs bytes.Buffer
		p := &program{App: &app.App{Stdin: tty, Stderr: &errs}}
		got, err := p.password("Password: ")
		if got != want || (err == nil) != (want != "") || err != nil && err.Error() != "the two passwords differ" ||
			errs.String() != "Password: \nThe same again: \n" {
			t.Errorf("%q: %q, %v, said %q", typed, got, err, errs.String())
		}
	}
	for given, want := range map[string]string{"a b\r\nmore": "a b", "a": "a", "": "", " a \n": " a "} {
		p := &program{App: &app.App{Stdin: strings.NewReader(given)}}
		if got, err := p.password(""); got != want || err != nil {
			t.Errorf("%q: %q, %v", given, got, err)
		}
	}
}

// TestRemarks: what is odd about an agent, in a few words.
func TestRemarks(t *testing.T) {
	at := time.Now()
	for want, h := range map[string]store.Host{"": {Skew: time.Minute}, "retired": {Retired: at}, "two machines use its key": {Twin: at},
		"sent too much: some reports were not stored": {Held: at}, "its last check failed": {Failed: "x"}, "sent what no agent sends": {Bad: 1},
		"lost results": {Dropped: 1}, "its clock is off": {Skew: -61 * time.Second},
		"retired, lost results": {Retired: at, Dropped: 2}} {
		if got := remarks(&h); got != want {
			t.Errorf("%+v: %q, want %q", h, got, want)
		}
	}
	for want, at := range map[string]time.Time{"never": {}, "just now": time.Now(), "2 h ago": time.Now().Add(-2 * time.Hour)} {
		if got := ago(at); got != want {
			t.Errorf("%s: %s", want, got)
		}
	}
}
