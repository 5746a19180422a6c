package why

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
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

// speaks is a trap with a message, whose check says what the host's /etc/ID does: "found SUBJECT SUMMARY", "unknown SUBJECT",
// "n/a SUBJECT" a line, or "clear SUBJECT".
func speaks(id, message string, more ...string) *trap.Trap {
	t := apptest.Says(id, "symptoms:\n  - \""+message+"\"\nmessages:\n  - text: \""+message+"\"\n    says: kernel\n    since: \"6.1\"\n"+
		strings.Join(more, ""))
	t.Check = func(ctx context.Context, h *host.Host, r *trap.Report) error {
		b, err := h.ReadFile(ctx, "/etc/"+id)
		if host.IsAbsent(err) {
			r.NotApplicable("", "there is no "+id)
			return nil
		}
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(b)) {
			f := append(strings.Fields(line), "", "")
			switch subject := strings.Trim(f[1], "-"); f[0] {
			case "found":
				r.Found(trap.Finding{Severity: trap.Warning, Subject: subject, Summary: strings.TrimSpace(strings.Join(f[2:], " "))})
			case "unknown":
				r.Unknown(subject, errors.New("permission denied"))
			case "n/a":
				r.NotApplicable(subject, "not here")
			default:
				r.Clear(subject, "well")
			}
		}
		return nil
	}
	return t
}

// swappy finds what sysctl -a shows.
var swappy = func() *trap.Trap {
	t := apptest.Says("swappy", "symptoms:\n  - \"the host swaps all the time\"\n")
	t.Check = func(ctx context.Context, h *host.Host, r *trap.Report) error {
		b, err := h.ReadFile(ctx, "/proc/sys/vm/swappiness")
		if err != nil {
			return err
		}
		if strings.TrimSpace(string(b)) == "200" {
			r.Found(trap.Finding{Severity: trap.Warning, Subject: "vm.swappiness", Summary: "it is 200", Detail: "the most that there is"})
		} else {
			r.Clear("", "well")
		}
		return nil
	}
	return t
}()

var all = []*trap.Trap{
	speaks("frob", "frobnicator <n> on <disk> lost its quux"), speaks("wibble", "wibble underrun in <unit>"),
	talking(speaks("asks", "the oracle did not answer")), sampled(speaks("slow", "the snail was overtaken")), swappy,
	speaks("nginx-down", "quite another thing"),
}

func talking(t *trap.Trap) *trap.Trap { t.Talks = true; return t }
func sampled(t *trap.Trap) *trap.Trap { t.Cost = trap.Sampled; return t }

func TestMain(m *testing.M) {
	if code, ok := run.Child(os.Args[1:], all, Answers, os.Stderr); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func asked(t *testing.T, stdin string, args ...string) (code int, out, errs string) {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), means.Patience)
	defer end()
	return apptest.Run(ctx, app.App{Traps: all, Stdin: strings.NewReader(stdin)}, Cmd, KeepMessages(append([]string{"why"}, args...))...)
}

// session calls fettle why; what follows "<" is a file of the host that is read.
func session(t *testing.T, file string) {
	t.Helper()
	apptest.Session(t, file, func(_ context.Context, args []string) (int, string, string) {
		var stdin []byte
		if n := len(args); n > 1 && args[n-2] == "<" {
			var err error
			if stdin, err = os.ReadFile(args[n-1]); err != nil {
				t.Fatal(err)
			}
			args = args[:n-2]
		}
		code, out, errs := asked(t, string(stdin), args[1:]...)
		return code, out, moments.ReplaceAllString(errs, "since TIME")
	})
}

var moments = regexp.MustCompile(`since \d{4}-[0-9-]+ [0-9:]+`)

