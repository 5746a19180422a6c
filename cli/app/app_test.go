package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"fettle/before/snapshot"
	"fettle/engine/run"
	"fettle/engine/trap"
)

func trapOf(id string) *trap.Trap {
	return &trap.Trap{Lore: trap.Lore("---\nid: " + id + "\ntitle: The trap " + id + "\n---\n")}
}

// failing refuses what is written to it.
type failing struct{ err error }

func (w failing) Write(b []byte) (int, error) { return 0, w.err }

// TestExitStatus: how a verb ends, and what it says of that.
func TestExitStatus(t *testing.T) {
	unread := fmt.Errorf("x: %w", &run.Unreadable{})
	for name, c := range map[string]struct {
		err  error
		code int
		said bool
	}{
		"nothing wrong": {nil, ExitOK, false}, "what cobra refuses": {errors.New("unknown flag: --x"), ExitUsage, true},
		"usage": {Usagef("no"), ExitUsage, true}, "failed": {Failf("no"), ExitFailed, true}, "found": {Exit(ExitFound, nil), ExitFound, false},
		"wrapped": {fmt.Errorf("more: %w", Failf("no")), ExitFailed, true}, "input that cannot be read": {ended(unread), ExitUsage, true},
		"a run that failed":     {ended(io.ErrUnexpectedEOF), ExitFailed, true},
		"a run's own status":    {ended(Exit(ExitUnknown, nil)), ExitUnknown, false},
		"a run that ended well": {ended(nil), ExitOK, false},
	} {
		var b bytes.Buffer
		if code := (&App{Program: "fettle", Stderr: &b}).End(c.err); code != c.code || (b.Len() > 0) != c.said {
			t.Errorf("%s: status %d, want %d; said %q", name, code, c.code, &b)
		} else if c.said && !strings.HasPrefix(b.String(), "fettle: ") {
			t.Errorf("%s: %q", name, &b)
		}
	}
}

// TestUnwrittenOutput: output that is lost is an error, unless its reader had read enough, or a
// change was made, whose status counts.
func TestUnwrittenOutput(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		acted bool
		of    error
		code  int
	}{
		"a full disk":             {syscall.ENOSPC, false, nil, ExitFailed},
		"a reader that has gone":  {syscall.EPIPE, false, nil, ExitOK},
		"a change had been made":  {syscall.ENOSPC, true, nil, ExitOK},
		"a change that failed":    {syscall.ENOSPC, true, Failf("no"), ExitFailed},
		"a verb that found much":  {syscall.EPIPE, false, Exit(ExitFound, nil), ExitFound},
		"a verb that failed, too": {syscall.ENOSPC, false, Usagef("no"), ExitFailed},
	} {
		a := &App{Stdout: failing{c.err}, Stderr: io.Discard, Acted: c.acted}
		if code := a.Finish(func() error { fmt.Fprintln(a.Stdout, "x"); fmt.Fprintln(a.Stdout, "y"); return c.of }); code != c.code {
			t.Errorf("%s: status %d, want %d", name, code, c.code)
		}
	}
	if w, _ := Sticky(os.Stdout); w.(interface{ Fd() uintptr }).Fd() != os.Stdout.Fd() {
		t.Error("a terminal is no longer known as one")
	}
}

// TestFind: traps are found by id, in the order of the list, each once; another id is refused.
func TestFind(t *testing.T) {
	a := &App{Traps: []*trap.Trap{trapOf("alpha"), trapOf("beta"), trapOf("gamma")}}
	got, err := a.Find([]string{"gamma", "alpha", "gamma"})
	if err != nil || len(got) != 2 || got[0].ID() != "alpha" || got[1].ID() != "gamma" {
		t.Error(got, err)
	}
	if _, err := a.Find([]string{"alpha", "betta"}); err == nil || !strings.Contains(err.Error(), "did you mean beta?") {
		t.Error(err)
	}
	if _, err := a.Find([]string{"nothing-like-it"}); err == nil || strings.Contains(err.Error(), "did you mean") ||
		strings.Contains(err.Error(), "as root") {
		t.Error(err)
	}
	if a.Title("beta") != "The trap beta" || a.Title("delta") != "" || a.Trap("delta") != nil {
		t.Error(a.Title("beta"), a.Title("delta"))
	}
	if _, err := a.SetsUp("logins"); err == nil {
		t.Error("a trap sets up what none does")
	}
	a.Traps[1].Setup = &trap.Setup{Name: "logins"}
	if got, err := a.SetsUp("logins"); err != nil || got.ID() != "beta" {
		t.Error(got, err)
	}
}

