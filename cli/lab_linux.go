package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"fettle/lab"
	"fettle/lab/guest"
	"fettle/trap"
)

// labFlags are what fettle lab was asked for.
type labFlags struct {
	all, long, list, keep, shell, verbose bool
	engine, kernel, modules, format       string
	mem, jobs                             int
}

func (a *app) labCmd() *cobra.Command {
	var f labFlags
	c := &cobra.Command{
		Use:   "lab [TRAP[/SCENARIO]…]",
		Short: "Show a trap, and its fix, on a real kernel in a throwaway machine",
		Long: `lab boots a throwaway machine, walks into the trap, shows fettle finding it,
fixes it with fettle's own remedy, shows it gone, undoes, and shows it back.
Innocent scenarios show that fettle does not cry wolf. Nothing of this host is
changed: the machine's root is in its own memory.

The default engine is User-Mode Linux (Debian: user-mode-linux): no root, no
KVM. With --kernel, or where a scenario needs it, qemu boots a bzImage, a
linux-image .deb, or a linux-image package that apt can fetch.

Exit status: 0 everything was shown, 1 something was not, 2 wrong use, 3 a
machine could not be built.`,
		Example: `  fettle lab bridge-mtu
  fettle lab bridge-mtu/port-raises-mtu -v
  fettle lab ipv6-ra-forwarding --kernel linux-image-cloud-amd64
  fettle lab --all --format junit > lab.xml`,
		ValidArgsFunction: a.completeTraps,
	}
	fl := c.Flags()
	fl.BoolVar(&f.all, "all", false, "every scenario of every trap")
	fl.BoolVar(&f.long, "long", false, "the long scenarios too")
	fl.BoolVar(&f.list, "list", false, "list the scenarios and end")
	fl.StringVar(&f.engine, "engine", "", "uml or qemu (default: what the scenario needs, else uml)")
	fl.StringVar(&f.kernel, "kernel", "", "for qemu: a bzImage, a linux-image .deb, or a linux-image package's name")
	fl.StringVar(&f.modules, "modules", "", "folder of the kernel's modules (the one with modules.dep)")
	fl.IntVar(&f.mem, "mem", 0, "memory of the machine in MiB (default: what the scenario needs)")
	fl.IntVarP(&f.jobs, "jobs", "j", 0, "machines at once (default: one per core, as memory allows)")
	fl.BoolVar(&f.keep, "keep", false, "open a shell in the machine when the scenario has ended")
	fl.BoolVar(&f.shell, "shell", false, "open a shell in the machine once the trap is prepared, instead of the story")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "show the machine's console and what each stage said")
	fl.StringVar(&f.format, "format", "text", "text, json or junit")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		jobs, err := a.labJobs(cmd.Context(), args, f)
		if err != nil {
			return err
		}
		if f.list {
			for _, j := range jobs {
				fmt.Fprintf(a.stdout, "%-40s %s\n", j.Trap+"/"+j.Scenario.Name, j.Scenario.About)
			}
			return nil
		}
		return a.playLab(cmd.Context(), jobs, f)
	}
	return c
}

// labJobs chooses the scenarios and finds a kernel for each.
func (a *app) labJobs(ctx context.Context, args []string, f labFlags) ([]lab.Job, error) {
	if len(args) == 0 && !f.all && !f.list {
		return nil, usagef("name a trap, or say --all; fettle lab --list shows what there is")
	}
	switch {
	case f.engine != "" && f.engine != "uml" && f.engine != "qemu":
		return nil, usagef("--engine %s: expected uml or qemu", f.engine)
	case f.engine == "uml" && f.kernel != "":
		return nil, usagef("--kernel is for the engine qemu; User-Mode Linux is its own kernel")
	case f.format != "text" && f.format != "json" && f.format != "junit":
		return nil, usagef("--format %s: expected text, json or junit", f.format)
	case f.mem != 0 && f.mem < 64:
		return nil, usagef("--mem %d: a machine needs at least 64 MiB", f.mem)
	}
	chosen, err := a.chooseScenarios(args, f.long || len(args) > 0)
	if err != nil {
		return nil, err
	}
	if (f.shell || f.keep) && len(chosen) != 1 && !f.list {
		return nil, usagef("--shell and --keep take one scenario, not %d: name it as TRAP/SCENARIO", len(chosen))
	}
	kernels := map[string]lab.Kernel{}
	for i := range chosen {
		j := &chosen[i]
		engine := f.engine
		if engine == "" && (f.kernel != "" || j.Scenario.Needs.Engine == "qemu") {
			engine = "qemu"
		}
		if engine == "" {
			engine = "uml"
		}
		if need := j.Scenario.Needs.Engine; need != "" && need != engine {
			return nil, usagef("%s/%s needs the engine %s", j.Trap, j.Scenario.Name, need)
		}
		if _, ok := kernels[engine]; !ok && !f.list {
			k, err := findKernel(ctx, engine, f)
			if err != nil {
				return nil, &status{exitFailed, err}
			}
			kernels[engine] = k
		}
		j.Options.Kernel, j.Options.MemMiB = kernels[engine], f.mem
		if f.verbose {
			j.Options.Console = a.stderr
		}
		switch {
		case f.shell:
			j.Options.Shell = lab.ShellAfterPrepare
		case f.keep:
			j.Options.Shell = lab.ShellAfterStory
		}
	}
	if k, ok := kernels["qemu"]; ok {
		kvm := lab.ProbeKVM(ctx, lab.Options{Kernel: k})
		for i := range chosen {
			chosen[i].Options.KVM = kvm && chosen[i].Options.Kernel.Engine == "qemu"
		}
	}
	return chosen, nil
}

