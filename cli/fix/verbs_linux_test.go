package fix

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/run"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/means"
)

// finds is a trap that finds each line of a file of which there is no file in the folder mended beside it; its plan makes one there.
func finds(file, mended string, more func(*trap.Trap)) *trap.Trap {
	id := strings.ReplaceAll(strings.TrimPrefix(file, "/etc/"), ".", "-")
	t := apptest.Says(id, "")
	t.Check = func(ctx context.Context, h *host.Host, r *trap.Report) error {
		b, err := h.ReadFile(ctx, file)
		if host.IsAbsent(err) {
			r.NotApplicable("", "there is no "+file)
			return nil
		}
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(b)) {
			switch subject := strings.TrimSpace(line); subject {
			case "fine":
				r.Clear("", "all is well")
			case "dark":
				r.Unknown("", errors.New("it is dark"))
			default:
				file := file + ".d/" + subject
				if subject == "-" {
					subject = ""
				}
				if ok, err := h.Exists(ctx, file); err != nil || ok {
					r.Clear(subject, "it is mended")
					continue
				}
				r.Found(trap.Finding{Severity: trap.Warning, Subject: subject, Summary: "it is low"})
			}
		}
		return nil
	}
	if mended != "" {
		t.Plan = func(_ context.Context, _ *host.Host, f trap.Finding) (remedy.Plan, error) {
			if f.Subject == "hopeless" {
				return remedy.Plan{}, errors.New("nothing helps")
			}
			title := "make it fine"
			if by := f.Chosen("by"); by != "" {
				title += " by " + by
			}
			return remedy.Plan{Title: title, Steps: []step.Step{step.File{Path: mended + "/" + cmp.Or(f.Subject, "-"),
				Content: []byte("fine\n")}}}, nil
		}
	}
	if more != nil {
		more(t)
	}
	return t
}

var all = []*trap.Trap{
	finds("/etc/limit", "/etc/limit.d", nil), finds("/etc/stubborn", "/etc/else", nil), finds("/etc/hand", "", nil),
	finds("/etc/choosy", "/etc/choosy.d", func(t *trap.Trap) {
		t.Choices = []trap.Choice{{Name: "by", About: "with what", Values: []string{"hand", "foot"}, Default: "hand"}}
	}),
	finds("/etc/sampled", "/etc/sampled.d", func(t *trap.Trap) { t.Cost = trap.Sampled }),
	finds("/etc/final", "/etc/final.d", func(t *trap.Trap) {
		t.Talks = true
		t.Plan = func(_ context.Context, _ *host.Host, f trap.Finding) (remedy.Plan, error) {
			if f.Subject == "stuck" {
				return remedy.Plan{}, remedy.Refuse("it is stuck")
			}
			name := "/etc/final.d/" + f.Subject
			return remedy.Plan{Title: "make it final", CutsConnection: f.Subject == "far", Settle: time.Second,
				Steps: []step.Step{step.Command{Do: []string{"/usr/bin/touch", name}}}}, nil
		}
	}),
	finds("/etc/wanted", "/etc/wanted.d", func(t *trap.Trap) {
		t.Choices = []trap.Choice{{Name: "by", About: "with what", Values: []string{"hand", "foot"}, Default: "hand"}}
		t.Setup = &trap.Setup{Name: "wanted", Finding: trap.Finding{Summary: "it is set up"}, Choice: "by"}
	}),
	finds("/etc/talks", "/etc/talks.d", func(t *trap.Trap) {
		check, plan := t.Check, t.Plan
		t.Talks = true
		t.Check = func(ctx context.Context, h *host.Host, r *trap.Report) error {
			if !trap.MayTalk(ctx) {
				r.Unknown("", errors.New("it has to ask another host"))
				return nil
			}
			return check(ctx, h, r)
		}
		t.Plan = func(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
			p, err := plan(ctx, h, f)
			if f.Subject == "tail" {
				return p, remedy.Refuse("it goes with head")
			}
			p.Settle = 2 * time.Second
			p.Steps = append(p.Steps, step.File{Path: "/etc/talks.d/tail", Content: []byte("fine\n")})
			return p, err
		}
	}),
}

func TestMain(m *testing.M) {
	if code, ok := run.Child(os.Args[1:], all, nil, os.Stderr); ok {
		os.Exit(code)
	}
	if len(os.Args) > 1 && os.Args[1] == "undo" { // the guard of a change that waits to be confirmed
		a := &app.App{Program: "fettle", Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Traps: all}
		os.Exit(a.Execute(context.Background(), os.Args[1:], func() *cobra.Command {
			return app.Grow(&cobra.Command{Use: "fettle", PersistentPreRunE: app.NoEmptyFlags}, UndoCmd(a))
		}))
	}
	os.Exit(m.Run())
}