// TestWhoami: with sudo, who ran it; only root can have been made so by sudo.
func TestWhoami(t *testing.T) {
	t.Setenv("SUDO_USER", "")
	self := Whoami()
	if self == "" {
		t.Error("nobody runs this")
	}
	t.Setenv("SUDO_USER", "ada")
	want := self
	if os.Geteuid() == 0 {
		want = "ada"
	}
	if got := Whoami(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNoSnapshotOfNothing: where the host could not be read, nothing is kept that a restart
// would be compared with.
func TestNoSnapshotOfNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("STATE_DIRECTORY", dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	name, st, err := (&App{}).Snapshot(ctx)
	if err == nil || name != "" || st != nil {
		t.Errorf("%q, %v, %v", name, st, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%v", left)
	}
	name, err = SaveSnapshot(&snapshot.State{})
	if err != nil || name == "" {
		t.Error(name, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%v", left)
	}
}

// TestLastDay: until when something is accepted: today at the earliest.
func TestLastDay(t *testing.T) {
	now := time.Date(2027, 1, 30, 23, 0, 0, 0, time.UTC)
	for s, want := range map[string]string{
		"": "", "0d": "2027-01-30", "2d": "2027-02-01", "99999d": "2300-11-14", "2027-01-30": "2027-01-30", "2027-01-29": "!", "2027-02-30": "!",
		"100000d": "!", "d": "!", "-1d": "!", "tomorrow": "!",
	} {
		got, err := LastDay(s, now)
		if (err != nil) != (want == "!") || err == nil && got != want {
			t.Errorf("%q: %q, %v; want %q", s, got, err, want)
		}
	}
}

// TestLine: one line is read, and what follows is left for whoever reads next.
func TestLine(t *testing.T) {
	in := strings.NewReader("  one  \ntwo")
	a := &App{Stdin: in}
	for _, want := range []string{"one", "two"} {
		if got, err := a.Line("? ", false); got != want || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if got, err := a.Line("? ", false); err == nil {
		t.Errorf("%q of nothing", got)
	}
	a.Stdin = strings.NewReader(strings.Repeat("x", 5000))
	if got, err := a.Line("? ", false); len(got) != 4096 || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestHosts: the names of --host and --hosts-file together, each once; what names none is refused.
func TestHosts(t *testing.T) {
	for name, c := range map[string]struct {
		o     HostFlags
		stdin string
		want  string
	}{
		"named":                {HostFlags{hosts: []string{"web1", "root@web2"}}, "", "web1 root@web2"},
		"of a list":            {HostFlags{file: "-"}, "web1\n# no host\n\nweb2\n", "web1 web2"},
		"twice":                {HostFlags{hosts: []string{"web1"}, file: "-"}, "web1\nweb2\n", "web1 web2"},
		"none":                 {HostFlags{}, "", ""},
		"an empty list":        {HostFlags{file: "-"}, "\n", ""},
		"no such list":         {HostFlags{file: "/nonexistent/x"}, "", ""},
		"a group of nothing":   {HostFlags{hosts: []string{"web1"}, groups: []string{"g"}}, "", ""},
		"an option, not hosts": {HostFlags{hosts: []string{"-oProxyCommand=x"}}, "", ""},
	} {
		got, err := c.o.List(t.Context(), strings.NewReader(c.stdin))
		status := new(Status)
		if strings.Join(got, " ") != c.want || (err != nil) != (c.want == "") ||
			err != nil && (!errors.As(err, &status) || status.Code != ExitUsage) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if asked := len(c.o.hosts)+len(c.o.file)+len(c.o.groups) > 0; c.o.Asked() != asked {
			t.Errorf("%s: other hosts are meant: %v", name, c.o.Asked())
		}
	}
}

// TestHelpNames: help has what a user may type, and leaves out what is hidden.
func TestHelpNames(t *testing.T) {
	root := Grow(&cobra.Command{Use: "fettle"}, &cobra.Command{Use: "check", Short: "Check this host", Run: func(*cobra.Command, []string) {}},
		&cobra.Command{Use: "secret", Short: "Hidden", Hidden: true, Run: func(*cobra.Command, []string) {}})
	var b bytes.Buffer
	root.SetOut(&b)
	if err := Usage(root); err != nil {
		t.Fatal(err)
	}
	for word, there := range map[string]bool{"Check this host": true, "help": true, "secret": false} {
		if strings.Contains(b.String(), word) != there {
			t.Errorf("%q is there: %v\n%s", word, !there, &b)
		}
	}
}

// TestCounted: what a verb expects is told from its usage line, whose flags are no arguments.
func TestCounted(t *testing.T) {
	for _, tt := range []struct {
		use   string
		given int
		want  string
	}{
		{"explain TRAP", 0, "expected TRAP, none given"}, {"lab [TRAP/SCENARIO]...", 2, "expected no arguments, 2 given"},
		{"put FILE [HOST]...", 0, "expected FILE [HOST]..., none given"},
		{"netboot (--suite SUITE | --deb FILE) DIR", 2, "expected DIR, 2 given"},
		{"tune [--plots DIR] [FILE|-]", 3, "expected [FILE|-], 3 given"}, {"list", 1, "expected no arguments, 1 given"},
	} {
		if got := counted(&cobra.Command{Use: tt.use}, tt.given); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.use, got, tt.want)
		}
	}
}

// TestWords: a flag of a few words takes these alone, and an argument that must be one is asked for.
func TestWords(t *testing.T) {
	var format string
	c := &cobra.Command{Use: "explain TRAP"}
	FormatFlag(c, &format, "text", "json", "md")
	if format != "text" || c.Flags().Set("format", "xml") == nil || c.Flags().Set("format", "md") != nil || format != "md" {
		t.Error(format)
	}
	if err := c.FlagErrorFunc()(c, errors.New("unknown flag: --json")); !strings.Contains(err.Error(), "did you mean --format json?") {
		t.Error(err)
	}
	if err := c.FlagErrorFunc()(c, errors.New("unknown flag: --yaml")); strings.Contains(err.Error(), "did you mean") {
		t.Error(err)
	}
	for n, ok := range []bool{false, true, false} {
		if err := OneTrap(c, make([]string, n)); (err == nil) != ok {
			t.Errorf("%d traps: %v", n, err)
		}
	}
	if First(nil) != "" || First([]string{"a", "b"}) != "a" || alternatives([]string{"a"}) != "a" ||
		alternatives([]string{"a", "b", "c"}) != "a, b or c" {
		t.Error("words are put together otherwise")
	}
	if got := Subjects([]string{"br0", "\xff"}); got[0] != "br0" || got[1] == "\xff" || slices.Contains(got, "") {
		t.Errorf("%q", got)
	}
}

// TestEmptyFlags: what an unset variable of a script leaves is refused.
func TestEmptyFlags(t *testing.T) {
	for _, tt := range []struct {
		args []string
		ok   bool
	}{{nil, true}, {[]string{"--root="}, false}, {[]string{"--root=/x"}, true}, {[]string{"--only="}, false}, {[]string{"--n=0"}, true}} {
		c := &cobra.Command{Use: "check", RunE: func(*cobra.Command, []string) error { return nil }, Args: NoEmptyFlags, SilenceErrors: true,
			SilenceUsage: true}
		c.Flags().String("root", "", "")
		c.Flags().StringSlice("only", nil, "")
		c.Flags().Int("n", 1, "")
		c.SetArgs(append([]string{}, tt.args...))
		if err := c.Execute(); (err == nil) != tt.ok {
			t.Errorf("%q: %v", tt.args, err)
		}
	}
}