func findKernel(ctx context.Context, engine string, f labFlags) (lab.Kernel, error) {
	if engine == "uml" {
		return lab.UML()
	}
	return lab.FindKernel(ctx, f.kernel, f.modules)
}

// chooseScenarios reads TRAP and TRAP/SCENARIO; none is all.
func (a *app) chooseScenarios(args []string, long bool) ([]lab.Job, error) {
	var jobs []lab.Job
	add := func(t *trap.Trap, scenario string) int {
		n := 0
		for _, s := range t.Proof {
			if scenario == "" && (long || !s.Long) || s.Name == scenario {
				jobs = append(jobs, lab.Job{Trap: t.ID(), Scenario: s})
				n++
			}
		}
		return n
	}
	for _, t := range a.traps {
		if len(args) == 0 {
			add(t, "")
		}
	}
	for _, arg := range args {
		id, scenario, _ := strings.Cut(arg, "/")
		ts, err := a.find([]string{id})
		if err != nil {
			return nil, err
		}
		if add(ts[0], scenario) == 0 {
			var names []string
			for _, s := range ts[0].Proof {
				names = append(names, s.Name)
			}
			if len(names) == 0 {
				return nil, usagef("%s has no scenario yet", id)
			}
			return nil, usagef("%s has no scenario %q; it has: %s", id, scenario, strings.Join(names, ", "))
		}
	}
	return jobs, nil
}

// playLab plays, prints as scenarios end, and sums up.
func (a *app) playLab(ctx context.Context, jobs []lab.Job, f labFlags) error {
	var all []lab.Outcome
	lab.PlayAll(ctx, jobs, f.jobs, func(o lab.Outcome) {
		all = append(all, o)
		if f.format == "text" && !f.shell {
			a.labText(o, f.verbose || len(jobs) == 1, f.verbose)
			if len(jobs) > 1 {
				fmt.Fprintf(a.stderr, "%d of %d\n", len(all), len(jobs))
			}
		}
	})
	switch f.format {
	case "json":
		enc := json.NewEncoder(a.stdout)
		enc.SetIndent("", "  ")
		vs := make([]lab.Verdict, len(all))
		for i, o := range all {
			vs[i] = o.Verdict
			if o.Err != nil {
				vs[i].Why = o.Err.Error()
			}
		}
		if err := enc.Encode(vs); err != nil {
			return failf("writing the result: %w", err)
		}
	case "junit":
		if err := labJUnit(a.stdout, all); err != nil {
			return failf("writing the result: %w", err)
		}
	}
	bad, broken := 0, error(nil)
	for _, o := range all {
		if o.Err != nil {
			broken = errors.Join(broken, o.Err)
		} else if !o.Verdict.OK {
			bad++
		}
	}
	switch {
	case broken != nil:
		return &status{exitFailed, broken}
	case f.shell:
		return nil
	case bad > 0:
		return &status{exitFound, fmt.Errorf("%d of %d scenarios did not go as told", bad, len(all))}
	}
	return nil
}

// labRole plays the parts that fettle has inside its own lab: init of a
// throwaway machine, and the supervisor of its kernel.
func labRole(args []string) (int, bool) {
	if guest.Here() {
		guest.Main()
	}
	if len(args) == 0 || args[0] != lab.Supervise {
		return 0, false
	}
	if err := lab.Supervisor(args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "fettle lab:", err)
		return exitFailed, true
	}
	return exitOK, true
}