const nginx = `Jan 11 16:37:20 HOST systemd[1]: Starting nginx - high performance web server...
Jan 11 16:37:20 HOST nginx[3026]: nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address already in use)
Jan 11 16:37:21 HOST nginx[3026]: nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address already in use)
Jan 11 16:37:23 HOST systemd[1]: nginx.service: Failed with result 'exit-code'.
Jan 11 16:37:23 HOST systemd[1]: Failed to start nginx - high performance web server.
`

const here = "Jan 02 03:04:05 HOST kernel: frobnicator 77 on sdq lost its quux\nJan 02 03:04:06 HOST kernel: the oracle did not answer\n"

func TestWhy(t *testing.T) {
	if !apptest.Golden(t, map[string]string{"/etc/nginx-down": "found nginx.service it is down\n", "/mnt/empty": " \n",
		"/mnt/log": strings.ReplaceAll(nginx, "HOST", "web1"), "/mnt/own": strings.ReplaceAll(nginx, "HOST", "golden"),
		"/mnt/frob": strings.ReplaceAll(here, "HOST", "golden"), "/mnt/frob-there": strings.ReplaceAll(here, "HOST", "web1.example.org"),
		"/mnt/frob-fqdn": strings.ReplaceAll(here, "HOST", "Golden.example.org"), "/mnt/frob-local": strings.ReplaceAll(here, "HOST",
			"localhost"),
		"/mnt/sysctl": "vm.swappiness = 200\nvm.dirty_ratio = 20\n",
		"/mnt/both":   "vm.swappiness = 200\nkernel: frobnicator 77 on sdq lost its quux\n",
		"/mnt/journal": `{"__REALTIME_TIMESTAMP":"1700000000000000","_HOSTNAME":"golden","SYSLOG_IDENTIFIER":"kernel",` +
			`"MESSAGE":"frobnicator 77 on sdq lost its quux","_BOOT_ID":"b","PRIORITY":"3"}` + "\n",
		"/mnt/evil": "Jan 02 03:04:05 web1 kernel: frobnicator 77 on sdq lost its quux \x1b[31m\n"}) {
		return
	}
	// journalctl knows one unit.
	apptest.Cover(t, "/usr/bin/journalctl", `case "$*" in
*"--since=@"*"-u mine.service"*) sed s/77/78/ /mnt/journal;;
*"-u mine.service"*) cat /mnt/journal;;
*-u*) ;;
*) echo '{"__REALTIME_TIMESTAMP":"1700000000000000","MESSAGE":"x","_BOOT_ID":"b"}'
esac`)
	session(t, "refused.txt")
	session(t, "no-check.txt")
	for _, c := range []struct{ file, frob, asks, wibble string }{
		{"found.txt", "found sdq it lost it\nfound sdr it will\n", "found - it is deaf\n", ""},
		{"many.txt", strings.Repeat("found x0 it is bad\n", 1) + "found x1 bad\nfound x2 bad\nunknown x3\nfound x4 bad\nclear x5\n",
			"clear -\n", ""},
		{"clear.txt", "clear -\nn/a x\n", "clear -\n", "found u it underruns\n"},
		{"unknown.txt", "unknown -\nclear x\n", "unknown x\n", ""}, {"not-here.txt", "n/a -\n", "", "clear -\n"},
	} {
		for id, text := range map[string]string{"frob": c.frob, "asks": c.asks, "wibble": c.wibble} {
			if err := os.WriteFile("/etc/"+id, []byte(text), 0o644); text != "" && err != nil {
				t.Fatal(err)
			} else if text == "" {
				os.Remove("/etc/" + id)
			}
		}
		session(t, c.file)
	}
	session(t, "logs.txt")
	code, out, errs := asked(t, "", "--format", "json", "frobnicator 77 on sdq lost its quux, and wibble underrun in a.service")
	var d document
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || errs != "" || len(d.Matches) != 2 || d.Format != "fettle-why" {
		t.Fatalf("status %d, %v, said %q and %q", code, err, out, errs)
	}
	for _, m := range d.Matches {
		if m.Title != "The trap "+m.Trap || m.Here == nil || m.Here.Trap != m.Trap || len(m.Here.Outcomes) == 0 {
			t.Errorf("%+v", m)
		}
	}
	code, out, _ = asked(t, "vm.swappiness = 200\n", "--format", "json")
	d = document{}
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || len(d.Shown) != 1 || d.Shown[0].Trap != "swappy" ||
		len(d.Matches) != 0 ||
		d.Shown[0].Title != "The trap swappy" || len(d.Shown[0].Outcomes) != 1 || strings.Join(d.Shown[0].From, "") == "" || d.FirstLook != nil {
		t.Errorf("status %d, %v, said %q", code, err, out)
	}
	code, out, _ = asked(t, strings.ReplaceAll(nginx, "HOST", "web1"), "--format", "json")
	d = document{}
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 1 || d.FirstLook == nil || len(d.Shown) != 0 || d.Matches == nil {
		t.Errorf("status %d, %v, said %q", code, err, out)
	}
}

