package before

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/before/update"
	"fettle/cli/app"
	"fettle/engine/remedy/machine"
	"fettle/engine/run"
	"fettle/internal/journald"
	"fettle/internal/jsondoc"
	"fettle/internal/ui"
)

// updateOptions are the flags of fettle before update.
type updateOptions struct {
	format string
	root   string
	// apt: this is the hook.
	apt  bool
	hook string
}

func updateCmd(a *app.App) *cobra.Command {
	var o updateOptions
	c := &cobra.Command{
		Use:   "update",
		Short: "Tell what apt would install now, and what comes of it",
		Long: `Asks apt what it would install now, from the lists that are there, without a
lock and without the network, and tells what comes of it: versions with a known
fault, packages that are removed, services that restart, configuration files
that were changed here and may be asked about, kernels. Nothing is changed.

--hook install has apt call fettle before each installation: it tells the same
of what is about to be installed, on the terminal and in the journal. It never
stops apt: it always succeeds, and is killed after 5 s. --hook remove takes it
away again.

Exit status:
  0  no known fault comes with it, or apt has nothing to install
  1  a known fault comes with it
  2  usage error, or input that cannot be read
  3  checking itself failed
  4  no known fault found, but not everything could be inspected`,
		Example: `  sudo fettle before update
  sudo fettle before update --hook install`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case o.hook != "":
				return hook(a, o.hook)
			case o.apt:
				return aptHook(cmd.Context(), a, o)
			}
			return updateNow(cmd.Context(), a, o)
		},
	}
	app.FormatFlag(c, &o.format, "text", "json")
	c.Flags().StringVar(&o.hook, "hook", "", "have apt call fettle before it installs: `install|remove|status`")
	c.Flags().BoolVar(&o.apt, update.Flag, false, "read what apt installs from standard input, as apt's hook does; always succeeds")
	c.Flags().StringVar(&o.root, "root", "", "with --apt, look at the host in `DIR`, not at this one")
	c.MarkFlagsMutuallyExclusive("hook", update.Flag)
	_ = c.MarkFlagDirname("root")
	return c
}

// updateDocument is what an update brings, as JSON.
type updateDocument struct {
	jsondoc.Envelope
	update.Outlook
}

func updateNow(ctx context.Context, a *app.App, o updateOptions) error {
	if o.root != "" {
		return app.Usagef("--root needs --apt: apt is asked on this host")
	}
	var u update.Outlook
	if err := a.Ask(ctx, run.Target{}, update.Question, update.Asked{}, &u); err != nil {
		return err
	}
	if err := writeUpdate(a, o, &u); err != nil {
		return err
	}
	switch {
	case len(u.Faults) > 0:
		return app.Exit(app.ExitFound, nil)
	case len(u.NotLooked) > 0:
		return app.Exit(app.ExitUnknown, nil)
	}
	return nil
}

func writeUpdate(a *app.App, o updateOptions, u *update.Outlook) error {
	if o.format == "json" {
		return a.JSON(updateDocument{jsondoc.New("before-update"), *u})
	}
	w := ui.Width(a.Stdout)
	for i, line := range lines(u) {
		first := "  "
		if i == 0 {
			first = ""
		}
		fmt.Fprint(a.Stdout, ui.Wrap(ui.Visible(line), w, first, "    "))
	}
	return nil
}

// lines is the outlook in words, the gravest first.
func lines(u *update.Outlook) []string {
	var fresh, upgraded int
	for _, c := range u.Changes {
		switch {
		case c.Removes():
		case c.Old == "":
			fresh++
		default:
			upgraded++
		}
	}
	out := []string{fmt.Sprintf("apt: %d upgraded, %d new, %d removed", upgraded, fresh, len(u.Removed))}
	if len(u.Changes) == 0 {
		out[0] = "apt has nothing to install"
	}
	for _, f := range u.Faults {
		line := fmt.Sprintf("%s: %s", f.Severity, f.Trap)
		if f.Subject != "" {
			line += " on " + f.Subject
		}
		line += ": " + f.Summary
		if f.ByHand != "" {
			line += ". Instead: " + f.ByHand
		}
		out = append(out, line)
	}
	for _, l := range []struct {
		says string
		of   []string
	}{{"removes", u.Removed}, {"restarts", u.Restarts}, {"may ask about files that were changed here:", u.Asks},
		{"brings a kernel, which runs after the next restart (fettle before reboot):", u.Kernels},
		{"not looked at, because apt keeps them back (on hold, or they wait for others):", u.KeptBack}} {
		if len(l.of) > 0 {
			out = append(out, l.says+" "+ui.Few(l.of, 8))
		}
	}
	for _, why := range u.NotLooked {
		out = append(out, "not looked at: "+why)
	}
	return out
}