var verbs = map[string]func(*app.App) *cobra.Command{"fix": Cmd, "undo": UndoCmd, "resume": ResumeCmd, "confirm": ConfirmCmd,
	"changes": ChangesCmd}

var (
	dates  = regexp.MustCompile(`(undone )?(at|until) \d\d:\d\d:\d\d|\b20\d\d-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?`)
	isID   = regexp.MustCompile(`\b\d{4}\b`)
	image  = regexp.MustCompile(`(?s)Note: [^:]*? belongs? to the image.*?to take\s+over\.\n`) // where the tests run in a container
	guard  = regexp.MustCompile(`(?s)Without that it is .*?\.\n`)
	plans  = regexp.MustCompile(`"text": ".*"`)
	digest = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
)

// session calls the verbs; LAST is the change that was named last, "put FILE TEXT" writes a file, "cat FILE" shows
// one, "answering WORDS" has them typed on a terminal, "sorted" is for lines in no order, and "asked" is what hosts were asked for since.
func session(t *testing.T, file string) {
	t.Helper()
	last := ""
	apptest.Session(t, file, func(ctx context.Context, args []string) (code int, out, errs string) {
		switch args[0] {
		case "put":
			if err := os.WriteFile(args[1], []byte(strings.ReplaceAll(args[2], " ", "\n")+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			return 0, "", ""
		case "cat":
			b, err := os.ReadFile(args[1])
			if err != nil {
				return 1, "", "absent"
			}
			return 0, string(b), ""
		}
		for i := range args {
			if args[i] == "LAST" {
				args[i] = last
			}
		}
		if args[0] == "asked" {
			b, err := os.ReadFile("/mnt/asked")
			if err = errors.Join(err, os.Remove("/mnt/asked")); err != nil {
				t.Fatal(err)
			}
			return 0, sorted(digest.ReplaceAllString(string(b), "DIGEST")), ""
		}
		anyhow := args[0] == "sorted"
		if anyhow {
			args = args[1:]
		}
		var a app.App
		if args[0] == "answering" {
			master, tty := means.OpenTerminal(t)
			if _, err := master.WriteString(strings.ReplaceAll(args[1], " ", "\n") + "\n"); err != nil {
				t.Fatal(err)
			}
			a.Stdin, args = tty, args[2:]
		}
		a.Traps = all
		call := func() { code, out, errs = apptest.Run(ctx, a, verbs[args[0]], args...) }
		if args[0] == "user" {
			args = args[1:]
			means.AsNobody(t, call)
		} else {
			call()
		}
		if id := isID.FindString(dates.ReplaceAllString(out+errs, "")); id != "" {
			last = id
		}
		for _, s := range []*string{&out, &errs} {
			*s = plans.ReplaceAllString(*s, `"text": "PLAN"`)
			*s = guard.ReplaceAllString(*s, "Without that it is undone.\n")
			*s = image.ReplaceAllString(digest.ReplaceAllString(dates.ReplaceAllString(*s, "DATE"), "DIGEST"), "")
		}
		if anyhow {
			out = sorted(out)
		}
		return code, out, errs
	})
}

func sorted(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func TestFix(t *testing.T) {
	if !apptest.Golden(t, map[string]string{"/etc/passwd": "root:x:0:0::/root:/bin/sh\n", "/etc/os-release": apptest.Release,
		"/etc/limit.d/x": "", "/etc/else/x": "", "/etc/choosy.d/x": "", "/etc/final.d/x": "", "/etc/talks.d/x": "",
		"/etc/wanted": "s\n", "/etc/wanted.d/s": "fine\n"}) {
		return
	}
	session(t, "refused.txt")
	session(t, "fix.txt")
	session(t, "many.txt")
	session(t, "one.txt")
	code, out, errs := apptest.Run(t.Context(), app.App{Traps: all}, ChangesCmd, "changes", "--format", "json")
	var d madeDocument
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || errs != "" || len(d.Changes) < 4 ||
		d.Format != "fettle-made-changes" {
		t.Fatalf("status %d, %v, said %q and %q", code, err, out, errs)
	}
	for _, c := range d.Changes {
		if back := c.Phase == "rolled back"; back != (c.Undo == "") || back == c.Verified || !back && c.Undo != "fettle undo "+c.ID ||
			c.Trap == "" {
			t.Errorf("%+v", c)
		}
	}
}
