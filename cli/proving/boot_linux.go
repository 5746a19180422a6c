package proving

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/ui"
	"fettle/lab"
)

// bootFlags are what fettle-lab boot was asked for.
type bootFlags struct {
	kernel, modules           string
	tools, files, loadModules []string
	mem                       int
	timeout                   time.Duration
	verbose                   bool
}

// exitNoMachine is boot's status where the command was never run: that by
// which git-bisect(1) and fettle bisect skip a commit.
const exitNoMachine = 125

func (a program) bootCmd() *cobra.Command {
	var f bootFlags
	c := &cobra.Command{
		Use:   "boot [flags] -- COMMAND [ARG]…",
		Short: "Run a command on a throwaway machine, under any kernel",
		Long: `boot starts a throwaway machine, runs COMMAND there as root, prints its output
and exits with its status. The machine's root is in its own memory: a shell,
common tools, what --tool and --file copy, and nothing else from this host.

--kernel is a file (a User-Mode Linux kernel: "linux", as built by make ARCH=um;
a bzImage; or a linux-image .deb), the name of a linux-image package, or a
kernel built here for the lab by make, such as smq-old/old. The default is
Debian's user-mode-linux.

Exit status: the command's; 125 if it was not run, because the machine could not
be built or died; 2 usage error.`,
		Example: `  fettle-lab boot -- uname -r
  fettle-lab boot --kernel ./linux --tool dmsetup -- dmsetup targets
  fettle bisect --good v6.1 --bad v6.6 --build 'make -j8' \
    --boot linux --run './figure'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.boot(cmd, f, args) },
	}
	fl := c.Flags()
	fl.StringVar(&f.kernel, "kernel", "", "the kernel: a `FILE`, a linux-image package's name, or one built for the lab")
	fl.StringVar(&f.modules, "modules", "", "`FOLDER` of the kernel's modules (the one with modules.dep)")
	fl.StringSliceVar(&f.loadModules, "load", nil, "load this kernel `MODULE` first; may be repeated")
	fl.StringSliceVar(&f.tools, "tool", nil, "copy this `PROGRAM` of the host, with its libraries; may be repeated")
	fl.StringSliceVar(&f.files, "file", nil, "copy this `FILE` or folder of the host to the same path; may be repeated")
	fl.IntVar(&f.mem, "mem", 0, "memory of the machine in MiB (default 256)")
	fl.DurationVar(&f.timeout, "timeout", 10*time.Minute, "stop a machine that takes longer")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "show the machine's console")
	return c
}

// chosen is the kernel that --kernel names.
func (f bootFlags) chosen(cmd *cobra.Command, a program) (lab.Kernel, error) {
	tell := func(s string) { fmt.Fprintln(a.Stderr, s) }
	switch {
	case f.kernel == "":
		return lab.UML()
	case strings.HasSuffix(f.kernel, ".deb"), strings.HasPrefix(f.kernel, "linux-image-"):
		return lab.FindKernel(cmd.Context(), f.kernel, f.modules, tell)
	}
	k, err := lab.KernelFile(f.kernel)
	if b, not := lab.Built(f.kernel); not == nil && errors.Is(err, fs.ErrNotExist) {
		k, err = b, nil
	}
	if f.modules != "" {
		k.Modules = f.modules
	}
	return k, err
}

func (a program) boot(cmd *cobra.Command, f bootFlags, argv []string) error {
	switch {
	case f.mem != 0 && f.mem < 64:
		return app.Usagef("--mem %d: a machine needs at least 64 MiB", f.mem)
	case f.timeout <= 0:
		return app.Usagef("--timeout %v: expected a time above 0", f.timeout)
	}
	k, err := f.chosen(cmd, a)
	if err != nil {
		return &app.Status{Code: exitNoMachine, Err: err}
	}
	opt := lab.Options{Kernel: k, MemMiB: f.mem}
	if f.verbose {
		opt.Console = a.Stderr
	}
	progress := ui.NewProgress(a.Stderr)
	progress.Show("booting " + k.File)
	said, err := lab.RunCommand(cmd.Context(), argv, lab.Needs{Tools: f.tools, Files: f.files, Modules: f.loadModules, Limit: f.timeout}, opt)
	progress.End()
	if err != nil {
		return &app.Status{Code: exitNoMachine, Err: err}
	}
	fmt.Fprint(a.Stdout, said.Output)
	if said.Status == 0 {
		return nil
	}
	return &app.Status{Code: said.Status & 0xff}
}
