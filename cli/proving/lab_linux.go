package proving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"fettle/cli"
	"fettle/cli/app"
	"fettle/internal/ui"
	"fettle/lab"
	"fettle/lab/guest"
	"fettle/traps/proofs"
)

// labFlags are what fettle lab was asked for.
type labFlags struct {
	all, long, list, keep, shell, verbose bool
	engine, kernel, modules, format       string
	plots, record                         string
	mem, jobs, oldest                     int
}

func (a program) labCmd() *cobra.Command {
	var f labFlags
	c := &cobra.Command{
		Use:   "lab [TRAP[/SCENARIO] | EXPERIMENT]…",
		Short: "Show a trap, and its fix, on a real kernel in a throwaway machine",
		Long: `lab boots a throwaway machine, sets the trap, lets fettle find it, fixes it with
fettle's own remedy, shows it gone, undoes the fix, and shows it back. Innocent
scenarios test for false positives, and experiments return a table of what the
kernel does. Nothing on this host is changed: the machine's root is in its own
memory.

The default engine is User-Mode Linux (Debian: user-mode-linux): no root, no
KVM. With --kernel, or if a scenario needs it, qemu boots a bzImage, a
linux-image .deb, or a linux-image package that apt can fetch.

Exit status:
  0  all passed
  1  something failed
  2  usage error
  3  a machine could not be built`,
		Example: `  fettle lab bridge-mtu
  fettle lab bridge-mtu/port-raises-mtu -v
  fettle lab bridge-mtu/what-pins --format markdown
  fettle lab ipv6-ra-forwarding --kernel linux-image-cloud-amd64
  fettle lab ksm-scan-rate/paces --plots .
  fettle lab --all --format junit > lab.xml
  fettle lab --all --long --record docs/proofs.md --oldest 10`,
		ValidArgsFunction: a.completeLab,
	}
	fl := c.Flags()
	fl.BoolVar(&f.all, "all", false, "every scenario of every trap, and every experiment")
	fl.BoolVar(&f.long, "long", false, "include long scenarios")
	fl.BoolVar(&f.list, "list", false, "list all scenarios and experiments")
	fl.StringVar(&f.engine, "engine", "", "`ENGINE`: uml or qemu (default: what the scenario needs, else uml)")
	c.RegisterFlagCompletionFunc("engine", cobra.FixedCompletions([]string{"uml", "qemu"}, cobra.ShellCompDirectiveNoFileComp))
	fl.StringVar(
		&f.kernel,
		"kernel",
		"",
		"for qemu: `KERNEL`, a bzImage, a linux-image .deb, or a linux-image package's name\n"+
			"(default: the newest in /boot, else linux-image-cloud-amd64)",
	)
	fl.StringVar(&f.modules, "modules", "", "`FOLDER` of the kernel's modules (the one with modules.dep)")
	fl.IntVar(&f.mem, "mem", 0, "memory of the machine in MiB (default: what the scenario needs)")
	fl.IntVarP(&f.jobs, "jobs", "j", 0, "machines in parallel (default: two for each core, as memory allows)")
	fl.BoolVar(&f.keep, "keep", false, "open a shell in the machine at the end of the scenario")
	fl.BoolVar(&f.shell, "shell", false, "open a shell in the machine when the trap is set, instead of running the scenario")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "show the machine's console and what each stage said")
	fl.StringVar(&f.format, "format", "text", "output `FORMAT`: text, json, markdown or junit")
	fl.StringVar(&f.plots, "plots", "", "`FOLDER` for the plots of experiments, as SVG and PNG")
	fl.StringVar(&f.record, "record", "", "`FILE` with a table of how each scenario ended when it was last played: it is kept up to date")
	fl.IntVar(&f.oldest, "oldest", 0, "only the `N` scenarios that have waited longest, by the record")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		jobs, err := a.labJobs(cmd.Context(), args, f)
		if err != nil {
			return err
		}
		if f.list {
			if f.format != "text" {
				return app.Usagef("--list is text only: leave out --format %s", f.format)
			}
			for _, j := range jobs {
				a.listLab(&j)
			}
			return nil
		}
		return a.playLab(cmd.Context(), jobs, f)
	}
	return c
}

// labJobs chooses scenarios and experiments, and finds a kernel for each.
func (a program) labJobs(ctx context.Context, args []string, f labFlags) ([]lab.Job, error) {
	if err := f.valid(args); err != nil {
		return nil, err
	}
	chosen, err := a.chooseLab(args, f.long || len(args) > 0 || f.list)
	if err != nil || f.list {
		return chosen, err
	}
	chosen = withoutNamed(chosen, args)
	if f.shell || f.keep {
		chosen = inOneMachine(chosen, args)
	}
	if len(chosen) > 1 {
		chosen = a.withoutUnbuilt(chosen)
		if len(chosen) == 0 {
			return nil, app.Failf("none of what was named can be played here")
		}
	}
	if f.record != "" {
		r, err := lab.ReadRecord(f.record)
		if err != nil {
			return nil, app.Unread(err, "the record of what was played (--record)")
		}
		r.Times(chosen)
		if f.oldest > 0 {
			chosen = r.Oldest(chosen, f.oldest)
		}
	}
	if (f.shell || f.keep) && len(chosen) != 1 {
		return nil, app.Usagef("--shell and --keep take one scenario, not %d: name it as TRAP/SCENARIO", len(chosen))
	}
	if (f.shell || f.keep) && !ui.IsTerminal(a.Stdin) {
		return nil, app.Usagef("--shell and --keep need a terminal, and standard input is not one")
	}
	for i := range chosen {
		j := &chosen[i]
		j.Options.Kernel.Engine, err = f.engineFor(j)
		if err != nil {
			return nil, err
		}
		j.Options.MemMiB = f.mem
		if f.verbose {
			j.Options.Console = a.Stderr
		}
		switch {
		case f.shell:
			j.Options.Shell = lab.ShellAfterPrepare
		case f.keep:
			j.Options.Shell = lab.ShellAfterStory
		}
	}
	lacking := 0
	for _, j := range chosen {
		if lab.Missing([]lab.Job{j}) != nil {
			lacking++
		}
	}
	if lacking > 0 && lacking == len(chosen) {
		return nil, &app.Status{Code: app.ExitFailed, Err: lab.Missing(chosen)}
	}
	return chosen, a.labKernels(ctx, chosen, f)
}