// hookWork is how long the hook works: less than timeout(1) gives it, so that it ends by itself.
const hookWork = update.HookTime - time.Second

// aptHook is fettle as apt calls it: whatever happens, it says so and succeeds.
func aptHook(ctx context.Context, a *app.App, o updateOptions) error {
	ctx, cancel := context.WithTimeout(ctx, hookWork)
	defer cancel()
	u, err := outlook(ctx, a, o)
	if err != nil {
		a.Warn("apt's hook: " + err.Error() + "; the installation goes on")
		return nil
	}
	said := lines(u)
	if len(said) > 1 {
		if err := writeUpdate(a, o, u); err != nil {
			return nil
		}
	}
	if o.root == "" {
		priority := "6" // syslog(3)
		if len(u.Faults) > 0 {
			priority = "4"
		}
		// Where there is no journal, the terminal has it.
		_ = journald.Write(journald.Socket, time.Second, journald.Field{Name: "MESSAGE", Value: strings.Join(said, "; ")},
			journald.Field{Name: "PRIORITY", Value: priority})
	}
	return nil
}

func outlook(ctx context.Context, a *app.App, o updateOptions) (*update.Outlook, error) {
	changes, err := readChanges(ctx, a.Stdin)
	if err != nil {
		return nil, err
	}
	tg, err := (&app.TargetFlags{Root: o.root}).Target()
	if err != nil {
		return nil, err
	}
	var u update.Outlook
	return &u, a.Ask(ctx, tg, update.Question, update.Asked{Changes: changes, Given: true}, &u)
}

// readChanges gives up when the time is over: a pipe that nobody closes must not keep the hook.
func readChanges(ctx context.Context, r io.Reader) ([]update.Change, error) {
	type read struct {
		changes []update.Change
		err     error
	}
	done := make(chan read, 1)
	go func() {
		c, err := update.ReadApt(r)
		done <- read{c, err}
	}()
	select {
	case d := <-done:
		return d.changes, d.err
	case <-ctx.Done():
		return nil, fmt.Errorf("apt did not finish saying what it installs: %w", ctx.Err())
	}
}

// hook installs or removes apt's hook, or tells whether it is there.
func hook(a *app.App, act string) error {
	switch act {
	case "status":
		state := "is not installed"
		if _, err := os.Lstat(update.HookFile); err == nil {
			state = "is installed: " + update.HookFile
		}
		_, err := fmt.Fprintln(a.Stdout, "apt's hook "+state)
		return err
	case "install", "remove":
	default:
		return app.Usagef("--hook %q: expected install, remove or status", act)
	}
	if os.Geteuid() != 0 {
		return app.Usagef("--hook %s writes %s: run it with sudo", act, update.HookFile)
	}
	if act == "remove" {
		there, err := update.Remove(update.HookFile)
		if err != nil {
			return app.Failf("--hook remove: %w", err)
		}
		said := "apt's hook was not installed"
		if there {
			said = "removed " + update.HookFile
		}
		_, err = fmt.Fprintln(a.Stdout, said)
		return err
	}
	bin, err := os.Executable()
	if err == nil {
		bin, err = filepath.EvalSymlinks(bin)
	}
	if err != nil {
		return app.Failf("finding fettle's own path: %w", err)
	}
	if err := machine.RootsAlone(machine.New(), bin); err != nil {
		return app.Usagef("--hook install: root would run %s: %w", bin, err)
	}
	if err := update.Install(update.HookFile, bin); err != nil {
		return app.Failf("--hook install: %w", err)
	}
	_, err = fmt.Fprintln(a.Stdout, "wrote "+update.HookFile+": apt calls fettle before each installation;\n"+
		"fettle before update --hook remove takes it away")
	return err
}