// TestTheTerminalIsAsked: who types a text is told how to end it; arguments need none of that.
func TestTheTerminalIsAsked(t *testing.T) {
	for args, want := range map[string]string{"": "fettle: paste the message or log, then press Ctrl-D on an empty line\n",
		"the oracle did not answer": ""} {
		master, tty := means.OpenTerminal(t)
		if _, err := master.WriteString("the oracle did not answer\n\x04"); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		a := &app.App{Program: "fettle", Stdin: tty, Stdout: &out, Stderr: &errs, Traps: all}
		ended := make(chan error, 1)
		go func() {
			ended <- answer(t.Context(), a, whyOptions{format: "text", noCheck: true}, strings.Fields(args))
		}()
		var err error
		select {
		case err = <-ended:
		case <-time.After(means.Patience):
			t.Fatalf("%q: one Ctrl-D is not enough", args)
		}
		if err != nil || !strings.HasPrefix(out.String(), "asks  (") || errs.String() != want {
			t.Errorf("%q: %v, said %q and %q", args, err, out.String(), errs.String())
		}
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	err := answer(ctx, &app.App{Stdin: strings.NewReader("x"), Traps: all}, whyOptions{format: "text"}, nil)
	var s *app.Status
	if !errors.As(err, &s) || s.Code != app.ExitFailed || err.Error() != "interrupted while reading the text" {
		t.Errorf("interrupted: %v", err)
	}
}

// TestKeepMessages: no flag has a space, and other verbs' arguments are theirs.
func TestKeepMessages(t *testing.T) {
	for _, c := range [][2]string{
		{"why|-bash: x y|--format=a b", "why| -bash: x y|--format=a b"}, {"why|-x|--unit", "why|-x|--unit"}, {"why|--|-a b", "why|--|-a b"},
		{"--traps=x|why|-a b", "--traps=x|why| -a b"}, {"--traps|x|why|-a\tb", "--traps|x|why| -a\tb"}, {"check|why|-a b", "check|why|-a b"},
		{"--traps|x|y|why|-a b", "--traps|x|y|why|-a b"}, {"check|-a b", "check|-a b"}, {"why", "why"}, {"why|a b|-c\nd", "why|a b| -c\nd"},
	} {
		given := strings.Split(c[0], "|")
		if got := strings.Join(KeepMessages(given), "|"); got != c[1] || strings.Join(given, "|") != c[0] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}

func TestScores(t *testing.T) {
	for score, want := range map[float64]string{1: "very likely", 0.9: "very likely", 0.89: "likely", 0.7: "likely", 0.69: "perhaps",
		0: "perhaps"} {
		if got := likely(score); got != want {
			t.Errorf("%v: %s", score, got)
		}
	}
	for score, want := range map[float64]int{1: 99, 0.999: 99, 0.984: 98, 0.985: 99, 0.5: 50, 0: 0, 0.004: 0, 0.005: 1} {
		if got := percent(score); got != want {
			t.Errorf("%v: %d %%", score, got)
		}
	}
}