func (f labFlags) valid(args []string) error {
	switch {
	case len(args) == 0 && !f.all && !f.list:
		return app.Usagef("name a trap, or give --all; fettle lab --list lists all")
	case len(args) > 0 && f.all:
		return app.Usagef("--all is every trap: name none, or leave it out")
	case f.engine != "" && f.engine != "uml" && f.engine != "qemu":
		return app.Usagef("--engine %s: expected uml or qemu", f.engine)
	case f.engine == "uml" && f.kernel != "":
		return app.Usagef("--kernel is for the engine qemu; User-Mode Linux is its own kernel")
	case f.modules != "" && f.kernel == "":
		return app.Usagef("--modules goes with --kernel")
	case !slices.Contains([]string{"text", "json", "markdown", "junit"}, f.format):
		return app.Usagef("--format %s: expected text, json, markdown or junit", f.format)
	case f.mem != 0 && f.mem < 64:
		return app.Usagef("--mem %d: a machine needs at least 64 MiB", f.mem)
	case f.jobs < 0:
		return app.Usagef("--jobs %d: expected 1 or more", f.jobs)
	case f.oldest < 0:
		return app.Usagef("--oldest %d: expected 1 or more", f.oldest)
	case f.oldest > 0 && f.record == "":
		return app.Usagef("--oldest goes with --record, which says what has waited how long")
	case f.shell && f.keep:
		return app.Usagef("--shell opens a shell before the story, --keep after it: name one")
	}
	if f.plots != "" {
		if st, err := os.Stat(f.plots); err != nil {
			return app.Unread(err, "a folder to write pictures into (--plots)")
		} else if !st.IsDir() {
			return app.Usagef("--plots %s: not a folder", f.plots)
		}
	}
	return nil
}

// engineFor is what the user named, what the job needs, or uml.
func (f labFlags) engineFor(j *lab.Job) (string, error) {
	need := j.Needs().Engine
	switch {
	case f.engine != "" && need != "" && f.engine != need:
		return "", app.Usagef("%s needs the engine %s: its kernel can do what the other's cannot", j.Name(), need)
	case f.engine != "":
		return f.engine, nil
	case need != "":
		return need, nil
	case f.kernel != "":
		return "qemu", nil
	}
	return "uml", nil
}

// labKernels finds a kernel for each job; the jobs have their engines.
func (a program) labKernels(ctx context.Context, jobs []lab.Job, f labFlags) error {
	kernels := map[string]lab.Kernel{}
	for i := range jobs {
		opt := &jobs[i].Options
		engine := opt.Kernel.Engine
		if name := jobs[i].Needs().Kernel; name != "" {
			k, err := lab.Named(ctx, name, func(s string) { fmt.Fprintln(a.Stderr, s) })
			if err != nil {
				return &app.Status{Code: app.ExitFailed, Err: fmt.Errorf("%s: %w", jobs[i].Name(), err)}
			}
			opt.Kernel = k
			continue
		}
		if _, ok := kernels[engine]; !ok {
			k, err := lab.UML()
			if engine == "qemu" {
				k, err = lab.FindKernel(ctx, f.kernel, f.modules, func(s string) { fmt.Fprintln(a.Stderr, s) })
			}
			var pe *fs.PathError
			switch {
			case errors.As(err, &pe) && pe.Path == f.kernel:
				return app.Unread(err, "a bzImage, a linux-image .deb, or a package's name (--kernel)")
			case err != nil:
				return &app.Status{Code: app.ExitFailed, Err: err}
			}
			kernels[engine] = k
		}
		opt.Kernel = kernels[engine]
	}
	if k, ok := kernels["qemu"]; ok {
		kvm := lab.ProbeKVM(ctx, lab.Options{Kernel: k})
		for i := range jobs {
			jobs[i].Options.KVM = kvm && jobs[i].Options.Kernel.Engine == "qemu"
		}
	}
	return nil
}

// role plays the parts that fettle-lab has inside its own lab: init of a
// throwaway machine, holder of memory and fettle to be killed there, and the
// supervisor of its kernel.
func role(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int, ok bool) {
	if guest.Here() {
		guest.Main(proofs.Find)
	}
	if len(args) == 0 {
		return 0, false
	}
	if confinedChild(args) {
		return cli.Main(args, stdin, stdout, stderr), true
	}
	var err error
	switch args[0] {
	case lab.KilledVerb:
		code, err = killed(args[1:], stdin, stdout, stderr)
	case lab.SabotagedVerb:
		code, err = sabotaged(args[1:], stdin, stdout, stderr)
	case lab.Supervise:
		err = lab.Supervisor(args[1:])
	case lab.MergeableVerb:
		err = guest.HoldMergeable(args[1:])
	case lab.PlayStory:
		err = guest.Story(proofs.Find)
	default:
		return 0, false
	}
	if err != nil {
		fmt.Fprintln(stderr, Name+":", err)
		return app.ExitFailed, true
	}
	return code, true
}
