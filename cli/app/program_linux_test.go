package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"fettle/before/snapshot"
	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/engine/run"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/means"
)

var traps = []*trap.Trap{apptest.Says("alpha", "", trap.Outcome{Subject: "eth1", Status: trap.Found, Summary: "slow"},
	trap.Outcome{Subject: "eth0", Status: trap.Found, Summary: "slow\x1b"}, trap.Outcome{Subject: "br0", Status: trap.Found},
	trap.Outcome{Subject: "eth7", Status: trap.Clear}, trap.Outcome{Status: trap.Found}), apptest.Says("beta", "")}

// TestMain: copies of the tests are the confined child, another of fettle's programs, and the keeper of KSM's settings.
func TestMain(m *testing.M) {
	answers := run.Answers{snapshot.Question: func(ctx context.Context, h *host.Host, _ json.RawMessage) (any, error) {
		b, err := h.ReadFile(ctx, "/etc/state")
		return json.RawMessage(b), err
	}}
	if code, ok := run.Child(os.Args[1:], traps, answers, os.Stderr); ok {
		os.Exit(code)
	}
	switch {
	case filepath.Base(os.Args[0]) == "fettle":
		a := &app.App{Program: "fettle", Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
		os.Exit(a.Execute(context.Background(), os.Args[1:], func() *cobra.Command { return program(a) }))
	case filepath.Base(os.Args[0]) == "fettle-agent":
		fmt.Println(app.CalledAs("fettle-agent"), os.Args[1:])
		os.Exit(0)
	case slices.Equal(os.Args[1:], []string{"tune", "ksm", "--give-back", "--after-stdin"}):
		os.Exit(keeper())
	}
	os.Exit(m.Run())
}

// keeper ends well if it has a session of its own, no settings of the user's, and an input that ends.
func keeper() int {
	session, err := unix.Getsid(0)
	_, err2 := io.ReadAll(os.Stdin)
	if err = errors.Join(err, err2); err != nil || session != os.Getpid() || len(os.Environ()) != 1 || os.Getenv("PATH") == "" {
		return 1
	}
	return 0
}

// program is one with all that verbs share.
func program(a *app.App) *cobra.Command {
	said := func(c *cobra.Command, err error, what ...any) error {
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(c.OutOrStdout(), what...)
		return err
	}
	var format, name string
	var hosts app.HostFlags
	var target app.TargetFlags
	look := &cobra.Command{Use: "look [FILE]...", Short: "Show what is understood", Example: "  fettle look -n 3 FILE",
		Long: "Show what is understood.\nIt\\s not much.\n\n.look is no request, nor is 'look:\n'look' is none, either.\n\n" +
			"Exit status:\n  0  understood\n  2  not understood\n\nand that is all.\n  end",
	}
	f := look.Flags()
	app.FormatFlag(look, &format, "text", "json", "md")
	n := f.IntP("number", "n", 7, "how many")
	within := f.Duration("within", 0, "how long")
	ratio := f.Float64("ratio", 0, "of what")
	look.RunE = func(c *cobra.Command, args []string) error { return said(c, nil, format, *n, *within, *ratio, args) }
	f.Bool("all", false, "all of them, also those of which nobody has heard for longer than anybody can remember")
	f.String("colour", "", "their `COLOUR`")
	f.Bool("quietly", false, "hidden")
	f.MarkHidden("quietly")
	look.MarkFlagsMutuallyExclusive("all", "number")

	one := &cobra.Command{Use: "one TRAP", Short: "Show a trap's title", Args: app.OneTrap, ValidArgsFunction: a.CompleteTraps,
		RunE: func(c *cobra.Command, args []string) error {
			found, err := a.Find(args)
			if err != nil {
				return err
			}
			_, notLoaded := a.NotLoaded()
			more, err := a.ForFleet(a.Traps, args)
			for _, o := range notLoaded.Outcomes {
				err = errors.Join(err, said(c, nil, o.Trap, o.Subject, o.Status, o.Reason))
			}
			return errors.Join(said(c, nil, found[0].Title(), a.RemedyOff(args[0]) == "", len(more)), err)
		}}
	one.Flags().String("on", "", "the `SUBJECT`")
	one.RegisterFlagCompletionFunc("on", a.CompleteFound)

	where := &cobra.Command{Use: "where", Short: "Show what is looked at", RunE: func(c *cobra.Command, _ []string) error {
		if hosts.Asked() {
			names, fleet, err := hosts.Open(c.Context(), a.Stdin)
			if err == nil {
				err = fleet.Close()
			}
			return said(c, err, names)
		}
		tg, err := target.Target()
		return said(c, err, tg.Root, tg.From, tg.Inside)
	}}
	hosts.Flags(where)
	target.Flags(where)

	file := func(what string, do func(c *cobra.Command, name string) error) *cobra.Command {
		return &cobra.Command{Use: what + " [FILE]", Short: "Read a file", Args: cobra.MaximumNArgs(1),
			RunE: func(c *cobra.Command, args []string) error { return do(c, app.First(args)) }}
	}
	state := &cobra.Command{Use: "state", Short: "Show where state is", RunE: func(c *cobra.Command, _ []string) error {
		return said(c, nil, name)
	}}
	app.StateFlag(state, &name, "/var/lib/usual", "the `FOLDER`")
	family := func(name string, subs ...*cobra.Command) *cobra.Command {
		c := &cobra.Command{Use: name, Short: "Show a family"}
		c.AddCommand(subs...)
		return c
	}
	sub := func(use string, args cobra.PositionalArgs) *cobra.Command {
		return &cobra.Command{Use: use, Short: "Name " + strings.ToLower(use), Args: args,
			RunE: func(c *cobra.Command, args []string) error { return said(c, nil, args) }}
	}
	hidden := sub("hidden", nil)
	hidden.Hidden = true
	pick := family("pick NAME", sub("again", nil))
	pick.Args, pick.RunE = cobra.ExactArgs(1), func(c *cobra.Command, args []string) error { return said(c, nil, args) }
	root := app.Grow(&cobra.Command{Use: "fettle", Short: "Show things", PersistentPreRunE: a.Prepare}, look, one, where, state, pick,
		family("hub", sub("add NAME [ROLE]", cobra.RangeArgs(1, 2)), sub("list", cobra.NoArgs), hidden),
		app.InLab("lab TRAP", "Run a trap in the lab"), app.InAgent("Run the agent"),
		file("config", func(c *cobra.Command, name string) error {
			conf, err := a.Config(name)
			if err != nil {
				return err
			}
			return a.JSON(conf.Check)
		}), file("accepted", func(c *cobra.Command, name string) error {
			l, err := a.Acceptances(name)
			if err != nil {
				return err
			}
			return said(c, nil, len(l.Entries))
		}), file("onhub", func(c *cobra.Command, dir string) error {
			return said(c, nil, a.HubAcceptances(dir) != nil)
		}), file("textfile", func(c *cobra.Command, name string) error { return said(c, app.Textfile(name), name) }),
		file("find", func(c *cobra.Command, name string) error {
			found, err := app.FindFettle(name)
			return said(c, err, found)
		}))
	root.PersistentFlags().StringVar(&a.Rules.Dir, "traps", "", "also rules in `DIR`")
	return root
}

// TestProgram: what a program says to what it is asked, from a host's files and other programs beside it.
func TestProgram(t *testing.T) {
	const rule = "id: %s\ntitle: A rule\nseverity: warning\nsymptoms: [one thing, another thing, a third thing]\nsince: always\n" +
		"references: [man test(1)]\nabout: |\n  # What happens\n\n  This.\n\n  # What to do\n\n  That.\nfacts:\n" +
		"  conf: {keyvalue: /etc/a.conf}\napplies:\n  - when: conf.exists\n    otherwise: not installed\n" +
		"findings:\n  - when: conf.get(\"Limit\", \"4\") == \"3\"\n" +
		"    summary: it is low\nclear: all is well\n"
	if !apptest.Golden(t, map[string]string{"/etc/passwd": "root:x:0:0::/root:/bin/sh\n", "/etc/os-release": apptest.Release,
		"/etc/fettle/traps.d/own.yaml": fmt.Sprintf(rule, "own-rule"), "/mnt/rules/bad.yaml": "id: [\n",
		"/mnt/mine/own.yaml":   strings.Replace(fmt.Sprintf(rule, "own-rule"), "A rule", "A better rule", 1),
		"/mnt/rules/more.yaml": fmt.Sprintf(rule, "more-rule"), "/mnt/hosts": "web1\nweb3\n",
		"/root/.ssh/config": "Host web1 web2\nHost db1\n", "/etc/ssh/ssh_config": "Host web1 web9\nHost !web5 *\n",
		"/mnt/ssh.conf": "Host web77\n", "/mnt/bin/fettle-lab": "#!/bin/sh\nif [ \"$1\" = __complete ]; then shift 1\n" +
			"case \"$*\" in *broken*) exit 1;; esac; echo \"[$*]\"; echo two; echo :4; else echo \"lab: $*\"; fi\n",
		"/mnt/bin/ssh": "#!/bin/sh\n", "/mnt/bin/ansible-inventory": "#!/bin/sh\necho '{\"_meta\":{},\"all\":{\"children\":[\"web\",\"db\"]}," +
			"\"web\":{\"hosts\":[\"web1\",\"web4\"]},\"db\":{\"hosts\":[\"db1\"]}}'\n",
		"/mnt/good.yaml": "check:\n  only: [alpha]\n  unknown_ok: [all]\nseverities:\n  beta: notice\n",
		"/mnt/only.yaml": "check:\n  only: [alpha, betta]\n", "/mnt/skip.yaml": "check:\n  skip: [all]\n",
		"/mnt/unknown.yaml": "check:\n  unknown_ok: [delta]\n", "/mnt/severities.yaml": "severities:\n  betta: notice\n",
		"/mnt/broken.yaml": "check: [", "/etc/fettle/accepted.yaml": "- trap: alpha\n  reason: it is known\n",
		"/mnt/accepted.yaml": "- trap: alpha\n  reason: it is known\n- trap: beta\n  reason: it is known\n", "/mnt/hub/hub-accepted.json": "{",
		"/mnt/root/etc/passwd": "", "/mnt/a.tar": "", "/etc/state": `{"host":"golden"}`}) {
		return
	}
	t.Setenv("HOME", "/root")
	t.Setenv("PATH", "/mnt/bin")
	self, err := os.Executable()
	for _, name := range []string{"fettle-lab", "ansible-inventory", "ssh"} {
		err = errors.Join(err, os.Chmod("/mnt/bin/"+name, 0o755))
	}
	for _, name := range []string{"/mnt/fettle", "/mnt/fettle-agent"} {
		err = errors.Join(err, os.WriteFile(name, nil, 0o755), unix.Mount(self, name, "", unix.MS_BIND, ""))
	}
	err = errors.Join(err, os.Symlink("root", "/mnt/link"))
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer(self, "/SELF", folder, "/HERE")
	apptest.Session(t, "program.txt", func(ctx context.Context, args []string) (code int, out, errs string) {
		var stdout, stderr strings.Builder
		if args[0] == "really" {
			cmd := exec.CommandContext(ctx, "/mnt/fettle", args[1:]...)
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
				t.Fatal(err)
			}
			return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
		}
		a := &app.App{Program: "fettle", Stdin: strings.NewReader("web8\n"), Stdout: &stdout, Stderr: &stderr, Traps: slices.Clone(traps)}
		code = a.Execute(ctx, args[1:], func() *cobra.Command { return program(a) })
		return code, here.Replace(stdout.String()), here.Replace(stderr.String())
	})

	t.Setenv("HOME", "")
	if code, _, errs := apptest.Run(t.Context(), app.App{}, program, "fettle", "where", "--host", "web*"); code != app.ExitUsage ||
		!strings.Contains(errs, "finding ssh's configuration") {
		t.Errorf("without a home: status %d, %s", code, errs)
	}

	name, st, err := new(app.App).Snapshot(t.Context())
	if err != nil || name == "" || st.Host != "golden" {
		t.Errorf("a snapshot: %q, %+v, %v", name, st, err)
	}
	s, err := app.Snapshots()
	if kept, err2 := s.Load(name); err != nil || err2 != nil || kept.Host != "golden" {
		t.Errorf("kept: %+v, %v, %v", kept, err, err2)
	}
	t.Setenv("STATE_DIRECTORY", "/etc/passwd/state")
	if _, _, err := new(app.App).Snapshot(t.Context()); err == nil {
		t.Error("a snapshot that could not be kept is told as one")
	}
}

// TestManPages: the pages of all verbs that are shown, each of all that its help has, in troff's words.
func TestManPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	a := &app.App{Program: "fettle", Stdout: io.Discard, Stderr: os.Stderr}
	if code := a.Execute(t.Context(), []string{"man", dir}, func() *cobra.Command { return program(a) }); code != 0 {
		t.Fatal("status", code)
	}
	names, err := filepath.Glob(dir + "/*")
	var all []string
	for _, name := range names {
		all = append(all, filepath.Base(name))
	}
	const want = "fettle-hub-add.1 fettle-hub-list.1 fettle-hub.1 fettle-lab.1 fettle-look.1 "
	if got := strings.Join(all, " "); err != nil || !strings.Contains(got, want) || strings.Contains(got, "hidden") ||
		!strings.HasSuffix(got, " fettle.1") {
		t.Error(got, err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "fettle-look.1"))
	family, err2 := os.ReadFile(filepath.Join(dir, "fettle-hub.1"))
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	made := regexp.MustCompile(`"[^"]*" "fettle [^"]*"`)
	means.Written(t, "testdata/man.txt", made.ReplaceAllString(string(b)+string(family), `"DATE" "fettle VERSION"`))
}
