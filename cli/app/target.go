package app

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"fettle/engine/run"
)

// TargetFlags say what to look at instead of this host.
type TargetFlags struct{ Root, From string }

// Flags adds --root and --from.
func (f *TargetFlags) Flags(c *cobra.Command) {
	c.Flags().StringVar(&f.Root, "root", "", "look at the root folder `DIR`, which is not running here")
	c.Flags().StringVar(&f.From, "from", "",
		"look at a capture, sosreport or supportconfig: `FILE` or folder (of several in one archive: FILE/NAME)")
	c.MarkFlagsMutuallyExclusive("root", "from")
	c.MarkFlagDirname("root")
}

// Target makes the paths absolute and real: the child works elsewhere, and may read no
// more than what they name.
func (f *TargetFlags) Target() (run.Target, error) {
	tg := run.Target{Root: f.Root}
	if f.From != "" {
		var err error
		if tg.From, tg.Inside, err = run.FromPath(f.From); err != nil {
			return tg, Unread(err, "a capture, a sosreport or its folder (--from)")
		}
	}
	if tg.Root == "" {
		return tg, nil
	}
	const what = "the folder that holds a root file system (--root)"
	abs, err := filepath.Abs(tg.Root)
	if err == nil {
		tg.Root, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return tg, Unread(err, what)
	}
	if st, err := os.Stat(tg.Root); err != nil {
		return tg, Unread(err, what)
	} else if !st.IsDir() {
		return tg, Usagef("--root %s: not a folder", f.Root)
	}
	return tg, nil
}
