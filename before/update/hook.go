package update

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fettle/internal/files"
)

// HookFile is apt's configuration that has it call fettle (apt.conf(5)).
const HookFile = "/etc/apt/apt.conf.d/90fettle"

// HookArgs are what apt calls fettle with: Flag has it read from standard input what apt installs.
const (
	Flag     = "apt"
	HookArgs = "before update --" + Flag
)

// HookTime is how long apt waits for the hook at most. timeout(1) guards it from outside, so that a fettle that hangs
// is killed; what the hook itself takes must be less.
const HookTime = 5 * time.Second

// hookText calls timeout by a spelling that nobody else uses: apt takes the command's first word as the
// key of its options (apt 2.6.1, apt-pkg/deb/dpkgpm.cc, RunScriptsWithPkgs). "|| true" has apt go on whatever happens.
const hookText = `// Written by fettle before update --hook install. fettle tells what an installation
// brings, and never stops it; fettle before update --hook remove takes this away.
DPkg::Pre-Install-Pkgs {"/usr/./bin/timeout -s KILL %d %s %s || true";};
DPkg::Tools::Options::/usr/./bin/timeout::Version "3";
`

// Install has apt call fettle, whose absolute path is bin and which only root may be able to change: the
// caller has looked.
func Install(file, bin string) error {
	if strings.Trim(bin, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-") != "" || !filepath.IsAbs(bin) {
		return fmt.Errorf("apt would run %q through a shell, and its path has characters that are special there", bin)
	}
	return files.WriteFile(file, fmt.Appendf(nil, hookText, int(HookTime.Seconds()), bin, HookArgs), 0o644)
}

// Remove takes the hook away, and tells whether it was there.
func Remove(file string) (there bool, err error) {
	err = os.Remove(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
